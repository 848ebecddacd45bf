/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_io.c - rows of a plain job, and of a cache tier. */
#include "run/result/result.h"

#include <math.h>

#define EPOCHS_KEPT 1024

/* ---- rules ---- */

/* Epoch numbers continue from run to run if the runs were one after the other. An epoch that some
 * clients lack is left out. The list of a training job's epochs follows the same rules. */
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
	  .help = "Samples that the order requests from the tier." }, \
	{ "unique_samples", RESULT_U64(S, m.unique_samples, sum), .unit = "samples", \
	  .help = "Different samples among these; for all epochs the sum over the epochs." }, \
	{ "hits", RESULT_U64(S, m.hits, sum), .unit = "samples", \
	  .help = "Accesses to samples that the tier contains, in the order of the plan." }, \
	{ "misses", RESULT_U64(S, m.misses, sum), .unit = "samples", \
	  .help = "Accesses to samples that are read from storage." }, \
	{ "substitutions", RESULT_U64(S, m.substitutions, sum), .unit = "samples", \
	  .help = "Accesses for which the tier delivered another sample (cache_substitute)." }, \
	{ "late_hits", RESULT_U64(S, m.late_hits, sum), .unit = "samples", \
	  .help = "Hits that storage delivered, because at the time of the request the tier did not contain the sample yet, or no longer." }, \
	{ "peer_hits", RESULT_U64(S, m.peer_hits, sum), .unit = "samples", \
	  .help = "Samples from the part of another process (cache_scope=all)." }, \
	{ "fills", RESULT_U64(S, m.fills, sum), .unit = "units", \
	  .help = "Units (cache_unit) that were put into the tier." }, \
	{ "dropped_fills", RESULT_U64(S, m.dropped_fills, sum), .unit = "units", \
	  .help = "Units that were not put into the tier because the queue or the disk had no room." }, \
	{ "evictions", RESULT_U64(S, m.evictions, sum), .unit = "units", \
	  .help = "Units that were evicted to make room." }, \
	{ "prefetches", RESULT_U64(S, m.prefetches, sum), .unit = "units", \
	  .help = "Units that were requested ahead of their batch (cache_prefetch)." }, \
	{ "cache_bytes", RESULT_U64(S, m.cache_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that the tier delivered from its part in this process." }, \
	{ "storage_bytes", RESULT_U64(S, m.storage_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that storage delivered, including those prefetched into the tier." }, \
	{ "peer_bytes", RESULT_U64(S, m.peer_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that other processes sent, in addition to cache_bytes (cache_scope=all)." }, \
	{ "filled_bytes", RESULT_U64(S, m.filled_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that were written into the tier." }, \
	{ "footprint_bytes", RESULT_U64(S, m.footprint_bytes, sum), .unit = "bytes", \
	  .help = "Bytes of the different samples." }, \
	{ "sequential_ratio", RATIO(S, m.sequential_ratio, m.accesses), \
	  .help = "Accesses to the sample that follows the previous one in the dataset, as a share of all, 0 to 1." }, \
	{ "rank_correlation", RATIO(S, m.rank_correlation, m.accesses), \
	  .help = "Rank correlation (Spearman) of the places of the samples that this epoch and the previous one share, -1 to 1; null = there is no previous epoch." }, \
	{ "multiplicity", RATIO(S, m.multiplicity, m.accesses), \
	  .help = "Mean accesses per sample, of the samples that were requested." }

#define E struct cache_epoch
const struct mlgen_field metrics_cache_epoch_fields[] = {
	{ "epoch", RESULT_U64(E, epoch, first),
	  .help = "Number of the epoch, from 1." },
	{ "is_cold", RESULT_BOOL(E, is_cold, or),
	  .help = "It is the first epoch, and the tier was empty at its start." },
	{ "hit_ratio", RATIO(E, counts.hit_ratio, counts.accesses),
	  .help = "Hits divided by accesses, 0 to 1." },
	COUNT_ROWS(E, counts),
	{ 0 },
};
#undef E

#define R struct cache_rank
const struct mlgen_field metrics_cache_rank_fields[] = {
	{ "rank", RESULT_U64(R, rank, first), .help = "Number of the accelerator, from 0." },
	{ "accesses", RESULT_U64(R, accesses, sum), .unit = "samples",
	  .help = "Samples that it requested." },
	{ "hits", RESULT_U64(R, hits, sum), .unit = "samples",
	  .help = "Accesses to samples that the tier contains." },
	{ "misses", RESULT_U64(R, misses, sum), .unit = "samples",
	  .help = "Accesses to samples that are read from storage." },
	{ "substitutions", RESULT_U64(R, substitutions, sum), .unit = "samples",
	  .help = "Accesses for which the tier delivered another sample." },
	{ "hit_ratio", RATIO(R, hit_ratio, accesses),
	  .help = "Hits divided by accesses, in the epochs after the first, 0 to 1; null with one epoch." },
	{ 0 },
};
#undef R

#define C struct cache_result
const struct mlgen_field metrics_cache_fields[] = {
	{ "policy", RESULT_TEXT(C, policy, first),
	  .help = "Policy of the tier, as in cache=." },
	{ "place", RESULT_TEXT(C, place, first),
	  .help = "Where its bytes are: directory, memory, or played (simulated)." },
	{ "directory", RESULT_TEXT(C, directory, first),
	  .help = "That directory; null = there is none." },
	{ "caches", RESULT_U64(C, caches, parts),
	  .help = "Tiers on this host: one, or with cache_scope=rank one for each accelerator." },
	{ "parts", RESULT_U64(C, parts, same), .flags = MLGEN_NULLABLE,
	  .help = "Processes that each tier is divided among, with cache_scope=all; 1 = not divided, null = the tiers differ." },
	{ "size_bytes", RESULT_U64(C, size_bytes, same), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Capacity of each tier in bytes; null = it is a number of samples." },
	{ "size_samples", RESULT_U64(C, size_samples, same), .unit = "samples", .flags = MLGEN_NULLABLE,
	  .help = "Capacity of each tier in samples; null = it is a number of bytes." },
	{ "data_bytes", RESULT_U64(C, data_bytes, same), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes of all samples of the dataset, as the tier stores them." },
	{ "used_bytes", RESULT_U64(C, used_bytes, parts), .unit = "bytes",
	  .help = "Bytes that all tiers contained at the end." },
	{ "units", RESULT_U64(C, units, parts), .unit = "units",
	  .help = "Samples, files or pages that all tiers contained at the end." },
	{ "state_bytes", RESULT_U64(C, state_bytes, parts), .unit = "bytes",
	  .help = "Memory that the bookkeeping of the tier uses." },
	{ "hit_ratio", RATIO(C, hit_ratio, all.accesses),
	  .help = "Hits divided by accesses, in the epochs after the first, 0 to 1; null with one epoch." },
	{ "hit_ratio_of_all", RATIO(C, all.hit_ratio, all.accesses),
	  .help = "The same including the first epoch, in which an empty tier fills." },
	COUNT_ROWS(C, all),
	{ "epochs", RESULT_LIST(C, epochs, struct cache_epoch, metrics_cache_epoch_fields, cache_epochs),
	  .help = "Each epoch, the first 1,024 of them." },
	{ "ranks", RESULT_LIST(C, ranks, struct cache_rank, metrics_cache_rank_fields, forget),
	  .help = "Each accelerator, if they differ; empty for merged runs." },
	{ "hit_ns", RESULT_HIST(C, hit_ns, hist), .unit = "ns",
	  .help = "Latency of samples that the tier delivered from its part in this process." },
	{ "miss_ns", RESULT_HIST(C, miss_ns, hist), .unit = "ns",
	  .help = "Latency of samples that storage delivered." },
	{ "peer_ns", RESULT_HIST(C, peer_ns, hist), .unit = "ns",
	  .help = "Latency of samples that other processes delivered (cache_scope=all)." },
	{ "served_samples", RESULT_U64(C, served_samples, sum), .unit = "samples",
	  .help = "Samples that were sent to other processes, which count them as peer_hits." },
	{ "served_bytes", RESULT_U64(C, served_bytes, sum), .unit = "bytes",
	  .help = "Bytes of these, as they were sent." },
	{ "sent_bytes", RESULT_U64(C, sent_bytes, sum), .unit = "bytes",
	  .help = "Bytes of misses that were sent to the processes that keep them." },
	{ "received_bytes", RESULT_U64(C, received_bytes, sum), .unit = "bytes",
	  .help = "Bytes of misses of other processes that were sent to this one." },
	{ "is_full", RESULT_BOOL(C, is_full, or),
	  .help = "The directory had no more room: the tier has stopped growing." },
	{ "verified", RESULT_U64(C, verified, sum), .unit = "samples",
	  .help = "Hits that cache_verify checked." },
	{ "wrong", RESULT_U64(C, wrong, sum), .unit = "samples",
	  .help = "Checked hits whose data was wrong." },
	{ "kept_units", RESULT_U64(C, kept_units, parts), .unit = "units",
	  .help = "Units that an earlier run left in the tier (cache_persist)." },
	{ "warm_units", RESULT_U64(C, warm_units, parts), .unit = "units",
	  .help = "Units that were put into the tier before the run (cache_warm)." },
	{ "draw_seconds", RESULT_F64(C, draw_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time between epochs for drawing orders that depend on losses; null = unknown." },
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
	  .help = "Bandwidth that rate asks for, of all workers; null = none." },
	{ "asked_iops", RESULT_F64(R, asked_iops, rate), .unit = "1/s", .flags = MLGEN_NULLABLE,
	  .help = "Operations that rate_iops asks for, of all workers; null = none." },
	{ "is_missed", RESULT_BOOL(R, is_missed, or),
	  .help = "The job reached less than 99 % of this rate." },
	{ 0 },
};
#undef R

#define S struct replay_slice
const struct mlgen_field metrics_replay_slice_fields[] = {
	{ "asked_ios", RESULT_U64(S, asked_ios, sum), .unit = "operations",
	  .help = "Reads and writes of the trace in this part of the time, at replay_speed." },
	{ "asked_bytes", RESULT_U64(S, asked_bytes, sum), .unit = "bytes",
	  .help = "Bytes of these." },
	{ "done_ios", RESULT_U64(S, done_ios, sum), .unit = "operations",
	  .help = "Reads and writes that ended in this part of the time." },
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
	  .help = "Threads of the trace that have operations; numjobs workers replay them." },
	{ "asked_seconds", RESULT_F64(R, asked_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "From the first operation of the trace to the end of its last, at replay_speed." },
	{ "asked_operations", RESULT_U64(R, asked_operations, sum), .unit = "operations",
	  .help = "Operations of all kinds that the trace asks for." },
	{ "done_operations", RESULT_U64(R, done_operations, sum), .unit = "operations", .flags = MLGEN_NULLABLE,
	  .help = "Operations that were done; the others failed, or were not reached; null = a dry run." },
	{ "asked_bytes", RESULT_U64(R, asked_bytes, sum), .unit = "bytes",
	  .help = "Bytes of reads and writes that the trace asks for." },
	{ "done_bytes", RESULT_U64(R, done_bytes, sum), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that were read and written; null = a dry run." },
	{ "touches", RESULT_U64(R, touches, sum), .unit = "operations",
	  .help = "Reads asked for that are pages of mappings: ioengine=mmap touches the pages, other engines read them." },
	{ "redirected", RESULT_U64(R, redirected, sum), .unit = "operations",
	  .help = "Operations that would change a file that the trace names; with replay_files=traced they use files below directory instead." },
	{ "blocks", RESULT_U64(R, blocks, sum), .unit = "operations",
	  .help = "Reads and writes asked for that are requests of block devices, replayed on one file for each device." },
	{ "folded", RESULT_U64(R, folded, sum), .unit = "operations",
	  .help = "Requests of block devices that lie beyond replay_span in the trace, and were folded." },
	{ "waits", RESULT_U64(R, waits, sum), .unit = "waits", .flags = MLGEN_NULLABLE,
	  .help = "How often a worker waited because it was more than a second of the trace ahead of the slowest." },
	{ "wait_seconds", RESULT_F64(R, wait_seconds, sum), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of these waits, of all workers together." },
	{ "left_out", RESULT_CHARS(R, left_out, first),
	  .help = "Operations of the trace that are not replayed, by kind; null = none." },
	{ "left_out_operations", RESULT_U64(R, left_out_operations, sum), .unit = "operations",
	  .help = "Number of these records." },
	{ "slice_seconds", RESULT_F64(R, slice_seconds, slice), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Length of each part of the time below; null = merged from runs in which it differs, or from runs one after the other." },
	{ "slices", RESULT_LIST(R, slices, struct replay_slice, metrics_replay_slice_fields, slices),
	  .help = "Operations asked for and done over time, from the start." },
	{ 0 },
};
#undef R

#define R struct job_result
const struct mlgen_field metrics_io_fields[] = {
	{ "numjobs", RESULT_U64(R, io.numjobs, parts), .unit = "workers",
	  .help = "Workers in this record: all of the job with group_reporting, otherwise one." },
	{ "jobnum", RESULT_U64(R, io.jobnum, min),
	  .help = "Number of the worker, or of the first of them, from 0." },
	{ "iodepth_used", RESULT_U64(R, iodepth_used, max), .unit = "requests",
	  .help = "Most requests that one worker had in flight: iodepth, or 1 with a synchronous engine." },
	{ "iodepth_least", RESULT_U64(R, io.iodepth_least, min), .unit = "requests",
	  .help = "The same for the job with the fewest, if group_reporting combines several jobs in this record." },
	{ "in_use", RESULT_STR(R, in_use, first),
	  .help = "Optional features that the engine used, in words; empty = it has none." },
	{ "wall_seconds", RESULT_F64(R, wall_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the slowest worker, without layout and ramp_time." },
	{ "files", RESULT_U64(R, io.files, files), .unit = "files",
	  .help = "Files or devices that the workers read and write." },
	{ "file_bytes", RESULT_U64(R, io.file_bytes, files), .unit = "bytes",
	  .help = "Total size of these." },
	{ "laid_out_files", RESULT_U64(R, io.laid_out_files, laid_out), .unit = "files",
	  .help = "Missing files that were created before the run, for all workers of the job." },
	{ "laid_out_bytes", RESULT_U64(R, io.laid_out_bytes, laid_out), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "rate_read", RESULT_OBJECT(R, io.rate[0], struct rate_result, metrics_rate_fields, members),
	  .help = "The rate asked for, of reads." },
	{ "rate_write", RESULT_OBJECT(R, io.rate[1], struct rate_result, metrics_rate_fields, members),
	  .help = "The rate asked for, of writes." },
	{ "replay", RESULT_OBJECT(R, io.replay, struct replay_result, metrics_replay_fields, members),
	  .help = "Operations of a trace, asked for and done; absent except with phase=replay." },
	{ "worker_percent", RESULT_OBJECT(R, io.worker_percent, struct loader_percent, metrics_loader_percent_fields, members),
	  .help = "Where the time of the workers went; sums to 100." },
	{ "ops", RESULT_OBJECT(R, ops, struct ops_result, metrics_ops_fields, members),
	  .help = "Operations by kind." },
	{ "storage", RESULT_OBJECT(R, storage, struct storage_result, metrics_storage_fields, storage),
	  .help = "The storage that was measured. In the record of one of several workers the figures are of all workers of the job, in the window of that worker." },
	METRICS_WINDOW_ROWS,
	{ "numa", RESULT_OBJECT(R, numa, struct numa_result, metrics_numa_fields, members),
	  .help = "NUMA nodes of the workers and of the disk." },
	{ "verdict", RESULT_OBJECT(R, verdict, struct verdict_result, metrics_verdict_fields, later),
	  .help = "Errors if too much failed, memory or host if the run did not measure storage; null = none of these." },
	{ "errors", RESULT_U64(R, errors, sum), .unit = "errors",
	  .help = "Errors that continue_on_error counted, including those within ramp_time." },
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
