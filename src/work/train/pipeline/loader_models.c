/* SPDX-License-Identifier: Apache-2.0 */
/* loader_models.c - which loader reads which batch, and how far ahead: a row per loader model. */
#include "work/train/pipeline/pipeline_internal.h"

#include "base/util.h"
#include "run/read/read.h"

/* Condition that an extent of tf.data in order waits for. */
struct interleave_turn {
	uint64_t batch;     /* batch of the stage that must be within the limit */
	uint64_t delivered; /* extents of all stages that must have been delivered */
};

/* An extent of a dataset with unequal extents counts as one large record. */
static uint64_t extent_records(const struct sampler *s)
{
	return s->extents_differ ? 1 : s->extent_samples;
}

static uint64_t records_ahead(const struct sampler *s)
{
	return s->extents_differ ? 1 : JOB_INTERLEAVE_RECORDS;
}

/* Find the turn of the extent at a position of a stage. */
static void interleave_turn(struct interleave_turn *turn, const struct stage *at,
			    struct sampler_epoch *order, uint64_t rank, uint64_t position)
{
	const struct sampler *s = &at->pass->sampler;
	struct sampler_lane lane = sampler_lane_at(order, rank, position);
	uint64_t record = lane.extent * extent_records(s);
	uint64_t ahead = records_ahead(s);
	uint64_t before;

	if (record < ahead) {
		/* The beginning of a file is read once the thread's previous file was delivered,
		 * with all files of the same round. */
		uint64_t round = lane.file / s->lanes;
		uint64_t first =
			round < JOB_INTERLEAVE_THREADS ? 0 : round - JOB_INTERLEAVE_THREADS + 1;

		before = sampler_lane_position(order, rank, first * s->lanes, 0);
		turn->delivered = before;
		turn->batch = sampler_batch_of(order, rank, before);
	} else if (s->is_uneven) {
		/* Each extent of an uneven file is a record, and each lane has its own turn. */
		before = sampler_lane_position(order, rank, lane.file, record - ahead);
		turn->delivered = before + 1;
		turn->batch = sampler_batch_of(order, rank, before);
	} else {
		/* Lanes deliver one record each in turn. Once `record` of this file was delivered,
		 * all lanes have delivered their earlier extents. */
		uint64_t index = lane.file % s->lanes;
		uint64_t row, begin = (lane.file - index) * s->file_extents;

		record -= ahead;
		row = record / s->extent_samples;
		bool is_first = record % s->extent_samples == 0;
		turn->delivered = begin + row * lane.lanes + (is_first ? index + 1 : lane.lanes);
		turn->batch = (begin * s->extent_samples + record * lane.lanes + index) / s->batch;
	}
	turn->delivered += at->first_extent;
}

/* Number of extents of one file that a thread may have read beyond the delivered ones. */
static uint64_t interleave_extents(const struct sampler *s)
{
	if (s->extents_differ)
		return records_ahead(s);
	return u64_min(divide_up(JOB_INTERLEAVE_RECORDS, s->extent_samples), s->file_extents);
}

static struct loader *loader_of(const struct rank *r, uint64_t file)
{
	return &r->loaders[file % job_read_threads(r->train->job)];
}

static void wake_if_due(struct loader *l, uint64_t delivered)
{
	if (atomic_load(&l->awaited_extents) <= delivered)
		eventcount_notify(&l->wakeup, l->rank->train->clock);
}

/* The extent at `at` was delivered, the last of `delivered` extents. Wake the loaders that waited
 * for it: the thread of its file, or the threads of all lanes when the row is complete. */
static void wake_lanes(const struct rank *r, const struct sampler *s, const struct sampler_lane *at,
		       uint64_t delivered)
{
	uint64_t lane = at->file % s->lanes;

	if (records_ahead(s) % extent_records(s) == 0)
		wake_if_due(loader_of(r, at->file), delivered);
	if (lane + 1 < at->lanes && !s->is_uneven)
		return;
	for (uint64_t i = 0; i < at->lanes; i++)
		wake_if_due(loader_of(r, at->file - lane + i), delivered);
}

/*
 * A loader has read the extent at this position of a stage. If that extent is next, deliver it and
 * the following extents that other loaders have read, and wake the loaders whose turn it is.
 *
 * No extent is missed: a loader stores its read_end before it looks at `delivered`, and `delivered`
 * is advanced here before the next loader's read_end is read.
 */
static void interleave_deliver(struct loader *l, const struct stage *at,
			       struct sampler_epoch *order, uint64_t position)
{
	struct rank *r = l->rank;
	uint64_t next = at->first_extent + position;

	atomic_store(&l->read_end, next + 1);
	if (atomic_load(&r->delivered) != next)
		return;
	while (sampler_has(order, r->index, next - at->first_extent)) {
		struct sampler_lane lane =
			sampler_lane_at(order, r->index, next - at->first_extent);

		if (atomic_load(&loader_of(r, lane.file)->read_end) <= next ||
		    !atomic_compare_exchange_strong(&r->delivered, &next, next + 1))
			return;
		next++;
		wake_lanes(r, &at->pass->sampler, &lane, next);
	}
	for (uint64_t i = 0; i < job_read_threads(r->train->job); i++)
		wake_if_due(&r->loaders[i], next);
}

/* pytorch: a worker reads a whole batch, one sample after the other. */
static bool read_batch(struct loader *l, const struct stage *at, struct sampler_epoch *order,
		       uint64_t batch)
{
	uint64_t rank = l->rank->index;
	uint64_t begin = sampler_batch_start(order, rank, batch);
	uint64_t end = sampler_batch_start(order, rank, batch + 1);
	struct token token = { .batch = batch };

	for (uint64_t i = begin; i < end; i++) {
		loader_start(l, at, order, i, batch);
		if (!loader_finish(l, &token))
			return false;
	}
	loader_push(l, &token, at->number);
	return true;
}

static bool has_batch(const struct loader *l, const struct pass *p)
{
	return l->index < p->sampler.steps;
}

/* Does this loader have nothing to read in any stage? */
static bool has_none(const struct loader *l,
		     bool (*has)(const struct loader *l, const struct pass *p))
{
	const struct stages *s = &l->rank->train->stages;

	return !has(l, &s->train) && !(s->has_eval && has(l, &s->eval));
}

/* Worker (k mod W) reads batch k of a stage. */
static void pytorch_work(struct loader *l)
{
	const struct train *t = l->rank->train;
	struct stage *at = &l->next;
	struct sampler_epoch order;

	if (has_none(l, has_batch)) {
		loader_await(l, UINT64_MAX); /* fewer batches than workers */
		return;
	}
	if (at->number == 0)
		*at = stage_first(&t->stages);
	do {
		const struct sampler *s = &at->pass->sampler;

		if (loader_restarts(t->job) && !loader_await_restart(l))
			return;
		if (!has_batch(l, at->pass) && !loader_await(l, at->first_batch))
			return;
		sampler_epoch(&order, s, at->epoch);
		for (uint64_t b = l->index; b < s->steps; b += t->job->read_threads)
			if (!loader_await(l, at->first_batch + b) || !read_batch(l, at, &order, b))
				return;
		stage_next(&t->stages, at);
	} while (!loader_restarts(t->job));
	l->wants_next_thread = true;
}

static void pytorch_collect(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need)
{
	uint64_t w = batch % r->train->job->read_threads;
	struct token t;

	while (r->pending.samples < need && ring_pop(r->loaders[w].ring, at->number, batch, &t))
		token_add(&r->pending, &t);
}

static uint64_t pytorch_window(const struct job *job, const struct pass *pass)
{
	(void)pass;
	return job->read_threads * job->prefetch;
}

/* A worker pushes one token per batch. */
static uint64_t pytorch_tokens(const struct job *job, const struct pass *pass)
{
	return pass->window / job_readers(job) + 1;
}

/* pytorch without workers: the main process reads each batch on demand. */
static void main_collect(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need)
{
	struct loader *l = &r->loaders[0];
	struct token t;
	bool is_first = at->number == 0 && batch == 0;

	if (r->pending.samples >= need || train_is_cut(r->train))
		return;
	loader_begin_turn(l);
	if (l->order_stage != at->number + 1)
		sampler_epoch(&l->order, &at->pass->sampler, at->epoch);
	l->order_stage = at->number + 1;
	if (!is_first || loader_read_indexes(l))
		read_batch(l, at, &l->order, batch);
	worker_pause(&l->worker, clock_now(r->train->clock));
	while (ring_pop(l->ring, at->number, batch, &t))
		token_add(&r->pending, &t);
}

static uint64_t main_window(const struct job *job, const struct pass *pass)
{
	(void)job;
	(void)pass;
	return 1; /* the batch that is being read */
}

/* plain: the next extent goes to whichever loader is free. */
static void plain_work(struct loader *l)
{
	struct rank *r = l->rank;
	struct stage at = stage_first(&r->train->stages), under_way = at;
	struct sampler_epoch order;
	struct token token = { 0 };

	sampler_epoch(&order, &at.pass->sampler, at.epoch);
	for (;;) {
		uint64_t claim = atomic_fetch_add(&r->claim, 1);

		while (!sampler_has(&order, r->index, claim - at.first_extent))
			loader_next_stage(l, &at, &order);
		uint64_t position = claim - at.first_extent;
		uint64_t batch = sampler_batch_of(&order, r->index, position);
		uint64_t number = at.first_batch + batch;
		while (reader_is_busy(l->reader) &&
		       (!reader_has_room(l->reader) || at.number != under_way.number ||
			atomic_load(&r->limit) <= number)) {
			if (!loader_finish(l, &token))
				return;
			loader_push(l, &token, under_way.number);
		}
		if (!loader_await(l, number))
			return;
		under_way = at;
		loader_start(l, &at, &order, position, batch);
	}
}

/* Collect tokens from any loader. */
static void any_collect(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need)
{
	struct token t;

	for (uint64_t w = 0; w < job_read_threads(r->train->job); w++)
		while (r->pending.samples < need &&
		       ring_pop(r->loaders[w].ring, at->number, batch, &t))
			token_add(&r->pending, &t);
}

static uint64_t plain_window(const struct job *job, const struct pass *pass)
{
	(void)pass;
	return job->prefetch;
}

/* In the worst case, a single loader reads everything that is read ahead, and pushes each extent by
 * itself. A full ring merges tokens of the same stage. */
static uint64_t any_tokens(const struct job *job, const struct pass *pass)
{
	const struct sampler *s = &pass->sampler;
	uint64_t stages = pass->window / s->steps + 2;
	uint64_t most = pass->window * (s->batch / s->extent_samples + 2) + 1;

	(void)job;
	/* Unequal extents may all be of the smallest size. */
	return s->extents_differ ? RING_TOKENS + stages : u64_min(most, RING_TOKENS + stages);
}

/* tfdata: each loader reads files of its own from front to back; with deterministic=1 in order, as
 * far ahead as pipeline_internal.h allows. */

/* First batch that can contain an extent with this many samples before it. With deterministic=1,
 * the shuffle buffer moves an extent to an earlier place by no more than the buffer's size. */
static uint64_t earliest_batch(const struct loader *l, const struct pass *pass, uint64_t samples)
{
	const struct job *job = l->rank->train->job;
	uint64_t buffer = pass_shuffle_buffer(job, pass);

	if (!job->deterministic || samples < buffer)
		return 0;
	return (samples - buffer) / pass->sampler.batch;
}

/* Push samples as soon as they are ready, before the accelerator could wait for them. With
 * deterministic=1 the accelerator cannot use a part of a loader's samples for a batch, so they are
 * kept until they are complete. */
static void push_ready(struct loader *l, const struct stage *at, struct token *token)
{
	if (!l->rank->train->job->deterministic)
		loader_push(l, token, at->number);
}

/* Wait until the batch of an extent may be read and, with deterministic=1, until it is the extent's
 * turn. `awaited` is the last batch of the stage that was waited for. */
static bool await_extent(struct loader *l, const struct stage *at, struct sampler_epoch *order,
			 uint64_t position, uint64_t batch, struct token *token, uint64_t *awaited)
{
	struct interleave_turn turn = { .batch = batch };

	if (l->rank->train->job->deterministic)
		interleave_turn(&turn, at, order, l->rank->index, position);
	if (*awaited == turn.batch && atomic_load(&l->rank->delivered) >= turn.delivered)
		return true;
	*awaited = turn.batch;
	push_ready(l, at, token);
	return loader_await_turn(l, at->first_batch + turn.batch, turn.delivered);
}

static bool read_file(struct loader *l, const struct stage *at, struct sampler_epoch *order,
		      uint64_t file, struct token *token)
{
	const struct job *job = l->rank->train->job;
	uint64_t rank = l->rank->index, awaited = UINT64_MAX;
	uint64_t extents = sampler_file_extents(order, rank, file);

	for (uint64_t i = 0; i < extents; i++) {
		uint64_t position = sampler_lane_position(order, rank, file, i);

		if (!sampler_has(order, rank, position))
			break;
		uint64_t before = sampler_samples_before(order, rank, position);
		uint64_t batch = before / at->pass->sampler.batch;
		uint64_t earliest = earliest_batch(l, at->pass, before);

		if (token->batch != earliest)
			loader_push(l, token, at->number);
		token->batch = earliest;
		if (!await_extent(l, at, order, position, batch, token, &awaited))
			return false;
		loader_start(l, at, order, position, batch);
		if (reader_does_io(l->reader) || loader_preprocesses(job))
			push_ready(l, at, token);
		if (!loader_finish(l, token))
			return false;
		if (job->deterministic)
			interleave_deliver(l, at, order, position);
	}
	push_ready(l, at, token);
	return true;
}

/* The first extent of a loader may lie after the last batch. Any loader may have some extents of
 * uneven files. */
static bool has_file(const struct loader *l, const struct pass *p)
{
	struct sampler_epoch order;

	if (p->sampler.is_uneven)
		return true;
	sampler_epoch(&order, &p->sampler, 0);
	return sampler_has_file(&order, l->rank->index, l->index);
}

static void tfdata_work(struct loader *l)
{
	const struct train *t = l->rank->train;
	struct stage at = stage_first(&t->stages);
	uint64_t threads = job_read_threads(t->job);
	struct sampler_epoch order;

	if (has_none(l, has_file)) {
		loader_await(l, UINT64_MAX); /* fewer files than workers */
		return;
	}
	sampler_epoch(&order, &at.pass->sampler, at.epoch);
	for (;; loader_next_stage(l, &at, &order)) {
		struct token token = { 0 };

		if ((at.pass->sampler.is_uneven || !has_file(l, at.pass)) &&
		    !loader_await(l, at.first_batch))
			return;
		for (uint64_t f = l->index; sampler_has_file(&order, l->rank->index, f);
		     f += threads)
			if (!read_file(l, &at, &order, f, &token))
				return;
		loader_push(l, &token, at.number);
	}
}

/* Batches that are being decoded are included: they are about to be prefetched. */
static uint64_t tfdata_prefetch(const struct job *job)
{
	return job->prefetch + (job_decodes_batches(job) ? job->decode_threads : 0);
}

/* A shuffle buffer is filled before its first batch, with at most one epoch. */
static uint64_t tfdata_window(const struct job *job, const struct pass *pass)
{
	uint64_t batch = pass->sampler.batch;
	uint64_t samples =
		u64_min(pass_shuffle_buffer(job, pass), sampler_rank_samples(&pass->sampler));

	return tfdata_prefetch(job) + (samples + batch - 1) / batch;
}

/* An ordered loader has one token for each batch of this stage and the next ones; the first token
 * of a stage covers the samples in the buffer. Extents read ahead within a file add to that. */
static uint64_t tfdata_tokens(const struct job *job, const struct pass *pass)
{
	uint64_t stages = pass->window / pass->sampler.steps + 2;

	if (!job->deterministic)
		return any_tokens(job, pass);
	return 2 * (tfdata_prefetch(job) + stages) + interleave_extents(&pass->sampler);
}

static const struct loader_model models[] = {
	[LOADER_PYTORCH] = { .work = pytorch_work,
			     .collect = pytorch_collect,
			     .window = pytorch_window,
			     .tokens = pytorch_tokens },
	[LOADER_TFDATA] = { .work = tfdata_work,
			    .collect = any_collect,
			    .window = tfdata_window,
			    .tokens = tfdata_tokens,
			    .runs_on = true },
	[LOADER_PLAIN] = { .work = plain_work,
			   .collect = any_collect,
			   .window = plain_window,
			   .tokens = any_tokens },
};

static const struct loader_model main_model = {
	.collect = main_collect,
	.window = main_window,
	.tokens = pytorch_tokens,
};

const struct loader_model *loader_model(const struct job *job)
{
	return job->read_threads ? &models[job->loader] : &main_model;
}

uint64_t loader_extents_beyond(const struct job *job, const struct pass *pass)
{
	if (!job_interleaves(job))
		return 0;
	return u64_min(job_read_threads(job), pass->sampler.rank_files) *
	       interleave_extents(&pass->sampler);
}

uint64_t loader_ring_tokens(const struct job *job, const struct stages *s)
{
	const struct loader_model *model = loader_model(job);
	uint64_t train = model->tokens(job, &s->train);
	uint64_t eval = s->has_eval ? model->tokens(job, &s->eval) : 0;

	return train > eval ? train : eval;
}
