/* SPDX-License-Identifier: Apache-2.0 */
/* epochs.h - put the ranks' epochs together: one record an epoch, a few histograms. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/order/order.h"
#include "run/result/result.h"

/*
 * Each rank hands in its own account of an epoch when it has finished it;
 * with the last rank's the epoch is complete. Records are kept of the first EPOCHS_KEPT epochs, so
 * memory does not grow with a time_based run; sums over all epochs go on. Called once per rank and
 * epoch: a lock is fine.
 */
#define EPOCHS_KEPT 1024
#define EPOCHS_OPEN 16 /* have a stall histogram at the same time */

/* What one rank did in one epoch. Times in ns. */
struct epoch_account {
	uint64_t epoch;                        /* from 0 */
	uint64_t samples, sample_bytes, steps; /* samples: delivered */
	uint64_t failed_samples;
	uint64_t wall_ns; /* start to the end of its last step */
	/* counted steps: all but the first, none within ramp_time */
	uint64_t counted_steps, counted_compute_ns, counted_wall_ns;
	/* for the published windows, which count measured compute */
	uint64_t measured_compute_ns;   /* without the first step's */
	uint64_t first_wait_compute_ns; /* T_1 = wait + compute of the first step */
	uint64_t first_step_ns;
	const struct hist *stall; /* counted stalls of this epoch */
	/* what was delivered */
	uint64_t extents, id_sum;
	bool is_whole; /* it took all its batches */
};

struct epochs;

struct epochs *epochs_new(uint64_t ranks, uint64_t batch, double nominal_sample_bytes,
			  const struct sampler *sampler);
void epochs_free(struct epochs *e);

/*
 * Hand in one rank's account. When it completes an epoch in which every rank took all its batches,
 * and the sampler covers the dataset exactly, the ids must add up to the whole dataset: else
 * -EILSEQ with err.
 */
int epochs_add(struct epochs *e, const struct epoch_account *a, struct mlgen_err *err);

/*
 * Where a training has other processes: together, behind the run (e NULL = none ran here). The ids
 * of each epoch that all of them took whole must add up, over all of them; and the published
 * windows of rank 0 are those of all ranks then. 0, or -EILSEQ, or of who is gone, with err.
 */
struct hosts;
int epochs_check(struct epochs *e, struct hosts *hosts, struct mlgen_err *err);

/* Fill ml->epochs, epochs_total and mlperf, which a training that missed samples has none of. After
 * the run. */
void epochs_result(const struct epochs *e, struct ml_result *ml);
