/* SPDX-License-Identifier: Apache-2.0 */
/* rankreads.h - when samples were read, rank by rank: of a training's visits what pulse.h looks
 * at. */
#pragma once

#include "distil/distil_inside.h"
#include "distil/pulse.h"

/* All ranks do the same: of many some are looked at, and of these so many reads. */
enum { RANKS_LOOKED_AT = 16, RANKREADS_MOST = 1 << 20 };

struct rank_reads {
	struct pulse_read *at;
	size_t count, room;
	uint32_t rank;
	uint32_t workers; /* numbers that are in use */
	uint32_t *task;   /* of each: the first that has it */
	uint64_t visits;  /* of all, and their bytes */
	uint64_t bytes, call_ns;
	uint64_t cpu_visits, cpu_ns; /* those of which it is known */
	uint64_t by_rank;            /* of all: by the rank itself */
};

struct rankreads {
	struct rank_reads *rank; /* of those that are looked at */
	uint32_t count;
	uint32_t ranks;    /* that read; 1 at least where there are visits */
	uint64_t visits;   /* of all ranks */
	uint64_t left_out; /* of no rank */
};

/* Visits of samples of a party in stages of this kind. 0, or -errno as visits_next; to be given
 * back by rankreads_fini in any case. */
int rankreads_of(struct rankreads *r, const struct distil *d, uint32_t party, enum stage_kind kind,
		 struct mlgen_err *err);
void rankreads_fini(struct rankreads *r);

/* Is it a visit that reads a sample of the party, in such a stage? */
bool rankreads_is_sample(const struct distil *d, const struct visit *x, uint32_t party,
			 enum stage_kind kind);
