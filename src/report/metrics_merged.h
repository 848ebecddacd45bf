/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_merged.h - of which runs a merged report is, as the top of the JSON document has it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "stat/metric.h"

/* What one job of a run came to; NaN = that cannot be told. */
struct metrics_merged_job {
	const char *jobname;
	double au_percent, bytes_per_sec, stall_p99_ns, cpu_percent;
	double host_barrier_percent;
	bool is_slowest; /* of all runs, where they are not alike */
};

struct metrics_merged_run {
	const char *file, *hostname;
	uint64_t timestamp_ms;
	uint64_t turn;                           /* from 1 */
	uint64_t rank;                           /* of one job; UINT64_MAX = of a document */
	double clock_offset_ns, clock_unsure_ns; /* of its host; NaN */
	struct metric_list jobs;                 /* metrics_merged_job, as the records are */
};

struct metrics_merged {
	uint64_t hosts;
	uint64_t turns;
	double overlap_percent;  /* NaN = none ran side by side */
	struct metric_list runs; /* metrics_merged_run, in their order */
};

extern const struct mlgen_field metrics_merged_fields[];
extern const struct mlgen_field metrics_merged_run_fields[];
extern const struct mlgen_field metrics_merged_job_fields[];
