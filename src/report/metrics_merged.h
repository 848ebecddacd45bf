/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_merged.h - of which runs a merged report is, as the top of the JSON document has it. */
#pragma once

#include <stdint.h>

#include <mlgen/field.h>

#include "stat/metric.h"

struct metrics_merged_run {
	const char *file, *hostname;
	uint64_t timestamp_ms;
	uint64_t turn; /* from 1 */
};

struct metrics_merged {
	uint64_t hosts;
	uint64_t turns;
	double overlap_percent;  /* NaN = none ran side by side */
	struct metric_list runs; /* metrics_merged_run, in their order */
};

extern const struct mlgen_field metrics_merged_fields[];
extern const struct mlgen_field metrics_merged_run_fields[];
