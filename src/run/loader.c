/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - see loader.h. */
#include "run/loader.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "io/cache.h"
#include "io/host.h"
#include "run/reader.h"

static void fail(struct loader *l, const struct mlgen_err *err)
{
	failure_set(l->rank->train->failure, err);
}

static uint64_t now(const struct loader *l)
{
	return clock_now(l->rank->train->clock);
}

/* This loader's share of the dataset leaves the page cache. A file that is
 * not there is for the read to report. */
static void drop_share(struct loader *l)
{
	const struct train *t = l->rank->train;
	uint64_t w = t->job->read_threads;
	uint64_t all = w * t->job->accelerators;
	char path[PATH_MAX];
	for (uint64_t i = l->rank->index * w + l->index; i < t->dataset->files;
	     i += all) {
		if (atomic_load_explicit(&t->closed, memory_order_relaxed))
			return;
		if (dataset_path(t->dataset, i, path, sizeof(path)) > 0)
			cache_drop(path);
	}
}

static bool is_over(const struct train *t)
{
	return atomic_load(&t->closed) || atomic_load(&t->finished);
}

/* Wait until a batch may be read; dropping the cache is done here, because
 * then everyone is here. False: the run is over. */
static bool await_batch(struct loader *l, uint64_t number)
{
	struct rank *r = l->rank;
	struct train *t = r->train;
	uint64_t begin_ns = 0;
	bool allowed;
	/* Pairs with rank_call: it sees this, or the limit is seen here. */
	atomic_store(&l->awaits, number);
	for (;;) {
		uint32_t seen = bell_look(&l->go);
		allowed = false;
		if (is_over(t))
			break;
		if (atomic_load(&r->drop) > l->dropped) {
			drop_share(l);
			l->dropped++;
			atomic_fetch_add(&r->dropped, 1);
			bell_ring(&r->filled, t->clock);
			continue;
		}
		allowed = atomic_load(&r->limit) > number;
		if (allowed)
			break;
		if (!begin_ns)
			begin_ns = now(l);
		bell_wait(&l->go, t->clock, seen, CLOCK_NEVER);
	}
	if (begin_ns) {
		l->worker.stat.idle_ns += now(l) - begin_ns;
		io_wake(l->worker.io);
	}
	if (!l->worker.counts && atomic_load(&t->counting))
		worker_start_counting(&l->worker, t->place, now(l));
	if (allowed)
		worker_watch_node(&l->worker, t->place);
	return allowed;
}

static bool is_counted_error(const struct job *j)
{
	return j->continue_on_error == CONTINUE_READ ||
	       j->continue_on_error == CONTINUE_IO ||
	       j->continue_on_error == CONTINUE_ALL;
}

static bool fail_engine(struct loader *l, int rc)
{
	struct mlgen_err err = { 0 };

	mlgen_fail(&err, rc, "ioengine=%s: cannot go on: %s",
		   l->rank->train->job->engine->name, strerror(-rc));
	fail(l, &err);
	return false;
}

static bool fail_task(struct loader *l, const struct read_task *task)
{
	struct mlgen_err err = { 0 };
	char where[96];

	snprintf(where, sizeof(where),
		 "epoch %" PRIu64 ", step %" PRIu64 ", accelerator %" PRIu64,
		 count_get(&l->rank->count.epoch),
		 count_get(&l->rank->count.step), l->rank->index + 1);
	reader_describe(l->reader, task, where, &err);
	fail(l, &err);
	return false;
}

/* Finish one extent and add it to the token. False: the run is over. */
static bool finish_extent(struct loader *l, struct token *token)
{
	struct train *t = l->rank->train;
	int rc;
	const struct read_task *task = reader_finish_one(l->reader, &rc);

	if (!task)
		return fail_engine(l, rc);
	if (task->error && !is_counted_error(t->job))
		return fail_task(l, task);
	const struct extent *x = &task->extent;
	token->extents++;
	token->id_sum += x->id;
	token->samples += x->samples;
	if (task->error)
		l->worker.stat.errors++;
	else
		token->sample_bytes +=
			x->samples * dataset_sample_bytes(t->dataset, x->file);
	return true;
}

static void push(struct loader *l, struct token *token)
{
	token->ready_ns = io_last_ns(l->worker.io);
	ring_push(l->ring, token);
	bell_ring(&l->rank->filled, l->rank->train->clock);
}

static void start_extent(struct loader *l, const struct sampler_epoch *order,
			 uint64_t position)
{
	struct extent x;
	dataset_extent(l->rank->train->dataset,
		       sampler_at(order, l->rank->index, position), &x);
	reader_start(l->reader, &x);
}

/* pytorch: one worker reads a whole batch, its samples one after the other. */
static bool read_batch(struct loader *l, const struct sampler_epoch *order,
		       uint64_t batch)
{
	const struct sampler *s = &l->rank->train->sampler;
	uint64_t first = batch * s->batch;
	uint64_t n = sampler_batch_samples(s, batch);
	struct token token = { 0 };
	for (uint64_t i = 0; i < n; i++) {
		start_extent(l, order, first + i);
		if (!finish_extent(l, &token))
			return false;
	}
	push(l, &token);
	return true;
}

/* Batch k of an epoch is worker (k mod W)'s. */
static void pytorch_work(struct loader *l)
{
	const struct train *t = l->rank->train;
	const struct sampler *s = &t->sampler;
	struct sampler_epoch order;
	if (l->index >= s->steps) {
		await_batch(l, UINT64_MAX); /* fewer batches than workers */
		return;
	}
	for (uint64_t epoch = 0;; epoch++) {
		sampler_epoch(&order, s, epoch);
		for (uint64_t b = l->index; b < s->steps;
		     b += t->job->read_threads)
			if (!await_batch(l, epoch * s->steps + b) ||
			    !read_batch(l, &order, b))
				return;
	}
}

static void pytorch_collect(struct rank *r, uint64_t batch, uint64_t need)
{
	uint64_t w = batch % r->train->job->read_threads;
	struct token t;
	while (r->have.samples < need && ring_pop(r->loaders[w].ring, &t))
		token_add(&r->have, &t);
}

static uint64_t pytorch_window(const struct job *job)
{
	return job->read_threads * job->prefetch;
}

/* plain: the next extent goes to whichever loader is free. */
static void plain_work(struct loader *l)
{
	struct rank *r = l->rank;
	const struct sampler *s = &r->train->sampler;
	struct sampler_epoch order;
	uint64_t order_epoch = UINT64_MAX;
	struct token token;
	for (;;) {
		uint64_t claim = atomic_fetch_add(&r->claim, 1);
		uint64_t epoch = claim / s->rank_extents;
		uint64_t position = claim % s->rank_extents;
		uint64_t number = epoch * s->steps + position / s->batch;
		while (reader_is_busy(l->reader) &&
		       (!reader_has_room(l->reader) ||
			atomic_load(&r->limit) <= number)) {
			token = (struct token){ 0 };
			if (!finish_extent(l, &token))
				return;
			push(l, &token);
		}
		if (!await_batch(l, number))
			return;
		if (epoch != order_epoch)
			sampler_epoch(&order, s, epoch);
		order_epoch = epoch;
		start_extent(l, &order, position);
	}
}

static void plain_collect(struct rank *r, uint64_t batch, uint64_t need)
{
	struct token t;
	(void)batch;
	for (uint64_t w = 0; w < r->train->job->read_threads; w++)
		while (r->have.samples < need &&
		       ring_pop(r->loaders[w].ring, &t))
			token_add(&r->have, &t);
}

static uint64_t plain_window(const struct job *job)
{
	return job->prefetch;
}

static const struct loader_model models[] = {
	[LOADER_PYTORCH] = { pytorch_work, pytorch_collect, pytorch_window },
	[LOADER_PLAIN] = { plain_work, plain_collect, plain_window },
};

const struct loader_model *loader_model(const struct job *job)
{
	return &models[job->loader];
}

uint64_t loader_ring_tokens(const struct train *t)
{
	/* The accelerator drains rings only while it waits, so everything
	 * that may be ahead has to fit. */
	return t->window * t->sampler.batch + 1;
}

static int open_io(struct loader *l, struct mlgen_err *err)
{
	struct train *t = l->rank->train;
	unsigned depth = job_depth(t->job);
	struct worker_config cfg = {
		.place = t->place,
		.io = { .job = &t->engine_job,
			.clock = t->clock,
			.iodepth = reader_ops(t->job),
			.transfers = depth,
			.files = job_samples_at_once(t->job),
			.buf_bytes = plan_buffer_bytes(&t->plan, depth),
			.mem = (enum mem_kind)t->job->mem },
	};
	int rc;

	if (l->index == 0 && l->rank->index == 0)
		cfg.job_name = t->job->name;
	rc = worker_open(&l->worker, &cfg, err);
	if (rc < 0)
		return rc;
	l->reader = reader_new(l->worker.io, &l->worker.stat, &t->plan,
			       job_samples_at_once(t->job), depth);
	return 0;
}

void *loader_main(void *arg)
{
	struct loader *l = arg;
	struct train *t = l->rank->train;
	struct mlgen_err err = { 0 };
	clock_join(t->clock);
	if (open_io(l, &err) < 0)
		fail(l, &err);
	atomic_fetch_add(&l->rank->ready, 1);
	bell_ring(&l->rank->filled, t->clock);
	if (l->reader)
		loader_model(t->job)->work(l);
	worker_stop_counting(&l->worker, now(l));
	worker_close(&l->worker);
	clock_leave(t->clock);
	return NULL;
}
