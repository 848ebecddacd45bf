/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_parts.c - objects that stand in several places of the JSON document. */
#include "report/metrics_tables.h"

/* clang-format off */

#define L struct loader_percent
const struct mlgen_field metrics_loader_percent_fields[] = {
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
	  .help = "Waiting for room, because all batches that may be ahead are, or for the time of the next request of a paced job." },
	{ "other", MLGEN_F_PERCENT(L, other), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "The rest, such as waiting for a CPU." },
	{ 0 },
};
#undef L

const struct mlgen_field metrics_op_fields[] = {
	{ "total", MLGEN_F_U64(struct op_result, total), .unit = "operations",
	  .help = "Operations completed, in chains too, without those that failed." },
	{ "lat_ns", METRIC_HIST(struct op_result, lat_ns), .unit = "ns",
	  .help = "Latency from submission to completion; operations of a chain are seen together and are not in it." },
	{ 0 },
};

#define O struct ops_result
const struct mlgen_field metrics_ops_fields[] = {
	{ "open", METRIC_OBJECT(O, open, struct op_result, metrics_op_fields),
	  .help = "Files opened." },
	{ "stat", METRIC_OBJECT(O, stat, struct op_result, metrics_op_fields),
	  .help = "Sizes asked for." },
	{ "read", METRIC_OBJECT(O, read, struct op_result, metrics_op_fields),
	  .help = "Reads." },
	{ "write", METRIC_OBJECT(O, write, struct op_result, metrics_op_fields),
	  .help = "Writes." },
	{ "fsync", METRIC_OBJECT(O, fsync, struct op_result, metrics_op_fields),
	  .help = "Flushes to the device." },
	{ "close", METRIC_OBJECT(O, close, struct op_result, metrics_op_fields),
	  .help = "Files closed." },
	{ 0 },
};
#undef O

#define S struct storage_result
const struct mlgen_field metrics_storage_fields[] = {
	{ "directory", MLGEN_F_STR(S, directory),
	  .help = "Directory of the dataset, or of a plain job's first file." },
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
	{ "device_model", MLGEN_F_STR(S, device_model),
	  .help = "Model of that disk, as it says itself; null = a virtual one, or unknown." },
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
	  .help = "Bytes that storage delivered in the window, as the source below counts them: a disk to anyone, the servers of a mount to this host, or to this process; null = unknown, or from several sources." },
	{ "device_reads", MLGEN_F_U64(S, device_reads), .unit = "requests", .flags = MLGEN_NULLABLE,
	  .help = "Requests in which it did so, at the disk or the servers; null = unknown." },
	{ "jobs_read_bytes", MLGEN_F_U64(S, jobs_read_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that jobs of this run read in the window from what that source counts: all workers of this job and of others beside it, since it cannot tell for whom it delivered; null = unknown, or from several sources." },
	{ "memory_percent", MLGEN_F_PERCENT(S, memory_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of these bytes that came from this host's memory; of jobs merged that read from several sources the mean of theirs, by bytes; null = unknown." },
	{ "source", MLGEN_F_STR(S, source),
	  .help = "What counted the bytes that storage delivered: device counters, NFS mountstats, Lustre osc statistics or /proc/self/io; several sources = of jobs merged not the same; unknown = nothing." },
	{ "resident_before_percent", MLGEN_F_PERCENT(S, resident_before_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the dataset in this host's page cache before the run, and before invalidate drops it; null = unknown." },
	{ "resident_files", MLGEN_F_U64(S, resident_files), .unit = "files",
	  .help = "Files that were looked at for that, at most 256." },
	{ "cache_drops", MLGEN_F_U64(S, cache_drops), .unit = "passes",
	  .help = "How often read threads dropped the dataset from the page cache, as invalidate asks; where a sample of files finds nothing there, they do not." },
	{ "caches_dropped", MLGEN_F_BOOL(S, caches_dropped),
	  .help = "Whether drop_caches=run emptied this host's caches before the job began." },
	{ "slowest_file", METRICS_CHARS(S, slowest_file),
	  .help = "File of the extent (see sample_ns) that took longest of all; null = there are none." },
	{ "slowest_sample_ns", MLGEN_F_F64(S, slowest_sample_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "How long that one took." },
	{ "slowest_file_bytes", MLGEN_F_U64(S, slowest_file_bytes), .unit = "bytes",
	  .help = "Size of that file." },
	{ 0 },
};
#undef S

#define W struct window_result
const struct mlgen_field metrics_window_fields[] = {
	{ "from", METRICS_TEXT(W, from),
	  .help = "Where it begins: start, behind preparation and startdelay, or ramp_time, where that is over; of jobs merged the first that begins; null = it never did, or the report is of several runs." },
	{ "begin_seconds", MLGEN_F_F64(W, begin_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "When that was, since the preparation of the jobs of its group began." },
	{ "seconds", MLGEN_F_F64(W, seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Its length: it ends with the last worker of the record, of jobs merged with the last of all." },
	{ 0 },
};
#undef W

#define N struct noise
const struct mlgen_field metrics_noise_fields[] = {
	{ "steal_percent", MLGEN_F_PERCENT(N, steal_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Time of the allowed CPUs that the hypervisor gave to others; null = unknown, as all of these." },
	{ "guest_percent", MLGEN_F_PERCENT(N, guest_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Their time that virtual machines of this host had." },
	{ "other_percent", MLGEN_F_PERCENT(N, other_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Their time that other processes and threads of the kernel had; guests are in it." },
	{ "busy_percent", MLGEN_F_PERCENT(N, busy_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How busy the allowed CPUs were, with all processes, whatever the quota." },
	{ "throttled", MLGEN_F_U64(N, throttled), .unit = "times", .flags = MLGEN_NULLABLE,
	  .help = "How often the CPU quota of a control group was used up." },
	{ "throttled_percent", MLGEN_F_PERCENT(N, throttled_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the time in which threads stood still for that, at most 100." },
	{ "hot", MLGEN_F_U64(N, hot), .unit = "times", .flags = MLGEN_NULLABLE,
	  .help = "How often heat slowed one of the CPUs down." },
	{ "pressure_cpu_percent", MLGEN_F_PERCENT(N, pressure_cpu_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the time in which some thread of this host, mlgen's included, waited for a CPU." },
	{ "pressure_io_percent", MLGEN_F_PERCENT(N, pressure_io_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The same of I/O." },
	{ "pressure_memory_percent", MLGEN_F_PERCENT(N, pressure_memory_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The same of memory." },
	{ "clock_mhz", MLGEN_F_F64(N, clock_mhz), .unit = "MHz", .flags = MLGEN_NULLABLE,
	  .help = "Mean clock of up to eight of the CPUs, looked at once a second." },
	{ "most_mhz", MLGEN_F_F64(N, most_mhz), .unit = "MHz", .flags = MLGEN_NULLABLE,
	  .help = "The highest clock that they have." },
	{ 0 },
};
#undef N

#define H struct host_result
const struct mlgen_field metrics_host_fields[] = {
	{ "cpu_percent", MLGEN_F_PERCENT(H, cpu_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How busy the allowed CPUs were in the window, with all processes; where a control group's CPU quota is less than these, how much of it the group used." },
	{ "cpus", MLGEN_F_F64(H, cpus), .unit = "CPUs", .flags = MLGEN_NULLABLE,
	  .help = "What this and the next two are percent of: the allowed CPUs, or the quota." },
	{ "cpu_percent_of", METRICS_TEXT(H, cpu_percent_of),
	  .help = "Which of these it is, allowed CPUs or quota; quota, mlgen alone = the kernel does not tell what the group used, and cpu_percent is mlgen's own; null = unknown." },
	{ "user_percent", MLGEN_F_PERCENT(H, user_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Share of mlgen itself in user mode." },
	{ "system_percent", MLGEN_F_PERCENT(H, system_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Share of mlgen itself in the kernel." },
	{ "switches_per_sec", MLGEN_F_F64(H, switches_per_sec), .unit = "1/s", .flags = MLGEN_NULLABLE,
	  .help = "Context switches of mlgen per second." },
	{ "oversleep_ns", METRIC_HIST(H, oversleep_ns), .unit = "ns",
	  .help = "How late each simulated computation ended." },
	{ "noise", METRIC_OBJECT(H, noise, struct noise, metrics_noise_fields),
	  .help = "What else this machine did meanwhile." },
	{ 0 },
};
#undef H

#define N struct network_result
const struct mlgen_field metrics_network_fields[] = {
	{ "interface", METRICS_TEXT(N, interface),
	  .help = "Interface that routes to the server of a remote mount; null = the mount is local, over RDMA, its server is not known by address, or jobs merged have not the same." },
	{ "line_rate_bits_per_sec", MLGEN_F_U64(N, line_rate_bits_per_sec), .unit = "bits/s", .flags = MLGEN_NULLABLE,
	  .help = "What it can carry in one direction; null = unknown." },
	{ "received_bytes", MLGEN_F_U64(N, received_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that it received in the window, from anyone." },
	{ "received_bits_per_sec", MLGEN_F_F64(N, received_bits_per_sec), .unit = "bits/s", .flags = MLGEN_NULLABLE,
	  .help = "The same per second, and in bits." },
	{ "percent", MLGEN_F_PERCENT(N, percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The same as a share of the line rate; null = unknown." },
	{ 0 },
};
#undef N

#define N struct numa_result
const struct mlgen_field metrics_numa_fields[] = {
	{ "device_node", MLGEN_F_U64(N, device_node), .flags = MLGEN_NULLABLE,
	  .help = "NUMA node that the disk below the dataset is attached to; null = unknown, or of several disks." },
	{ "loader_nodes", MLGEN_F_STR(N, loader_nodes),
	  .help = "NUMA nodes on which read threads ran, as numa_cpu_nodes has them; null = this host has one." },
	{ "far_percent", MLGEN_F_PERCENT(N, far_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the batches, with loader=plain of the samples, that were begun on another node than the disk's; null = unknown, or this host has one node." },
	{ "unbound", METRICS_TEXT(N, unbound),
	  .help = "Why numa=device did not bind the read threads; null = it did, or is not set." },
	{ 0 },
};
#undef N

#define V struct verdict_result
const struct mlgen_field metrics_verdict_fields[] = {
	{ "name", MLGEN_F_STR(V, name),
	  .help = "What limits: memory, network, host, compute, storage or unclear; errors = too much failed; null = nothing was measured." },
	{ "headline", MLGEN_F_STR(V, headline),
	  .help = "The verdict in one sentence." },
	{ "because", MLGEN_F_STR(V, because),
	  .help = "The figures that decide it." },
	{ "try_next", MLGEN_F_STR(V, try_next),
	  .help = "The one experiment that could change it; null = none." },
	{ 0 },
};
#undef V

/* clang-format on */
