/* SPDX-License-Identifier: Apache-2.0 */
/* trace_phase.h - which part of a run holds at a time, by the markers of its epochs, stages and
 * checkpoints. */
#pragma once

#include "trace/trace.h"

/*
 * Of a checkpoint, or a stage, its name; of several the one that began last. Where neither holds,
 * the number of the epoch. Markers of several ranks that say the same are one. A marker whose end
 * was not seen holds to the end.
 */
enum { TRACE_PHASES = 64 }; /* at one time; of more the last to end count */

struct trace_phase {
	uint64_t start_ns, end_ns;
	uint64_t number;
	uint32_t file;
	uint16_t op;
};

struct trace_phases {
	struct trace_phase held[TRACE_PHASES];
	unsigned count;
	uint64_t until_ns; /* the first of them ends */
	const struct trace_phase *now;
};

/* Was the end of the marker not seen? */
bool trace_phase_is_open(const struct trace_record *marker);

/*
 * Records come by their start, of the same one phases first (trace_sort.h). What holds at this
 * one's start, markers among them; NULL = nothing does. Until the next call. A zeroed struct has
 * seen none.
 */
const struct trace_phase *trace_phase_at(struct trace_phases *p, const struct trace_record *r);
