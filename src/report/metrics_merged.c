/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_merged.c - of which runs a merged report is. */
#include "report/metrics_merged.h"

#include "report/metrics_tables.h"

/* clang-format off */

#define R struct metrics_merged_run
const struct mlgen_field metrics_merged_run_fields[] = {
	{ "file", METRICS_TEXT(R, file),
	  .help = "Name of the document." },
	{ "hostname", METRICS_TEXT(R, hostname),
	  .help = "Host of the run." },
	{ "timestamp_ms", MLGEN_F_U64(R, timestamp_ms), .unit = "ms",
	  .help = "Its start, milliseconds since 1970." },
	{ "turn", MLGEN_F_U64(R, turn),
	  .help = "Runs of one number ran side by side, those of the next one after them." },
	{ 0 },
};
#undef R

#define M struct metrics_merged
const struct mlgen_field metrics_merged_fields[] = {
	{ "hosts", MLGEN_F_U64(M, hosts), .unit = "hosts",
	  .help = "Hosts of all runs." },
	{ "turns", MLGEN_F_U64(M, turns), .unit = "turns",
	  .help = "How often runs were made, one after the other; rates are sums within a turn, and means of the turns." },
	{ "overlap_percent", MLGEN_F_PERCENT(M, overlap_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "For how much of their time the runs of a turn ran all together, the least of the turns; null = none ran side by side." },
	{ "runs", METRIC_LIST(M, runs, struct metrics_merged_run, metrics_merged_run_fields),
	  .help = "Each run that is in this report." },
	{ 0 },
};
#undef M

/* clang-format on */
