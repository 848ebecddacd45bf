/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - every figure of the JSON document, declared once. */
#include "report/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config.h"

#define SCHEMA_VERSION 1

/* A member that is text of somebody else's. */
#define TEXT(s, m) .type = MLGEN_STR, .off = MLGEN_MEMBER(s, m, const char *)

/* clang-format off */

/* ---- fio's part ---- */

/* Limits as fio has them: what lies below one belongs to it. */
#define SHARE(i, limit, what) \
	{ limit, MLGEN_F_PERCENT(struct metrics_shares, percent[i]), .unit = "%", \
	  .help = "Percent of " what "." }

static const struct mlgen_field latency_ns_fields[] = {
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

static const struct mlgen_field latency_us_fields[] = {
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

static const struct mlgen_field latency_ms_fields[] = {
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

static const struct mlgen_field iodepth_level_fields[] = {
	SHARE(0, "1", "reads and writes that were alone in flight of their worker"),
	SHARE(1, "2", "reads and writes at 2 to 3 in flight"),
	SHARE(2, "4", "reads and writes at 4 to 7 in flight"),
	SHARE(3, "8", "reads and writes at 8 to 15 in flight"),
	SHARE(4, "16", "reads and writes at 16 to 31 in flight"),
	SHARE(5, "32", "reads and writes at 32 to 63 in flight"),
	SHARE(6, ">=64", "reads and writes at 64 or more in flight"),
	{ 0 },
};

#define D struct metrics_direction
static const struct mlgen_field direction_fields[] = {
	{ "io_bytes", MLGEN_F_U64(D, io_bytes), .unit = "bytes",
	  .help = "Bytes transferred in this direction." },
	{ "io_kbytes", MLGEN_F_U64(D, io_kbytes), .unit = "KiB",
	  .help = "The same in KiB, cut to a whole number." },
	{ "bw_bytes", MLGEN_F_U64(D, bw_bytes), .unit = "bytes/s",
	  .help = "Bytes transferred per second of the run." },
	{ "bw", MLGEN_F_U64(D, bw), .unit = "KiB/s",
	  .help = "The same in KiB/s, cut to a whole number." },
	{ "iops", MLGEN_F_F64(D, iops), .unit = "1/s",
	  .help = "Operations completed per second of the run." },
	{ "runtime", MLGEN_F_U64(D, runtime_ms), .unit = "ms",
	  .help = "Time over which the rates above are taken; 0 without operations." },
	{ "total_ios", MLGEN_F_U64(D, total_ios), .unit = "operations",
	  .help = "Operations completed." },
	{ "short_ios", MLGEN_F_U64(D, short_ios), .unit = "operations",
	  .help = "Transfers that came back short and were resumed." },
	{ "drop_ios", MLGEN_F_U64(D, drop_ios), .unit = "operations",
	  .help = "Always 0: no operation is given up before it was sent." },
	{ "slat_ns", METRIC_HIST(D, slat_ns), .unit = "ns",
	  .help = "Delay from the intended start to submission; zeros where no pace is set." },
	{ "clat_ns", METRIC_HIST(D, clat_ns), .unit = "ns",
	  .help = "Latency from submission to completion." },
	{ "lat_ns", METRIC_HIST(D, lat_ns), .unit = "ns",
	  .help = "Latency from the intended start to completion." },
	{ "bw_min", MLGEN_F_U64(D, bw_min), .unit = "KiB/s",
	  .help = "Least bandwidth in a second of the run." },
	{ "bw_max", MLGEN_F_U64(D, bw_max), .unit = "KiB/s",
	  .help = "Greatest bandwidth in a second of the run." },
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

static const struct mlgen_field member_fields[] = {
	{ "jobname", TEXT(struct metric_pair, key),
	  .help = "Name of a job whose figures are in this one." },
	{ 0 },
};

#define J struct metrics_job
const struct mlgen_field metrics_job_fields[] = {
	{ "jobname", TEXT(J, jobname),
	  .help = "Name of the job: of its section in the job file." },
	{ "groupid", MLGEN_F_U64(J, groupid),
	  .help = "Jobs of one number ran together; stonewall starts the next number." },
	{ "error", MLGEN_F_U64(J, error),
	  .help = "The errno of the first error of this job; 0 = none." },
	{ "error_text", TEXT(J, error_text),
	  .help = "That error in words; null = none." },
	{ "elapsed", MLGEN_F_U64(J, elapsed), .unit = "s",
	  .help = "Whole time of the job with startdelay and preparation, rounded up." },
	{ "job_runtime", MLGEN_F_U64(J, job_runtime_ms), .unit = "ms",
	  .help = "Time over which the job was measured." },
	{ "members", METRIC_LIST(J, members, struct metric_pair, member_fields),
	  .help = "Jobs that are merged in this record by group_reporting; itself alone without." },
	{ "job options", METRIC_MAP(J, options),
	  .help = "Options set for this job, as text as written; of a merged record those that all members share." },
	{ "options_resolved", METRIC_MAP(J, options_resolved),
	  .help = "Every option with the value in effect, as a job file would have it; null = unset." },
	{ "options_origin", METRIC_MAP(J, options_origin),
	  .help = "Where each of these values came from." },
	{ "usr_cpu", MLGEN_F_PERCENT(J, usr_cpu), .unit = "%",
	  .help = "CPU time of the job in user mode, percent of its elapsed time." },
	{ "sys_cpu", MLGEN_F_PERCENT(J, sys_cpu), .unit = "%",
	  .help = "CPU time of the job in the kernel, percent of its elapsed time." },
	{ "ctx", MLGEN_F_U64(J, ctx), .unit = "switches",
	  .help = "Context switches of the job's threads." },
	{ "majf", MLGEN_F_U64(J, majf), .unit = "faults",
	  .help = "Major page faults of the job's threads." },
	{ "minf", MLGEN_F_U64(J, minf), .unit = "faults",
	  .help = "Minor page faults of the job's threads." },
	{ "read_align_bytes", MLGEN_F_U64(J, read_align_bytes), .unit = "bytes",
	  .help = "Alignment to which direct=1 rounded offsets and lengths; 0 = through the page cache." },
	{ "read", METRIC_OBJECT(J, read, struct metrics_direction, direction_fields),
	  .help = "Reads of the job." },
	{ "write", METRIC_OBJECT(J, write, struct metrics_direction, direction_fields),
	  .help = "Writes of the job, its preparation not included." },
	{ "trim", METRIC_OBJECT(J, trim, struct metrics_direction, direction_fields),
	  .help = "All zeros: mlgen does not trim; programs that read fio's output expect it." },
	{ "latency_ns", METRIC_OBJECT(J, latency_ns, struct metrics_shares, latency_ns_fields),
	  .help = "How many reads and writes took less than a microsecond." },
	{ "latency_us", METRIC_OBJECT(J, latency_us, struct metrics_shares, latency_us_fields),
	  .help = "How many reads and writes took less than a millisecond." },
	{ "latency_ms", METRIC_OBJECT(J, latency_ms, struct metrics_shares, latency_ms_fields),
	  .help = "How many reads and writes took a millisecond or longer." },
	{ "iodepth_level", METRIC_OBJECT(J, iodepth_level, struct metrics_shares, iodepth_level_fields),
	  .help = "How many reads and writes of a worker were in flight at once." },
	{ 0 },
};
#undef J

/* ---- training ---- */

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
	  .help = "Payload in them, without what the format adds." },
	{ "mean_file_bytes", MLGEN_F_F64(M, totals.mean_file_bytes), .unit = "bytes",
	  .help = "Mean size of a file." },
	{ "stdev_file_bytes", MLGEN_F_F64(M, totals.stdev_file_bytes), .unit = "bytes",
	  .help = "Standard deviation of the size of a file." },
	{ "mean_sample_bytes", MLGEN_F_F64(M, totals.mean_sample_bytes), .unit = "bytes",
	  .help = "Mean payload of a sample." },
	{ "estimate", MLGEN_F_BOOL(M, totals.estimate),
	  .help = "The sizes are expectations, not sums: there are more than a million files." },
	{ 0 },
};
#undef M

#define T struct time_percent
static const struct mlgen_field time_percent_fields[] = {
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

#define L struct loader_percent
static const struct mlgen_field loader_percent_fields[] = {
	{ "open", MLGEN_F_PERCENT(L, open), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that open files." },
	{ "stat", MLGEN_F_PERCENT(L, stat), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that ask for the size of files." },
	{ "read", MLGEN_F_PERCENT(L, read), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that read." },
	{ "write", MLGEN_F_PERCENT(L, write), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that write." },
	{ "fsync", MLGEN_F_PERCENT(L, fsync), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that flush." },
	{ "close", MLGEN_F_PERCENT(L, close), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that close files." },
	{ "reap", MLGEN_F_PERCENT(L, reap), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for completions, with engines that have several operations in flight." },
	{ "cpu", MLGEN_F_PERCENT(L, cpu), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "On the CPU outside of these calls." },
	{ "idle", MLGEN_F_PERCENT(L, idle), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for room: all batches that may be ahead are." },
	{ "other", MLGEN_F_PERCENT(L, other), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "The rest, such as waiting for a CPU." },
	{ 0 },
};
#undef L

#define E struct epoch_result
static const struct mlgen_field epoch_fields[] = {
	{ "epoch", MLGEN_F_U64(E, epoch),
	  .help = "Number of the epoch, from 1." },
	{ "samples", MLGEN_F_U64(E, samples), .unit = "samples",
	  .help = "Samples that all accelerators took." },
	{ "sample_bytes", MLGEN_F_U64(E, sample_bytes), .unit = "bytes",
	  .help = "Payload of these samples." },
	{ "seconds", MLGEN_F_F64(E, seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "From the start of the epoch to the end of its last step." },
	{ "samples_per_sec", MLGEN_F_F64(E, samples_per_sec), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of that time." },
	{ "sample_bytes_per_sec", MLGEN_F_F64(E, sample_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload per second of that time." },
	{ "au_percent", MLGEN_F_PERCENT(E, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation from the end of the first step to the end of the last; null for an epoch of one step." },
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

static const struct mlgen_field op_fields[] = {
	{ "total", MLGEN_F_U64(struct op_result, total), .unit = "operations",
	  .help = "Operations completed." },
	{ "lat_ns", METRIC_HIST(struct op_result, lat_ns), .unit = "ns",
	  .help = "Latency from submission to completion." },
	{ 0 },
};

#define O struct ops_result
static const struct mlgen_field ops_fields[] = {
	{ "open", METRIC_OBJECT(O, open, struct op_result, op_fields),
	  .help = "Files opened." },
	{ "stat", METRIC_OBJECT(O, stat, struct op_result, op_fields),
	  .help = "Sizes asked for." },
	{ "read", METRIC_OBJECT(O, read, struct op_result, op_fields),
	  .help = "Reads." },
	{ "write", METRIC_OBJECT(O, write, struct op_result, op_fields),
	  .help = "Writes." },
	{ "fsync", METRIC_OBJECT(O, fsync, struct op_result, op_fields),
	  .help = "Flushes to the device." },
	{ "close", METRIC_OBJECT(O, close, struct op_result, op_fields),
	  .help = "Files closed." },
	{ 0 },
};
#undef O

#define S struct storage_result
static const struct mlgen_field storage_fields[] = {
	{ "directory", MLGEN_F_STR(S, directory),
	  .help = "Directory of the dataset." },
	{ "filesystem", MLGEN_F_STR(S, filesystem),
	  .help = "Type of the filesystem it lies on." },
	{ "mount_source", MLGEN_F_STR(S, mount_source),
	  .help = "What is mounted: a device, or a server and its path." },
	{ "mount_target", MLGEN_F_STR(S, mount_target),
	  .help = "Where it is mounted." },
	{ "mount_options", MLGEN_F_STR(S, mount_options),
	  .help = "Options of the mount." },
	{ "device", MLGEN_F_STR(S, device),
	  .help = "Disk below the filesystem; null = none, or unknown." },
	{ "device_kind", MLGEN_F_STR(S, device_kind),
	  .help = "How that disk is attached; null = unknown." },
	{ "scheduler", MLGEN_F_STR(S, scheduler),
	  .help = "I/O scheduler of that disk; null = unknown." },
	{ "read_ahead_bytes", MLGEN_F_U64(S, read_ahead_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Read-ahead of that disk, or of a network filesystem; null = unknown." },
	{ "device_paths", MLGEN_F_U64(S, device_paths), .unit = "paths", .flags = MLGEN_NULLABLE,
	  .help = "Paths to that disk, of NVMe or device-mapper multipath; null = it is none." },
	{ "osts", MLGEN_F_U64(S, osts), .unit = "targets", .flags = MLGEN_NULLABLE,
	  .help = "Storage targets of a Lustre filesystem; null = another filesystem, or unknown." },
	{ "is_memory", MLGEN_F_BOOL(S, is_memory),
	  .help = "The filesystem keeps its files in memory." },
	{ "has_own_cache", MLGEN_F_BOOL(S, has_own_cache),
	  .help = "The filesystem caches in memory beside the page cache, where mlgen neither sees nor drops it." },
	{ "device_read_bytes", MLGEN_F_U64(S, device_read_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that storage delivered during the run, as the source below counts them: a disk to anyone, the servers of a mount to this host, or to this process; null = unknown." },
	{ "device_reads", MLGEN_F_U64(S, device_reads), .unit = "requests", .flags = MLGEN_NULLABLE,
	  .help = "Requests in which it did so, at the disk or the servers; null = unknown." },
	{ "memory_percent", MLGEN_F_PERCENT(S, memory_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the bytes read that came from this host's memory; null = unknown." },
	{ "source", MLGEN_F_STR(S, source),
	  .help = "What counted the bytes that storage delivered: device counters, NFS mountstats, Lustre osc statistics or /proc/self/io; unknown = nothing." },
	{ "resident_before_percent", MLGEN_F_PERCENT(S, resident_before_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the dataset in this host's page cache before the run, and before invalidate drops it; null = unknown." },
	{ "resident_files", MLGEN_F_U64(S, resident_files), .unit = "files",
	  .help = "Files that were looked at for that, at most 256." },
	{ "cache_drops", MLGEN_F_U64(S, cache_drops), .unit = "passes",
	  .help = "How often read threads dropped the dataset from the page cache, as invalidate asks; where a sample of files finds nothing there, they do not." },
	{ 0 },
};
#undef S

#define H struct host_result
static const struct mlgen_field host_fields[] = {
	{ "cpu_percent", MLGEN_F_PERCENT(H, cpu_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How busy the allowed CPUs were, with all processes." },
	{ "user_percent", MLGEN_F_PERCENT(H, user_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Share of mlgen itself in user mode, of the allowed CPUs." },
	{ "system_percent", MLGEN_F_PERCENT(H, system_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Share of mlgen itself in the kernel, of the allowed CPUs." },
	{ "switches_per_sec", MLGEN_F_F64(H, switches_per_sec), .unit = "1/s", .flags = MLGEN_NULLABLE,
	  .help = "Context switches of mlgen per second." },
	{ "oversleep_ns", METRIC_HIST(H, oversleep_ns), .unit = "ns",
	  .help = "How late each simulated computation ended." },
	{ 0 },
};
#undef H

#define N struct network_result
static const struct mlgen_field network_fields[] = {
	{ "interface", TEXT(N, interface),
	  .help = "Interface that routes to the server of a remote mount; null = the mount is local, over RDMA, or its server is not known by address." },
	{ "line_rate_bits_per_sec", MLGEN_F_U64(N, line_rate_bits_per_sec), .unit = "bits/s", .flags = MLGEN_NULLABLE,
	  .help = "What it can carry in one direction; null = unknown." },
	{ "received_bytes", MLGEN_F_U64(N, received_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that it received during the epochs, from anyone." },
	{ "received_bits_per_sec", MLGEN_F_F64(N, received_bits_per_sec), .unit = "bits/s", .flags = MLGEN_NULLABLE,
	  .help = "The same per second, and in bits." },
	{ "percent", MLGEN_F_PERCENT(N, percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The same as a share of the line rate; null = unknown." },
	{ 0 },
};
#undef N

#define N struct numa_result
static const struct mlgen_field numa_fields[] = {
	{ "device_node", MLGEN_F_U64(N, device_node), .flags = MLGEN_NULLABLE,
	  .help = "NUMA node that the disk below the dataset is attached to; null = unknown, or of several disks." },
	{ "loader_nodes", MLGEN_F_STR(N, loader_nodes),
	  .help = "NUMA nodes on which read threads ran, as numa_cpu_nodes has them; null = this host has one." },
	{ "far_percent", MLGEN_F_PERCENT(N, far_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the batches, with loader=plain of the samples, that were begun on another node than the disk's; null = unknown, or this host has one node." },
	{ "unbound", TEXT(N, unbound),
	  .help = "Why numa=device did not bind the read threads; null = it did, or is not set." },
	{ 0 },
};
#undef N

#define W struct mlperf_window
static const struct mlgen_field mlperf_window_fields[] = {
	{ "train_au_mean_percentage", MLGEN_F_F64(W, train_au_mean_percentage), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation as that version counts it, mean of the epochs." },
	{ "train_au_stdev_percentage", MLGEN_F_F64(W, train_au_stdev_percentage), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Its standard deviation over the epochs." },
	{ "train_throughput_mean_samples_per_second", MLGEN_F_F64(W, train_throughput_mean_samples_per_second), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second as that version counts them, mean of the epochs." },
	{ "train_throughput_stdev_samples_per_second", MLGEN_F_F64(W, train_throughput_stdev_samples_per_second), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Their standard deviation over the epochs." },
	{ "train_io_mean_MB_per_second", MLGEN_F_F64(W, train_io_mean_MB_per_second), .unit = "MiB/s", .flags = MLGEN_NULLABLE,
	  .help = "Those samples times the nominal sample size, mean of the epochs; MB is MiB here." },
	{ "train_io_stdev_MB_per_second", MLGEN_F_F64(W, train_io_stdev_MB_per_second), .unit = "MiB/s", .flags = MLGEN_NULLABLE,
	  .help = "Its standard deviation over the epochs." },
	{ 0 },
};
#undef W

#define P struct mlperf_result
static const struct mlgen_field mlperf_fields[] = {
	{ "v1_0", METRIC_OBJECT(P, v1_0, struct mlperf_window, mlperf_window_fields),
	  .help = "The window of MLPerf Storage v1.0." },
	{ "v2_0", METRIC_OBJECT(P, v2_0, struct mlperf_window, mlperf_window_fields),
	  .help = "The window of MLPerf Storage v2.0." },
	{ "v3_0", METRIC_OBJECT(P, v3_0, struct mlperf_window, mlperf_window_fields),
	  .help = "The window of MLPerf Storage v3.0." },
	{ "train_au_meet_expectation", MLGEN_F_STR(P, train_au_meet_expectation),
	  .help = "Either success or fail, against target_au; null without a target." },
	{ 0 },
};
#undef P

#define V struct verdict_result
static const struct mlgen_field verdict_fields[] = {
	{ "name", MLGEN_F_STR(V, name),
	  .help = "What limits: memory, network, host, compute, storage or unclear; null = nothing was measured." },
	{ "headline", MLGEN_F_STR(V, headline),
	  .help = "The verdict in one sentence." },
	{ "because", MLGEN_F_STR(V, because),
	  .help = "The figures that decide it." },
	{ "try_next", MLGEN_F_STR(V, try_next),
	  .help = "The one experiment that could change it; null = none." },
	{ 0 },
};
#undef V

#define R struct ml_result
const struct mlgen_field metrics_ml_fields[] = {
	{ "accelerators", MLGEN_F_U64(R, accelerators), .unit = "accelerators",
	  .help = "Simulated accelerators." },
	{ "iodepth_used", MLGEN_F_U64(R, iodepth_used), .unit = "requests",
	  .help = "Requests that one read thread had under way at most: iodepth, and 1 on a synchronous engine." },
	{ "accelerator", MLGEN_F_STR(R, accelerator),
	  .help = "Kind of accelerator; null = unnamed." },
	{ "steps", MLGEN_F_U64(R, steps), .unit = "steps",
	  .help = "Steps of one accelerator, over all epochs." },
	{ "counted_steps", MLGEN_F_U64(R, counted_steps), .unit = "steps",
	  .help = "Steps of all accelerators that step_ns, stall_ns and au_percent hold: all but the first of each epoch." },
	{ "too_short", MLGEN_F_BOOL(R, too_short),
	  .help = "Fewer than 50 counted steps per accelerator: au_percent says little." },
	{ "samples", MLGEN_F_U64(R, samples), .unit = "samples",
	  .help = "Samples that all accelerators took." },
	{ "sample_bytes", MLGEN_F_U64(R, sample_bytes), .unit = "bytes",
	  .help = "Payload of these samples." },
	{ "io_bytes", MLGEN_F_U64(R, io_bytes), .unit = "bytes",
	  .help = "Bytes as transferred, with what was read ahead and not taken." },
	{ "wall_seconds", MLGEN_F_F64(R, wall_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the epochs, without what lies between them." },
	{ "samples_per_sec", MLGEN_F_F64(R, samples_per_sec), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples per second of that time." },
	{ "sample_bytes_per_sec", MLGEN_F_F64(R, sample_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload per second of that time." },
	{ "io_bytes_per_sec", MLGEN_F_F64(R, io_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Bytes transferred per second of that time." },
	{ "au_percent", MLGEN_F_PERCENT(R, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Accelerator utilisation: compute time asked for, of the time of the counted steps; null with compute_time=0." },
	{ "au_percent_per_accelerator", METRIC_F64S(R, au_percent_per_accelerator), .unit = "%",
	  .help = "The same of each accelerator." },
	{ "target_au_percent", MLGEN_F_PERCENT(R, target_au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "What the job asks for with target_au; null = none." },
	{ "target_met", MLGEN_F_BOOL(R, target_met),
	  .help = "Whether au_percent reaches that; false without either." },
	{ "time_percent", METRIC_OBJECT(R, time_percent, struct time_percent, time_percent_fields),
	  .help = "Where the time of the accelerators went; sums to 100." },
	{ "loader_percent", METRIC_OBJECT(R, loader_percent, struct loader_percent, loader_percent_fields),
	  .help = "Where the time of the read threads went; sums to 100." },
	{ "epochs", METRIC_LIST(R, epochs, struct epoch_result, epoch_fields),
	  .help = "Each epoch, the first 1,024 of them." },
	{ "epochs_total", MLGEN_F_U64(R, epochs_total), .unit = "epochs",
	  .help = "Epochs begun." },
	{ "sample_ns", METRIC_HIST(R, sample_ns), .unit = "ns",
	  .help = "Latency of a sample: its first operation submitted to its last completed." },
	{ "step_ns", METRIC_HIST(R, step_ns), .unit = "ns",
	  .help = "Counted steps: stall, compute, oversleep and barrier." },
	{ "first_step_ns", METRIC_HIST(R, first_step_ns), .unit = "ns",
	  .help = "The first step of each epoch, which is in none of the others." },
	{ "stall_ns", METRIC_HIST(R, stall_ns), .unit = "ns",
	  .help = "Waiting for the next batch, of counted steps." },
	{ "ops", METRIC_OBJECT(R, ops, struct ops_result, ops_fields),
	  .help = "Operations by kind." },
	{ "demand_bytes_per_sec", MLGEN_F_F64(R, demand_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What all accelerators ask for at 100 % utilisation: nominal sample size x batch / mean compute time; null with compute_time=0." },
	{ "demand_io_bytes_per_sec", MLGEN_F_F64(R, demand_io_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in the bytes that are really read for it." },
	{ "storage", METRIC_OBJECT(R, storage, struct storage_result, storage_fields),
	  .help = "What was measured." },
	{ "host", METRIC_OBJECT(R, host, struct host_result, host_fields),
	  .help = "Load of this host during the run." },
	{ "network", METRIC_OBJECT(R, network, struct network_result, network_fields),
	  .help = "What the network carried during the run, of a remote mount." },
	{ "numa", METRIC_OBJECT(R, numa, struct numa_result, numa_fields),
	  .help = "How near the read threads were to the disk." },
	{ "mlperf", METRIC_OBJECT(R, mlperf, struct mlperf_result, mlperf_fields),
	  .help = "The same run as published results would count it." },
	{ "verdict", METRIC_OBJECT(R, verdict, struct verdict_result, verdict_fields),
	  .help = "What limits this run." },
	{ "errors", MLGEN_F_U64(R, errors), .unit = "errors",
	  .help = "Errors that continue_on_error counted." },
	{ "interrupted", MLGEN_F_BOOL(R, interrupted),
	  .help = "The job was stopped by a signal." },
	{ "complete", MLGEN_F_BOOL(R, complete),
	  .help = "The job reached its epochs, steps or runtime." },
	{ 0 },
};
#undef R

const char *const metrics_ml_planned[] = {
	"accelerators", "accelerator", "steps", "samples", "sample_bytes",
	"target_au_percent", "demand_bytes_per_sec", "demand_io_bytes_per_sec",
	"storage", NULL,
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

/* ---- a dry run ---- */

#define C struct plan_calls
static const struct mlgen_field calls_fields[] = {
	{ "open", MLGEN_F_F64(C, open), .help = "Files opened." },
	{ "stat", MLGEN_F_F64(C, stat), .help = "Sizes asked for." },
	{ "read", MLGEN_F_F64(C, read), .help = "Reads." },
	{ "write", MLGEN_F_F64(C, write), .help = "Writes." },
	{ "fsync", MLGEN_F_F64(C, fsync), .help = "Flushes." },
	{ "close", MLGEN_F_F64(C, close), .help = "Files closed." },
	{ 0 },
};
#undef C

static const struct mlgen_choice check_states[] = {
	{ "ok", PLAN_OK, "as it should be" },
	{ "warning", PLAN_WARNING, "the run works, its result says less" },
	{ "fail", PLAN_FAIL, "the run would stop before its first byte" },
	{ 0 },
};

#define C struct plan_check
static const struct mlgen_field check_fields[] = {
	{ "name", MLGEN_F_STR(C, name), .help = "What was looked at." },
	{ "state", MLGEN_F_ENUM(C, state, check_states),
	  .help = "One of ok, warning and fail; a fail is what would stop the run." },
	{ "text", MLGEN_F_STR(C, text),
	  .help = "The rule that is kept, or what is wrong and what would be right." },
	{ 0 },
};

static const struct mlgen_field blocker_fields[] = {
	{ "name", MLGEN_F_STR(C, name), .help = "Which of the checks failed." },
	{ "text", MLGEN_F_STR(C, text), .help = "What would stop the run, and the way out." },
	{ 0 },
};
#undef C

#define P struct plan_report
const struct mlgen_field metrics_plan_fields[] = {
	{ "present_files", MLGEN_F_U64(P, present_files), .unit = "files",
	  .help = "Files of the dataset that are there." },
	{ "present_bytes", MLGEN_F_U64(P, present_bytes), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "present_estimate", MLGEN_F_BOOL(P, present_estimate),
	  .help = "Only some of the files were looked for: there are more than a million." },
	{ "write_files", MLGEN_F_U64(P, write_files), .unit = "files",
	  .help = "Files that the run would write before it starts." },
	{ "write_bytes", MLGEN_F_U64(P, write_bytes), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "free_bytes", MLGEN_F_U64(P, free_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Space that is free for this user; null = unknown." },
	{ "memory_bytes", MLGEN_F_U64(P, memory_bytes), .unit = "bytes",
	  .help = "Memory of this host." },
	{ "dataset_memory_ratio", MLGEN_F_F64(P, dataset_memory_ratio), .flags = MLGEN_NULLABLE,
	  .help = "Size of the dataset in memories of this host; MLPerf Storage asks for 5." },
	{ "steps_per_epoch", MLGEN_F_U64(P, steps_per_epoch), .unit = "steps",
	  .help = "Steps of an epoch; MLPerf Storage asks for 500." },
	{ "left_over_samples", MLGEN_F_U64(P, left_over_samples), .unit = "samples",
	  .help = "Samples that an epoch does not read, because they fill no batch." },
	{ "total_steps", MLGEN_F_U64(P, total_steps), .unit = "steps", .flags = MLGEN_NULLABLE,
	  .help = "Steps of the run; null = as many as runtime allows." },
	{ "read_bytes", MLGEN_F_F64(P, read_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that the run reads; null = as many as runtime allows." },
	{ "least_seconds", MLGEN_F_F64(P, least_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the run at 100 % utilisation; null = unknown." },
	{ "samples_per_sec_one", MLGEN_F_F64(P, samples_per_sec_one), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "What one accelerator takes at 100 % utilisation; null with compute_time=0." },
	{ "bytes_per_sec_one", MLGEN_F_F64(P, bytes_per_sec_one), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in payload." },
	{ "demand_bytes_per_sec", MLGEN_F_F64(P, demand_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What all accelerators ask for at 100 % utilisation." },
	{ "demand_io_bytes_per_sec", MLGEN_F_F64(P, demand_io_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in the bytes that would really be read for it." },
	{ "reads_in_flight", MLGEN_F_U64(P, reads_in_flight), .unit = "reads",
	  .help = "Reads in flight at once, of all read threads." },
	{ "calls_per_sample", METRIC_OBJECT(P, calls_per_sample, struct plan_calls, calls_fields),
	  .help = "Operations for one sample, on average." },
	{ "io_bytes_per_sample", MLGEN_F_F64(P, io_bytes_per_sample), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes read for one sample, on average." },
	{ "direct_align_bytes", MLGEN_F_U64(P, direct_align_bytes), .unit = "bytes",
	  .help = "Alignment to which direct=1 rounds; 0 = through the page cache." },
	{ "open_files", MLGEN_F_U64(P, open_files), .unit = "files",
	  .help = "Open files that the run needs at once." },
	{ "open_files_limit", MLGEN_F_U64(P, open_files_limit), .unit = "files",
	  .help = "Open files that this process may have." },
	{ "program_bytes", MLGEN_F_U64(P, program_bytes), .unit = "bytes",
	  .help = "Memory that mlgen will need; an estimate." },
	{ "framework_bytes", MLGEN_F_F64(P, framework_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Memory in which the framework would hold samples read ahead; mlgen does not." },
	{ "checks", METRIC_LIST(P, checks, struct plan_check, check_fields),
	  .help = "Everything that was checked." },
	{ "blockers", METRIC_LIST(P, blockers, struct plan_check, blocker_fields),
	  .help = "What would stop the run; empty = it can start." },
	{ 0 },
};
#undef P

/* ---- the document ---- */

#define M struct metrics_machine
static const struct mlgen_field machine_fields[] = {
	{ "hostname", TEXT(M, hostname), .help = "Name of this host." },
	{ "kernel", TEXT(M, kernel), .help = "Kernel and its version." },
	{ "cpus", MLGEN_F_U64(M, cpus), .unit = "CPUs",
	  .help = "CPUs that this process may use." },
	{ "cpus_online", MLGEN_F_U64(M, cpus_online), .unit = "CPUs",
	  .help = "CPUs of this host." },
	{ "memory_bytes", MLGEN_F_U64(M, memory_bytes), .unit = "bytes",
	  .help = "Memory of this host, or of this process's control group if that is less." },
	{ "open_files", MLGEN_F_U64(M, open_files), .unit = "files",
	  .help = "Open files that this process may have." },
	{ 0 },
};
#undef M

#define U struct metrics_disk
static const struct mlgen_field disk_fields[] = {
	{ "name", TEXT(U, name), .help = "Name of the disk." },
	{ "read_ios", MLGEN_F_U64(U, util.read_ios), .unit = "operations",
	  .help = "Reads that the disk completed during the run, of anyone." },
	{ "write_ios", MLGEN_F_U64(U, util.write_ios), .unit = "operations",
	  .help = "Writes that the disk completed." },
	{ "read_sectors", MLGEN_F_U64(U, util.read_sectors), .unit = "512 bytes",
	  .help = "Sectors read." },
	{ "write_sectors", MLGEN_F_U64(U, util.write_sectors), .unit = "512 bytes",
	  .help = "Sectors written." },
	{ "read_merges", MLGEN_F_U64(U, util.read_merges), .unit = "operations",
	  .help = "Reads merged with another." },
	{ "write_merges", MLGEN_F_U64(U, util.write_merges), .unit = "operations",
	  .help = "Writes merged with another." },
	{ "read_ticks", MLGEN_F_U64(U, util.read_ticks), .unit = "ms",
	  .help = "Time of all reads together." },
	{ "write_ticks", MLGEN_F_U64(U, util.write_ticks), .unit = "ms",
	  .help = "Time of all writes together." },
	{ "in_queue", MLGEN_F_U64(U, util.in_queue), .unit = "ms",
	  .help = "Time of all operations in the queue together." },
	{ "util", MLGEN_F_PERCENT(U, util.util), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the time in which the disk had something to do." },
	{ 0 },
};
#undef U

#define T struct metrics_top
const struct mlgen_field metrics_top_fields[] = {
	{ "mlgen version", TEXT(T, version), .help = "Version of this program." },
	{ "schema_version", MLGEN_F_U64(T, schema_version),
	  .help = "Version of this document: a key may be added to one, never changed or removed." },
	{ "timestamp", MLGEN_F_U64(T, timestamp), .unit = "s",
	  .help = "Start of the run, seconds since 1970." },
	{ "timestamp_ms", MLGEN_F_U64(T, timestamp_ms), .unit = "ms",
	  .help = "The same in milliseconds." },
	{ "time", MLGEN_F_STR(T, time), .help = "The same in words, local time." },
	{ "interrupted", MLGEN_F_BOOL(T, interrupted),
	  .help = "The run was stopped by a signal; figures cover what ran before." },
	{ "machine", METRIC_OBJECT(T, machine, struct metrics_machine, machine_fields),
	  .help = "This host." },
	{ "global options", METRIC_MAP(T, global_options),
	  .help = "Options of [global] that hold for all jobs alike, as text as written." },
	{ "jobs", METRIC_LIST(T, jobs, struct metrics_job, metrics_job_fields),
	  .help = "One record per job, or per group with group_reporting." },
	{ "disk_util", METRIC_LIST(T, disk_util, struct metrics_disk, disk_fields),
	  .help = "Disks below the datasets, and what they did during the run." },
	{ 0 },
};
#undef T

const struct metrics_section metrics_sections[] = {
	{ "", metrics_top_fields },
	{ "machine", machine_fields },
	{ "jobs[]", metrics_job_fields },
	{ "jobs[].members[]", member_fields },
	{ "jobs[].read, jobs[].write, jobs[].trim", direction_fields },
	{ "jobs[].latency_ns", latency_ns_fields },
	{ "jobs[].latency_us", latency_us_fields },
	{ "jobs[].latency_ms", latency_ms_fields },
	{ "jobs[].iodepth_level", iodepth_level_fields },
	{ "jobs[].dataset", metrics_dataset_fields },
	{ "jobs[].prepare", metrics_prepare_fields },
	{ "jobs[].ml", metrics_ml_fields },
	{ "jobs[].ml.time_percent", time_percent_fields },
	{ "jobs[].ml.loader_percent", loader_percent_fields },
	{ "jobs[].ml.epochs[]", epoch_fields },
	{ "jobs[].ml.ops", ops_fields },
	{ "jobs[].ml.ops.KIND", op_fields },
	{ "jobs[].ml.storage", storage_fields },
	{ "jobs[].ml.host", host_fields },
	{ "jobs[].ml.network", network_fields },
	{ "jobs[].ml.numa", numa_fields },
	{ "jobs[].ml.mlperf", mlperf_fields },
	{ "jobs[].ml.mlperf.VERSION", mlperf_window_fields },
	{ "jobs[].ml.verdict", verdict_fields },
	{ "jobs[].plan", metrics_plan_fields },
	{ "jobs[].plan.calls_per_sample", calls_fields },
	{ "jobs[].plan.checks[]", check_fields },
	{ "jobs[].plan.blockers[]", blocker_fields },
	{ "disk_util[]", disk_fields },
	{ 0 },
};

/* clang-format on */

const char *metrics_version(void)
{
	return MLGEN_VERSION;
}

/* A map of options in the making; keys are borrowed, values are owned. */
static void pair_add(struct metric_list *l, const char *key, char *value)
{
	l->items = mem_realloc(l->items,
			       (l->count + 1) * sizeof(struct metric_pair));
	struct metric_pair *pairs = l->items;
	pairs[l->count++] = (struct metric_pair){ key, value };
}

static void pairs_fini(struct metric_list *l, bool owns_values)
{
	struct metric_pair *pairs = l->items;
	for (size_t i = 0; owns_values && i < l->count; i++) {
		char *value;
		memcpy(&value, &pairs[i].value, sizeof(value));
		mem_free(value);
	}
	mem_free(l->items);
	memset(l, 0, sizeof(*l));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_global(const struct job *j, size_t option)
{
	const char *how = j->origins[option].how;
	return how && strcmp(how, "[global]") == 0;
}

/* Set by [global], and for every job of the set to the same text. */
static bool is_global_everywhere(const struct jobset *set, size_t option)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct job *j = set->jobs[i];
		if (!is_global(j, option) ||
		    !same_text(j->origins[option].raw,
			       set->jobs[0]->origins[option].raw))
			return false;
	}
	return set->count > 0;
}

/* The jobs whose figures are merged in the record of `j`. */
static bool is_member(const struct job *other, const struct job *j,
		      unsigned members)
{
	return other == j || (members > 1 && other->group_reporting &&
			      other->group == j->group);
}

static bool is_shared(const struct jobset *set, const struct job *j,
		      unsigned members, size_t option)
{
	for (size_t i = 0; i < set->count; i++)
		if (is_member(set->jobs[i], j, members) &&
		    !same_text(set->jobs[i]->origins[option].raw,
			       j->origins[option].raw))
			return false;
	return true;
}

static void fill_members(struct metrics_job *m, const struct job *j,
			 const struct jobset *set, unsigned members)
{
	for (size_t i = 0; i < set->count; i++)
		if (is_member(set->jobs[i], j, members))
			pair_add(&m->members, set->jobs[i]->name, NULL);
}

/* "unet3d.job:12 [global]" */
static char *origin_text(const struct job_origin *o)
{
	struct buf text = { 0 };
	if (o->at.file)
		buf_addf(&text, "%s:%u ", o->at.file, o->at.line);
	buf_add(&text, o->how ? o->how : "default");
	return buf_take(&text);
}

static char *resolved_text(const struct job *j, const char *option)
{
	struct buf text = { 0 };
	job_option_text(j, option, &text);
	if (text.len)
		return buf_take(&text);
	buf_fini(&text);
	return NULL;
}

static void fill_options(struct metrics_job *m, const struct job *j,
			 const struct jobset *set, unsigned members)
{
	for (size_t i = 0; job_fields[i].name; i++) {
		const char *name = job_fields[i].name;
		const struct job_origin *o = &j->origins[i];
		if (o->raw && !is_global_everywhere(set, i) &&
		    is_shared(set, j, members, i))
			pair_add(&m->options, name, mem_strdup(o->raw));
		pair_add(&m->options_resolved, name, resolved_text(j, name));
		pair_add(&m->options_origin, name, origin_text(o));
	}
}

static uint64_t rate(uint64_t n, double seconds)
{
	return seconds > 0 ? (uint64_t)((double)n / seconds) : 0;
}

static uint64_t whole(double v)
{
	return v > 0 && v < 1e18 ? (uint64_t)v : 0;
}

static void fill_direction(struct metrics_direction *m,
			   const struct direction_result *r, double seconds)
{
	m->io_bytes = r->io_bytes;
	m->io_kbytes = r->io_bytes >> 10;
	m->bw_bytes = rate(r->io_bytes, seconds);
	m->bw = m->bw_bytes >> 10;
	m->iops = seconds > 0 ? (double)r->total_ios / seconds : 0;
	m->runtime_ms = r->total_ios ? whole(seconds * 1e3) : 0;
	m->total_ios = r->total_ios;
	m->short_ios = r->short_ios;
	/* Nothing is paced: the intended start is the submission. */
	m->clat_ns = r->lat_ns;
	m->lat_ns = r->lat_ns;
	m->bw_min = whole(r->bw_kib.min);
	m->bw_max = whole(r->bw_kib.max);
	m->bw_mean = r->bw_kib.mean;
	m->bw_dev = r->bw_kib.dev;
	m->bw_samples = r->bw_kib.samples;
	m->iops_min = whole(r->iops.min);
	m->iops_max = whole(r->iops.max);
	m->iops_mean = r->iops.mean;
	m->iops_stddev = r->iops.dev;
	m->iops_samples = r->iops.samples;
}

/* The first of fio's limits that lies above. */
static unsigned share_of(uint64_t value)
{
	static const uint64_t limits[] = { 2,   4,   10,  20,   50,  100,
					   250, 500, 750, 1000, 2000 };
	unsigned i = 0;
	while (i < sizeof(limits) / sizeof(limits[0]) && value >= limits[i])
		i++;
	return i;
}

static void add_shares(struct metrics_job *m, const struct hist *h,
		       double percent)
{
	for (unsigned b = 0; h && b < HIST_BUCKETS; b++) {
		if (!h->buckets[b])
			continue;
		double share = percent * (double)h->buckets[b];
		uint64_t ns = hist_bucket_midpoint(b);
		if (ns < 1000)
			m->latency_ns.percent[share_of(ns)] += share;
		else if (ns < 1000000)
			m->latency_us.percent[share_of(ns / 1000)] += share;
		else
			m->latency_ms.percent[share_of(ns / 1000000)] += share;
	}
}

static void fill_shares(struct metrics_job *m, const struct job_result *r)
{
	const struct hist *read = r->read.lat_ns, *write = r->write.lat_ns;
	uint64_t count = (read ? read->count : 0) + (write ? write->count : 0);
	if (!count)
		return;
	add_shares(m, read, 100.0 / (double)count);
	add_shares(m, write, 100.0 / (double)count);
	/* Every engine of today has one operation of a worker in flight. */
	m->iodepth_level.percent[0] = 100;
}

static double measured_seconds(const struct job_result *r)
{
	if (r->kind == RESULT_PREPARE)
		return (double)r->prepare.wall_ns / 1e9;
	return r->ml.wall_seconds > 0 ? r->ml.wall_seconds : 0;
}

void metrics_top_init(struct metrics_top *t, const struct run_result *r,
		      const struct jobset *set)
{
	memset(t, 0, sizeof(*t));
	t->version = metrics_version();
	t->schema_version = SCHEMA_VERSION;
	t->timestamp_ms = r->timestamp_ms;
	t->timestamp = r->timestamp_ms / 1000;
	time_t seconds = (time_t)t->timestamp;
	struct tm tm;
	char text[64] = "";
	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm);
	t->time = mem_strdup(text);
	t->interrupted = r->interrupted;
	t->machine = (struct metrics_machine){
		.hostname = r->host.hostname,
		.kernel = r->host.kernel,
		.cpus = r->host.cpus,
		.cpus_online = r->host.cpus_online,
		.memory_bytes = r->host.memory_bytes,
		.open_files = r->host.open_files,
	};
	for (size_t i = 0; job_fields[i].name; i++)
		if (is_global_everywhere(set, i))
			pair_add(&t->global_options, job_fields[i].name,
				 mem_strdup(set->jobs[0]->origins[i].raw));
	struct metrics_disk *disks = mem_array(r->disk_count, sizeof(*disks));
	for (size_t i = 0; i < r->disk_count; i++) {
		disks[i].util = r->disks[i];
		disks[i].name = r->disks[i].name;
	}
	t->disk_util = (struct metric_list){ disks, r->disk_count };
}

void metrics_top_fini(struct metrics_top *t)
{
	mem_free(t->time);
	pairs_fini(&t->global_options, true);
	mem_free(t->disk_util.items);
	memset(t, 0, sizeof(*t));
}

void metrics_job_init(struct metrics_job *m, const struct job_result *r,
		      const struct jobset *set)
{
	double seconds = measured_seconds(r);
	unsigned members = r->members;
	memset(m, 0, sizeof(*m));
	m->jobname = r->job->name;
	m->groupid = r->group;
	m->error = (uint64_t)(r->err.code < 0 ? -r->err.code : r->err.code);
	m->error_text = r->err.code ? r->err.text : NULL;
	m->elapsed = whole(ceil(r->elapsed_seconds));
	m->job_runtime_ms = whole(seconds * 1e3);
	fill_members(m, r->job, set, members);
	fill_options(m, r->job, set, members);
	m->usr_cpu = r->usr_cpu_percent;
	m->sys_cpu = r->sys_cpu_percent;
	m->ctx = r->ctx;
	m->majf = r->majf;
	m->minf = r->minf;
	m->read_align_bytes = r->read_align_bytes;
	fill_direction(&m->read, &r->read, seconds);
	fill_direction(&m->write, &r->write, seconds);
	fill_shares(m, r);
}

void metrics_job_fini(struct metrics_job *m)
{
	pairs_fini(&m->members, false);
	pairs_fini(&m->options, true);
	pairs_fini(&m->options_resolved, true);
	pairs_fini(&m->options_origin, true);
	memset(m, 0, sizeof(*m));
}

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

/* Texts of the plan's mount, as a result has them; "" there is NULL here. */
static char *text_or_null(const char *s)
{
	char *out = NULL;
	if (*s)
		memcpy(&out, &s, sizeof(out));
	return out;
}

static void plan_storage(struct storage_result *s, const struct plan_report *p)
{
	const struct mount *m = &p->mount;
	s->directory = p->dataset.directory;
	s->filesystem = text_or_null(m->type);
	s->mount_source = text_or_null(m->source);
	s->mount_target = text_or_null(m->target);
	s->mount_options = text_or_null(m->options);
	s->device = text_or_null(m->device);
	s->device_kind = text_or_null(m->device_kind);
	s->scheduler = text_or_null(m->scheduler);
	s->read_ahead_bytes =
		m->read_ahead_bytes ? m->read_ahead_bytes : UINT64_MAX;
	s->device_paths = m->paths ? m->paths : UINT64_MAX;
	s->osts = m->osts ? m->osts : UINT64_MAX;
	s->is_memory = m->is_memory;
	s->has_own_cache = m->has_own_cache;
	s->device_read_bytes = UINT64_MAX;
	s->device_reads = UINT64_MAX;
	s->memory_percent = (double)NAN;
	s->resident_before_percent = (double)NAN;
}

void metrics_planned(struct ml_result *ml, const struct plan_report *p)
{
	const struct job *j = p->job;
	memset(ml, 0, sizeof(*ml));
	ml->accelerators = j->accelerators;
	ml->accelerator = j->accelerator;
	ml->target_au_percent = j->target_au;
	ml->demand_bytes_per_sec = p->demand_bytes_per_sec;
	ml->demand_io_bytes_per_sec = p->demand_io_bytes_per_sec;
	if (p->total_steps != UINT64_MAX) {
		ml->steps = p->total_steps;
		ml->samples = p->total_steps * j->batch_size * j->accelerators;
		ml->sample_bytes = whole((double)ml->samples *
					 p->totals.mean_sample_bytes);
	}
	plan_storage(&ml->storage, p);
}
