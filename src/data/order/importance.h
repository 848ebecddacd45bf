/* SPDX-License-Identifier: Apache-2.0 */
/* importance.h - an order by what samples' losses were: shuffle=importance. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/dist.h"
#include "data/order/sampler.h"
#include "job/job.h"

/*
 * SHADE's rules (R. I. S. Khan et al., FAST '23; as its code has them, not as it numbers batches):
 * an epoch's order is drawn with replacement by weights that follow from the losses of the epochs
 * before. Losses are played: the difficulty of a sample, drawn once, times what is left of it after
 * so many epochs.
 *
 * Every rank draws for itself, by weights that all share: so a process draws for its own ranks
 * alone, as long as it hears what all were trained on.
 *
 * Memory: at most 16 bytes an extent, once a process. Written at the epoch's barrier alone
 * (importance_trained, importance_draw, by one thread), read by all threads between two of them.
 */
struct importance;

struct importance_config {
	uint64_t extents, rank_extents; /* of a rank's epoch */
	struct sampler_ranks known;     /* that are drawn here */
	uint64_t seed;
	bool is_aggressive; /* PADS */
	double rep;         /* how often a hit is repeated; of hits_first */
	bool hits_first;
	struct dist difficulty, decay;
};

/* Of a job and the sampler of its training. */
struct importance_config importance_config(const struct job *job, const struct sampler *sampler);

/* Is the extent in the rank's cache? NULL = there is none. */
typedef bool importance_has(const void *cache, uint64_t rank, uint64_t extent);

int importance_new(struct importance **out, const struct importance_config *cfg,
		   struct mlgen_err *err);
void importance_free(struct importance *im); /* NULL is fine */
uint64_t importance_state_bytes(const struct importance_config *cfg);

/* The order of an epoch (from 0), drawn by what is known of those before. */
void importance_draw(struct importance *im, uint64_t epoch, importance_has *has, const void *cache);

/* The extent at a rank's position of the epoch that was drawn last; of a rank that is known
 * here. */
uint64_t importance_at(const struct importance *im, uint64_t rank, uint64_t position);

/* A rank, known here or not, has computed on this batch of that epoch: losses become weights. In
 * the order of the plan. */
void importance_trained(struct importance *im, uint64_t epoch, const uint64_t *extents,
			unsigned count);

/* Weight of an extent in the epoch at hand. */
double importance_weight(const struct importance *im, uint64_t extent);
