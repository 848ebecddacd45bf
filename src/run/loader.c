/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - see loader.h. */
#include "run/loader.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "data/format.h"
#include "io/cache.h"
#include "io/host.h"
#include "run/hold.h"
#include "run/reader.h"

/* Of one extent. */
#define DRAWS_MAX 16u

static void fail(struct loader *l, const struct mlgen_err *err)
{
	failure_set(l->rank->train->failure, err);
}

static uint64_t now(const struct loader *l)
{
	return clock_now(l->rank->train->clock);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* This loader's share of a dataset leaves the page cache. A file that is
 * not there is for the read to report. */
static void drop_share_of(struct loader *l, const struct dataset *ds)
{
	const struct train *t = l->rank->train;
	uint64_t w = t->job->read_threads;
	uint64_t all = w * t->job->accelerators;
	char path[PATH_MAX];
	for (uint64_t i = l->rank->index * w + l->index;
	     i < dataset_all_files(ds); i += all) {
		if (atomic_load_explicit(&t->closed, memory_order_relaxed))
			return;
		if (dataset_path(ds, i, path, sizeof(path)) > 0)
			cache_drop(path);
	}
}

static void drop_share(struct loader *l)
{
	const struct stages *s = &l->rank->train->stages;
	drop_share_of(l, s->train.dataset);
	if (s->has_eval)
		drop_share_of(l, s->eval.dataset);
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
	reader_describe(task, where, &err);
	fail(l, &err);
	return false;
}

/* Decoding takes its time, sample by sample; of many the sum of a few stands
 * for all. */
static uint64_t preprocess_ns(const struct job *j, const struct extent *x)
{
	uint64_t drawn = x->samples < DRAWS_MAX ? x->samples : DRAWS_MAX;
	double ns = 0;
	for (uint64_t i = 0; i < drawn; i++)
		ns += (double)dist_draw(&j->preprocess_time, j->randseed,
					RNG_PREPROCESS, x->id * DRAWS_MAX + i);
	return drawn ? (uint64_t)(ns / (double)drawn * x->samples) : 0;
}

/* Here, and not by the rank. */
static bool does_preprocess(const struct job *j)
{
	return dist_mean(&j->preprocess_time) > 0 && !loader_decodes_batches(j);
}

static void preprocess(struct loader *l, const struct extent *x)
{
	const struct train *t = l->rank->train;
	uint64_t end_ns, ns;
	if (!does_preprocess(t->job))
		return;
	ns = preprocess_ns(t->job, x);
	end_ns = now(l) + ns;
	if (t->job->preprocess == PREPROCESS_SLEEP) {
		clock_sleep_until(t->clock, end_ns);
		l->worker.stat.idle_ns += ns;
	} else {
		while (now(l) < end_ns)
			;
	}
	io_wake(l->worker.io);
	l->decoded_ns = end_ns;
}

/* Finish one extent and add it to the token. False: the run is over. */
static bool finish_extent(struct loader *l, struct token *token)
{
	struct train *t = l->rank->train;
	int rc;
	const struct read_task *task = reader_finish_one(l->reader, &rc);

	if (!task)
		return fail_engine(l, rc);
	if (task->into)
		hold_keep(l->rank->hold, task->into, task->into_used);
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
			x->samples *
			dataset_sample_bytes(task->dataset, x->file);
	preprocess(l, x);
	return true;
}

/* An empty token is none. */
static void push(struct loader *l, struct token *token, uint64_t stage)
{
	if (token->extents == 0)
		return;
	token->stage = stage;
	token->ready_ns = later(io_last_ns(l->worker.io), l->decoded_ns);
	ring_push(l->ring, token);
	bell_ring(&l->rank->filled, l->rank->train->clock);
	*token = (struct token){ 0 };
}

/* What was started stays in memory until its batch is taken. Batches below
 * limit - window have been. */
static void hold_extent(struct loader *l, uint64_t batch)
{
	uint64_t limit = atomic_load(&l->rank->limit), bytes;
	uint64_t window = l->rank->train->window;
	uint64_t taken = limit > window ? limit - window : 0;
	void *at = hold_take(l->rank->hold, batch, taken, &bytes);
	reader_into(l->reader, at, bytes);
}

static void start_extent(struct loader *l, const struct stage *at,
			 const struct sampler_epoch *order, uint64_t position)
{
	struct extent x;
	dataset_extent(at->pass->dataset,
		       sampler_at(order, l->rank->index, position), &x);
	reader_start(l->reader, &at->pass->plan, &x);
	if (l->rank->hold)
		hold_extent(l, at->first_batch +
				       sampler_batch_of(&at->pass->sampler,
							position));
}

/* What a worker reads of every file before its first sample. */
static bool read_indexes(struct loader *l)
{
	const struct pass *pass = &l->rank->train->stages.train;
	struct extent x = { 0 };
	struct token none = { 0 };
	if (pass->plan.access != ACCESS_FRAMEWORK ||
	    !pass->dataset->format->at_start)
		return true;
	for (; x.file < pass->dataset->files; x.file++) {
		if (is_over(l->rank->train))
			return false;
		reader_start(l->reader, &pass->plan, &x);
		if (!finish_extent(l, &none))
			return false;
	}
	return true;
}

/* pytorch: one worker reads a whole batch, its samples one after the other. */
static bool read_batch(struct loader *l, const struct stage *at,
		       const struct sampler_epoch *order, uint64_t batch)
{
	const struct sampler *s = &at->pass->sampler;
	uint64_t end = sampler_batch_start(s, batch + 1);
	struct token token = { 0 };
	for (uint64_t i = sampler_batch_start(s, batch); i < end; i++) {
		start_extent(l, at, order, i);
		if (!finish_extent(l, &token))
			return false;
	}
	push(l, &token, at->number);
	return true;
}

static bool has_batch(const struct loader *l, const struct pass *p)
{
	return l->index < p->sampler.steps;
}

/* In no stage there is anything to read for this loader. */
static bool has_none(const struct loader *l,
		     bool (*has)(const struct loader *l, const struct pass *p))
{
	const struct stages *s = &l->rank->train->stages;

	return !has(l, &s->train) && !(s->has_eval && has(l, &s->eval));
}

/* Batch k of a stage is worker (k mod W)'s. */
static void pytorch_work(struct loader *l)
{
	const struct train *t = l->rank->train;
	struct stage at = stage_first(&t->stages);
	struct sampler_epoch order;
	if (has_none(l, has_batch)) {
		await_batch(l, UINT64_MAX); /* fewer batches than workers */
		return;
	}
	for (;; stage_next(&t->stages, &at)) {
		const struct sampler *s = &at.pass->sampler;
		if (!has_batch(l, at.pass) && !await_batch(l, at.first_batch))
			return;
		sampler_epoch(&order, s, at.epoch);
		for (uint64_t b = l->index; b < s->steps;
		     b += t->job->read_threads)
			if (!await_batch(l, at.first_batch + b) ||
			    !read_batch(l, &at, &order, b))
				return;
	}
}

static void pytorch_collect(struct rank *r, const struct stage *at,
			    uint64_t batch, uint64_t need)
{
	uint64_t w = batch % r->train->job->read_threads;
	struct token t;
	while (r->have.samples < need &&
	       ring_pop(r->loaders[w].ring, at->number, &t))
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
	const struct stages *stages = &r->train->stages;
	struct stage at = stage_first(stages), under_way = at;
	struct sampler_epoch order;
	struct token token = { 0 };
	sampler_epoch(&order, &at.pass->sampler, at.epoch);
	for (;;) {
		uint64_t claim = atomic_fetch_add(&r->claim, 1);
		uint64_t before = at.number;
		while (claim - at.first_extent >= at.pass->sampler.rank_extents)
			stage_next(stages, &at);
		uint64_t position = claim - at.first_extent;
		uint64_t number = at.first_batch +
				  sampler_batch_of(&at.pass->sampler, position);
		while (reader_is_busy(l->reader) &&
		       (!reader_has_room(l->reader) ||
			at.number != under_way.number ||
			atomic_load(&r->limit) <= number)) {
			if (!finish_extent(l, &token))
				return;
			push(l, &token, under_way.number);
		}
		if (!await_batch(l, number))
			return;
		if (at.number != before)
			sampler_epoch(&order, &at.pass->sampler, at.epoch);
		under_way = at;
		start_extent(l, &at, &order, position);
	}
}

/* From any of them. */
static void any_collect(struct rank *r, const struct stage *at, uint64_t batch,
			uint64_t need)
{
	struct token t;
	(void)batch;
	for (uint64_t w = 0; w < r->train->job->read_threads; w++)
		while (r->have.samples < need &&
		       ring_pop(r->loaders[w].ring, at->number, &t))
			token_add(&r->have, &t);
}

static uint64_t plain_window(const struct job *job)
{
	return job->prefetch;
}

/* tfdata: each loader reads files of its own from front to back. */

/* One extent; what is ready goes out before anybody could wait for it. */
static bool read_forward(struct loader *l, const struct stage *at,
			 const struct sampler_epoch *order, uint64_t position,
			 struct token *token)
{
	start_extent(l, at, order, position);
	if (reader_does_io(l->reader) || does_preprocess(l->rank->train->job))
		push(l, token, at->number);
	return finish_extent(l, token);
}

static bool read_file(struct loader *l, const struct stage *at,
		      const struct sampler_epoch *order, uint64_t file)
{
	const struct sampler *s = &at->pass->sampler;
	struct token token = { 0 };
	uint64_t batch = UINT64_MAX;
	for (uint64_t i = 0; i < s->file_extents; i++) {
		uint64_t position = sampler_lane_position(s, file, i);
		if (position >= s->rank_extents)
			break;
		if (batch != sampler_batch_of(s, position)) {
			batch = sampler_batch_of(s, position);
			push(l, &token, at->number);
			if (!await_batch(l, at->first_batch + batch))
				return false;
		}
		if (!read_forward(l, at, order, position, &token))
			return false;
	}
	push(l, &token, at->number);
	return true;
}

/* Its first extent may lie behind the last batch. */
static bool has_file(const struct loader *l, const struct pass *p)
{
	const struct sampler *s = &p->sampler;

	return l->index < s->rank_files &&
	       sampler_lane_position(s, l->index, 0) < s->rank_extents;
}

static void tfdata_work(struct loader *l)
{
	const struct train *t = l->rank->train;
	struct stage at = stage_first(&t->stages);
	struct sampler_epoch order;
	if (has_none(l, has_file)) {
		await_batch(l, UINT64_MAX); /* fewer files than workers */
		return;
	}
	for (;; stage_next(&t->stages, &at)) {
		const struct sampler *s = &at.pass->sampler;
		if (!has_file(l, at.pass) && !await_batch(l, at.first_batch))
			return;
		sampler_epoch(&order, s, at.epoch);
		for (uint64_t f = l->index; f < s->rank_files;
		     f += t->job->read_threads)
			if (!read_file(l, &at, &order, f))
				return;
	}
}

/* A buffer that shuffles is filled before its first batch, and what is being
 * decoded is on its way to what is prefetched. */
static uint64_t tfdata_window(const struct job *job)
{
	uint64_t batch = job->batch_size;
	uint64_t buffer = (job_shuffle_buffer(job) + batch - 1) / batch;
	uint64_t decoding =
		loader_decodes_batches(job) ? job->decode_threads : 0;

	return job->prefetch + buffer + decoding;
}

static const struct loader_model models[] = {
	[LOADER_PYTORCH] = { .work = pytorch_work,
			     .collect = pytorch_collect,
			     .window = pytorch_window },
	[LOADER_TFDATA] = { .work = tfdata_work,
			    .collect = any_collect,
			    .window = tfdata_window,
			    .runs_on = true },
	[LOADER_PLAIN] = { .work = plain_work,
			   .collect = any_collect,
			   .window = plain_window },
};

const struct loader_model *loader_model(const struct job *job)
{
	return &models[job->loader];
}

bool loader_decodes_batches(const struct job *job)
{
	return job->loader == LOADER_TFDATA &&
	       job->preprocess == PREPROCESS_SLEEP &&
	       dist_mean(&job->preprocess_time) > 0;
}

static uint64_t batch_extents(const struct pass *p)
{
	return p->sampler.batch / p->sampler.extent_samples + 2;
}

uint64_t loader_ring_tokens(const struct train *t)
{
	/* The accelerator drains rings only while it waits, so everything
	 * that may be ahead has to fit. */
	uint64_t extents = batch_extents(&t->stages.train);
	if (t->stages.has_eval)
		extents = later(extents, batch_extents(&t->stages.eval));
	return t->window * extents + 1;
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
			.buf_bytes =
				plan_buffer_bytes(&t->stages.train.plan, depth),
			.mem = (enum mem_kind)t->job->mem,
			.seed = rng_u64(t->job->randseed, RNG_ENGINE,
					l->rank->index * t->job->read_threads +
						l->index) },
	};
	int rc;

	if (l->index == 0 && l->rank->index == 0)
		cfg.job_name = t->job->name;
	rc = worker_open(&l->worker, &cfg, err);
	if (rc < 0)
		return rc;
	l->reader = reader_new(l->worker.io, &l->worker.stat,
			       job_samples_at_once(t->job), depth);
	return 0;
}

static void work(struct loader *l)
{
	const struct train *t = l->rank->train;
	if (t->dataset->format->at_start &&
	    (!await_batch(l, 0) || !read_indexes(l)))
		return;
	loader_model(t->job)->work(l);
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
	if (l->reader) {
		work(l);
		reader_close(l->reader);
	}
	worker_stop_counting(&l->worker, now(l));
	worker_close(&l->worker);
	clock_leave(t->clock);
	return NULL;
}
