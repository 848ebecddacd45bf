/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_io.c - what the JSON document has of a plain job beside fio's figures. */
#include "run/metrics_result.h"

static bool is_one_job(const struct merging *m)
{
	const struct job_result *to = (const void *)m->record.to;
	const struct job_result *b = (const void *)m->record.b;

	return to->job == b->job;
}

/* Workers of one job have the files of filename= together, else each its own;
 * two jobs have nothing together. */
static uint64_t files_u64(const struct merging *m, uint64_t a, uint64_t b)
{
	const struct job_result *to = (const void *)m->record.to;
	bool is_shared = is_one_job(m) && to->job->filename;

	return is_shared ? merge_max.u64(m, a, b) : merge_parts.u64(m, a, b);
}

/* What was laid out is the job's. */
static uint64_t laid_out_u64(const struct merging *m, uint64_t a, uint64_t b)
{
	return (is_one_job(m) ? merge_max : merge_sum).u64(m, a, b);
}

static const struct merge_rule merge_files = { .u64 = files_u64 };
static const struct merge_rule merge_laid_out = { .u64 = laid_out_u64 };

/* clang-format off */

#define R struct rate_result
const struct mlgen_field metrics_rate_fields[] = {
	{ "asked_bytes_per_sec", RESULT_F64(R, asked_bytes_per_sec, rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What rate asks for, of all workers; null = nothing." },
	{ "asked_iops", RESULT_F64(R, asked_iops, rate), .unit = "1/s", .flags = MLGEN_NULLABLE,
	  .help = "What rate_iops asks for, of all workers; null = nothing." },
	{ "is_missed", RESULT_BOOL(R, is_missed, or),
	  .help = "The job had less than 99 % of that." },
	{ 0 },
};
#undef R

#define R struct job_result
const struct mlgen_field metrics_io_fields[] = {
	{ "numjobs", RESULT_U64(R, io.numjobs, parts), .unit = "workers",
	  .help = "Workers in this record: all of the job with group_reporting, else one." },
	{ "jobnum", RESULT_U64(R, io.jobnum, min),
	  .help = "Number of the worker, or of the first of them, from 0." },
	{ "iodepth_used", RESULT_U64(R, iodepth_used, max), .unit = "requests",
	  .help = "Requests that one worker had under way at most: iodepth, and 1 on a synchronous engine." },
	{ "iodepth_least", RESULT_U64(R, io.iodepth_least, min), .unit = "requests",
	  .help = "The same of the job with the fewest, where group_reporting has several in this record." },
	{ "in_use", RESULT_STR(R, in_use, first),
	  .help = "Which of its optional means the engine used, in words; empty = it has none." },
	{ "wall_seconds", RESULT_F64(R, wall_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the slowest worker, without layout and ramp_time." },
	{ "files", RESULT_U64(R, io.files, files), .unit = "files",
	  .help = "Files or devices that the workers move in." },
	{ "file_bytes", RESULT_U64(R, io.file_bytes, files), .unit = "bytes",
	  .help = "Size of these together." },
	{ "laid_out_files", RESULT_U64(R, io.laid_out_files, laid_out), .unit = "files",
	  .help = "Files that were missing and were made before, for all workers of the job." },
	{ "laid_out_bytes", RESULT_U64(R, io.laid_out_bytes, laid_out), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "rate_read", RESULT_OBJECT(R, io.rate[0], struct rate_result, metrics_rate_fields, members),
	  .help = "The pace asked for, of reads." },
	{ "rate_write", RESULT_OBJECT(R, io.rate[1], struct rate_result, metrics_rate_fields, members),
	  .help = "The pace asked for, of writes." },
	{ "worker_percent", RESULT_OBJECT(R, io.worker_percent, struct loader_percent, metrics_loader_percent_fields, members),
	  .help = "Where the time of the workers went; sums to 100." },
	{ "ops", RESULT_OBJECT(R, ops, struct ops_result, metrics_ops_fields, members),
	  .help = "Operations by kind." },
	{ "storage", RESULT_OBJECT(R, storage, struct storage_result, metrics_storage_fields, storage),
	  .help = "What was measured. In the record of one of several workers it is what all of the job have, in the window of that worker." },
	METRICS_WINDOW_ROWS,
	{ "numa", RESULT_OBJECT(R, numa, struct numa_result, metrics_numa_fields, members),
	  .help = "How near the workers were to the disk." },
	{ "verdict", RESULT_OBJECT(R, verdict, struct verdict_result, metrics_verdict_fields, later),
	  .help = "Errors where too much failed, memory or host where what was measured is not the storage; null = none of these." },
	{ "errors", RESULT_U64(R, errors, sum), .unit = "errors",
	  .help = "Errors that continue_on_error counted, those within ramp_time, too." },
	{ "failed_percent", RESULT_PERCENT(R, failed.percent, later), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Operations that failed, in percent of reads, writes and flushes." },
	{ "too_many_errors", RESULT_BOOL(R, failed.is_too_many, with),
	  .help = "More operations failed than max_errors allows: the exit status is 1." },
	METRICS_END_ROWS,
	{ "complete", RESULT_BOOL(R, complete, and),
	  .help = "The job moved all its bytes, or reached its runtime." },
	{ 0 },
};
#undef R

/* clang-format on */
