/* SPDX-License-Identifier: Apache-2.0 */
/* sampler_uneven.c - files in order that have different numbers of samples. */
#include "data/order/order_internal.h"

#include "base/bisect.h"
#include "base/util.h"

/*
 * Files stand in rounds of as many as are read side by side (one, without lanes). A rank whose
 * files are over before its epoch is begins again with its first round; the last round of a turn
 * through them may have fewer files, and what is missing counts as files without a sample. So where
 * a file begins follows from the files before it, and what is kept is the round that was asked for
 * last: who reads goes on from there, which is a step or none.
 */

static uint64_t files_of_rank(const struct sampler *s)
{
	return sampler_shards_files(s) ? s->rank_files : s->dataset->files;
}

static uint64_t width_of(const struct sampler *s)
{
	return s->lanes ? s->lanes : 1;
}

/* Of the dataset, or its number of files: there is none. */
static uint64_t file_at(const struct sampler_epoch *e, uint64_t rank, uint64_t file)
{
	const struct sampler *s = e->sampler;
	uint64_t files = files_of_rank(s);

	file %= u64_max(round_up(files, width_of(s)), 1);
	if (file >= files)
		return s->dataset->files;
	if (sampler_shards_files(s))
		file = sampler_file_index(s, rank, file);
	return s->shuffle == SHUFFLE_FILE ? perm_at(&e->perm, file) : file;
}

uint64_t sampler_uneven_extents(const struct sampler_epoch *e, uint64_t rank, uint64_t file)
{
	const struct dataset *ds = e->sampler->dataset;
	uint64_t at = file_at(e, rank, file);

	return at < ds->files ? dataset_first_extent(ds, at + 1) - dataset_first_extent(ds, at) : 0;
}

/* Of a lane of the round at hand. */
static uint64_t lane_extents(const struct sampler_epoch *e, uint64_t lane)
{
	const struct sampler_round *r = &e->round;

	return lane < SAMPLER_ROUND_LANES
		       ? r->extents[lane]
		       : sampler_uneven_extents(e, r->rank,
						r->number * width_of(e->sampler) + lane);
}

static uint64_t round_extents(const struct sampler_epoch *e)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < width_of(e->sampler); i++)
		sum += lane_extents(e, i);
	return sum;
}

static void look_at_round(struct sampler_epoch *e, uint64_t number)
{
	uint64_t width = width_of(e->sampler);

	e->round.number = number;
	for (uint64_t i = 0; i < width && i < SAMPLER_ROUND_LANES; i++)
		e->round.extents[i] = sampler_uneven_extents(e, e->round.rank, number * width + i);
	e->round.end = e->round.start + round_extents(e);
}

static void next_round(struct sampler_epoch *e)
{
	e->round.start = e->round.end;
	look_at_round(e, e->round.number + 1);
}

static void round_before(struct sampler_epoch *e)
{
	uint64_t start = e->round.start;

	e->round.start = 0;
	look_at_round(e, e->round.number - 1);
	e->round.start = start - e->round.end;
	e->round.end = start;
}

static void take_rank(struct sampler_epoch *e, uint64_t rank)
{
	if (e->round.is_known && e->round.rank == rank)
		return;
	e->round = (struct sampler_round){ .is_known = true, .rank = rank };
	look_at_round(e, 0);
}

static void turn_to_round(struct sampler_epoch *e, uint64_t rank, uint64_t number)
{
	take_rank(e, rank);
	while (e->round.number < number)
		next_round(e);
	while (e->round.number > number)
		round_before(e);
}

/* Of the round at hand: so many of each lane. */
static uint64_t rows(const struct sampler_epoch *e, uint64_t row)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < width_of(e->sampler); i++)
		sum += u64_min(lane_extents(e, i), row);
	return sum;
}

/* The last row that begins at `at` or before it. */
static uint64_t row_of(const struct sampler_epoch *e, uint64_t at)
{
	return BISECT(row, 1, at + 1, rows(e, row) > at) - 1;
}

struct sampler_lane sampler_uneven_at(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	uint64_t width = width_of(e->sampler), lane = 0, at;
	struct sampler_lane found = { .lanes = width };

	take_rank(e, rank);
	while (position >= e->round.end)
		next_round(e);
	while (position < e->round.start)
		round_before(e);
	at = position - e->round.start;
	found.extent = width == 1 ? at : row_of(e, at);
	at -= width == 1 ? at : rows(e, found.extent);
	/* The one that is so many behind the first of those that go on. */
	while (lane_extents(e, lane) <= found.extent || at-- > 0)
		lane++;
	found.file = e->round.number * width + lane;
	return found;
}

uint64_t sampler_uneven_position(struct sampler_epoch *e, uint64_t rank, uint64_t file,
				 uint64_t extent)
{
	uint64_t width = width_of(e->sampler), at;

	turn_to_round(e, rank, file / width);
	at = e->round.start + rows(e, extent);
	for (uint64_t i = 0; i < file % width; i++)
		at += lane_extents(e, i) > extent;
	return at;
}

uint64_t sampler_uneven_id(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	struct sampler_lane lane = sampler_uneven_at(e, rank, position);
	uint64_t file = file_at(e, rank, lane.file);

	return dataset_first_extent(e->sampler->dataset, file) + lane.extent;
}
