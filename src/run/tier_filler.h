/* SPDX-License-Identifier: Apache-2.0 */
/* tier_filler.h - what loaders have missed is kept behind them: a thread, and a bounded queue
 * (cache_fill=async). */
#pragma once

#include "run/tier_inside.h"

/*
 * A queue of places, each with memory for a unit (tier_filler_places). A loader that has read one
 * looks for a place that is free, leaves its memory there and takes that of the place: nobody
 * waits, and where none is free the fill is dropped.
 */
struct tier_filler;

int tier_filler_new(struct tier_cache *c, struct mlgen_err *err);
void tier_filler_free(struct tier_filler *f); /* NULL is fine */

int tier_filler_start(struct tier_filler *f, struct mlgen_err *err);
/* What is in the queue is still kept; then it is joined. 0, or -errno with err: what it has met. */
int tier_filler_end(struct tier_filler *f, struct mlgen_err *err);

/* By a loader: is there a free place? Then the unit in w->memory is its, and w->memory is other
 * memory. */
bool tier_filler_give(struct tier_filler *f, struct tier_way *w);

/* How many units may wait: cache_queue, but where that is the default no more than 1 GiB of the
 * largest ones, or two. */
uint64_t tier_filler_places(const struct job *j, uint64_t slot_bytes);

/* tier_directory.c, for the filler: the pieces by which w->memory is kept; and behind them. */
void tier_directory_fill(struct tier_way *w);
int tier_directory_filled(struct tier_way *w, const struct read_task *task, struct mlgen_err *err);
