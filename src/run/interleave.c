/* SPDX-License-Identifier: Apache-2.0 */
/* interleave.c - see interleave.h. */
#include "run/interleave.h"

#include "base/util.h"

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

void interleave_turn(struct interleave_turn *turn, const struct stage *at,
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

uint64_t interleave_extents(const struct sampler *s)
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

/*
 * Whoever has read what is next delivers it, and what is behind it as far as others have read that.
 * One of two sees the other: a loader says what it has read before it looks at what was delivered,
 * and here `delivered` is moved before the next loader is looked at.
 */
void interleave_deliver(struct loader *l, const struct stage *at, struct sampler_epoch *order,
			uint64_t position)
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
