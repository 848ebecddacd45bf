/* SPDX-License-Identifier: Apache-2.0 */
/* cacheshare.h - how much of a data set a cache holds, and how often that is a hit. */
#pragma once

#include <stdint.h>

#include "data/file/dataset.h"
#include "job/job.h"

/* cache_size of each cache, of this data set, as samples are kept: stored_bytes of it before they
 * are decoded (tier_stored_bytes). */
struct cacheshare {
	uint64_t bytes;    /* UINT64_MAX = it is counted in samples */
	uint64_t samples;  /* UINT64_MAX = by bytes */
	double held_bytes; /* of kept samples when it is full; never more than
			      the data set has of them */
	double share;      /* of the data set's samples, 0 to 1 */
	double asked;      /* the same, and above 1 where it is larger */
};
void cacheshare_of(struct cacheshare *c, const struct job *j, const struct dataset *ds,
		   uint64_t stored_bytes);

/*
 * Hit ratio from the second epoch on of a cache that holds this share of the samples, where each
 * epoch is a fresh permutation: the share itself for what never goes (minio, hot), and for lru and
 * random what DESIGN.md derives. NaN = the policy has no closed form, or the share is not between 0
 * and 1.
 */
double cacheshare_hits(enum job_cache policy, double share);

/* The other way round: the share that has this hit ratio. NaN likewise. */
double cacheshare_for(enum job_cache policy, double hit_ratio);

/* Is the job's tier one of which these speak: a fresh permutation each epoch, of whole samples, one
 * at a time, and nothing that changes what is a hit? */
bool cacheshare_holds_for(const struct job *j);
