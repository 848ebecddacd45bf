/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_ml.c - what the JSON document has of a training and its dataset. */
#include "report/metrics_tables.h"

#include <string.h>

/* clang-format off */

#define M struct metrics_dataset
const struct mlgen_field metrics_dataset_fields[] = {
	{ "directory", MLGEN_F_STR(M, dataset.directory),
	  .help = "Where the dataset lies." },
	{ "files", MLGEN_F_U64(M, dataset.files), .unit = "files",
	  .help = "Files that the job reads." },
	{ "files_named", MLGEN_F_U64(M, dataset.files_named), .unit = "files",
	  .help = "Files of the whole dataset, the number in their names." },
	{ "samples_per_file", MLGEN_F_U64(M, dataset.samples_per_file), .unit = "samples",
	  .help = "Samples in each file." },
	{ "samples", MLGEN_F_U64(M, samples), .unit = "samples",
	  .help = "Samples in all these files." },
	{ "subfolders", MLGEN_F_U64(M, dataset.subfolders), .unit = "folders",
	  .help = "Folders among which the files are spread; 0 and 1 = one." },
	{ "bytes", MLGEN_F_U64(M, totals.bytes), .unit = "bytes",
	  .help = "Size of all these files." },
	{ "sample_bytes", MLGEN_F_U64(M, totals.sample_bytes), .unit = "bytes",
	  .help = "Payload in them that is asked for: of columns those that are read, as declared." },
	{ "row_bytes", MLGEN_F_U64(M, totals.row_bytes), .unit = "bytes",
	  .help = "All payload in them, whole rows, without what the format adds." },
	{ "mean_file_bytes", MLGEN_F_F64(M, totals.mean_file_bytes), .unit = "bytes",
	  .help = "Mean size of a file." },
	{ "stdev_file_bytes", MLGEN_F_F64(M, totals.stdev_file_bytes), .unit = "bytes",
	  .help = "Standard deviation of the size of a file." },
	{ "mean_sample_bytes", MLGEN_F_F64(M, totals.mean_sample_bytes), .unit = "bytes",
	  .help = "Mean payload of a sample that is asked for." },
	{ "estimate", MLGEN_F_BOOL(M, totals.estimate),
	  .help = "The sizes are expectations, not sums: there are more than a million files." },
	{ 0 },
};
#undef M

#define T struct time_percent
const struct mlgen_field metrics_time_percent_fields[] = {
	{ "compute", MLGEN_F_PERCENT(T, compute), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Computing, as long as compute_time asks." },
	{ "stall", MLGEN_F_PERCENT(T, stall), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for the next batch." },
	{ "barrier", MLGEN_F_PERCENT(T, barrier), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for the other accelerators." },
	{ "checkpoint", MLGEN_F_PERCENT(T, checkpoint), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for checkpoints." },
	{ "evaluation", MLGEN_F_PERCENT(T, evaluation), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Evaluating." },
	{ "oversleep", MLGEN_F_PERCENT(T, oversleep), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Woken late by this host after computing." },
	{ "other", MLGEN_F_PERCENT(T, other), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "The rest." },
	{ 0 },
};
#undef T

#define E struct epoch_result
const struct mlgen_field metrics_epoch_fields[] = {
	{ "epoch", MLGEN_F_U64(E, epoch),
	  .help = "Number of the epoch, from 1." },
	{ "samples", MLGEN_F_U64(E, samples), .unit = "samples",
	  .help = "Samples that all accelerators took, without those that failed." },
	{ "failed_samples", MLGEN_F_U64(E, failed_samples), .unit = "samples",
	  .help = "Samples of their batches that could not be read, which continue_on_error counted." },
	{ "sample_bytes", MLGEN_F_U64(E, sample_bytes), .unit = "bytes",
	  .help = "Payload of these samples." },
	{ "seconds", MLGEN_F_F64(E, seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "From the start of the epoch to the end of its last step." },
	{ "samples_per_sec", MLGEN_F_F64(E, samples_per_sec), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of that time." },
	{ "sample_bytes_per_sec", MLGEN_F_F64(E, sample_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload per second of that time." },
	{ "au_percent", MLGEN_F_PERCENT(E, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation from the end of the first step to the end of the last; null for an epoch of one step, or with too many errors." },
	{ "stall_count", MLGEN_F_U64(E, stall_count), .unit = "stalls",
	  .help = "Counted stalls: one per step and accelerator but the first." },
	{ "stall_mean_ns", MLGEN_F_F64(E, stall_mean_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Mean of the counted stalls." },
	{ "stall_p99_ns", MLGEN_F_F64(E, stall_p99_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "The 99th percentile of the counted stalls." },
	{ "first_step_ns", MLGEN_F_F64(E, first_step_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "First step of the epoch, mean of the accelerators." },
	{ 0 },
};
#undef E

#define W struct mlperf_window
const struct mlgen_field metrics_mlperf_window_fields[] = {
	{ "train_au_mean_percentage", MLGEN_F_F64(W, train_au_mean_percentage), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation as that version counts it, mean of the epochs." },
	{ "train_au_stdev_percentage", MLGEN_F_F64(W, train_au_stdev_percentage), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Its standard deviation over the epochs." },
	{ "train_throughput_mean_samples_per_second", MLGEN_F_F64(W, train_throughput_mean_samples_per_second), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second as that version counts them, mean of the epochs." },
	{ "train_throughput_stdev_samples_per_second", MLGEN_F_F64(W, train_throughput_stdev_samples_per_second), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Their standard deviation over the epochs." },
	{ "train_io_mean_MB_per_second", MLGEN_F_F64(W, train_io_mean_MB_per_second), .unit = "MiB/s", .flags = MLGEN_NULLABLE,
	  .help = "Those samples times the nominal sample size, mean of the epochs; as DLIO counts: whole rows, whichever columns are read, and MB is MiB." },
	{ "train_io_stdev_MB_per_second", MLGEN_F_F64(W, train_io_stdev_MB_per_second), .unit = "MiB/s", .flags = MLGEN_NULLABLE,
	  .help = "Its standard deviation over the epochs." },
	{ 0 },
};
#undef W

#define P struct mlperf_result
const struct mlgen_field metrics_mlperf_fields[] = {
	{ "v1_0", METRIC_OBJECT(P, v1_0, struct mlperf_window, metrics_mlperf_window_fields),
	  .help = "The window of MLPerf Storage v1.0." },
	{ "v2_0", METRIC_OBJECT(P, v2_0, struct mlperf_window, metrics_mlperf_window_fields),
	  .help = "The window of MLPerf Storage v2.0." },
	{ "v3_0", METRIC_OBJECT(P, v3_0, struct mlperf_window, metrics_mlperf_window_fields),
	  .help = "The window of MLPerf Storage v3.0." },
	{ "train_au_meet_expectation", MLGEN_F_STR(P, train_au_meet_expectation),
	  .help = "Either success or fail, against target_au; null without a target." },
	{ 0 },
};
#undef P

#define C struct mlperf_rule
const struct mlgen_field metrics_mlperf_rule_fields[] = {
	{ "rule", METRICS_TEXT(C, rule), .help = "Name of the rule." },
	{ "state", METRICS_TEXT(C, state), .help = "One of ok, broken and not checked." },
	{ "text", MLGEN_F_STR(C, text),
	  .help = "What was found; of a broken rule the option that breaks it and what would be right." },
	{ 0 },
};
#undef C

#define L struct slowest_rank
const struct mlgen_field metrics_slowest_rank_fields[] = {
	{ "rank", MLGEN_F_U64(L, rank), .flags = MLGEN_NULLABLE,
	  .help = "Number of the accelerator whose counted stalls are longest on the mean, from 0; null = none was counted." },
	{ "stall_mean_ns", MLGEN_F_F64(L, stall_mean_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Their mean." },
	{ "stall_median_ns", MLGEN_F_F64(L, stall_median_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "The median of these means, of all accelerators." },
	{ 0 },
};
#undef L

#define V struct eval_result
const struct mlgen_field metrics_eval_fields[] = {
	{ "steps", MLGEN_F_U64(V, steps), .unit = "steps",
	  .help = "Steps of one accelerator, over all evaluations." },
	{ "samples", MLGEN_F_U64(V, samples), .unit = "samples",
	  .help = "Samples that all accelerators took, without those that failed." },
	{ "failed_samples", MLGEN_F_U64(V, failed_samples), .unit = "samples",
	  .help = "Samples of their batches that could not be read, which continue_on_error counted." },
	{ "sample_bytes", MLGEN_F_U64(V, sample_bytes), .unit = "bytes",
	  .help = "Payload of these samples." },
	{ "io_bytes", MLGEN_F_U64(V, io_bytes), .unit = "bytes",
	  .help = "Bytes as transferred for them." },
	{ "seconds", MLGEN_F_F64(V, seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of all evaluations." },
	{ "samples_per_sec", MLGEN_F_F64(V, samples_per_sec), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of that time." },
	{ "sample_bytes_per_sec", MLGEN_F_F64(V, sample_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload per second of that time." },
	{ "io_bytes_per_sec", MLGEN_F_F64(V, io_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Bytes transferred per second of that time." },
	{ 0 },
};
#undef V

#define C struct ceiling_result
const struct mlgen_field metrics_ceiling_fields[] = {
	{ "null_au_percent", MLGEN_F_PERCENT(C, null_au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation with ioengine=null, which reads nothing; null = not measured." },
	{ "null_samples_per_sec", MLGEN_F_F64(C, null_samples_per_sec), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of its counted steps." },
	{ "null_seconds", MLGEN_F_F64(C, null_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time that was measured for that." },
	{ "cached_au_percent", MLGEN_F_PERCENT(C, cached_au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation with samples that are copied from this host's page cache; null = not measured." },
	{ "cached_samples_per_sec", MLGEN_F_F64(C, cached_samples_per_sec), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of its counted steps." },
	{ "cached_seconds", MLGEN_F_F64(C, cached_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time that was measured for that." },
	{ "cached_files", MLGEN_F_U64(C, cached_files), .unit = "files",
	  .help = "Files of the dataset that were read for it, over and over." },
	{ "cached_bytes", MLGEN_F_U64(C, cached_bytes), .unit = "bytes",
	  .help = "Size of these files." },
	{ "jobs_beside", MLGEN_F_U64(C, jobs_beside), .unit = "jobs",
	  .help = "Jobs that ran at the same time as this one; it was measured without them." },
	{ "unmeasured", METRICS_CHARS(C, unmeasured),
	  .help = "Why a figure could not be measured; null = none is missing, or nothing was tried." },
	{ 0 },
};
#undef C

#define R struct ml_result
const struct mlgen_field metrics_ml_fields[] = {
	{ "accelerators", MLGEN_F_U64(R, accelerators), .unit = "accelerators",
	  .help = "Simulated accelerators." },
	{ "iodepth_used", MLGEN_F_U64(R, iodepth_used), .unit = "requests",
	  .help = "Requests that one read thread had under way at most: iodepth, and 1 on a synchronous engine." },
	{ "in_use", MLGEN_F_STR(R, in_use),
	  .help = "Which of its optional means the engine used, in words; empty = it has none." },
	{ "accelerator", MLGEN_F_STR(R, accelerator),
	  .help = "Kind of accelerator; null = unnamed." },
	{ "steps", MLGEN_F_U64(R, steps), .unit = "steps",
	  .help = "Steps of one accelerator, over all epochs." },
	{ "counted_steps", MLGEN_F_U64(R, counted_steps), .unit = "steps",
	  .help = "Steps of all accelerators that step_ns, stall_ns and au_percent hold: all but the first of each epoch." },
	{ "too_short", MLGEN_F_BOOL(R, too_short),
	  .help = "Fewer than 50 counted steps per accelerator: au_percent says little." },
	{ "samples", MLGEN_F_U64(R, samples), .unit = "samples",
	  .help = "Samples that all accelerators took, without those that failed." },
	{ "failed_samples", MLGEN_F_U64(R, failed_samples), .unit = "samples",
	  .help = "Samples of their batches that could not be read, which continue_on_error counted." },
	{ "sample_bytes", MLGEN_F_U64(R, sample_bytes), .unit = "bytes",
	  .help = "Payload of these samples: of columns those that are read, as declared." },
	{ "io_bytes", MLGEN_F_U64(R, io_bytes), .unit = "bytes",
	  .help = "Bytes as transferred, with what was read ahead and not taken; those of evaluations are in eval." },
	{ "wall_seconds", MLGEN_F_F64(R, wall_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the epochs, without what lies between them." },
	{ "samples_per_sec", MLGEN_F_F64(R, samples_per_sec), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of that time." },
	{ "sample_bytes_per_sec", MLGEN_F_F64(R, sample_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload per second of that time." },
	{ "io_bytes_per_sec", MLGEN_F_F64(R, io_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Bytes transferred per second of that time." },
	{ "au_percent", MLGEN_F_PERCENT(R, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation: compute time asked for, of the time of the counted steps; null with compute_time=0, and where more samples failed than max_errors allows. What was computed on samples that failed is no use." },
	{ "au_unmeasured", METRICS_TEXT(R, au_unmeasured),
	  .help = "Why au_percent is null; null = it is not." },
	{ "au_percent_per_accelerator", METRIC_F64S(R, au_percent_per_accelerator), .unit = "%",
	  .help = "The same of each accelerator." },
	{ "slowest_rank", METRIC_OBJECT(R, slowest_rank, struct slowest_rank, metrics_slowest_rank_fields),
	  .help = "The one that waits longest for its batches." },
	{ "target_au_percent", MLGEN_F_PERCENT(R, target_au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "What the job asks for with target_au; null = none." },
	{ "target_met", MLGEN_F_BOOL(R, target_met),
	  .help = "Whether au_percent reaches that; false without either." },
	{ "time_percent", METRIC_OBJECT(R, time_percent, struct time_percent, metrics_time_percent_fields),
	  .help = "Where the time of the accelerators went; sums to 100." },
	{ "loader_percent", METRIC_OBJECT(R, loader_percent, struct loader_percent, metrics_loader_percent_fields),
	  .help = "Where the time of the read threads went; sums to 100." },
	{ "epochs", METRIC_LIST(R, epochs, struct epoch_result, metrics_epoch_fields),
	  .help = "Each epoch, the first 1,024 of them." },
	{ "epochs_total", MLGEN_F_U64(R, epochs_total), .unit = "epochs",
	  .help = "Epochs begun." },
	{ "sample_ns", METRIC_HIST(R, sample_ns), .unit = "ns",
	  .help = "Latency of an extent, what is read together: its first operation submitted to its last completed. One for which nothing had to be read, because its bytes were in the buffer of the framework, is not among them." },
	{ "samples_per_extent", MLGEN_F_U64(R, samples_per_extent), .unit = "samples", .flags = MLGEN_NULLABLE,
	  .help = "Samples of such an extent: 1 in most formats; the records that fit into 256 KiB, the rows of a row group. null = not all alike, or unknown." },
	{ "step_ns", METRIC_HIST(R, step_ns), .unit = "ns",
	  .help = "Counted steps: stall, compute, oversleep and barrier." },
	{ "first_step_ns", METRIC_HIST(R, first_step_ns), .unit = "ns",
	  .help = "The first step of each epoch, which is in none of the others." },
	{ "stall_ns", METRIC_HIST(R, stall_ns), .unit = "ns",
	  .help = "Waiting for the next batch, of counted steps." },
	{ "ops", METRIC_OBJECT(R, ops, struct ops_result, metrics_ops_fields),
	  .help = "Operations by kind." },
	{ "demand_bytes_per_sec", MLGEN_F_F64(R, demand_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What all accelerators ask for at 100 % utilisation: nominal sample size, of columns those that are read, x batch / mean compute time; null with compute_time=0." },
	{ "demand_io_bytes_per_sec", MLGEN_F_F64(R, demand_io_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in the bytes that are really read for it." },
	{ "storage", METRIC_OBJECT(R, storage, struct storage_result, metrics_storage_fields),
	  .help = "What was measured." },
	{ "window", METRIC_OBJECT(R, window, struct window_result, metrics_window_fields),
	  .help = "The time over which host, network, noise and what storage delivered were measured." },
	{ "host", METRIC_OBJECT(R, host, struct host_result, metrics_host_fields),
	  .help = "Load of this host in the window." },
	{ "network", METRIC_OBJECT(R, network, struct network_result, metrics_network_fields),
	  .help = "What the network carried in the window, of a remote mount." },
	{ "numa", METRIC_OBJECT(R, numa, struct numa_result, metrics_numa_fields),
	  .help = "How near the read threads were to the disk." },
	{ "mlperf", METRIC_OBJECT(R, mlperf, struct mlperf_result, metrics_mlperf_fields),
	  .help = "The same run as published results would count it." },
	{ "mlperf_check", METRIC_LIST(R, mlperf_check, struct mlperf_rule, metrics_mlperf_rule_fields),
	  .help = "The rules of MLPerf Storage that --check asks for; empty without." },
	{ "eval", METRIC_OBJECT(R, eval, struct eval_result, metrics_eval_fields),
	  .help = "What was done between epochs; zeros without eval_files." },
	{ "checkpoints", METRIC_LIST(R, saves.items, struct checkpoint_result, metrics_checkpoint_fields),
	  .help = "Each checkpoint that was saved, the first 1,024 of them." },
	{ "saves", METRIC_OBJECT(R, saves, struct checkpoints_result, metrics_checkpoints_fields),
	  .help = "All of these; absent where nothing was saved." },
	{ "restore", METRIC_LIST(R, restores.items, struct checkpoint_result, metrics_checkpoint_fields),
	  .help = "Each checkpoint that was restored, the first 1,024 of them." },
	{ "restores", METRIC_OBJECT(R, restores, struct checkpoints_result, metrics_checkpoints_fields),
	  .help = "All of these; absent where nothing was restored." },
	{ "ceiling", METRIC_OBJECT(R, ceiling, struct ceiling_result, metrics_ceiling_fields),
	  .help = "What this host reaches without storage; measured with --ceiling, and where the verdict is host or unclear." },
	{ "verdict", METRIC_OBJECT(R, verdict, struct verdict_result, metrics_verdict_fields),
	  .help = "What limits this run, or makes it no result of storage." },
	{ "errors", MLGEN_F_U64(R, errors), .unit = "errors",
	  .help = "Errors that continue_on_error counted, those within ramp_time or met by samples that were read ahead, too." },
	{ "failed_percent", MLGEN_F_PERCENT(R, failed.percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Samples that failed, in percent of those that the accelerators took, in evaluations, too; of errors that met none of these, their number in the place of samples." },
	{ "too_many_errors", MLGEN_F_BOOL(R, failed.is_too_many),
	  .help = "More samples failed than max_errors allows: the exit status is 1." },
	{ "first_error", METRICS_CHARS(R, failed.first),
	  .help = "The first of them in words; null = none." },
	{ "interrupted", MLGEN_F_BOOL(R, interrupted),
	  .help = "The job was stopped by a signal." },
	{ "complete", MLGEN_F_BOOL(R, complete),
	  .help = "The job reached its epochs, steps or runtime, or completed all its checkpoints." },
	{ 0 },
};
#undef R

const char *const metrics_ml_planned[] = {
	"accelerators", "accelerator", "steps", "samples", "sample_bytes",
	"target_au_percent", "demand_bytes_per_sec", "demand_io_bytes_per_sec",
	"storage", "mlperf_check", NULL,
};

#define R struct prepare_result
const struct mlgen_field metrics_prepare_fields[] = {
	{ "files_written", MLGEN_F_U64(R, files_written), .unit = "files",
	  .help = "Files that were missing and have been written." },
	{ "bytes_written", MLGEN_F_U64(R, bytes_written), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "files_kept", MLGEN_F_U64(R, files_kept), .unit = "files",
	  .help = "Files that were there already, complete." },
	{ "wall_ns", MLGEN_F_TIME(R, wall_ns), .unit = "ns",
	  .help = "Time that the preparation took." },
	{ "resident_percent", MLGEN_F_PERCENT(R, resident_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the dataset in this host's page cache after it; null = unknown." },
	{ "resident_files", MLGEN_F_U64(R, resident_files), .unit = "files",
	  .help = "Files that were looked at for that, at most 256." },
	{ "interrupted", MLGEN_F_BOOL(R, interrupted),
	  .help = "It was stopped by a signal; the next run resumes it." },
	{ 0 },
};
#undef R

/* clang-format on */

bool metrics_dataset_init(struct metrics_dataset *m, const struct dataset *ds,
			  const struct dataset_totals *totals)
{
	memset(m, 0, sizeof(*m));
	if (!ds || !ds->format)
		return false;
	m->dataset = *ds;
	m->totals = *totals;
	m->samples = dataset_samples(ds);
	return true;
}
