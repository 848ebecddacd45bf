/* SPDX-License-Identifier: Apache-2.0 */
/* demand.c - what accelerators that never wait would ask of storage. */
#include "data/plans/plans_internal.h"

#include <math.h>

#include "data/file/file.h"

/* As many as a dry run has time for; MLPerf-sized datasets are looked at whole. */
#define LOOKED_AT 32768

static double io_bytes_per_sample(const struct plan_config *plan)
{
	uint64_t n = dataset_extents(plan->dataset);
	uint64_t step = n / LOOKED_AT ? n / LOOKED_AT : 1;
	double bytes = 0, samples = 0;

	for (uint64_t i = 0, id = 0; i < LOOKED_AT && id < n; i++, id += step) {
		struct extent x;
		struct plan_counts c;

		dataset_extent(plan->dataset, id, &x);
		plan_count(plan, &x, &c);
		bytes += (double)c.io_bytes;
		samples += x.samples;
	}
	return samples > 0 ? bytes / samples : 0;
}

/* Nominal: the mean of sample_size; of columns the widths that are read. */
static double sample_bytes(const struct dataset *ds)
{
	return ds->format->read_bytes ? (double)ds->format->read_bytes(ds)
				      : dist_mean(&ds->sample_size);
}

void demand_of(struct demand *d, const struct job *job, const struct plan_config *plan)
{
	double step_seconds = dist_mean(&job->compute_time) / 1e9;
	double all = (double)job->accelerators;

	d->samples_per_sec =
		step_seconds > 0 ? (double)job->batch_size / step_seconds : (double)NAN;
	d->bytes_per_sec = d->samples_per_sec * sample_bytes(plan->dataset);
	d->all_bytes_per_sec = d->bytes_per_sec * all;
	d->all_io_bytes_per_sec = d->samples_per_sec * all * io_bytes_per_sample(plan);
}
