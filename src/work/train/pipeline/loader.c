/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - a loader: its extents in order, read, decoded and handed on. */
#include "work/train/pipeline/pipeline_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "base/util.h"
#include "data/file/file.h"
#include "io/pagecache.h"
#include "job/job.h"
#include "run/read/read.h"
#include "work/train/tier/tier.h"

/* The most draws taken for one extent. */
#define DRAWS_MAX 16u
/* A thread that sleeps is woken later than it asked for by nearly as much: what a small read has of
 * an extent's time waits for the next one. */
#define SPENT_LEAST_NS 50000u
#define ALL_AT_FIRST_READ "1/100"
/* Who is woken later than this was held up by more than timers are. */
#define OWED_MOST_NS 1000000u

static uint64_t loader_decode_now(const struct loader *l)
{
	return clock_now(l->rank->train->clock);
}

/* Decoding takes its time, sample by sample; of many the sum of a few stands for all. */
static uint64_t preprocess_ns(const struct job *j, const struct extent *x)
{
	uint64_t drawn = x->samples < DRAWS_MAX ? x->samples : DRAWS_MAX;
	double ns = 0;

	for (uint64_t i = 0; i < drawn; i++)
		ns += (double)dist_draw(&j->preprocess_time, j->randseed, RNG_PREPROCESS,
					x->id * DRAWS_MAX + i);
	return drawn ? (uint64_t)(ns / (double)drawn * x->samples) : 0;
}

/*
 * Asleep, the CPU that it would take is another's. Who sleeps is woken late, by a tenth of a
 * millisecond on some hosts; the next sleep is shorter by that, so that many short ones take no
 * longer than one long one.
 */
static void sleep_for(struct loader *l, uint64_t ns)
{
	const struct train *t = l->rank->train;
	uint64_t owed_ns = u64_min(l->overslept_ns, ns), woken_ns;
	uint64_t end_ns = loader_decode_now(l) + ns - owed_ns;

	stop_sleep_until(t->stop, t->clock, end_ns);
	woken_ns = loader_decode_now(l);
	l->overslept_ns -= owed_ns;
	if (woken_ns > end_ns)
		l->overslept_ns = u64_min(l->overslept_ns + woken_ns - end_ns, OWED_MOST_NS);
	count_add(&l->worker.stat.idle_ns, ns);
	io_wake(l->worker.io);
	l->decoded_ns = end_ns;
}

/* What was compressed is decompressed, or will have been. */
static void decompress(struct loader *l, const struct read_task *task)
{
	const struct job *j = l->rank->train->job;

	if (task->packed_bytes == 0)
		return;
	if (j->decompress == DECOMPRESS_SLEEP)
		sleep_for(l, (uint64_t)((double)task->packed_bytes * 1e9 /
					(double)j->decompress_rate));
	else if (l->unpack)
		l->decoded_ns = loader_decode_now(l);
}

static void spend(struct loader *l, uint64_t ns)
{
	const struct train *t = l->rank->train;
	uint64_t end_ns;

	if (t->job->preprocess == PREPROCESS_SLEEP) {
		sleep_for(l, ns);
		return;
	}
	end_ns = loader_decode_now(l) + ns;
	while (loader_decode_now(l) < end_ns && !stop_has_come(t->stop, loader_decode_now(l)))
		;
	io_wake(l->worker.io);
	l->decoded_ns = end_ns;
}

static uint64_t first_sample_ns(struct loader *l, const struct extent *x)
{
	const struct job *j = l->rank->train->job;
	uint64_t who = l->rank->index * u64_max(j->read_threads, 1) + l->index;

	if (!l->is_new || !x->samples)
		return 0;
	l->is_new = false;
	return (uint64_t)dist_draw(&j->first_sample_time, rng_u64(j->randseed, RNG_FIRST, who),
				   RNG_FIRST, l->next.number);
}

/* A cache has it so. */
static bool was_decoded(const struct loader *l, const struct read_task *task)
{
	return l->tier && tier_was_decoded(l->tier, task);
}

/* What the time has behind a read that got so many bytes. */
static double part_of_read(const struct loader *l, struct decoding *d, const struct read_task *task,
			   uint64_t bytes)
{
	const struct job_read_share *share;
	uint64_t all;

	if (!d->shares) {
		all = dataset_extent_bytes(task->dataset, &task->extent);
		return all ? (double)bytes / (double)all : 0;
	}
	share = &d->shares[d->next_share];
	if (d->next_share == d->share_count || share->read != l->decode_reads)
		return 0;
	d->next_share++;
	return share->percent / 100;
}

static uint64_t due_ns(const struct loader *l, struct decoding *d, const struct read_task *task,
		       uint64_t bytes)
{
	return d->all_ns ? (uint64_t)((double)d->all_ns * part_of_read(l, d, task, bytes)) : 0;
}

static void begin(struct loader *l, const struct extent *x)
{
	l->usual.all_ns = preprocess_ns(l->rank->train->job, x);
	l->first.all_ns = first_sample_ns(l, x);
	l->usual.next_share = l->first.next_share = 0;
	l->decode_left_ns = l->usual.all_ns + l->first.all_ns;
	l->decode_due_ns = 0;
}

/* Of preprocess_at=reads. */
static void decode_read(void *arg, const struct read_task *task, uint64_t bytes)
{
	struct loader *l = arg;
	uint64_t ns;

	if (was_decoded(l, task))
		return;
	if (!l->decode_reads++)
		begin(l, &task->extent);
	l->decode_due_ns += due_ns(l, &l->usual, task, bytes) + due_ns(l, &l->first, task, bytes);
	ns = u64_min(l->decode_due_ns, l->decode_left_ns);
	if (ns < SPENT_LEAST_NS)
		return;
	l->decode_due_ns = 0;
	l->decode_left_ns -= ns;
	spend(l, ns);
}

/* All of it, or what its reads have left. */
static void preprocess(struct loader *l, const struct extent *x)
{
	if (!loader_preprocesses(l->rank->train->job))
		return;
	if (!l->decode_reads)
		begin(l, x);
	l->decode_reads = 0;
	if (l->decode_left_ns)
		spend(l, l->decode_left_ns);
}

static int open_unpack(struct loader *l, struct mlgen_err *err)
{
	const struct train *t = l->rank->train;
	uint64_t most = train_packed_most(t->job, &t->stages);

	if (most == 0)
		return 0;
	unpack_free(l->unpack);
	l->unpack = unpack_new(most);
	if (!l->unpack)
		return mlgen_fail(
			err, -ENOMEM,
			"decompress: no memory for what is decompressed at a time, %" PRIu64
			" bytes; use decompress=sleep",
			most);
	reader_unpack(l->reader, l->unpack);
	return 0;
}

bool loader_preprocesses(const struct job *j)
{
	return dist_mean(&j->preprocess_time) + dist_mean(&j->first_sample_time) > 0 &&
	       !job_decodes_batches(j);
}

static int open_shares(struct decoding *d, const char *list, struct mlgen_err *err)
{
	struct job_read_share shares[JOB_READ_SHARES_MAX];
	int n = job_read_shares(list, shares, err);

	mem_free(d->shares);
	d->shares = NULL;
	d->share_count = n > 0 ? (unsigned)n : 0;
	if (n > 0) {
		d->shares = mem_array((size_t)n, sizeof(*shares));
		memcpy(d->shares, shares, (size_t)n * sizeof(*shares));
	}
	return n < 0 ? n : 0;
}

/* Its reader is open: what decoding needs is made ready. */
static int loader_open_decoding(struct loader *l, struct mlgen_err *err)
{
	const struct job *j = l->rank->train->job;
	int rc = 0;

	l->is_new = true;
	if (loader_preprocesses(j) && j->preprocess_at == PREPROCESS_AT_READS) {
		rc = open_shares(&l->usual, j->preprocess_split, err);
		if (rc == 0)
			rc = open_shares(&l->first,
					 has_text(j->first_sample_split) ? j->first_sample_split
									 : ALL_AT_FIRST_READ,
					 err);
		reader_decode_with(l->reader, decode_read, l);
	}
	return rc < 0 ? rc : open_unpack(l, err);
}

/* What has been read is decompressed and decoded, or the time that this takes is spent. Called once
 * for each extent that was begun. */
static void loader_decode(struct loader *l, const struct read_task *task)
{
	if (was_decoded(l, task))
		return;
	decompress(l, task);
	preprocess(l, &task->extent);
}

void loader_close_decoding(struct loader *l)
{
	mem_free(l->usual.shares);
	mem_free(l->first.shares);
}

/* ---- loaders that begin anew with each epoch ---- */

struct generation {
	struct loader *loader;
	void (*run)(struct loader *l);
};

bool loader_begins_anew(const struct job *job)
{
	return job->loader == LOADER_PYTORCH && job->read_threads &&
	       dist_mean(&job->worker_start) > 0;
}

bool loader_anew_begin(struct loader *l)
{
	const struct train *t = l->rank->train;
	uint64_t who = l->rank->index * t->job->read_threads + l->index, ns;

	if (!loader_await(l, l->next.first_batch))
		return false;
	ns = (uint64_t)dist_draw(&t->job->worker_start, rng_u64(t->job->randseed, RNG_START, who),
				 RNG_START, l->next.number);
	stop_sleep_until(t->stop, t->clock, clock_now(t->clock) + ns);
	count_add(&l->worker.stat.idle_ns, ns);
	io_wake(l->worker.io);
	return true;
}

static void *generation_main(void *arg)
{
	const struct generation *g = arg;
	struct clock *clock = g->loader->rank->train->clock;

	clock_join(clock);
	g->run(g->loader);
	clock_leave(clock);
	return NULL;
}

/* False with the run's failure: there is no thread. */
static bool run_one(struct generation *g)
{
	struct train *t = g->loader->rank->train;
	struct mlgen_err err = { 0 };
	pthread_t thread;

	if (worker_start(&thread, t->clock, generation_main, g, &err) < 0) {
		failure_set(t->failure, &err);
		return false;
	}
	clock_leave(t->clock);
	worker_join(&thread);
	clock_expect(t->clock, 1);
	clock_join(t->clock);
	return true;
}

/*
 * On a loader's thread, which only waits meanwhile: `run` on one thread after the other, as long as
 * it sets l->goes_on. What is the loader's passes from one to the next; each has its engine, its
 * ring of the trace and its CPU time.
 */
static void loader_anew(struct loader *l, void (*run)(struct loader *l))
{
	struct generation g = { .loader = l, .run = run };

	l->goes_on = true;
	while (l->goes_on && run_one(&g))
		;
}

/* ---- loaders ---- */

static void loader_fail(struct loader *l, const struct mlgen_err *err)
{
	failure_set(l->rank->train->failure, err);
}

static uint64_t loader_now(const struct loader *l)
{
	return clock_now(l->rank->train->clock);
}

static void drop(struct loader *l, const char *path)
{
	struct mlgen_err err = { 0 };

	if (pagecache_drop(path) < 0 && filekind_check(path, "", &err) < 0)
		loader_fail(l, &err);
}

/* This loader's share of a dataset leaves the page cache. A file that is not there is for the read
 * to report. */
static void drop_share_of(struct loader *l, const struct dataset *ds)
{
	const struct train *t = l->rank->train;
	uint64_t w = job_readers(t->job);
	uint64_t all = w * job_all_accelerators(t->job);
	char path[PATH_MAX];

	for (uint64_t i = l->rank->index * w + l->index; i < dataset_all_files(ds); i += all) {
		if (train_is_cut(t))
			return;
		if (dataset_path(ds, i, path, sizeof(path)) > 0)
			drop(l, path);
	}
}

void loader_drop(struct loader *l)
{
	const struct stages *s = &l->rank->train->stages;

	drop_share_of(l, s->train.dataset);
	if (s->has_eval)
		drop_share_of(l, s->eval.dataset);
}

static bool loader_is_over(const struct train *t)
{
	return atomic_load(&t->closed) || atomic_load(&t->finished);
}

/* Between two passes nothing is under way: what was read since the last one is all of it. `next`
 * NULL = the end. */
static void turn_to_pass(struct loader *l, const struct pass *next)
{
	struct opstat *stat = &l->worker.stat;
	uint64_t bytes = opstat_io_bytes(stat, 0);

	if (l->pass && l->pass->is_eval)
		stat->eval_bytes += bytes - l->before_pass_bytes;
	l->before_pass_bytes = bytes;
	l->pass = next;
}

static void start_counting(struct loader *l)
{
	const struct train *t = l->rank->train;

	if (l->worker.counts || !atomic_load(&t->counting))
		return;
	worker_start_counting(&l->worker, t->place, loader_now(l));
	l->before_pass_bytes = 0;
}

bool loader_await_turn(struct loader *l, uint64_t number, uint64_t delivered)
{
	struct rank *r = l->rank;
	struct train *t = r->train;
	uint64_t begin_ns = 0;
	bool allowed, yields = delivered > 0;

	/* Pairs with rank_call and interleave_deliver: they see this, or what they have changed is
	 * seen here. */
	atomic_store(&l->awaits, number);
	atomic_store(&l->needs, delivered);
	for (;;) {
		uint32_t seen = bell_look(&l->go);

		allowed = false;
		if (loader_is_over(t))
			break;
		if (atomic_load(&r->drop) > l->dropped) {
			loader_drop(l);
			l->dropped++;
			atomic_fetch_add(&r->dropped, 1);
			bell_ring(&r->filled, t->clock);
			continue;
		}
		allowed =
			atomic_load(&r->limit) > number && atomic_load(&r->delivered) >= delivered;
		if (allowed)
			break;
		if (!begin_ns)
			begin_ns = loader_now(l);
		/* What it waits for has mostly been begun, and is there soon where storage is fast:
		 * asleep, it would be woken for each extent alone. */
		if (yields) {
			yields = false;
			thread_yield();
			continue;
		}
		bell_wait(&l->go, t->clock, seen, CLOCK_NEVER);
	}
	atomic_store_explicit(&l->needs, UINT64_MAX, memory_order_relaxed);
	if (begin_ns) {
		count_add(&l->worker.stat.idle_ns, loader_now(l) - begin_ns);
		io_wake(l->worker.io);
	}
	start_counting(l);
	if (allowed)
		worker_watch_node(&l->worker, t->place);
	return allowed;
}

bool loader_await(struct loader *l, uint64_t number)
{
	return loader_await_turn(l, number, 0);
}

void loader_begin_turn(struct loader *l)
{
	const struct train *t = l->rank->train;

	count_set(&l->rank->count.waiting_since_ns, loader_now(l));
	worker_resume(&l->worker, loader_now(l));
	start_counting(l);
	worker_watch_node(&l->worker, t->place);
	io_wake(l->worker.io);
}

void loader_end_turn(struct loader *l)
{
	worker_pause(&l->worker, loader_now(l));
}

static bool fail_engine(struct loader *l, int rc)
{
	struct mlgen_err err = { 0 };

	mlgen_fail(&err, rc, "ioengine=%s: cannot go on: %s", l->rank->train->job->engine->name,
		   strerror(-rc));
	loader_fail(l, &err);
	return false;
}

static void loader_describe(const struct loader *l, const struct read_task *task,
			    struct mlgen_err *err)
{
	char where[96];

	snprintf(where, sizeof(where), "epoch %" PRIu64 ", step %" PRIu64 ", accelerator %" PRIu64,
		 count_get(&l->rank->count.epoch), count_get(&l->rank->count.step),
		 l->rank->index + 1);
	reader_describe(task, where, err);
}

static bool fail_task(struct loader *l, const struct read_task *task)
{
	struct mlgen_err err = { 0 };

	loader_describe(l, task, &err);
	loader_fail(l, &err);
	return false;
}

/* It counts, and its places in the batch stay empty. */
static void take_error(struct loader *l, struct token *token, const struct read_task *task)
{
	struct mlgen_err err = { 0 };

	opstat_add_error(&l->worker.stat);
	token->failed_samples += task->extent.samples;
	if (worker_has_error(&l->worker))
		return;
	loader_describe(l, task, &err);
	worker_keep_error(&l->worker, &err, loader_now(l));
}

/* What was read of a cache, or for it. */
static bool end_tier_read(struct loader *l, const struct read_task *task)
{
	struct mlgen_err err = { 0 };

	if (tier_read_end(l->tier, task, &err) == 0)
		return true;
	loader_fail(l, &err);
	return false;
}

bool loader_finish(struct loader *l, struct token *token)
{
	struct train *t = l->rank->train;
	int rc;
	const struct read_task *task = reader_finish_one(l->reader, &rc);

	if (!task)
		return fail_engine(l, rc);
	if (l->tier && !end_tier_read(l, task))
		return false;
	if (task->into)
		hold_keep(l->rank->hold, task->into, task->into_used);
	if (task->error == -ECANCELED && train_is_cut(t))
		return false;
	if (task->error && !ignored_counts(t->job, task->error_op, task->error))
		return fail_task(l, task);
	const struct extent *x = &task->extent;
	token->extents++;
	token->id_sum += l->tier ? tier_asked(task) : x->id;
	token->samples += x->samples;
	if (task->error)
		take_error(l, token, task);
	else
		token->sample_bytes += dataset_extent_bytes(task->dataset, x);
	if (l->worker.trace)
		tracemarks_sample(l, task);
	loader_decode(l, task);
	return true;
}

void loader_push(struct loader *l, struct token *token, uint64_t stage)
{
	if (token->extents == 0)
		return;
	token->stage = stage;
	token->ready_ns = u64_max(io_last_ns(l->worker.io), l->decoded_ns);
	ring_push(l->ring, token);
	bell_ring(&l->rank->filled, l->rank->train->clock);
	*token = (struct token){ 0 };
}

/* What was started stays in memory until its batch is taken. Batches below limit - window have
 * been. */
static void *hold_extent(struct loader *l, uint64_t batch, uint64_t window, uint64_t *bytes)
{
	uint64_t limit = atomic_load(&l->rank->limit);
	uint64_t taken = limit > window ? limit - window : 0;

	return hold_take(l->rank->hold, batch, taken, bytes);
}

void loader_next_stage(struct loader *l, struct stage *at, struct sampler_epoch *order)
{
	at->first_extent += sampler_extents(order, l->rank->index);
	stage_next(&l->rank->train->stages, at);
	sampler_epoch(order, &at->pass->sampler, at->epoch);
}

void loader_start(struct loader *l, const struct stage *at, struct sampler_epoch *order,
		  uint64_t position, uint64_t batch)
{
	uint64_t bytes = 0;
	void *into = NULL;
	struct extent x;

	if (at->pass != l->pass)
		turn_to_pass(l, at->pass);
	dataset_extent(at->pass->dataset, sampler_at(order, l->rank->index, position), &x);
	if (l->rank->hold)
		into = hold_extent(l, at->first_batch + batch, at->pass->window, &bytes);
	if (l->tier && !at->pass->is_eval) {
		tier_read(l->tier, at, order, position, &x, into, bytes, &l->decoded_ns);
		return;
	}
	reader_start(l->reader, &at->pass->plan, &x);
	if (into)
		reader_into(l->reader, into, bytes);
}

bool loader_read_indexes(struct loader *l)
{
	const struct pass *pass = &l->rank->train->stages.train;
	struct extent x = { 0 };
	struct token none = { 0 };

	if (pass->plan.access != ACCESS_FRAMEWORK || !pass->dataset->format->at_start)
		return true;
	for (; x.file < pass->dataset->files; x.file++) {
		if (loader_is_over(l->rank->train))
			return false;
		reader_start(l->reader, &pass->plan, &x);
		if (!loader_finish(l, &none))
			return false;
	}
	return true;
}

/* Loaders that are new ones in each epoch have a new part of it, too. */
static int open_tier(struct loader *l, struct mlgen_err *err)
{
	const struct train *t = l->rank->train;
	uint64_t number = l->rank->index * job_readers(t->job) + l->index;

	l->tier = tier_loader_new(t->tier, l->rank->index, number, &l->worker, l->reader, err);
	return l->tier ? 0 : err->code;
}

static int open_io(struct loader *l, struct mlgen_err *err)
{
	struct train *t = l->rank->train;
	unsigned depth = job_depth(t->job);
	struct worker_config cfg = {
		.place = t->place,
		.traced = t->traced,
		.io = { .job = &t->engine_job,
			.clock = t->clock,
			.iodepth = reader_ops(t->job),
			.transfers = depth,
			.files = job_samples_at_once(t->job) + tier_open_files(t->job),
			.buf_bytes = t->buffer_bytes,
			.mem = (enum mem_kind)t->job->mem,
			.may_meet_fifos = true,
			.gives_back = t->job->fresh_memory > 0,
			.seed = rng_u64(t->job->randseed, RNG_ENGINE,
					l->rank->index * job_readers(t->job) + l->index),
			.stop = t->stop,
			.ends_in_time = true },
	};
	int rc;

	if (l->index == 0 && l->rank->here == 0)
		cfg.job_name = t->job->name;
	tracemarks_role(l, cfg.role);
	cfg.list = t->workers;
	cfg.has_ramp = t->job->ramp_time_ns > 0;
	rc = worker_open(&l->worker, &cfg, err);
	if (rc < 0)
		return rc;
	reader_free(l->reader);
	l->reader = reader_new(l->worker.io, &l->worker.stat, job_samples_at_once(t->job), depth);
	reader_fresh(l->reader, t->job->fresh_memory, t->dataset->format->is_array);
	rc = loader_open_decoding(l, err);
	return rc == 0 && t->tier ? open_tier(l, err) : rc;
}

/* What it was cut in is waited for; nothing more is begun (io.h). */
static void finish_cut(struct loader *l)
{
	int rc = 0;

	while (rc == 0 && train_is_cut(l->rank->train) && !train_is_closed(l->rank->train) &&
	       reader_is_busy(l->reader))
		reader_finish_one(l->reader, &rc);
}

static void loader_work(struct loader *l)
{
	const struct train *t = l->rank->train;

	worker_resume(&l->worker, loader_now(l));
	if (t->dataset->format->at_start && l->next.number == 0 &&
	    (!loader_await(l, 0) || !loader_read_indexes(l)))
		return;
	loader_model(t->job)->work(l);
}

bool loader_open(struct loader *l)
{
	struct mlgen_err err = { 0 };

	if (open_io(l, &err) == 0)
		return true;
	loader_fail(l, &err);
	return false;
}

static void end_reading(struct loader *l)
{
	if (!l->reader)
		return;
	finish_cut(l);
	reader_close(l->reader);
	if (l->tier) {
		tier_loader_close(l->tier);
		tier_loader_free(l->tier);
		l->tier = NULL;
	}
	turn_to_pass(l, NULL);
}

/* Another thread goes on with the next stage. */
static void loader_pause(struct loader *l)
{
	end_reading(l);
	worker_pause(&l->worker, loader_now(l));
	worker_close(&l->worker);
}

void loader_close(struct loader *l)
{
	end_reading(l);
	worker_stop_counting(&l->worker, loader_now(l));
	worker_close(&l->worker);
}

static void loader_run(struct loader *l)
{
	struct train *t = l->rank->train;
	bool is_open = loader_open(l);

	if (l->next.number == 0) {
		atomic_fetch_add(&l->rank->ready, 1);
		bell_ring(&l->rank->filled, t->clock);
	}
	l->goes_on = false;
	if (is_open)
		loader_work(l);
	if (l->goes_on)
		loader_pause(l);
	else
		loader_close(l);
}

void *loader_main(void *arg)
{
	struct loader *l = arg;
	struct train *t = l->rank->train;

	clock_join(t->clock);
	if (loader_begins_anew(t->job))
		loader_anew(l, loader_run);
	else
		loader_run(l);
	clock_leave(t->clock);
	return NULL;
}
