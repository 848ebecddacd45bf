/* SPDX-License-Identifier: Apache-2.0 */
/* asked.h - what the questions ask of a workload: its rate, its workers, the rules that it has to
 * keep. */
#pragma once

#include "ask/mlperf_inside.h"
#include "job/job.h"
#include "run/results.h"

struct asked {
	/* What its storage moved, bytes per second; NaN = nothing that could be told. */
	double (*bytes_per_sec)(const struct job_result *r);
	/* How many were at work at once, and what they are. */
	uint64_t (*workers)(const struct job_result *r);
	const char *worker; /* "accelerators" */
	/* What rates of merged runs are that ran at the same time. */
	const char *side_by_side;
	/* A requirement of --find-max, for a message. */
	const char *example;
	/* Options that --find-max may vary: more of one is more load, or more at once, of the same
	 * job. Ends with NULL. */
	const char *const *varied;
	/* Options that --find-min may lessen, in hundredths of what there is: more of it costs, and
	 * is never worse. NULL = none; ends with NULL. */
	const char *const *lessened;
	/* MLPerf Storage's rules for it; the first row alone says that it has none. */
	const struct mlperf_row *mlperf_rules;
};
