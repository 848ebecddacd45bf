/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_job.c - what the JSON document has of every job, as fio has it. */
#include "report/metrics_tables.h"

/* clang-format off */

/* Limits as fio has them: what lies below one belongs to it. */
#define SHARE(i, limit, what) \
	{ limit, MLGEN_F_PERCENT(struct metrics_shares, percent[i]), .unit = "%", \
	  .help = "Percent of " what "." }

const struct mlgen_field metrics_latency_ns_fields[] = {
	SHARE(0, "2", "reads and writes that took below 2 ns"),
	SHARE(1, "4", "reads and writes that took 2 to 3 ns"),
	SHARE(2, "10", "reads and writes that took 4 to 9 ns"),
	SHARE(3, "20", "reads and writes that took 10 to 19 ns"),
	SHARE(4, "50", "reads and writes that took 20 to 49 ns"),
	SHARE(5, "100", "reads and writes that took 50 to 99 ns"),
	SHARE(6, "250", "reads and writes that took 100 to 249 ns"),
	SHARE(7, "500", "reads and writes that took 250 to 499 ns"),
	SHARE(8, "750", "reads and writes that took 500 to 749 ns"),
	SHARE(9, "1000", "reads and writes that took 750 to 999 ns"),
	{ 0 },
};

const struct mlgen_field metrics_latency_us_fields[] = {
	SHARE(0, "2", "reads and writes that took 1 us"),
	SHARE(1, "4", "reads and writes that took 2 to 3 us"),
	SHARE(2, "10", "reads and writes that took 4 to 9 us"),
	SHARE(3, "20", "reads and writes that took 10 to 19 us"),
	SHARE(4, "50", "reads and writes that took 20 to 49 us"),
	SHARE(5, "100", "reads and writes that took 50 to 99 us"),
	SHARE(6, "250", "reads and writes that took 100 to 249 us"),
	SHARE(7, "500", "reads and writes that took 250 to 499 us"),
	SHARE(8, "750", "reads and writes that took 500 to 749 us"),
	SHARE(9, "1000", "reads and writes that took 750 to 999 us"),
	{ 0 },
};

const struct mlgen_field metrics_latency_ms_fields[] = {
	SHARE(0, "2", "reads and writes that took 1 ms"),
	SHARE(1, "4", "reads and writes that took 2 to 3 ms"),
	SHARE(2, "10", "reads and writes that took 4 to 9 ms"),
	SHARE(3, "20", "reads and writes that took 10 to 19 ms"),
	SHARE(4, "50", "reads and writes that took 20 to 49 ms"),
	SHARE(5, "100", "reads and writes that took 50 to 99 ms"),
	SHARE(6, "250", "reads and writes that took 100 to 249 ms"),
	SHARE(7, "500", "reads and writes that took 250 to 499 ms"),
	SHARE(8, "750", "reads and writes that took 500 to 749 ms"),
	SHARE(9, "1000", "reads and writes that took 750 to 999 ms"),
	SHARE(10, "2000", "reads and writes that took 1 to 2 s"),
	SHARE(11, ">=2000", "reads and writes that took 2 s or longer"),
	{ 0 },
};

const struct mlgen_field metrics_iodepth_level_fields[] = {
	SHARE(0, "1", "reads and writes that were alone in flight of their worker"),
	SHARE(1, "2", "reads and writes at 2 to 3 in flight"),
	SHARE(2, "4", "reads and writes at 4 to 7 in flight"),
	SHARE(3, "8", "reads and writes at 8 to 15 in flight"),
	SHARE(4, "16", "reads and writes at 16 to 31 in flight"),
	SHARE(5, "32", "reads and writes at 32 to 63 in flight"),
	SHARE(6, ">=64", "reads and writes at 64 or more in flight"),
	{ 0 },
};

/* fio counts none here, then up to the limit. */
const struct mlgen_field metrics_iodepth_batch_fields[] = {
	SHARE(0, "0", "calls that moved no operation"),
	SHARE(1, "4", "calls that moved 1 to 4"),
	SHARE(2, "8", "calls that moved 5 to 8"),
	SHARE(3, "16", "calls that moved 9 to 16"),
	SHARE(4, "32", "calls that moved 17 to 32"),
	SHARE(5, "64", "calls that moved 33 to 64"),
	SHARE(6, ">=64", "calls that moved more"),
	{ 0 },
};

/* MLGEN_FIO: without values there are no bins, as in fio. */
#define D struct metrics_direction
const struct mlgen_field metrics_direction_fields[] = {
	{ "io_bytes", MLGEN_F_U64(D, io_bytes), .unit = "bytes",
	  .help = "Bytes transferred in this direction." },
	{ "io_kbytes", MLGEN_F_U64(D, io_kbytes), .unit = "KiB",
	  .help = "The same in KiB, cut to a whole number." },
	{ "bw_bytes", MLGEN_F_U64(D, bw_bytes), .unit = "bytes/s",
	  .help = "Bytes transferred per second of job_runtime." },
	{ "bw", MLGEN_F_U64(D, bw), .unit = "KiB/s",
	  .help = "The same in KiB/s, cut to a whole number." },
	{ "iops", MLGEN_F_F64(D, iops), .unit = "1/s",
	  .help = "Operations completed per second of job_runtime." },
	{ "runtime", MLGEN_F_U64(D, runtime_ms), .unit = "ms",
	  .help = "Time over which the rates above are taken; 0 without operations." },
	{ "total_ios", MLGEN_F_U64(D, total_ios), .unit = "operations",
	  .help = "Operations completed, without those that failed." },
	{ "short_ios", MLGEN_F_U64(D, short_ios), .unit = "operations",
	  .help = "Transfers that came back short and were resumed." },
	{ "drop_ios", MLGEN_F_U64(D, drop_ios), .unit = "operations",
	  .help = "Always 0: no operation is given up before it was sent." },
	{ "slat_ns", METRIC_HIST(D, slat_ns), .flags = MLGEN_FIO, .unit = "ns",
	  .help = "Delay of a paced job from the intended start to submission; zeros where no pace is set." },
	{ "clat_ns", METRIC_HIST(D, clat_ns), .flags = MLGEN_FIO, .unit = "ns",
	  .help = "Latency from submission to completion." },
	{ "lat_ns", METRIC_HIST(D, lat_ns), .flags = MLGEN_FIO, .unit = "ns",
	  .help = "Latency from the intended start to completion; without a pace that of clat_ns." },
	{ "bw_min", MLGEN_F_U64(D, bw_min), .unit = "KiB/s",
	  .help = "Least bandwidth in a second of the run." },
	{ "bw_max", MLGEN_F_U64(D, bw_max), .unit = "KiB/s",
	  .help = "Greatest bandwidth in a second of the run." },
	{ "bw_agg", MLGEN_F_PERCENT(D, bw_agg), .unit = "%",
	  .help = "Bandwidth as a percentage of that of all jobs of the group." },
	{ "bw_mean", MLGEN_F_F64(D, bw_mean), .unit = "KiB/s",
	  .help = "Mean bandwidth of the seconds of the run." },
	{ "bw_dev", MLGEN_F_F64(D, bw_dev), .unit = "KiB/s",
	  .help = "Standard deviation of the bandwidth of those seconds." },
	{ "bw_samples", MLGEN_F_U64(D, bw_samples), .unit = "seconds",
	  .help = "Number of those seconds." },
	{ "iops_min", MLGEN_F_U64(D, iops_min), .unit = "1/s",
	  .help = "Fewest operations completed in a second of the run." },
	{ "iops_max", MLGEN_F_U64(D, iops_max), .unit = "1/s",
	  .help = "Most operations completed in a second of the run." },
	{ "iops_mean", MLGEN_F_F64(D, iops_mean), .unit = "1/s",
	  .help = "Mean number of operations of the seconds of the run." },
	{ "iops_stddev", MLGEN_F_F64(D, iops_stddev), .unit = "1/s",
	  .help = "Standard deviation of the operations of those seconds." },
	{ "iops_samples", MLGEN_F_U64(D, iops_samples), .unit = "seconds",
	  .help = "Number of those seconds." },
	{ 0 },
};
#undef D

#define S struct metrics_sync
const struct mlgen_field metrics_sync_fields[] = {
	{ "total_ios", MLGEN_F_U64(S, total_ios), .unit = "operations",
	  .help = "Flushes completed: fsync, fdatasync and end_fsync." },
	{ "lat_ns", METRIC_HIST(S, lat_ns), .flags = MLGEN_FIO, .unit = "ns",
	  .help = "Latency from submission to completion." },
	{ 0 },
};
#undef S

const struct mlgen_field metrics_member_fields[] = {
	{ "jobname", METRICS_TEXT(struct metric_pair, key),
	  .help = "Name of a job whose figures are in this one." },
	{ 0 },
};

#define S struct metrics_size
const struct mlgen_field metrics_size_fields[] = {
	{ "operation", METRICS_TEXT(S, operation),
	  .help = "What they were: read or write." },
	{ "largest_bytes", MLGEN_F_U64(S, largest_bytes), .unit = "bytes",
	  .help = "The largest of those between two powers of two." },
	{ "count", MLGEN_F_U64(S, count), .unit = "operations",
	  .help = "So many requests were of that size, or smaller, but above half of the power of two." },
	{ 0 },
};
#undef S

#define J struct metrics_job
const struct mlgen_field metrics_job_fields[] = {
	{ "jobname", METRICS_TEXT(J, jobname),
	  .help = "Name of the job: of its section in the job file." },
	{ "groupid", MLGEN_F_U64(J, groupid),
	  .help = "Jobs of one number ran together; stonewall starts the next number." },
	{ "error", MLGEN_F_U64(J, error),
	  .help = "The errno of the first error of this job; 0 = none." },
	{ "error_text", METRICS_TEXT(J, error_text),
	  .help = "That error in words; null = none." },
	{ "total_err", MLGEN_F_U64(J, total_err), .unit = "errors",
	  .help = "Errors that continue_on_error counted; fio has this and the next only where it is set." },
	{ "first_error", MLGEN_F_U64(J, first_error),
	  .help = "The errno of the first of these; 0 = none." },
	{ "elapsed", MLGEN_F_U64(J, elapsed), .unit = "s",
	  .help = "Whole time of the job with startdelay and preparation, rounded up." },
	{ "elapsed_seconds", MLGEN_F_F64(J, elapsed_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "The same, not rounded." },
	{ "job_runtime", MLGEN_F_U64(J, job_runtime_ms), .unit = "ms",
	  .help = "Time over which the job was measured; of a training its epochs, evaluations, and the waits for checkpoints." },
	{ "members", METRIC_LIST(J, members, struct metric_pair, metrics_member_fields),
	  .help = "Jobs that are merged in this record by group_reporting; itself alone without." },
	{ "job options", METRIC_MAP(J, options),
	  .help = "Options set for this job, as text as written; of a merged record those that all members share." },
	{ "options_resolved", METRIC_MAP(J, options_resolved),
	  .help = "Every option with the value in effect, those of the engine too, as a job file would have it; null = unset." },
	{ "options_origin", METRIC_MAP(J, options_origin),
	  .help = "Where each of these values came from." },
	{ "usr_cpu", MLGEN_F_F64(J, usr_cpu), .unit = "%",
	  .help = "CPU time of the job in user mode, percent of its elapsed time." },
	{ "sys_cpu", MLGEN_F_F64(J, sys_cpu), .unit = "%",
	  .help = "CPU time of the job in the kernel, percent of its elapsed time." },
	{ "ctx", MLGEN_F_U64(J, ctx), .unit = "switches",
	  .help = "Context switches of the job's threads." },
	{ "majf", MLGEN_F_U64(J, majf), .unit = "faults",
	  .help = "Major page faults of the job's threads." },
	{ "minf", MLGEN_F_U64(J, minf), .unit = "faults",
	  .help = "Minor page faults of the job's threads." },
	{ "read_align_bytes", MLGEN_F_U64(J, read_align_bytes), .unit = "bytes",
	  .help = "Alignment to which direct=1 rounded offsets and lengths; 0 = through the page cache." },
	{ "read", METRIC_OBJECT(J, read, struct metrics_direction, metrics_direction_fields),
	  .help = "Reads of the job." },
	{ "write", METRIC_OBJECT(J, write, struct metrics_direction, metrics_direction_fields),
	  .help = "Writes of the job, its preparation not included." },
	{ "trim", METRIC_OBJECT(J, trim, struct metrics_direction, metrics_direction_fields),
	  .help = "All zeros: mlgen does not trim; programs that read fio's output expect it." },
	{ "sync", METRIC_OBJECT(J, sync, struct metrics_sync, metrics_sync_fields),
	  .help = "Flushes of a plain job, or of the checkpoints that one saves." },
	{ "request_sizes", METRIC_LIST(J, request_sizes, struct metrics_size, metrics_size_fields),
	  .help = "How large reads and writes were, as the job asked for them." },
	{ "latency_ns", METRIC_OBJECT(J, latency_ns, struct metrics_shares, metrics_latency_ns_fields),
	  .help = "How many reads and writes took less than a microsecond." },
	{ "latency_us", METRIC_OBJECT(J, latency_us, struct metrics_shares, metrics_latency_us_fields),
	  .help = "How many reads and writes took less than a millisecond." },
	{ "latency_ms", METRIC_OBJECT(J, latency_ms, struct metrics_shares, metrics_latency_ms_fields),
	  .help = "How many reads and writes took a millisecond or longer." },
	{ "iodepth_level", METRIC_OBJECT(J, iodepth_level, struct metrics_shares, metrics_iodepth_level_fields),
	  .help = "How many reads and writes of a worker were in flight at once." },
	{ "iodepth_submit", METRIC_OBJECT(J, iodepth_submit, struct metrics_shares, metrics_iodepth_batch_fields),
	  .help = "How many operations went out in one call." },
	{ "iodepth_complete", METRIC_OBJECT(J, iodepth_complete, struct metrics_shares, metrics_iodepth_batch_fields),
	  .help = "How many operations came back from one call." },
	{ "latency_depth", MLGEN_F_U64(J, latency_depth), .unit = "requests",
	  .help = "Requests that one worker had under way at most." },
	{ "latency_target", MLGEN_F_U64(J, latency_target), .unit = "us",
	  .help = "Always 0: the depth is not adapted to a latency." },
	{ "latency_percentile", MLGEN_F_PERCENT(J, latency_percentile), .unit = "%",
	  .help = "Always 100, for the same reason." },
	{ "latency_window", MLGEN_F_U64(J, latency_window), .unit = "us",
	  .help = "Always 0, for the same reason." },
	{ 0 },
};
#undef J

/* clang-format on */
