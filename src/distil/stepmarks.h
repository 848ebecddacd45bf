/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks.h - what markers say of steps. */
#pragma once

#include "distil/distil_inside.h"

struct stepmarks {
	VEC(double) compute_ns; /* sorted: what accelerators computed, at most ... */
	uint64_t steps;         /* that were marked */
	uint64_t samples;       /* of most of them; 0 = not said */
	uint64_t votes;
	uint32_t ranks;
};

enum { STEPMARKS_MOST = 1 << 16 };

/* Steps of a party that are of an evaluation, or those that are of none. 0, or -errno with err: as
 * trace_reader_open. To be given back in any case. */
int stepmarks_read(struct stepmarks *m, const struct distil *d, uint32_t party, bool is_eval,
		   struct mlgen_err *err);
void stepmarks_fini(struct stepmarks *m);
