/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_io.c - rows of a plain job, and of a cache tier. */
#include "run/result/result.h"

#include <math.h>

#define EPOCHS_KEPT 1024

/* ---- rules ---- */

/* Runs one after the other number their epochs on, and an epoch that some clients lack is left out,
 * as in the list of a training's epochs. */
static void cache_epochs_list(struct merging *m, const struct mlgen_field *f,
			      const struct merge_at *at)
{
	MERGE_STRUCTS(struct metric_list, f->off);
	size_t had = to->count;
	const struct cache_epoch *last = a->items;
	uint64_t before = had ? last[had - 1].epoch : 0;
	struct cache_epoch *e;

	if (m->how == MERGE_TURNS) {
		merge_append(m, to, b, f->stride, EPOCHS_KEPT);
		e = to->items;
		for (size_t i = had; i < to->count; i++)
			e[i].epoch += before;
		return;
	}
	merge_by_index(m, f, to, b, m->how == MERGE_CLIENTS ? had : SIZE_MAX);
	if (m->how == MERGE_CLIENTS && b->count < to->count)
		to->count = b->count;
}

static const struct merge_rule merge_cache_epochs = { .whole = cache_epochs_list,
						      .ordered = 1 << MERGE_TURNS };

/* clang-format off */

/* Ratios of samples are averaged by the accesses of both. */
#define BY_ACCESSES(s, m) .merge = &(const struct merge_rule)MERGE_MEAN_BY(s, m)
#define RATIO(s, m, by) MLGEN_F_F64(s, m), BY_ACCESSES(s, by), .flags = MLGEN_NULLABLE

/* Rows of the counts in member `m` of a struct. */
#define COUNT_ROWS(S, m) \
	{ "accesses", RESULT_U64(S, m.accesses, sum), .unit = "samples", \
	  .help = "Samples that were asked of the tier, as the order has them." }, \
	{ "unique_samples", RESULT_U64(S, m.unique_samples, sum), .unit = "samples", \
	  .help = "Different ones among these; of all epochs the sum of each." }, \
	{ "hits", RESULT_U64(S, m.hits, sum), .unit = "samples", \
	  .help = "Those that the tier has, in the order of the plan." }, \
	{ "misses", RESULT_U64(S, m.misses, sum), .unit = "samples", \
	  .help = "Those that are read from storage." }, \
	{ "substitutions", RESULT_U64(S, m.substitutions, sum), .unit = "samples", \
	  .help = "Those in whose place the tier gave another one (cache_substitute)." }, \
	{ "late_hits", RESULT_U64(S, m.late_hits, sum), .unit = "samples", \
	  .help = "Of the hits: what the tier did not have yet, or any more, when it was asked, so that storage gave it." }, \
	{ "peer_hits", RESULT_U64(S, m.peer_hits, sum), .unit = "samples", \
	  .help = "Samples that another process had, and gave (cache_scope=all)." }, \
	{ "fills", RESULT_U64(S, m.fills, sum), .unit = "units", \
	  .help = "Units (cache_unit) that were brought into the tier." }, \
	{ "dropped_fills", RESULT_U64(S, m.dropped_fills, sum), .unit = "units", \
	  .help = "Units that should have been, and were not: the queue, or the disk, had no room." }, \
	{ "evictions", RESULT_U64(S, m.evictions, sum), .unit = "units", \
	  .help = "Units that made room for others." }, \
	{ "prefetches", RESULT_U64(S, m.prefetches, sum), .unit = "units", \
	  .help = "Units that were asked for ahead of their batch (cache_prefetch)." }, \
	{ "cache_bytes", RESULT_U64(S, m.cache_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that the tier gave, of what it has in this process." }, \
	{ "storage_bytes", RESULT_U64(S, m.storage_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that storage gave, with what went into the tier ahead." }, \
	{ "peer_bytes", RESULT_U64(S, m.peer_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that other processes sent, in addition to cache_bytes (cache_scope=all)." }, \
	{ "filled_bytes", RESULT_U64(S, m.filled_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that were written into the tier." }, \
	{ "footprint_bytes", RESULT_U64(S, m.footprint_bytes, sum), .unit = "bytes", \
	  .help = "Bytes of the different samples." }, \
	{ "sequential_ratio", RATIO(S, m.sequential_ratio, m.accesses), \
	  .help = "Of the order: accesses that follow on the one before in the dataset, 0 to 1." }, \
	{ "rank_correlation", RATIO(S, m.rank_correlation, m.accesses), \
	  .help = "Of the samples that this epoch and the one before have: rank correlation of their places (Spearman), -1 to 1; null = there is no epoch before." }, \
	{ "multiplicity", RATIO(S, m.multiplicity, m.accesses), \
	  .help = "Accesses of each sample that was asked for at all, on the mean." }

#define E struct cache_epoch
const struct mlgen_field metrics_cache_epoch_fields[] = {
	{ "epoch", RESULT_U64(E, epoch, first),
	  .help = "Number of the epoch, from 1." },
	{ "is_cold", RESULT_BOOL(E, is_cold, or),
	  .help = "It is the first, and the tier began empty." },
	{ "hit_ratio", RATIO(E, counts.hit_ratio, counts.accesses),
	  .help = "Hits of the accesses, 0 to 1." },
	COUNT_ROWS(E, counts),
	{ 0 },
};
#undef E

#define R struct cache_rank
const struct mlgen_field metrics_cache_rank_fields[] = {
	{ "rank", RESULT_U64(R, rank, first), .help = "Number of the accelerator, from 0." },
	{ "accesses", RESULT_U64(R, accesses, sum), .unit = "samples",
	  .help = "Samples that it asked for." },
	{ "hits", RESULT_U64(R, hits, sum), .unit = "samples",
	  .help = "Those that the tier has." },
	{ "misses", RESULT_U64(R, misses, sum), .unit = "samples",
	  .help = "Those that are read from storage." },
	{ "substitutions", RESULT_U64(R, substitutions, sum), .unit = "samples",
	  .help = "Those in whose place the tier gave another one." },
	{ "hit_ratio", RATIO(R, hit_ratio, accesses),
	  .help = "Hits of its accesses in the epochs after the first, 0 to 1; null with one." },
	{ 0 },
};
#undef R

#define C struct cache_result
const struct mlgen_field metrics_cache_fields[] = {
	{ "policy", RESULT_TEXT(C, policy, first),
	  .help = "What the tier keeps, as cache= has it." },
	{ "place", RESULT_TEXT(C, place, first),
	  .help = "Where its bytes are: directory, memory, or played." },
	{ "directory", RESULT_TEXT(C, directory, first),
	  .help = "That directory; null = there is none." },
	{ "caches", RESULT_U64(C, caches, parts),
	  .help = "Tiers on this host: one, or with cache_scope=rank one for each accelerator." },
	{ "parts", RESULT_U64(C, parts, same), .flags = MLGEN_NULLABLE,
	  .help = "Processes that each is divided among, with cache_scope=all; 1 = it is whole, null = they differ." },
	{ "size_bytes", RESULT_U64(C, size_bytes, same), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "What each can hold; null = it is a number of samples." },
	{ "size_samples", RESULT_U64(C, size_samples, same), .unit = "samples", .flags = MLGEN_NULLABLE,
	  .help = "What each can hold; null = it is a number of bytes." },
	{ "data_bytes", RESULT_U64(C, data_bytes, same), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes of all samples of the dataset, as they are kept." },
	{ "used_bytes", RESULT_U64(C, used_bytes, parts), .unit = "bytes",
	  .help = "What all of them held at the end." },
	{ "units", RESULT_U64(C, units, parts), .unit = "units",
	  .help = "Samples, files or pages of these." },
	{ "state_bytes", RESULT_U64(C, state_bytes, parts), .unit = "bytes",
	  .help = "Memory that the bookkeeping of the tier takes." },
	{ "hit_ratio", RATIO(C, hit_ratio, all.accesses),
	  .help = "Hits of the accesses, in the epochs after the first, 0 to 1; null with one epoch." },
	{ "hit_ratio_of_all", RATIO(C, all.hit_ratio, all.accesses),
	  .help = "The same with the first epoch, in which an empty tier fills." },
	COUNT_ROWS(C, all),
	{ "epochs", RESULT_LIST(C, epochs, struct cache_epoch, metrics_cache_epoch_fields, cache_epochs),
	  .help = "Each epoch, the first 1,024 of them." },
	{ "ranks", RESULT_LIST(C, ranks, struct cache_rank, metrics_cache_rank_fields, forget),
	  .help = "Each accelerator, where they are not all alike; empty of merged runs." },
	{ "hit_ns", RESULT_HIST(C, hit_ns, hist), .unit = "ns",
	  .help = "Latency of samples that the tier gave, of what it has in this process." },
	{ "miss_ns", RESULT_HIST(C, miss_ns, hist), .unit = "ns",
	  .help = "Latency of samples that storage gave." },
	{ "peer_ns", RESULT_HIST(C, peer_ns, hist), .unit = "ns",
	  .help = "Latency of samples that other processes gave (cache_scope=all)." },
	{ "served_samples", RESULT_U64(C, served_samples, sum), .unit = "samples",
	  .help = "Samples that were given to other processes, which count them as peer_hits." },
	{ "served_bytes", RESULT_U64(C, served_bytes, sum), .unit = "bytes",
	  .help = "Bytes of these, as they were sent." },
	{ "sent_bytes", RESULT_U64(C, sent_bytes, sum), .unit = "bytes",
	  .help = "Bytes of misses that were sent to the processes which keep them." },
	{ "received_bytes", RESULT_U64(C, received_bytes, sum), .unit = "bytes",
	  .help = "Bytes of misses of other processes that were sent to this one." },
	{ "is_full", RESULT_BOOL(C, is_full, or),
	  .help = "The directory had no more room: the tier has stopped growing." },
	{ "verified", RESULT_U64(C, verified, sum), .unit = "samples",
	  .help = "Hits that cache_verify has looked at." },
	{ "wrong", RESULT_U64(C, wrong, sum), .unit = "samples",
	  .help = "Those of them that were not what was asked for." },
	{ "kept_units", RESULT_U64(C, kept_units, parts), .unit = "units",
	  .help = "Units that an earlier run had left there (cache_persist)." },
	{ "warm_units", RESULT_U64(C, warm_units, parts), .unit = "units",
	  .help = "Units that it was filled with before the run (cache_warm)." },
	{ "draw_seconds", RESULT_F64(C, draw_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time in which orders that follow from losses were drawn, between epochs; null = unknown." },
	{ 0 },
};
#undef C

/* clang-format on */

static bool is_one_job(const struct merging *m)
{
	const struct job_result *to = (const void *)m->record.to;
	const struct job_result *b = (const void *)m->record.b;

	return to->job == b->job;
}

/* Workers of a job share the files of filename=, and otherwise have files of their own. Two jobs
 * share no file. */
static uint64_t files_u64(const struct merging *m, uint64_t a, uint64_t b)
{
	const struct job_result *to = (const void *)m->record.to;
	bool is_shared = is_one_job(m) && to->job->filename;

	return is_shared ? merge_max.u64(m, a, b) : merge_parts.u64(m, a, b);
}

/* Layout belongs to the job: its workers share it. */
static uint64_t laid_out_u64(const struct merging *m, uint64_t a, uint64_t b)
{
	return (is_one_job(m) ? merge_max : merge_sum).u64(m, a, b);
}

/* Slices of equal length cover the same time, except in runs one after the other. NaN stays NaN. */
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
