/* SPDX-License-Identifier: Apache-2.0 */
/* loader_models.c - who reads which batch, and how far ahead: a row for each loader model. */
#include "work/train/pipeline/pipeline_internal.h"

#include "base/util.h"
#include "run/read/read.h"

/* What an extent waits for. */
struct interleave_turn {
	uint64_t batch;     /* of the stage: that may be read */
	uint64_t delivered; /* extents, of all stages */
};

/* Of a file: it was opened when the one that its thread had before was delivered, with all that was
 * read beside that. */
static void turn_of_file(struct interleave_turn *turn, struct sampler_epoch *order, uint64_t rank,
			 uint64_t round)
{
	const struct sampler *s = order->sampler;
	uint64_t before = round < JOB_INTERLEAVE_THREADS ? 0 : round - JOB_INTERLEAVE_THREADS + 1;

	turn->delivered = sampler_lane_position(order, rank, before * s->lanes, 0);
	turn->batch = sampler_batch_of(order, rank, turn->delivered);
}

/* An extent of unequal ones counts as one record, which is large. */
static uint64_t extent_records(const struct sampler *s)
{
	return s->is_sized ? 1 : s->extent_samples;
}

static uint64_t records_ahead(const struct sampler *s)
{
	return s->is_sized ? 1 : INTERLEAVE_RECORDS;
}

/* Of uneven files each extent is a record, and each lane has its own turn. */
static void turn_of_uneven(struct interleave_turn *turn, struct sampler_epoch *order, uint64_t rank,
			   uint64_t file, uint64_t record)
{
	uint64_t at = sampler_lane_position(order, rank, file, record);

	turn->delivered = at + 1;
	turn->batch = sampler_batch_of(order, rank, at);
}

/* Within a file: `record` of it was delivered, a record of each lane in turn, so that all lanes
 * have the extents before it. */
static void turn_of_record(struct interleave_turn *turn, const struct sampler *s,
			   const struct sampler_lane *at, uint64_t record)
{
	uint64_t lane = at->file % s->lanes;
	uint64_t row = record / s->extent_samples;
	uint64_t begin = (at->file - lane) * s->file_extents;
	bool is_first = record % s->extent_samples == 0;

	turn->delivered = begin + row * at->lanes + (is_first ? lane + 1 : at->lanes);
	turn->batch = (begin * s->extent_samples + record * at->lanes + lane) / s->batch;
}

/* For what is at this position of a stage. */
static void interleave_turn(struct interleave_turn *turn, const struct stage *at,
			    struct sampler_epoch *order, uint64_t rank, uint64_t position)
{
	const struct sampler *s = &at->pass->sampler;
	struct sampler_lane lane = sampler_lane_at(order, rank, position);
	uint64_t record = lane.extent * extent_records(s);
	uint64_t ahead = records_ahead(s);

	if (record < ahead)
		turn_of_file(turn, order, rank, lane.file / s->lanes);
	else if (s->is_uneven)
		turn_of_uneven(turn, order, rank, lane.file, record - ahead);
	else
		turn_of_record(turn, s, &lane, record - ahead);
	turn->delivered += at->first_extent;
}

/* Extents of one file that a thread may have read beyond what was delivered. */
static uint64_t interleave_extents(const struct sampler *s)
{
	if (s->is_sized)
		return records_ahead(s);
	return u64_min(divide_up(INTERLEAVE_RECORDS, s->extent_samples), s->file_extents);
}

static struct loader *loader_of(const struct rank *r, uint64_t file)
{
	return &r->loaders[file % job_read_threads(r->train->job)];
}

static void call(struct loader *l, uint64_t delivered)
{
	if (atomic_load(&l->needs) <= delivered)
		bell_ring(&l->go, l->rank->train->clock);
}

/* Those that waited for what was at `at`, before which so many extents were delivered with it: its
 * own thread, or those of all files beside it. */
static void call_row(const struct rank *r, const struct sampler *s, const struct sampler_lane *at,
		     uint64_t delivered)
{
	uint64_t lane = at->file % s->lanes;

	if (records_ahead(s) % extent_records(s) == 0)
		call(loader_of(r, at->file), delivered);
	if (lane + 1 < at->lanes && !s->is_uneven)
		return;
	for (uint64_t i = 0; i < at->lanes; i++)
		call(loader_of(r, at->file - lane + i), delivered);
}

static void call_all(const struct rank *r, uint64_t delivered)
{
	uint64_t threads = job_read_threads(r->train->job);

	for (uint64_t i = 0; i < threads; i++)
		call(&r->loaders[i], delivered);
}

/* By the loader: it has read what is at this position of a stage. Wakes those whose turn it is. */
/*
 * Whoever has read what is next delivers it, and what is behind it as far as others have read that.
 * One of two sees the other: a loader says what it has read before it looks at what was delivered,
 * and here `delivered` is moved before the next loader is looked at.
 */
static void interleave_deliver(struct loader *l, const struct stage *at,
			       struct sampler_epoch *order, uint64_t position)
{
	struct rank *r = l->rank;
	const struct sampler *s = &at->pass->sampler;
	uint64_t next = at->first_extent + position;

	atomic_store(&l->reached, next + 1);
	if (atomic_load(&r->delivered) != next)
		return;
	while (sampler_has(order, r->index, next - at->first_extent)) {
		struct sampler_lane lane =
			sampler_lane_at(order, r->index, next - at->first_extent);

		if (atomic_load(&loader_of(r, lane.file)->reached) <= next ||
		    !atomic_compare_exchange_strong(&r->delivered, &next, next + 1))
			return;
		next++;
		call_row(r, s, &lane, next);
	}
	call_all(r, next);
}

/* pytorch: one worker reads a whole batch, its samples one after the other. */
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

/* In no stage there is anything to read for this loader. */
static bool has_none(const struct loader *l,
		     bool (*has)(const struct loader *l, const struct pass *p))
{
	const struct stages *s = &l->rank->train->stages;

	return !has(l, &s->train) && !(s->has_eval && has(l, &s->eval));
}

/* Batch k of a stage is worker (k mod W)'s. False: the run is over. */
static bool read_stage(struct loader *l, const struct stage *at)
{
	const struct sampler *s = &at->pass->sampler;
	struct sampler_epoch order;

	if (!has_batch(l, at->pass) && !loader_await(l, at->first_batch))
		return false;
	sampler_epoch(&order, s, at->epoch);
	for (uint64_t b = l->index; b < s->steps; b += l->rank->train->job->read_threads)
		if (!loader_await(l, at->first_batch + b) || !read_batch(l, at, &order, b))
			return false;
	return true;
}

static void pytorch_work(struct loader *l)
{
	const struct train *t = l->rank->train;

	if (has_none(l, has_batch)) {
		loader_await(l, UINT64_MAX); /* fewer batches than workers */
		return;
	}
	if (l->next.number == 0)
		l->next = stage_first(&t->stages);
	do {
		if (loader_begins_anew(t->job) && !loader_anew_begin(l))
			return;
		if (!read_stage(l, &l->next))
			return;
		stage_next(&t->stages, &l->next);
	} while (!loader_begins_anew(t->job));
	l->goes_on = true;
}

static void pytorch_collect(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need)
{
	uint64_t w = batch % r->train->job->read_threads;
	struct token t;

	while (r->have.samples < need && ring_pop(r->loaders[w].ring, at->number, batch, &t))
		token_add(&r->have, &t);
}

static uint64_t pytorch_window(const struct job *job, const struct pass *pass)
{
	(void)pass;
	return job->read_threads * job->prefetch;
}

/* One for each of a worker's batches. */
static uint64_t pytorch_tokens(const struct job *job, const struct pass *pass)
{
	return pass->window / job_readers(job) + 1;
}

/* pytorch without workers: the main process reads a batch when it needs one. */
static void main_collect(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need)
{
	struct loader *l = &r->loaders[0];
	struct token t;
	bool is_first = at->number == 0 && batch == 0;

	if (r->have.samples >= need || train_is_cut(r->train))
		return;
	loader_begin_turn(l);
	if (l->order_number != at->number + 1)
		sampler_epoch(&l->order, &at->pass->sampler, at->epoch);
	l->order_number = at->number + 1;
	if (!is_first || loader_read_indexes(l))
		read_batch(l, at, &l->order, batch);
	loader_end_turn(l);
	while (ring_pop(l->ring, at->number, batch, &t))
		token_add(&r->have, &t);
}

static uint64_t main_window(const struct job *job, const struct pass *pass)
{
	(void)job;
	(void)pass;
	return 1; /* the one that is being read */
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

/* From any of them. */
static void any_collect(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need)
{
	struct token t;
	uint64_t threads = job_read_threads(r->train->job);

	for (uint64_t w = 0; w < threads; w++)
		while (r->have.samples < need &&
		       ring_pop(r->loaders[w].ring, at->number, batch, &t))
			token_add(&r->have, &t);
}

static uint64_t plain_window(const struct job *job, const struct pass *pass)
{
	(void)pass;
	return job->prefetch;
}

/* One loader can read all that is ahead, and push each extent; a full ring merges those of a
 * stage. */
static uint64_t any_tokens(const struct job *job, const struct pass *pass)
{
	const struct sampler *s = &pass->sampler;
	uint64_t stages = pass->window / s->steps + 2;
	uint64_t extents = s->batch / s->extent_samples + 2;
	uint64_t most = pass->window * extents + 1;

	(void)job;
	/* Extents that differ may all be the smallest ones. */
	return s->is_sized ? RING_TOKENS + stages : u64_min(most, RING_TOKENS + stages);
}

/* tfdata: each loader reads files of its own from front to back, in order as far as
 * pipeline_internal.h lets it. */

/* The first batch that an extent can be in, which has so many samples before it: in order that of
 * its place, less what a buffer that shuffles has to hold before it. */
static uint64_t earliest_batch(const struct loader *l, const struct pass *pass, uint64_t samples)
{
	const struct job *job = l->rank->train->job;
	uint64_t buffer = pass_shuffle_buffer(job, pass);

	if (!job->deterministic || samples < buffer)
		return 0;
	return (samples - buffer) / pass->sampler.batch;
}

/* In order nobody can use a part of what a loader has for a batch. Else what is ready goes out
 * before anybody could wait for it. */
static void push_ready(struct loader *l, const struct stage *at, struct token *token)
{
	if (!l->rank->train->job->deterministic)
		loader_push(l, token, at->number);
}

static void turn_to_batch(struct loader *l, const struct stage *at, struct token *token,
			  uint64_t batch)
{
	if (token->batch != batch)
		loader_push(l, token, at->number);
	token->batch = batch;
}

static bool read_forward(struct loader *l, const struct stage *at, struct sampler_epoch *order,
			 uint64_t position, uint64_t batch, struct token *token)
{
	loader_start(l, at, order, position, batch);
	if (reader_does_io(l->reader) || loader_preprocesses(l->rank->train->job))
		push_ready(l, at, token);
	return loader_finish(l, token);
}

/* Has the batch of an extent been asked for? And in order, may the extent be begun? `awaited` is
 * the last batch of the stage that was waited for. */
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

		turn_to_batch(l, at, token, earliest_batch(l, at->pass, before));
		if (!await_extent(l, at, order, position, batch, token, &awaited) ||
		    !read_forward(l, at, order, position, batch, token))
			return false;
		if (job->deterministic)
			interleave_deliver(l, at, order, position);
	}
	push_ready(l, at, token);
	return true;
}

/* Its first extent may lie behind the last batch; of uneven files anyone may have some. */
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
		const struct sampler *s = &at.pass->sampler;
		struct token token = { 0 };

		if ((s->is_uneven || !has_file(l, at.pass)) && !loader_await(l, at.first_batch))
			return;
		for (uint64_t f = l->index; sampler_has_file(&order, l->rank->index, f);
		     f += threads)
			if (!read_file(l, &at, &order, f, &token))
				return;
		loader_push(l, &token, at.number);
	}
}

/* What is being decoded is on its way to what is prefetched. */
static uint64_t tfdata_prefetch(const struct job *job)
{
	return job->prefetch + (job_decodes_batches(job) ? job->decode_threads : 0);
}

/* A buffer that shuffles is filled before its first batch, with no more than an epoch. */
static uint64_t tfdata_window(const struct job *job, const struct pass *pass)
{
	uint64_t batch = pass->sampler.batch;
	uint64_t samples =
		u64_min(pass_shuffle_buffer(job, pass), sampler_rank_samples(&pass->sampler));

	return tfdata_prefetch(job) + (samples + batch - 1) / batch;
}

/* In order a loader has one token for each batch, the first of a stage with all that the buffer
 * holds: of the stage at hand, and of those behind it; and what it has read of a file beyond
 * that. */
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
