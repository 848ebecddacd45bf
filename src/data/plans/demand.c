/* SPDX-License-Identifier: Apache-2.0 */
/* demand.c - the load on storage if accelerators never waited. */
#include "data/plans/plans_internal.h"

#include <math.h>

#include "data/file/file.h"

/* Number of extents that are sampled, limited by the time for a dry run. MLPerf-sized datasets are
 * sampled completely. */
#define DEMAND_EXTENTS 32768

static double io_bytes_per_sample(const struct plan_config *plan)
{
	uint64_t n = dataset_extents(plan->dataset);
	uint64_t step = n / DEMAND_EXTENTS ? n / DEMAND_EXTENTS : 1;
	double bytes = 0, samples = 0;

	for (uint64_t i = 0, id = 0; i < DEMAND_EXTENTS && id < n; i++, id += step) {
		struct extent x;
		struct plan_counts c;

		dataset_extent(plan->dataset, id, &x);
		plan_count(plan, &x, &c);
		bytes += (double)c.io_bytes;
		samples += x.samples;
	}
	return samples > 0 ? bytes / samples : 0;
}

void demand_of(struct demand *d, const struct job *job, const struct plan_config *plan)
{
	const struct dataset *ds = plan->dataset;
	double sample_bytes = ds->format->read_bytes ? (double)ds->format->read_bytes(ds)
						     : dist_mean(&ds->sample_size);
	double step_seconds = dist_mean(&job->compute_time) / 1e9;
	double all = (double)job->accelerators;

	d->samples_per_sec =
		step_seconds > 0 ? (double)job->batch_size / step_seconds : (double)NAN;
	d->bytes_per_sec = d->samples_per_sec * sample_bytes;
	d->all_bytes_per_sec = d->bytes_per_sec * all;
	d->all_io_bytes_per_sec = d->samples_per_sec * all * io_bytes_per_sample(plan);
}
