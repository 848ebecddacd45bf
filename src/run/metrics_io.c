/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_io.c - what the JSON document has of a plain job beside fio's figures. */
#include "run/metrics_result.h"

#include <math.h>

static bool is_one_job(const struct merging *m)
{
	const struct job_result *to = (const void *)m->record.to;
	const struct job_result *b = (const void *)m->record.b;

	return to->job == b->job;
}

/* Workers of one job have the files of filename= together, else each its own; two jobs have nothing
 * together. */
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

/* Times of which the parts are as long stand below each other; of runs one after the other they do
 * not. NaN is of all that it meets. */
MERGE_PAIR(slice_f64, double, m->how != MERGE_TURNS && a == b ? a : (double)NAN)

static void slices_list(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct metric_list, f->off);
	const struct replay_result *x = (const void *)at->a;
	const struct replay_result *y = (const void *)at->b;

	if (isnan(slice_f64(m, x->slice_seconds, y->slice_seconds)))
		to->count = 0;
	else
		merge_by_index(m, f, to, b, REPLAY_SLICES);
}

static const struct merge_rule merge_slice = { .f64 = slice_f64 };
static const struct merge_rule merge_slices = { .whole = slices_list };
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

#define S struct replay_slice
const struct mlgen_field metrics_replay_slice_fields[] = {
	{ "asked_ios", RESULT_U64(S, asked_ios, sum), .unit = "operations",
	  .help = "Reads and writes that the trace has there, at replay_speed." },
	{ "asked_bytes", RESULT_U64(S, asked_bytes, sum), .unit = "bytes",
	  .help = "Bytes of these." },
	{ "done_ios", RESULT_U64(S, done_ios, sum), .unit = "operations",
	  .help = "Reads and writes that ended there." },
	{ "done_bytes", RESULT_U64(S, done_bytes, sum), .unit = "bytes",
	  .help = "Bytes of these." },
	{ 0 },
};
#undef S

#define R struct replay_result
const struct mlgen_field metrics_replay_fields[] = {
	{ "trace", RESULT_TEXT(R, trace, first),
	  .help = "File of the trace." },
	{ "threads", RESULT_U64(R, threads, parts), .unit = "threads",
	  .help = "Threads of the trace that have operations; numjobs workers do them." },
	{ "asked_seconds", RESULT_F64(R, asked_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "From the first operation of the trace to the end of its last, at replay_speed." },
	{ "asked_operations", RESULT_U64(R, asked_operations, sum), .unit = "operations",
	  .help = "Operations of all kinds that the trace asks for." },
	{ "done_operations", RESULT_U64(R, done_operations, sum), .unit = "operations", .flags = MLGEN_NULLABLE,
	  .help = "Those that were done; the others failed, or were not reached; null = of a dry run." },
	{ "asked_bytes", RESULT_U64(R, asked_bytes, sum), .unit = "bytes",
	  .help = "Bytes of reads and writes that the trace asks for." },
	{ "done_bytes", RESULT_U64(R, done_bytes, sum), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that were read and written; null = of a dry run." },
	{ "touches", RESULT_U64(R, touches, sum), .unit = "operations",
	  .help = "Of the reads asked for, those that are pages of mappings: touched by ioengine=mmap, else read." },
	{ "redirected", RESULT_U64(R, redirected, sum), .unit = "operations",
	  .help = "Operations that would change a file that the trace names, and are done below directory instead, with replay_files=traced." },
	{ "blocks", RESULT_U64(R, blocks, sum), .unit = "operations",
	  .help = "Of the reads and writes asked for, those that are requests of block devices, replayed on a file for each." },
	{ "folded", RESULT_U64(R, folded, sum), .unit = "operations",
	  .help = "Of these, those that lie beyond replay_span in the trace, and were folded." },
	{ "waits", RESULT_U64(R, waits, sum), .unit = "waits", .flags = MLGEN_NULLABLE,
	  .help = "How often a worker waited because it was more than a second of the trace ahead of the slowest." },
	{ "wait_seconds", RESULT_F64(R, wait_seconds, sum), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of these waits, of all workers together." },
	{ "left_out", RESULT_CHARS(R, left_out, first),
	  .help = "What the trace has that is not replayed, by kind; null = nothing." },
	{ "left_out_operations", RESULT_U64(R, left_out_operations, sum), .unit = "operations",
	  .help = "How many records that is." },
	{ "slice_seconds", RESULT_F64(R, slice_seconds, slice), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Length of each part of the time below; null = merged of runs in which it differs, or one after the other." },
	{ "slices", RESULT_LIST(R, slices, struct replay_slice, metrics_replay_slice_fields, slices),
	  .help = "What was asked for and done over time, from the start." },
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
	{ "replay", RESULT_OBJECT(R, io.replay, struct replay_result, metrics_replay_fields, members),
	  .help = "What was asked and done of a trace; absent but for phase=replay." },
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
