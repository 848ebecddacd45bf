/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_io.c - what the JSON document has of a plain job beside fio's figures. */
#include "report/metrics_tables.h"

/* clang-format off */

#define R struct rate_result
const struct mlgen_field metrics_rate_fields[] = {
	{ "asked_bytes_per_sec", MLGEN_F_F64(R, asked_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What rate asks for, of all workers; null = nothing." },
	{ "asked_iops", MLGEN_F_F64(R, asked_iops), .unit = "1/s", .flags = MLGEN_NULLABLE,
	  .help = "What rate_iops asks for, of all workers; null = nothing." },
	{ "is_missed", MLGEN_F_BOOL(R, is_missed),
	  .help = "The job had less than 99 % of that." },
	{ 0 },
};
#undef R

#define R struct io_result
const struct mlgen_field metrics_io_fields[] = {
	{ "numjobs", MLGEN_F_U64(R, numjobs), .unit = "workers",
	  .help = "Workers in this record: all of the job with group_reporting, else one." },
	{ "jobnum", MLGEN_F_U64(R, jobnum),
	  .help = "Number of the worker, or of the first of them, from 0." },
	{ "iodepth_used", MLGEN_F_U64(R, iodepth_used), .unit = "requests",
	  .help = "Requests that one worker had under way at most: iodepth, and 1 on a synchronous engine." },
	{ "in_use", MLGEN_F_STR(R, in_use),
	  .help = "Which of its optional means the engine used, in words; empty = it has none." },
	{ "wall_seconds", MLGEN_F_F64(R, wall_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the slowest worker, without layout and ramp_time." },
	{ "files", MLGEN_F_U64(R, files), .unit = "files",
	  .help = "Files or devices that the workers move in." },
	{ "file_bytes", MLGEN_F_U64(R, file_bytes), .unit = "bytes",
	  .help = "Size of these together." },
	{ "laid_out_files", MLGEN_F_U64(R, laid_out_files), .unit = "files",
	  .help = "Files that were missing and were made before, for all workers of the job." },
	{ "laid_out_bytes", MLGEN_F_U64(R, laid_out_bytes), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "rate_read", METRIC_OBJECT(R, rate[0], struct rate_result, metrics_rate_fields),
	  .help = "The pace asked for, of reads." },
	{ "rate_write", METRIC_OBJECT(R, rate[1], struct rate_result, metrics_rate_fields),
	  .help = "The pace asked for, of writes." },
	{ "worker_percent", METRIC_OBJECT(R, worker_percent, struct loader_percent, metrics_loader_percent_fields),
	  .help = "Where the time of the workers went; sums to 100." },
	{ "ops", METRIC_OBJECT(R, ops, struct ops_result, metrics_ops_fields),
	  .help = "Operations by kind." },
	{ "storage", METRIC_OBJECT(R, storage, struct storage_result, metrics_storage_fields),
	  .help = "What was measured. In the record of one of several workers it is what all of the job have, in the window of that worker." },
	{ "window", METRIC_OBJECT(R, window, struct window_result, metrics_window_fields),
	  .help = "The time over which host, network, noise and what storage delivered were measured." },
	{ "host", METRIC_OBJECT(R, host, struct host_result, metrics_host_fields),
	  .help = "Load of this host in the window." },
	{ "network", METRIC_OBJECT(R, network, struct network_result, metrics_network_fields),
	  .help = "What the network carried in the window, of a remote mount." },
	{ "numa", METRIC_OBJECT(R, numa, struct numa_result, metrics_numa_fields),
	  .help = "How near the workers were to the disk." },
	{ "verdict", METRIC_OBJECT(R, verdict, struct verdict_result, metrics_verdict_fields),
	  .help = "Errors where too much failed, memory or host where what was measured is not the storage; null = none of these." },
	{ "errors", MLGEN_F_U64(R, errors), .unit = "errors",
	  .help = "Errors that continue_on_error counted, those within ramp_time, too." },
	{ "failed_percent", MLGEN_F_PERCENT(R, failed.percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Operations that failed, in percent of reads, writes and flushes." },
	{ "too_many_errors", MLGEN_F_BOOL(R, failed.is_too_many),
	  .help = "More operations failed than max_errors allows: the exit status is 1." },
	{ "first_error", METRICS_CHARS(R, failed.first),
	  .help = "The first of them in words; null = none." },
	{ "interrupted", MLGEN_F_BOOL(R, interrupted),
	  .help = "The job was stopped by a signal." },
	{ "complete", MLGEN_F_BOOL(R, complete),
	  .help = "The job moved all its bytes, or reached its runtime." },
	{ 0 },
};
#undef R

const char *const metrics_io_planned[] = {
	"numjobs", "iodepth_used", "files", "file_bytes", "rate_read",
	"rate_write", "storage", NULL,
};

/* clang-format on */
