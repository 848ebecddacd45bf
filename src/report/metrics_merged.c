/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_merged.c - of which runs a merged report is. */
#include "report/metrics_merged.h"

#include "report/metrics_tables.h"

/* clang-format off */

#define J struct metrics_merged_job
const struct mlgen_field metrics_merged_job_fields[] = {
	{ "jobname", METRICS_TEXT(J, jobname),
	  .help = "Name of the job." },
	{ "au_percent", MLGEN_F_PERCENT(J, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Utilisation of this run's accelerators; null = it has none." },
	{ "bytes_per_sec", MLGEN_F_F64(J, bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What storage moved for this run; null = unknown." },
	{ "stall_p99_ns", MLGEN_F_F64(J, stall_p99_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "The 99th percentile of the stalls of its accelerators; null = none was counted." },
	{ "cpu_percent", MLGEN_F_PERCENT(J, cpu_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How busy its host's CPUs were, as host.cpu_percent has it; null = unknown." },
	{ "host_barrier_percent", MLGEN_F_PERCENT(J, host_barrier_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How much of their time its accelerators waited for other processes; null = it has none." },
	{ "is_slowest", MLGEN_F_BOOL(J, is_slowest),
	  .help = "Whether it is the one that the others wait for, has the least utilisation of all runs or, of jobs without accelerators, moved the least; false where all are alike." },
	{ 0 },
};
#undef J

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
	{ "rank", MLGEN_F_U64(R, rank), .flags = MLGEN_NULLABLE,
	  .help = "Of one job on several hosts: the process's rank; null = the run is a document of its own." },
	{ "clock_offset_ns", MLGEN_F_F64(R, clock_offset_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "How far the time of day there was ahead of rank 0's when they met; null = unknown." },
	{ "clock_unsure_ns", MLGEN_F_F64(R, clock_unsure_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Half of the round trip by which that was found: give or take so much." },
	{ "jobs", METRIC_LIST(R, jobs, struct metrics_merged_job, metrics_merged_job_fields),
	  .help = "What each job of it came to." },
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
