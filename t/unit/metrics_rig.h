/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_rig.h - the figures of a job, filled from its result. */
#pragma once

#include <string.h>

#include "report/metrics/metrics.h"

static inline void fill(struct job_result *m, const struct job_result *r)
{
	struct job *jobs[1];
	struct jobset set = { .jobs = jobs, .count = 1 };

	memcpy(&jobs[0], &r->job, sizeof(jobs[0]));
	metrics_job_init(m, r, &set);
}
