/* SPDX-License-Identifier: Apache-2.0 */
/* tier_ahead.h - samples that are brought into a cache tier ahead of their batch
 * (cache_prefetch). */
#pragma once

#include "run/tier_inside.h"

/*
 * As NoPFS does by the order that it knows (N. Dryden et al., SC '21): what is read so many samples
 * behind what is decided is accessed for its policy now, and where it was not there threads of the
 * tier read it from storage into its slot. When its batch comes it is a hit; a late one, where they
 * were not as fast.
 *
 * Orders that follow from the epoch before are known to its end only.
 */
struct tier_ahead;

struct tier_ahead *tier_ahead_new(struct tier_cache *c);
void tier_ahead_free(struct tier_ahead *a); /* NULL is fine */
uint64_t tier_ahead_threads(const struct job *job, uint64_t ranks);

/* Under the cache's lock: an epoch begins; and before each access is decided. */
void tier_ahead_begin(struct tier_ahead *a, uint64_t epoch);
void tier_ahead_go_on(struct tier_ahead *a);

/* Around the training's threads. 0, or -errno with err. */
int tier_ahead_start(struct tier_ahead *a, struct mlgen_err *err);
int tier_ahead_end(struct tier_ahead *a, struct mlgen_err *err);
