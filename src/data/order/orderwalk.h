/* SPDX-License-Identifier: Apache-2.0 */
/* orderwalk.h - the accesses of an epoch in the order of the plan: step by step, rank by rank. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/order/sampler.h"

/*
 * What ranks read at the same time has no order in a run; in that of the plan the first batch of
 * each rank comes before the second of any. Whoever decides by this order decides the same in each
 * run.
 */
struct orderwalk_at {
	uint64_t rank, step, position;
	uint64_t extent; /* its id */
};

struct orderwalk {
	const struct sampler *sampler;
	uint64_t first_rank, end_rank; /* only these ranks */
	/* Of the batch at hand: its end, and where it is. */
	uint64_t rank, step, position, end;
	/* One a rank: where extents differ, it is kept how far one has come. */
	struct sampler_epoch *orders;
};

/* To the beginning of an epoch (from 0); what `w` held is not looked at. */
void orderwalk_begin(struct orderwalk *w, const struct sampler *s, uint64_t first_rank,
		     uint64_t end_rank, uint64_t epoch);

/* The next access; false: the epoch is over. */
bool orderwalk_next(struct orderwalk *w, struct orderwalk_at *at);

/* At any time after orderwalk_begin; takes a zeroed struct. */
void orderwalk_end(struct orderwalk *w);
