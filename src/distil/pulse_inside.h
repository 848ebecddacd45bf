/* SPDX-License-Identifier: Apache-2.0 */
/* pulse_inside.h - batches of a rank as they were read; for pulse*.c alone. */
#pragma once

#include <stdbool.h>

#include "distil/pulse.h"

/* What a thread needs to be woken, and then some. */
#define WAKE_NS 150e3

/* Of one worker, or of all together. */
struct pulse_batch {
	uint64_t start_ns, end_ns;
	double pause_ns; /* before it; NaN = it is the first of its readers */
	uint32_t reads;
	uint32_t epoch, worker, row; /* the row-th of the worker in the epoch */
	uint64_t number;             /* in the epoch, as the rank takes them */
	bool is_idle;                /* the pause is longer than in a batch */
};

/* Gaps of reads, as long as they are looked at. */
struct pulse_gaps {
	struct spaced *by_worker, *by_rank; /* as many as reads, positions
					     * in the epoch */
};

void pulse_measure_gaps(struct pulse_gaps *g, const struct pulse_read *reads, size_t count,
			uint32_t workers);
/* The batches of all epochs, by epoch and number; how many. */
size_t pulse_batches(struct pulse *p, const struct pulse_read *reads, const struct pulse_gaps *gaps,
		     size_t count, uint32_t workers, struct pulse_batch **to);
/* window, steps and bound of them. */
void pulse_steps(struct pulse *p, const struct pulse_batch *at, size_t count);

void pulse_sort(double *at, size_t count);
