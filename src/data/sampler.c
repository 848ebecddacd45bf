/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - the order of an epoch and the part of each rank. */
#include "data/sampler.h"

#include <string.h>

/* drop_last: the first extent of a shard of floor or ceil(N / ranks). */
static uint64_t shard_start(const struct sampler *s, uint64_t rank)
{
	uint64_t rest = s->extents % s->ranks;

	return rank * (s->extents / s->ranks) + (rank < rest ? rank : rest);
}

/* Where in the order of the epoch a rank's position lies. */
static uint64_t order_index(const struct sampler *s, uint64_t rank,
			    uint64_t position)
{
	uint64_t at;

	if (s->shard == SHARD_STRIDED)
		at = position * s->ranks + rank;
	else if (s->drop_last)
		at = shard_start(s, rank) + position;
	else
		at = rank * s->rank_extents + position;
	/* Padding repeats the order from its start. */
	return at < s->extents ? at : at % s->extents;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

int sampler_init(struct sampler *s, const struct job *job,
		 const struct dataset *ds, uint64_t ranks,
		 struct mlgen_err *err)
{
	int r = dataset_check_ranks(ds, job, ranks, err);

	memset(s, 0, sizeof(*s));
	if (r)
		return r;
	s->dataset = ds;
	s->shuffle = (enum job_shuffle)job->shuffle;
	s->shard = (enum job_shard)job->shard;
	s->drop_last = job->drop_last;
	s->seed = job->randseed;
	s->extents = dataset_extents(ds);
	s->ranks = ranks;
	s->batch = job->batch_size;
	if (s->drop_last) {
		s->steps = s->extents / s->batch / ranks;
		s->rank_extents = s->steps * s->batch;
	} else {
		s->rank_extents = divide_up(s->extents, ranks);
		s->steps = divide_up(s->rank_extents, s->batch);
	}
	s->is_whole = s->rank_extents * ranks == s->extents;
	return 0;
}

void sampler_epoch(struct sampler_epoch *e, const struct sampler *s,
		   uint64_t epoch)
{
	memset(e, 0, sizeof(*e));
	e->sampler = s;
	if (s->shuffle == SHUFFLE_SAMPLE)
		perm_init(&e->perm, s->extents, s->seed, epoch);
	else if (s->shuffle == SHUFFLE_FILE)
		perm_init(&e->perm, s->dataset->files, s->seed, epoch);
}

uint64_t sampler_at(const struct sampler_epoch *e, uint64_t rank,
		    uint64_t position)
{
	const struct sampler *s = e->sampler;
	uint64_t at = order_index(s, rank, position);
	uint64_t per_file = s->extents / s->dataset->files;

	switch (s->shuffle) {
	case SHUFFLE_SAMPLE:
		return perm_at(&e->perm, at);
	case SHUFFLE_FILE:
		return perm_at(&e->perm, at / per_file) * per_file +
		       at % per_file;
	case SHUFFLE_NONE:
		break;
	}
	return at;
}

uint64_t sampler_batch_samples(const struct sampler *s, uint64_t step)
{
	uint64_t before = step * s->batch;
	uint64_t left = s->rank_extents - before;

	return left < s->batch ? left : s->batch;
}
