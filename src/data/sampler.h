/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - which extent is read next: a pure function of (seed, epoch, rank, position). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/perm.h"
#include "data/dataset.h"

/*
 * The order of an epoch is a permutation of all extents (shuffle=sample), of
 * the files with their extents in order (shuffle=file), or none; a shard cuts
 * that order among the ranks: strided (rank r takes r, r+P, ...) or
 * contiguous. With drop_last every rank has floor(N / (P x batch)) full
 * batches; without, the order is padded by repetition from its start to
 * ceil(N / P) for each rank, as PyTorch's DistributedSampler does, and the
 * last batch is short. Read-only after init, shared by all threads.
 */
struct sampler {
	const struct dataset *dataset;
	enum job_shuffle shuffle;
	enum job_shard shard;
	bool drop_last;
	uint64_t seed;
	uint64_t extents, ranks, batch;
	uint64_t rank_extents; /* each rank reads so many per epoch */
	uint64_t steps;        /* per epoch, the same for every rank */
	bool is_whole;         /* an epoch reads every extent exactly once */
};

/* The order of one epoch; a private copy per thread. */
struct sampler_epoch {
	const struct sampler *sampler;
	struct perm perm;
};

int sampler_init(struct sampler *s, const struct job *job,
		 const struct dataset *ds, uint64_t ranks,
		 struct mlgen_err *err);
void sampler_epoch(struct sampler_epoch *e, const struct sampler *s,
		   uint64_t epoch);

/* The id of the extent at `position` (< rank_extents) of a rank's order. */
uint64_t sampler_at(const struct sampler_epoch *e, uint64_t rank,
		    uint64_t position);

/* Samples in batch `step` (< steps) of a rank: `batch`, or fewer in a last one. */
uint64_t sampler_batch_samples(const struct sampler *s, uint64_t step);
