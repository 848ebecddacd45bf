/* SPDX-License-Identifier: Apache-2.0 */
/* demand.h - what accelerators that never wait would ask of storage. */
#pragma once

#include "data/file/plan.h"
#include "job/job.h"

/*
 * At 100 % utilisation: batch_size samples per mean compute_time. Sizes as the published tables
 * have them (the nominal mean of sample_size; of columns the declared widths of those that are
 * read), and beside it the bytes that the plan really reads for a sample (mean over at most 32,768
 * evenly spaced extents). NaN with compute_time=0.
 */
struct demand {
	double samples_per_sec;   /* of one accelerator */
	double bytes_per_sec;     /* of one, nominal */
	double all_bytes_per_sec; /* of all accelerators */
	double all_io_bytes_per_sec;
};

void demand_of(struct demand *d, const struct job *job, const struct plan_config *plan);
