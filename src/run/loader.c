/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - threads that read batches ahead of an accelerator. */
#include "run/loader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/filekind.h"
#include "base/rng.h"
#include "base/thread.h"
#include "base/util.h"
#include "data/file/file.h"
#include "io/pagecache.h"
#include "job/job.h"
#include "run/hold.h"
#include "run/loader_inside.h"
#include "run/read/read.h"
#include "run/tier.h"
#include "run/tracemarks.h"

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
		  uint64_t position)
{
	uint64_t bytes = 0;
	void *into = NULL;
	struct extent x;

	if (at->pass != l->pass)
		turn_to_pass(l, at->pass);
	dataset_extent(at->pass->dataset, sampler_at(order, l->rank->index, position), &x);
	if (l->rank->hold)
		into = hold_extent(
			l, at->first_batch + sampler_batch_of(order, l->rank->index, position),
			at->pass->window, &bytes);
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
