/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_ml.c - rows of a training job. */
#include "run/result/result.h"

#include <math.h>

#define EPOCHS_KEPT 1024
#define ACCELERATORS_KEPT 65536

/* ---- rules ---- */

/* Jobs of a group may have different numbers of epochs. An epoch that some clients lack is left
 * out. For runs one after the other, epoch numbers continue from run to run. */
static void epochs_list(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct metric_list, f->off);
	const struct job_result *before = (const void *)at->a;
	size_t had = to->count, both = had < b->count ? had : b->count;
	struct epoch_result *e;

	if (m->how == MERGE_TURNS) {
		merge_append(m, to, b, f->stride, EPOCHS_KEPT);
		e = to->items;
		for (size_t i = had; i < to->count; i++)
			e[i].epoch += before->ml.epochs_total;
		return;
	}
	merge_by_index(m, f, to, b, m->how == MERGE_CLIENTS ? had : SIZE_MAX);
	e = to->items;
	if (m->how == MERGE_CLIENTS)
		to->count = both;
	for (size_t i = 0; m->how == MERGE_GROUP && i < both; i++) {
		e[i].samples_per_sec = (double)e[i].samples / e[i].seconds;
		e[i].sample_bytes_per_sec = (double)e[i].sample_bytes / e[i].seconds;
	}
}

static void accelerators_list(struct merging *m, const struct mlgen_field *f,
			      const struct merge_at *at)
{
	MERGE_STRUCTS(struct metric_list, f->off);
	double *all = to->items;
	const double *more = b->items;

	if (m->how != MERGE_TURNS) {
		merge_append(m, to, b, sizeof(double), ACCELERATORS_KEPT);
		return;
	}
	for (size_t i = 0; i < to->count && i < b->count; i++)
		all[i] = merge_mean_of(all[i], m->weights[0][WEIGHT_ACCELERATORS], more[i],
				       m->weights[1][WEIGHT_ACCELERATORS]);
}

/* Documents compute the flag from the sum; a group sets it if any of its jobs does. */
static void few_steps(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct job_result, 0);
	uint64_t workers = merge_parts.u64(m, a->ml.accelerators, b->ml.accelerators);

	to->ml.too_short = m->how == MERGE_GROUP ? a->ml.too_short || b->ml.too_short
						 : a->ml.counted_steps + b->ml.counted_steps <
							   FEW_STEPS * workers;
}

/* This row must follow that of au_percent. */
static void target_met(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct job_result, 0);

	to->ml.target_met = to->ml.au_percent >= to->ml.target_au_percent;
}

/* Repetitions keep the ranks of the first run. */
static void ranks_list(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct metric_list, f->off);

	if (m->how != MERGE_TURNS)
		merge_append(m, to, b, sizeof(struct rank_time), RANK_TIMES_KEPT);
}

static const struct merge_rule merge_ranks = { .whole = ranks_list, .ordered = MERGE_ORDERED };
static const struct merge_rule merge_stall_mean = MERGE_MEAN_BY(struct epoch_result, stall_count);
static const struct merge_rule merge_epochs = { .whole = epochs_list, .ordered = 1 << MERGE_TURNS };
static const struct merge_rule merge_each_accelerator = {
	.whole = accelerators_list, .ordered = 1 << MERGE_GROUP | 1 << MERGE_CLIENTS
};
static const struct merge_rule merge_few_steps = { .whole = few_steps };
static const struct merge_rule merge_target = { .whole = target_met };
static const struct merge_rule merge_resident =
	MERGE_MEAN_BY(struct prepare_result, resident_files);

/* clang-format off */

#define T struct time_percent
const struct mlgen_field metrics_time_percent_fields[] = {
	{ "compute", RESULT_PERCENT(T, compute, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Computing, for the time in compute_time." },
	{ "stall", RESULT_PERCENT(T, stall, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for the next batch." },
	{ "barrier", RESULT_PERCENT(T, barrier, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for the other accelerators." },
	{ "host_barrier", RESULT_PERCENT(T, host_barrier, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Then waiting for other processes, in a job on several hosts." },
	{ "checkpoint", RESULT_PERCENT(T, checkpoint, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for checkpoints." },
	{ "evaluation", RESULT_PERCENT(T, evaluation, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Evaluating." },
	{ "oversleep", RESULT_PERCENT(T, oversleep, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Woken late by this host after computing." },
	{ "other", RESULT_PERCENT(T, other, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "The rest." },
	{ 0 },
};
#undef T

#define T struct rank_time
const struct mlgen_field metrics_rank_time_fields[] = {
	{ "rank", RESULT_U64(T, rank, first),
	  .help = "Number of the accelerator, from 0, through all hosts." },
	{ "time_percent", RESULT_OBJECT(T, time_percent, struct time_percent, metrics_time_percent_fields, members),
	  .help = "Where its time went; sums to 100." },
	{ "loader_percent", RESULT_OBJECT(T, loader_percent, struct loader_percent, metrics_loader_percent_fields, members),
	  .help = "Where the time of its read threads went; sums to 100." },
	{ 0 },
};
#undef T

#define E struct epoch_result
const struct mlgen_field metrics_epoch_fields[] = {
	{ "epoch", RESULT_U64(E, epoch, first),
	  .help = "Number of the epoch, from 1." },
	{ "samples", RESULT_U64(E, samples, sum), .unit = "samples",
	  .help = "Samples that all accelerators took, without those that failed." },
	{ "failed_samples", RESULT_U64(E, failed_samples, sum), .unit = "samples",
	  .help = "Samples that could not be read, which continue_on_error counted." },
	{ "sample_bytes", RESULT_U64(E, sample_bytes, sum), .unit = "bytes",
	  .help = "Payload of these samples." },
	{ "seconds", RESULT_F64(E, seconds, max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "From the start of the epoch to the end of its last step." },
	{ "samples_per_sec", RESULT_F64(E, samples_per_sec, rate), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of that time." },
	{ "sample_bytes_per_sec", RESULT_F64(E, sample_bytes_per_sec, rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload per second of that time." },
	{ "au_percent", RESULT_PERCENT(E, au_percent, mean_accelerators), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation from the end of the first step to the end of the last; null for an epoch of one step, or with too many errors." },
	{ "stall_count", RESULT_U64(E, stall_count, sum), .unit = "stalls",
	  .help = "Counted stalls: one per step and accelerator, except for the first step." },
	{ "stall_mean_ns", RESULT_F64(E, stall_mean_ns, stall_mean), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Mean of the counted stalls." },
	{ "stall_p99_ns", RESULT_F64(E, stall_p99_ns, forget), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "The 99th percentile of the counted stalls." },
	{ "first_step_ns", RESULT_F64(E, first_step_ns, mean_accelerators), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "First step of the epoch, mean of the accelerators." },
	{ 0 },
};
#undef E

#define W struct mlperf_window
const struct mlgen_field metrics_mlperf_window_fields[] = {
	{ "train_au_mean_percentage", RESULT_F64(W, train_au_mean_percentage, forget), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation as that version counts it, mean of the epochs." },
	{ "train_au_stdev_percentage", RESULT_F64(W, train_au_stdev_percentage, forget), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Its standard deviation over the epochs." },
	{ "train_throughput_mean_samples_per_second", RESULT_F64(W, train_throughput_mean_samples_per_second, forget), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second as that version counts them, mean of the epochs." },
	{ "train_throughput_stdev_samples_per_second", RESULT_F64(W, train_throughput_stdev_samples_per_second, forget), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Their standard deviation over the epochs." },
	{ "train_io_mean_MB_per_second", RESULT_F64(W, train_io_mean_MB_per_second, forget), .unit = "MiB/s", .flags = MLGEN_NULLABLE,
	  .help = "These samples times the nominal sample size, mean of the epochs. As in DLIO, rows count whole, whichever columns are read, and MB is MiB." },
	{ "train_io_stdev_MB_per_second", RESULT_F64(W, train_io_stdev_MB_per_second, forget), .unit = "MiB/s", .flags = MLGEN_NULLABLE,
	  .help = "Its standard deviation over the epochs." },
	{ 0 },
};
#undef W

#define P struct mlperf_result
const struct mlgen_field metrics_mlperf_fields[] = {
	{ "v1_0", RESULT_OBJECT(P, v1_0, struct mlperf_window, metrics_mlperf_window_fields, members),
	  .help = "The window of MLPerf Storage v1.0." },
	{ "v2_0", RESULT_OBJECT(P, v2_0, struct mlperf_window, metrics_mlperf_window_fields, members),
	  .help = "The window of MLPerf Storage v2.0." },
	{ "v3_0", RESULT_OBJECT(P, v3_0, struct mlperf_window, metrics_mlperf_window_fields, members),
	  .help = "The window of MLPerf Storage v3.0." },
	{ "train_au_meet_expectation", RESULT_STR(P, train_au_meet_expectation, forget),
	  .help = "Either success or fail, against target_au; null without a target." },
	{ 0 },
};
#undef P

#define C struct mlperf_rule
const struct mlgen_field metrics_mlperf_rule_fields[] = {
	{ "rule", RESULT_TEXT(C, rule, forget), .help = "Name of the rule." },
	{ "state", RESULT_TEXT(C, state, forget), .help = "One of ok, broken and not checked." },
	{ "text", RESULT_STR(C, text, forget),
	  .help = "What was found; for a broken rule also the option that breaks it and the right value." },
	{ 0 },
};
#undef C

#define L struct slowest_rank
const struct mlgen_field metrics_slowest_rank_fields[] = {
	{ "rank", RESULT_U64(L, rank, forget), .flags = MLGEN_NULLABLE,
	  .help = "Number of the accelerator with the longest mean of its counted stalls, from 0; null = no stall was counted." },
	{ "stall_mean_ns", RESULT_F64(L, stall_mean_ns, forget), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Their mean." },
	{ "stall_median_ns", RESULT_F64(L, stall_median_ns, forget), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "The median of the means of all accelerators; with an even number the lower of the middle two." },
	{ 0 },
};
#undef L

#define V struct eval_result
const struct mlgen_field metrics_eval_fields[] = {
	{ "steps", RESULT_U64(V, steps, turns), .unit = "steps",
	  .help = "Steps of one accelerator, over all evaluations." },
	{ "samples", RESULT_U64(V, samples, sum), .unit = "samples",
	  .help = "Samples that all accelerators took, without those that failed." },
	{ "failed_samples", RESULT_U64(V, failed_samples, sum), .unit = "samples",
	  .help = "Samples that could not be read, which continue_on_error counted." },
	{ "sample_bytes", RESULT_U64(V, sample_bytes, sum), .unit = "bytes",
	  .help = "Payload of these samples." },
	{ "io_bytes", RESULT_U64(V, io_bytes, sum), .unit = "bytes",
	  .help = "Bytes transferred for these samples." },
	{ "seconds", RESULT_F64(V, seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of all evaluations." },
	{ "samples_per_sec", RESULT_F64(V, samples_per_sec, rate), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of that time." },
	{ "sample_bytes_per_sec", RESULT_F64(V, sample_bytes_per_sec, rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload per second of that time." },
	{ "io_bytes_per_sec", RESULT_F64(V, io_bytes_per_sec, rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Bytes transferred per second of that time." },
	{ 0 },
};
#undef V

#define C struct ceiling_result
const struct mlgen_field metrics_ceiling_fields[] = {
	{ "null_au_percent", RESULT_PERCENT(C, null_au_percent, forget), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation with ioengine=null, which reads nothing; null = not measured." },
	{ "null_samples_per_sec", RESULT_F64(C, null_samples_per_sec, forget), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of its counted steps." },
	{ "null_seconds", RESULT_F64(C, null_seconds, forget), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Duration of this measurement." },
	{ "cached_au_percent", RESULT_PERCENT(C, cached_au_percent, forget), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation with samples that are copied from this host's page cache; null = not measured." },
	{ "cached_samples_per_sec", RESULT_F64(C, cached_samples_per_sec, forget), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of its counted steps." },
	{ "cached_seconds", RESULT_F64(C, cached_seconds, forget), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Duration of this measurement." },
	{ "cached_files", RESULT_U64(C, cached_files, forget), .unit = "files",
	  .help = "Files of the dataset that were read for it repeatedly." },
	{ "cached_bytes", RESULT_U64(C, cached_bytes, forget), .unit = "bytes",
	  .help = "Size of these files." },
	{ "jobs_beside", RESULT_U64(C, jobs_beside, forget), .unit = "jobs",
	  .help = "Jobs that ran at the same time as this one; the ceiling was measured without them." },
	{ "unmeasured", RESULT_CHARS(C, unmeasured, forget),
	  .help = "Why a figure could not be measured; null = no figure is missing, or nothing was tried." },
	{ 0 },
};
#undef C

#define R struct job_result
const struct mlgen_field metrics_ml_fields[] = {
	{ "accelerators", RESULT_U64(R, ml.accelerators, parts), .unit = "accelerators",
	  .help = "Simulated accelerators." },
	{ "iodepth_used", RESULT_U64(R, iodepth_used, max), .unit = "requests",
	  .help = "Most requests that one read thread had in flight: iodepth, or 1 with a synchronous engine." },
	{ "in_use", RESULT_STR(R, in_use, first),
	  .help = "Optional features that the engine used, in words; empty = it has none." },
	{ "accelerator", RESULT_STR(R, ml.accelerator, first),
	  .help = "Kind of accelerator; null = unnamed." },
	{ "steps", RESULT_U64(R, ml.steps, turns), .unit = "steps",
	  .help = "Steps of one accelerator, over all epochs." },
	{ "counted_steps", RESULT_U64(R, ml.counted_steps, sum), .unit = "steps",
	  .help = "Steps of all accelerators that are counted in step_ns, stall_ns and au_percent: all except the first of each epoch." },
	{ "too_short", RESULT_BOOL(R, ml.too_short, few_steps),
	  .help = "Fewer than 50 counted steps per accelerator: au_percent says little." },
	{ "samples", RESULT_U64(R, ml.samples, sum), .unit = "samples",
	  .help = "Samples that all accelerators took, without those that failed." },
	{ "failed_samples", RESULT_U64(R, ml.failed_samples, sum), .unit = "samples",
	  .help = "Samples that could not be read, which continue_on_error counted." },
	{ "sample_bytes", RESULT_U64(R, ml.sample_bytes, sum), .unit = "bytes",
	  .help = "Payload of these samples; of columns, only those that are read, with their declared size." },
	{ "io_bytes", RESULT_U64(R, ml.io_bytes, sum), .unit = "bytes",
	  .help = "Bytes transferred, including prefetched data that was not used; those of evaluations are in eval." },
	{ "wall_seconds", RESULT_F64(R, wall_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the epochs, without the time between them." },
	{ "samples_per_sec", RESULT_F64(R, ml.samples_per_sec, rate), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of that time." },
	{ "sample_bytes_per_sec", RESULT_F64(R, ml.sample_bytes_per_sec, rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload per second of that time." },
	{ "io_bytes_per_sec", RESULT_F64(R, ml.io_bytes_per_sec, rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Bytes transferred per second of that time." },
	{ "au_percent", RESULT_PERCENT(R, ml.au_percent, mean_accelerators), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation: compute time asked for, as a percentage of the time of the counted steps, without compute on samples that failed; null with compute_time=0, or if more samples failed than max_errors allows." },
	{ "au_unmeasured", RESULT_TEXT(R, ml.au_unmeasured, later),
	  .help = "Why au_percent is null; null = it is not." },
	{ "au_percent_per_accelerator", RESULT_F64S(R, ml.au_percent_per_accelerator, each_accelerator), .unit = "%",
	  .help = "The same of each accelerator." },
	{ "slowest_rank", RESULT_OBJECT(R, ml.slowest_rank, struct slowest_rank, metrics_slowest_rank_fields, members),
	  .help = "The accelerator that waits longest for its batches." },
	{ "target_au_percent", RESULT_PERCENT(R, ml.target_au_percent, first), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Utilisation that the job asks for with target_au; null = none." },
	{ "target_met", RESULT_BOOL(R, ml.target_met, target),
	  .help = "Whether au_percent reaches the target; false if either is missing." },
	{ "time_percent", RESULT_OBJECT(R, ml.time_percent, struct time_percent, metrics_time_percent_fields, members),
	  .help = "Where the time of the accelerators went; sums to 100." },
	{ "loader_percent", RESULT_OBJECT(R, ml.loader_percent, struct loader_percent, metrics_loader_percent_fields, members),
	  .help = "Where the time of the read threads went; sums to 100." },
	{ "ranks", RESULT_LIST(R, ml.ranks, struct rank_time, metrics_rank_time_fields, ranks),
	  .help = "The same of each accelerator and its read threads, the first 256 of them; empty with one accelerator." },
	{ "epochs", RESULT_LIST(R, ml.epochs, struct epoch_result, metrics_epoch_fields, epochs),
	  .help = "Each epoch, the first 1,024 of them." },
	{ "epochs_total", RESULT_U64(R, ml.epochs_total, turns), .unit = "epochs",
	  .help = "Epochs begun." },
	{ "sample_ns", RESULT_HIST(R, ml.sample_ns, hist), .unit = "ns",
	  .help = "Latency of a sample, or of an extent of several, from its first submission to its last completion. Not included: samples for which nothing was read because the framework's buffer contained their bytes." },
	{ "samples_per_extent", RESULT_U64(R, ml.samples_per_extent, same), .unit = "samples", .flags = MLGEN_NULLABLE,
	  .help = "Samples that are read at once: 1, or those of an extent. null = different numbers, or unknown." },
	{ "step_ns", RESULT_HIST(R, ml.step_ns, hist), .unit = "ns",
	  .help = "Counted steps: stall, compute, oversleep and barrier." },
	{ "first_step_ns", RESULT_HIST(R, ml.first_step_ns, hist), .unit = "ns",
	  .help = "The first step of each epoch, which is in none of the other histograms." },
	{ "stall_ns", RESULT_HIST(R, ml.stall_ns, hist), .unit = "ns",
	  .help = "Waiting for the next batch, of counted steps." },
	{ "ops", RESULT_OBJECT(R, ops, struct ops_result, metrics_ops_fields, members),
	  .help = "Operations by kind." },
	{ "demand_bytes_per_sec", RESULT_F64(R, ml.demand_bytes_per_sec, rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Bandwidth that all accelerators ask for at 100 % utilisation: nominal sample size (of columns only those that are read) x batch / mean compute time; null with compute_time=0." },
	{ "demand_io_bytes_per_sec", RESULT_F64(R, ml.demand_io_bytes_per_sec, rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in the bytes that are actually transferred." },
	{ "storage", RESULT_OBJECT(R, storage, struct storage_result, metrics_storage_fields, storage),
	  .help = "The storage that was measured." },
	METRICS_WINDOW_ROWS,
	{ "numa", RESULT_OBJECT(R, numa, struct numa_result, metrics_numa_fields, members),
	  .help = "NUMA nodes of the read threads and of the disk." },
	{ "mlperf", RESULT_OBJECT(R, ml.mlperf, struct mlperf_result, metrics_mlperf_fields, members),
	  .help = "The same run as published results would count it." },
	{ "mlperf_check", RESULT_LIST(R, ml.mlperf_check, struct mlperf_rule, metrics_mlperf_rule_fields, forget),
	  .help = "The rules of MLPerf Storage that --check asks for; empty without." },
	{ "eval", RESULT_OBJECT(R, ml.eval, struct eval_result, metrics_eval_fields, members),
	  .help = "Evaluations between epochs; zeros without eval_files." },
	{ "checkpoints", RESULT_LIST(R, ml.saves.items, struct checkpoint_result, metrics_checkpoint_fields, items),
	  .help = "Each checkpoint that was saved, the first 1,024 of them." },
	{ "saves", RESULT_OBJECT(R, ml.saves, struct checkpoints_result, metrics_checkpoints_fields, checkpoints),
	  .help = "All saved checkpoints; absent if nothing was saved." },
	{ "restore", RESULT_LIST(R, ml.restores.items, struct checkpoint_result, metrics_checkpoint_fields, items),
	  .help = "Each checkpoint that was restored, the first 1,024 of them." },
	{ "restores", RESULT_OBJECT(R, ml.restores, struct checkpoints_result, metrics_checkpoints_fields, checkpoints),
	  .help = "All restored checkpoints; absent if nothing was restored." },
	{ "ceiling", RESULT_OBJECT(R, ml.ceiling, struct ceiling_result, metrics_ceiling_fields, members),
	  .help = "What this host reaches without storage; measured with --ceiling, and if the verdict is host or unclear." },
	{ "verdict", RESULT_OBJECT(R, verdict, struct verdict_result, metrics_verdict_fields, later),
	  .help = "What limits this run, or why it does not measure storage." },
	{ "errors", RESULT_U64(R, errors, sum), .unit = "errors",
	  .help = "Errors that continue_on_error counted, including those within ramp_time and those of prefetched samples." },
	{ "failed_percent", RESULT_PERCENT(R, failed.percent, later), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Samples that failed, in percent of the samples that the accelerators took, including evaluations. If errors affected none of these samples, the number of errors counts in their place." },
	{ "too_many_errors", RESULT_BOOL(R, failed.is_too_many, with),
	  .help = "More samples failed than max_errors allows: the exit status is 1." },
	METRICS_END_ROWS,
	{ "complete", RESULT_BOOL(R, complete, and),
	  .help = "The job reached its epochs, steps or runtime, or completed all its checkpoints." },
	{ 0 },
};
#undef R

#define R struct prepare_result
const struct mlgen_field metrics_prepare_fields[] = {
	{ "files_written", RESULT_U64(R, files_written, sum), .unit = "files",
	  .help = "Files that were missing and have been written." },
	{ "bytes_written", RESULT_U64(R, bytes_written, sum), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "files_kept", RESULT_U64(R, files_kept, parts), .unit = "files",
	  .help = "Complete files that already existed." },
	{ "wall_ns", RESULT_TIME(R, wall_ns, turns), .unit = "ns",
	  .help = "Time that the preparation took." },
	{ "resident_percent", RESULT_PERCENT(R, resident_percent, resident), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the dataset in this host's page cache after it; null = unknown." },
	{ "resident_files", RESULT_U64(R, resident_files, sum), .unit = "files",
	  .help = "Files that were examined for this, at most 256." },
	{ "interrupted", RESULT_BOOL(R, interrupted, or),
	  .help = "It was stopped by a signal; the next run resumes it." },
	{ 0 },
};
#undef R

/* clang-format on */
