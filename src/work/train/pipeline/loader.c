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
#include "base/dist.h"
#include "base/thread.h"
#include "base/util.h"
#include "data/file/file.h"
#include "io/host.h"
#include "job/job.h"
#include "run/read/read.h"
#include "work/train/tier/tier.h"

/* Maximum number of draws for one extent. */
#define DRAWS_MAX 16u
/* Shortest decode time that is slept after a read. A sleeping thread wakes late by nearly as much,
 * so a shorter time is added to the decode time of the next read. */
#define MIN_SPENT_NS 50000u
#define ALL_AT_FIRST_READ "1/100"
/* A thread that wakes later than this was held up by more than its timer. */
#define OVERSLEPT_MAX_NS 1000000u

static uint64_t loader_now(const struct loader *l)
{
	return clock_now(l->rank->train->clock);
}

static void loader_fail(struct loader *l, const struct mlgen_err *err)
{
	failure_set(l->rank->train->failure, err);
}

/*
 * Spend decode time asleep, so that the CPU is free for other threads. A sleeping thread wakes
 * late, by a tenth of a millisecond on some hosts. The next sleep is shortened by this delay, so
 * that many short sleeps take no longer than a single long one.
 */
static void decode_sleep(struct loader *l, uint64_t ns)
{
	const struct train *t = l->rank->train;
	uint64_t owed_ns = u64_min(l->overslept_ns, ns), woken_ns;
	uint64_t end_ns = loader_now(l) + ns - owed_ns;

	stop_sleep_until(t->stop, t->clock, end_ns);
	woken_ns = loader_now(l);
	l->overslept_ns -= owed_ns;
	if (woken_ns > end_ns)
		l->overslept_ns = u64_min(l->overslept_ns + woken_ns - end_ns, OVERSLEPT_MAX_NS);
	count_add(&l->worker.stat.idle_ns, ns);
	io_wake(l->worker.io);
	l->decoded_ns = end_ns;
}

static void spend(struct loader *l, uint64_t ns)
{
	const struct train *t = l->rank->train;

	if (t->job->preprocess == PREPROCESS_SLEEP) {
		decode_sleep(l, ns);
		return;
	}
	uint64_t end_ns = loader_now(l) + ns;
	while (loader_now(l) < end_ns && !stop_is_due(t->stop, loader_now(l)))
		;
	io_wake(l->worker.io);
	l->decoded_ns = end_ns;
}

/* Decode time that is due after a read of this many bytes. */
static uint64_t read_due_ns(const struct loader *l, struct decoding *d,
			    const struct read_task *task, uint64_t bytes)
{
	double part;

	if (!d->all_ns)
		return 0;
	if (!d->shares) {
		uint64_t all = dataset_extent_bytes(task->dataset, &task->extent);

		part = all ? (double)bytes / (double)all : 0;
	} else {
		const struct job_read_share *share = &d->shares[d->next_share];

		if (d->next_share == d->share_count || share->read != l->decode_reads)
			return 0;
		d->next_share++;
		part = share->percent / 100;
	}
	return (uint64_t)((double)d->all_ns * part);
}

/* Draw the decode time of an extent: the sum over its samples, estimated from up to DRAWS_MAX
 * draws. */
static void begin_decoding(struct loader *l, const struct extent *x)
{
	const struct job *j = l->rank->train->job;
	uint64_t drawn = x->samples < DRAWS_MAX ? x->samples : DRAWS_MAX;
	double ns = 0;

	for (uint64_t i = 0; i < drawn; i++)
		ns += (double)dist_draw(&j->preprocess_time, j->randseed, RNG_PREPROCESS,
					x->id * DRAWS_MAX + i);
	l->per_sample.all_ns = drawn ? (uint64_t)(ns / (double)drawn * x->samples) : 0;
	l->first_sample.all_ns = 0;
	if (l->is_new && x->samples) {
		uint64_t who = l->rank->index * u64_max(j->read_threads, 1) + l->index;

		l->is_new = false;
		l->first_sample.all_ns = (uint64_t)dist_draw(&j->first_sample_time,
							     rng_u64(j->randseed, RNG_FIRST, who),
							     RNG_FIRST, l->next.number);
	}
	l->per_sample.next_share = l->first_sample.next_share = 0;
	l->decode_left_ns = l->per_sample.all_ns + l->first_sample.all_ns;
	l->decode_due_ns = 0;
}

/* Spend the decode time due after a read (preprocess_at=reads). */
static void decode_read(void *arg, const struct read_task *task, uint64_t bytes)
{
	struct loader *l = arg;

	if (l->tier && tier_was_decoded(l->tier, task))
		return;
	if (!l->decode_reads++)
		begin_decoding(l, &task->extent);
	l->decode_due_ns += read_due_ns(l, &l->per_sample, task, bytes) +
			    read_due_ns(l, &l->first_sample, task, bytes);
	uint64_t ns = u64_min(l->decode_due_ns, l->decode_left_ns);
	if (ns < MIN_SPENT_NS)
		return;
	l->decode_due_ns = 0;
	l->decode_left_ns -= ns;
	spend(l, ns);
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

/* Set up decoding after the reader was opened. */
static int loader_open_decoding(struct loader *l, struct mlgen_err *err)
{
	const struct train *t = l->rank->train;
	const struct job *j = t->job;
	uint64_t most = train_max_packed_bytes(j, &t->stages);
	int rc = 0;

	l->is_new = true;
	if (loader_preprocesses(j) && j->preprocess_at == PREPROCESS_AT_READS) {
		rc = open_shares(&l->per_sample, j->preprocess_split, err);
		if (rc == 0)
			rc = open_shares(&l->first_sample,
					 has_text(j->first_sample_split) ? j->first_sample_split
									 : ALL_AT_FIRST_READ,
					 err);
		reader_decode_with(l->reader, decode_read, l);
	}
	if (rc < 0 || most == 0)
		return rc;
	unpack_free(l->unpack);
	l->unpack = unpack_new(most);
	if (!l->unpack)
		return mlgen_fail(err, -ENOMEM,
				  "decompress: no memory for the data that is decompressed at a "
				  "time, %" PRIu64 " bytes; use decompress=sleep",
				  most);
	reader_unpack(l->reader, l->unpack);
	return 0;
}

/* Decompress and decode an extent, or spend the time that this takes. Called once for each extent
 * that was begun. */
static void loader_decode(struct loader *l, const struct read_task *task)
{
	const struct job *j = l->rank->train->job;

	if (l->tier && tier_was_decoded(l->tier, task))
		return;
	if (task->packed_bytes && j->decompress == DECOMPRESS_SLEEP)
		decode_sleep(l, (uint64_t)((double)task->packed_bytes * 1e9 /
					   (double)j->decompress_rate));
	else if (task->packed_bytes && l->unpack)
		l->decoded_ns = loader_now(l); /* the reads have decompressed it */
	if (!loader_preprocesses(j))
		return;
	if (!l->decode_reads)
		begin_decoding(l, &task->extent);
	l->decode_reads = 0;
	if (l->decode_left_ns)
		spend(l, l->decode_left_ns);
}

/* ---- new loader threads for each epoch ---- */

bool loader_restarts(const struct job *job)
{
	return job->loader == LOADER_PYTORCH && job->read_threads &&
	       dist_mean(&job->worker_start) > 0;
}

bool loader_await_restart(struct loader *l)
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

/* ---- the page cache, and waiting for a batch ---- */

/* Drop this loader's share of a dataset from the page cache. A missing file is reported when it is
 * read. */
static void drop_share_of(struct loader *l, const struct dataset *ds)
{
	const struct train *t = l->rank->train;
	uint64_t w = job_readers(t->job);
	uint64_t all = w * job_all_accelerators(t->job);
	char path[PATH_MAX];

	for (uint64_t i = l->rank->index * w + l->index; i < dataset_all_files(ds); i += all) {
		struct mlgen_err err = { 0 };

		if (train_is_cut(t))
			return;
		if (dataset_path(ds, i, path, sizeof(path)) <= 0)
			continue;
		if (pagecache_drop(path) < 0 && filekind_check(path, "", &err) < 0)
			loader_fail(l, &err);
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

/* Switch the pass to which reads are counted. No read is under way between two passes, so all bytes
 * since the last switch belong to the old pass. `next` NULL = the end. */
static void switch_pass(struct loader *l, const struct pass *next)
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

	/* Pairs with rank_wake_loaders and interleave_deliver: either they see these two values, or
	 * this thread sees what they have changed. */
	atomic_store(&l->awaited_batch, number);
	atomic_store(&l->awaited_extents, delivered);
	for (;;) {
		uint32_t seen = eventcount_get(&l->wakeup);

		allowed = false;
		if (loader_is_over(t))
			break;
		if (atomic_load(&r->drop_requests) > l->drops_done) {
			loader_drop(l);
			l->drops_done++;
			atomic_fetch_add(&r->loaders_dropped, 1);
			eventcount_notify(&r->wakeup, t->clock);
			continue;
		}
		allowed =
			atomic_load(&r->limit) > number && atomic_load(&r->delivered) >= delivered;
		if (allowed)
			break;
		if (!begin_ns)
			begin_ns = loader_now(l);
		/* Other loaders have usually begun to read the extents awaited here, and fast
		 * storage completes them soon. A sleeping thread would have to be woken for each
		 * extent. */
		if (yields) {
			yields = false;
			thread_yield();
			continue;
		}
		eventcount_wait(&l->wakeup, t->clock, seen, CLOCK_NEVER);
	}
	atomic_store_explicit(&l->awaited_extents, UINT64_MAX, memory_order_relaxed);
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

/* ---- reading ---- */

static void loader_describe(const struct loader *l, const struct read_task *task,
			    struct mlgen_err *err)
{
	char where[96];

	snprintf(where, sizeof(where), "epoch %" PRIu64 ", step %" PRIu64 ", accelerator %" PRIu64,
		 count_get(&l->rank->count.epoch), count_get(&l->rank->count.step),
		 l->rank->index + 1);
	reader_describe(task, where, err);
}

/* Count a failed extent; its places in the batch stay empty. */
static void count_error(struct loader *l, struct token *token, const struct read_task *task)
{
	struct mlgen_err err = { 0 };

	opstat_add_error(&l->worker.stat);
	token->failed_samples += task->extent.samples;
	if (worker_has_error(&l->worker))
		return;
	loader_describe(l, task, &err);
	worker_keep_error(&l->worker, &err, loader_now(l));
}

bool loader_finish(struct loader *l, struct token *token)
{
	struct train *t = l->rank->train;
	struct mlgen_err err = { 0 };
	int rc;
	const struct read_task *task = reader_finish_one(l->reader, &rc);

	if (!task) {
		mlgen_fail(&err, rc, "ioengine=%s: cannot continue: %s", t->job->engine->name,
			   strerror(-rc));
		loader_fail(l, &err);
		return false;
	}
	if (l->tier && tier_read_end(l->tier, task, &err) != 0) {
		loader_fail(l, &err);
		return false;
	}
	if (task->into)
		hold_commit(l->rank->hold, task->into, task->into_used);
	if (task->error == -ECANCELED && train_is_cut(t))
		return false;
	if (task->error && !ignored_counts(t->job, task->error_op, task->error)) {
		loader_describe(l, task, &err);
		loader_fail(l, &err);
		return false;
	}
	const struct extent *x = &task->extent;
	token->extents++;
	token->id_sum += l->tier ? tier_requested_extent(task) : x->id;
	token->samples += x->samples;
	if (task->error)
		count_error(l, token, task);
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
	eventcount_notify(&l->rank->wakeup, l->rank->train->clock);
	*token = (struct token){ 0 };
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
		switch_pass(l, at->pass);
	dataset_extent(at->pass->dataset, sampler_at(order, l->rank->index, position), &x);
	if (l->rank->hold) {
		/* The accelerator has taken all batches below limit - window. */
		uint64_t limit = atomic_load(&l->rank->limit), window = at->pass->window;

		into = hold_reserve(l->rank->hold, at->first_batch + batch,
				    limit > window ? limit - window : 0, &bytes);
	}
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

/* ---- start and end ---- */

static int open_io(struct loader *l, struct mlgen_err *err)
{
	struct train *t = l->rank->train;
	unsigned depth = job_depth(t->job);
	uint64_t number = l->rank->index * job_readers(t->job) + l->index;
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
			.renews_pages = t->job->fresh_memory > 0,
			.seed = rng_u64(t->job->randseed, RNG_ENGINE, number),
			.stop = t->stop,
			.ends_in_time = true },
	};

	if (l->index == 0 && l->rank->local_index == 0)
		cfg.job_name = t->job->name;
	/* In a trace, a loader without a thread has its rank's name. */
	if (t->job->read_threads)
		snprintf(cfg.role, sizeof(cfg.role), "loader %" PRIu64 " of rank %" PRIu64,
			 l->index, l->rank->index);
	else
		snprintf(cfg.role, sizeof(cfg.role), "rank %" PRIu64, l->rank->index);
	cfg.list = t->workers;
	cfg.has_ramp = t->job->ramp_time_ns > 0;
	int rc = worker_open(&l->worker, &cfg, err);
	if (rc < 0)
		return rc;
	reader_free(l->reader);
	l->reader = reader_new(l->worker.io, &l->worker.stat, job_samples_at_once(t->job), depth);
	reader_fresh(l->reader, t->job->fresh_memory, t->dataset->format->is_array);
	rc = loader_open_decoding(l, err);
	if (rc < 0 || !t->tier)
		return rc;
	l->tier = tier_loader_new(t->tier, l->rank->index, number, &l->worker, l->reader, err);
	return l->tier ? 0 : err->code;
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
	const struct train *t = l->rank->train;
	int rc = 0;

	if (!l->reader)
		return;
	/* Wait for the reads that the stop has cut off; no new read begins (io.h). */
	while (rc == 0 && train_is_cut(t) && !train_is_closed(t) && reader_is_busy(l->reader))
		reader_finish_one(l->reader, &rc);
	reader_close(l->reader);
	if (l->tier) {
		tier_loader_close(l->tier);
		tier_loader_free(l->tier);
		l->tier = NULL;
	}
	switch_pass(l, NULL);
}

void loader_close(struct loader *l)
{
	end_reading(l);
	worker_stop_counting(&l->worker, loader_now(l));
	worker_close(&l->worker);
}

static void loader_run(struct loader *l)
{
	const struct train *t = l->rank->train;
	bool is_open = loader_open(l);
	bool reads_indexes = t->dataset->format->at_start && l->next.number == 0;

	if (l->next.number == 0) {
		atomic_fetch_add(&l->rank->ready, 1);
		eventcount_notify(&l->rank->wakeup, t->clock);
	}
	l->wants_next_thread = false;
	if (is_open) {
		worker_resume(&l->worker, loader_now(l));
		if (!reads_indexes || (loader_await(l, 0) && loader_read_indexes(l)))
			loader_model(t->job)->work(l);
	}
	if (l->wants_next_thread) {
		end_reading(l);
		worker_pause(&l->worker, loader_now(l));
		worker_close(&l->worker);
	} else {
		loader_close(l);
	}
}

static void *restarted_main(void *arg)
{
	struct loader *l = arg;
	struct clock *clock = l->rank->train->clock;

	clock_join(clock);
	loader_run(l);
	clock_leave(clock);
	return NULL;
}

/* Run one stage on a thread of its own, and wait for it. False with the run's failure: there is no
 * thread. */
static bool run_restarted(struct loader *l)
{
	struct train *t = l->rank->train;
	struct mlgen_err err = { 0 };
	pthread_t thread;

	if (worker_start(&thread, t->clock, restarted_main, l, &err) < 0) {
		loader_fail(l, &err);
		return false;
	}
	clock_leave(t->clock);
	worker_join(&thread);
	clock_expect(t->clock, 1);
	clock_join(t->clock);
	return true;
}

void *loader_main(void *arg)
{
	struct loader *l = arg;
	struct train *t = l->rank->train;

	clock_join(t->clock);
	if (!loader_restarts(t->job))
		loader_run(l);
	else
		/* The loader's state passes from thread to thread, but each thread has its own
		 * engine, trace ring and CPU time. */
		while (run_restarted(l) && l->wants_next_thread)
			;
	clock_leave(t->clock);
	return NULL;
}
