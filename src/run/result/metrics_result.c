/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_result.c - rows of a result, and rows that training jobs and plain jobs share. */
#include "run/result/result.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "job/job.h"

/* Hosts with different CPUs: only the mean of their percentages is known. */
static void cpus_row(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct host_result, 0);
	const char *of = to->cpu_percent_of;

	if (to->cpus == b->cpus && of && b->cpu_percent_of && !strcmp(of, b->cpu_percent_of))
		return;
	to->cpus = (double)NAN;
	to->cpu_percent_of = NULL;
}

/* An unknown host makes the sum unknown. */
MERGE_PAIR(joules_f64, double, a + b)

static double bytes_of(const struct job_result *r)
{
	return (double)r->read.io_bytes + (double)r->write.io_bytes;
}

/* Joules of both records, divided by the bytes of both. */
static double per_gib_f64(const struct merging *m, double a, double b)
{
	const struct job_result *x = (const void *)m->record.a;
	const struct job_result *y = (const void *)m->record.b;
	double bytes = bytes_of(x) + bytes_of(y);

	(void)a;
	(void)b;
	return bytes > 0 ? (x->energy.joules + y->energy.joules) / (bytes / BYTES_PER_GIB)
			 : (double)NAN;
}

static double per_sample_f64(const struct merging *m, double a, double b)
{
	const struct job_result *x = (const void *)m->record.a;
	const struct job_result *y = (const void *)m->record.b;
	double samples = (double)x->ml.samples + (double)y->ml.samples;

	(void)a;
	(void)b;
	return samples > 0 ? (x->energy.joules + y->energy.joules) / samples : (double)NAN;
}

static const struct merge_rule merge_joules = { .f64 = joules_f64 };
static const struct merge_rule merge_per_gib = { .f64 = per_gib_f64 };
static const struct merge_rule merge_per_sample = { .f64 = per_sample_f64 };
/* Keep the first reason. */
static void unmeasured_row(struct merging *m, const struct mlgen_field *f,
			   const struct merge_at *at)
{
	MERGE_STRUCTS(struct energy_result, 0);

	if (!a->unmeasured && b->unmeasured)
		to->unmeasured = m->memory->text(m->owner, b->unmeasured);
}

static const struct merge_rule merge_unmeasured = { .whole = unmeasured_row,
						    .ordered = MERGE_ORDERED };
static const struct merge_rule merge_resident =
	MERGE_MEAN_BY(struct storage_result, resident_files);
static const struct merge_rule merge_cpus = { .whole = cpus_row };

/* clang-format off */

#define L struct loader_percent
const struct mlgen_field metrics_loader_percent_fields[] = {
	{ "open", RESULT_PERCENT(L, open, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that open files." },
	{ "stat", RESULT_PERCENT(L, stat, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that ask for the size of files." },
	{ "read", RESULT_PERCENT(L, read, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that read." },
	{ "write", RESULT_PERCENT(L, write, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that write." },
	{ "fsync", RESULT_PERCENT(L, fsync, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that flush." },
	{ "close", RESULT_PERCENT(L, close, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Inside calls that close files." },
	{ "reap", RESULT_PERCENT(L, reap, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for completions, with engines that have several operations in flight." },
	{ "cpu", RESULT_PERCENT(L, cpu, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "On the CPU outside of these calls." },
	{ "idle", RESULT_PERCENT(L, idle, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "Waiting for room, because all batches are prefetched, or for the time of the next request of a paced job." },
	{ "other", RESULT_PERCENT(L, other, mean_time), .flags = MLGEN_NULLABLE, .unit = "%",
	  .help = "The rest, such as waiting for a CPU." },
	{ 0 },
};
#undef L

const struct mlgen_field metrics_op_fields[] = {
	{ "total", RESULT_U64(struct op_result, total, sum), .unit = "operations",
	  .help = "Operations completed, including those in chains, without those that failed." },
	{ "lat_ns", RESULT_HIST(struct op_result, lat_ns, hist), .unit = "ns",
	  .help = "Latency from submission to completion; operations of a chain complete together and are not included." },
	{ 0 },
};

#define O struct ops_result
const struct mlgen_field metrics_ops_fields[] = {
	{ "open", RESULT_OBJECT(O, open, struct op_result, metrics_op_fields, members),
	  .help = "Files opened." },
	{ "stat", RESULT_OBJECT(O, stat, struct op_result, metrics_op_fields, members),
	  .help = "Sizes asked for." },
	{ "read", RESULT_OBJECT(O, read, struct op_result, metrics_op_fields, members),
	  .help = "Reads." },
	{ "write", RESULT_OBJECT(O, write, struct op_result, metrics_op_fields, members),
	  .help = "Writes." },
	{ "fsync", RESULT_OBJECT(O, fsync, struct op_result, metrics_op_fields, members),
	  .help = "Flushes to the device." },
	{ "close", RESULT_OBJECT(O, close, struct op_result, metrics_op_fields, members),
	  .help = "Files closed." },
	{ 0 },
};
#undef O

#define S struct storage_result
const struct mlgen_field metrics_storage_fields[] = {
	{ "directory", RESULT_STR(S, directory, first),
	  .help = "Directory of the dataset, or of a plain job's first file." },
	{ "filesystem", RESULT_STR(S, filesystem, first),
	  .help = "Type of its filesystem." },
	{ "mount_source", RESULT_STR(S, mount_source, first),
	  .help = "What is mounted: a device, or a server and its path." },
	{ "mount_target", RESULT_STR(S, mount_target, first),
	  .help = "Where it is mounted." },
	{ "mount_options", RESULT_STR(S, mount_options, first),
	  .help = "Options of the mount." },
	{ "device", RESULT_STR(S, device, first),
	  .help = "Disk below the filesystem; null = none, or unknown." },
	{ "device_kind", RESULT_STR(S, device_kind, first),
	  .help = "How that disk is attached; null = unknown." },
	{ "device_model", RESULT_STR(S, device_model, first),
	  .help = "Model that this disk reports; null = a virtual disk, or unknown." },
	{ "scheduler", RESULT_STR(S, scheduler, first),
	  .help = "I/O scheduler of that disk; null = unknown." },
	{ "read_ahead_bytes", RESULT_U64(S, read_ahead_bytes, first), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Read-ahead of that disk, or of a network filesystem; null = unknown." },
	{ "device_paths", RESULT_U64(S, device_paths, first), .unit = "paths", .flags = MLGEN_NULLABLE,
	  .help = "Paths to that disk, with NVMe or device-mapper multipath; null = no multipath." },
	{ "osts", RESULT_U64(S, osts, first), .unit = "targets", .flags = MLGEN_NULLABLE,
	  .help = "Storage targets of a Lustre filesystem; null = another filesystem, or unknown." },
	{ "is_memory", RESULT_BOOL(S, is_memory, or),
	  .help = "The filesystem keeps its files in memory." },
	{ "has_own_cache", RESULT_BOOL(S, has_own_cache, or),
	  .help = "The filesystem also caches in memory outside of the page cache, where mlgen can neither see nor drop it." },
	{ "device_read_bytes", RESULT_U64(S, device_read_bytes, sum), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that storage delivered in the window, as the source below counts them: by a disk to all processes, by the servers of a mount to this host, or to this process; null = unknown, or from several sources." },
	{ "device_reads", RESULT_U64(S, device_reads, sum), .unit = "requests", .flags = MLGEN_NULLABLE,
	  .help = "Requests for these bytes, at the disk or the servers; null = unknown." },
	{ "jobs_read_bytes", RESULT_U64(S, jobs_read_bytes, sum), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that jobs of this run read in the window from the storage that this source counts: all workers of this job and of jobs at the same time, because the source cannot tell them apart; null = unknown, or from several sources." },
	{ "memory_percent", RESULT_PERCENT(S, memory_percent, mean_bytes), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of these bytes that came from this host's memory; for merged jobs with several sources the mean, weighted by bytes; null = unknown." },
	{ "source", RESULT_STR(S, source, first),
	  .help = "What counted the bytes that storage delivered: device counters, NFS mountstats, Lustre osc statistics or /proc/self/io; several sources = merged jobs had different sources; unknown = none." },
	{ "resident_before_percent", RESULT_PERCENT(S, resident_before_percent, resident), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the dataset in this host's page cache before the run, and before invalidate drops it; null = unknown." },
	{ "resident_files", RESULT_U64(S, resident_files, sum), .unit = "files",
	  .help = "Files that were examined for this, at most 256." },
	{ "cache_drops", RESULT_U64(S, cache_drops, sum), .unit = "passes",
	  .help = "How often read threads dropped the dataset from the page cache, as invalidate asks; they skip this if a check of some files finds none in the page cache." },
	{ "caches_dropped", RESULT_BOOL(S, caches_dropped, and),
	  .help = "Whether this host's caches were emptied before the job began and, with drop_caches=epoch, before each of its epochs." },
	{ "slowest_file", RESULT_CHARS(S, slowest_file, with),
	  .help = "File of the slowest sample (see sample_ns); null = there are no samples." },
	{ "slowest_sample_ns", RESULT_F64(S, slowest_sample_ns, with), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Latency of the slowest sample." },
	{ "slowest_file_bytes", RESULT_U64(S, slowest_file_bytes, with), .unit = "bytes",
	  .help = "Size of that file." },
	{ 0 },
};
#undef S

#define W struct window_result
const struct mlgen_field metrics_window_fields[] = {
	{ "from", RESULT_TEXT(W, from, forget),
	  .help = "Where the window begins: start, after preparation and startdelay, or the end of ramp_time; for merged jobs the first that begins; null = it did not begin, or the report is of several runs." },
	{ "begin_seconds", RESULT_F64(W, begin_seconds, forget), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Start of the window, since the preparation of the jobs of its group began." },
	{ "seconds", RESULT_F64(W, seconds, forget), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Length of the window, which ends with the last worker of the record, for merged jobs with the last of all." },
	{ 0 },
};
#undef W

#define N struct noise
const struct mlgen_field metrics_noise_fields[] = {
	{ "steal_percent", RESULT_PERCENT(N, steal_percent, max), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Time of the allowed CPUs that the hypervisor gave to other guests; null = unknown, as for all of these." },
	{ "guest_percent", RESULT_PERCENT(N, guest_percent, max), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Time of these CPUs that virtual machines of this host used." },
	{ "other_percent", RESULT_PERCENT(N, other_percent, max), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Time of these CPUs that other processes and kernel threads used, including virtual machines." },
	{ "busy_percent", RESULT_PERCENT(N, busy_percent, max), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How busy the allowed CPUs were, with all processes, regardless of the quota." },
	{ "throttled", RESULT_U64(N, throttled, max), .unit = "times", .flags = MLGEN_NULLABLE,
	  .help = "How often the CPU quota of a control group was used up." },
	{ "throttled_percent", RESULT_PERCENT(N, throttled_percent, max), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the time in which threads were throttled for this, at most 100." },
	{ "hot", RESULT_U64(N, hot, max), .unit = "times", .flags = MLGEN_NULLABLE,
	  .help = "How often heat slowed one of the CPUs down." },
	{ "pressure_cpu_percent", RESULT_PERCENT(N, pressure_cpu_percent, max), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the time in which some thread of this host, mlgen's included, waited for a CPU." },
	{ "pressure_io_percent", RESULT_PERCENT(N, pressure_io_percent, max), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The same for I/O." },
	{ "pressure_memory_percent", RESULT_PERCENT(N, pressure_memory_percent, max), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The same for memory." },
	{ "clock_mhz", RESULT_F64(N, clock_mhz, mean_time), .unit = "MHz", .flags = MLGEN_NULLABLE,
	  .help = "Mean clock frequency of up to eight of the CPUs, read once a second." },
	{ "most_mhz", RESULT_F64(N, most_mhz, max), .unit = "MHz", .flags = MLGEN_NULLABLE,
	  .help = "Highest clock frequency of these CPUs." },
	{ 0 },
};
#undef N

#define H struct host_result
const struct mlgen_field metrics_host_fields[] = {
	{ "cpu_percent", RESULT_PERCENT(H, cpu_percent, mean_time), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How busy the allowed CPUs were in the window, with all processes; if the CPU quota of a control group is less than these CPUs, how much of the quota the group used." },
	{ "cpus", RESULT_F64(H, cpus, cpus), .unit = "CPUs", .flags = MLGEN_NULLABLE,
	  .help = "Number of CPUs that are 100 percent in these figures: the allowed CPUs, or the quota." },
	{ "cpu_percent_of", RESULT_TEXT(H, cpu_percent_of, with),
	  .help = "Which of the two, allowed CPUs or quota; quota, mlgen alone = the kernel does not report the use of the group, and cpu_percent is of mlgen alone; null = unknown." },
	{ "user_percent", RESULT_PERCENT(H, user_percent, mean_time), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Share of mlgen itself in user mode." },
	{ "system_percent", RESULT_PERCENT(H, system_percent, mean_time), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Share of mlgen itself in the kernel." },
	{ "switches_per_sec", RESULT_F64(H, switches_per_sec, rate), .unit = "1/s", .flags = MLGEN_NULLABLE,
	  .help = "Context switches of mlgen per second." },
	{ "oversleep_ns", RESULT_HIST(H, oversleep_ns, with), .unit = "ns",
	  .help = "How late each simulated computation ended." },
	{ "noise", RESULT_OBJECT(H, noise, struct noise, metrics_noise_fields, members),
	  .help = "Other activity on this machine in the window." },
	{ 0 },
};
#undef H

#define N struct network_result
const struct mlgen_field metrics_network_fields[] = {
	{ "interface", RESULT_TEXT(N, interface, first),
	  .help = "Interface that routes to the server of a remote mount; null = the mount is local, it is over RDMA, the address of its server is unknown, or merged jobs have different interfaces." },
	{ "line_rate_bits_per_sec", RESULT_U64(N, line_rate_bits_per_sec, parts), .unit = "bits/s", .flags = MLGEN_NULLABLE,
	  .help = "Its bandwidth in one direction; null = unknown." },
	{ "received_bytes", RESULT_U64(N, received_bytes, sum), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that it received in the window, from any sender." },
	{ "received_bits_per_sec", RESULT_F64(N, received_bits_per_sec, rate), .unit = "bits/s", .flags = MLGEN_NULLABLE,
	  .help = "The same per second, and in bits." },
	{ "percent", RESULT_PERCENT(N, percent, mean_time), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The same as a share of the line rate; null = unknown." },
	{ 0 },
};
#undef N

#define N struct numa_result
const struct mlgen_field metrics_numa_fields[] = {
	{ "device_node", RESULT_U64(N, device_node, same), .flags = MLGEN_NULLABLE,
	  .help = "NUMA node that the disk below the dataset is attached to; null = unknown, or several disks." },
	{ "loader_nodes", RESULT_STR(N, loader_nodes, with),
	  .help = "NUMA nodes on which read threads ran, in the form of numa_cpu_nodes; null = this host has one node." },
	{ "far_percent", RESULT_PERCENT(N, far_percent, mean_looks), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the batches (with loader=plain, of the samples) that were begun on another node than the disk's; null = unknown, or this host has one node." },
	{ "unbound", RESULT_TEXT(N, unbound, first),
	  .help = "Why numa=device did not bind the read threads; null = it did, or is not set." },
	{ 0 },
};
#undef N

#define T struct thread_cpu_result
const struct mlgen_field metrics_thread_cpu_fields[] = {
	{ "workers_seconds", RESULT_F64(T, workers_seconds, sum), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Threads that move bytes: read threads, workers of a plain job, or threads of a checkpoint job that save or restore; null = read_threads=0, with which accelerators read." },
	{ "workers_waited_seconds", RESULT_F64(T, workers_waited_seconds, sum), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long these threads together were ready to run but had no CPU." },
	{ "accelerators_seconds", RESULT_F64(T, accelerators_seconds, sum), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Threads of simulated accelerators: waking, spinning, taking batches; null = there are none." },
	{ "others_seconds", RESULT_F64(T, others_seconds, sum), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "All other threads of mlgen, including those of other jobs." },
	{ 0 },
};
#undef T

#define E struct energy_result
const struct mlgen_field metrics_energy_fields[] = {
	{ "joules_per_gib", RESULT_F64(E, joules_per_gib, per_gib), .unit = "J/GiB", .flags = MLGEN_NULLABLE,
	  .help = "Joules for each GiB that the job read and wrote." },
	{ "joules_per_sample", RESULT_F64(E, joules_per_sample, per_sample), .unit = "J", .flags = MLGEN_NULLABLE,
	  .help = "Joules for each sample that its accelerators took; null = there are none." },
	{ "joules", RESULT_F64(E, joules, joules), .unit = "J", .flags = MLGEN_NULLABLE,
	  .help = "Energy of the packages and DRAM of the whole host in the window, idle or busy, for all processes; without DRAM if dram_joules is null; null = unknown, as for all of these." },
	{ "package_joules", RESULT_F64(E, package_joules, joules), .unit = "J", .flags = MLGEN_NULLABLE,
	  .help = "Energy of the packages (cores, caches, memory controllers), from RAPL's counters in /sys/class/powercap." },
	{ "dram_joules", RESULT_F64(E, dram_joules, joules), .unit = "J", .flags = MLGEN_NULLABLE,
	  .help = "Energy of the memory, if a zone counts it." },
	{ "unmeasured", RESULT_TEXT(E, unmeasured, unmeasured),
	  .help = "Why one of these is unknown; null = all are known, or nothing was measured." },
	{ 0 },
};
#undef E

#define V struct verdict_result
const struct mlgen_field metrics_verdict_fields[] = {
	{ "name", RESULT_STR(V, name, later),
	  .help = "What limits: memory, network, host, compute, cache (the disk of a tier), storage or unclear; errors = too much failed; null = nothing was measured." },
	{ "headline", RESULT_STR(V, headline, later),
	  .help = "The verdict in one sentence." },
	{ "because", RESULT_STR(V, because, later),
	  .help = "The figures that decide it." },
	{ "try_next", RESULT_STR(V, try_next, later),
	  .help = "The one experiment that could change it; null = none." },
	{ 0 },
};
#undef V

/* clang-format on */

/* ---- rules of objects that trainings and plain jobs share ---- */

static void storage_object(struct merging *m, const struct mlgen_field *f,
			   const struct merge_at *at)
{
	MERGE_STRUCTS(struct storage_result, f->off);

	merge_apart.whole(m, f, at);
	if (to->slowest_sample_ns >= b->slowest_sample_ns || isnan(b->slowest_sample_ns))
		return;
	memcpy(to->slowest_file, b->slowest_file, sizeof(to->slowest_file));
	to->slowest_sample_ns = b->slowest_sample_ns;
	to->slowest_file_bytes = b->slowest_file_bytes;
}

/* The load of a group was measured as a whole: marks_host(). */
static void host_object(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct host_result, f->off);

	merge_apart.whole(m, f, at);
	merge_latencies(m, &to->oversleep_ns, b->oversleep_ns);
}

static void numa_nodes(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	size_t off = f->off - offsetof(struct numa_result, seen);
	struct numa_result *to = (void *)(at->to + off);
	const struct numa_result *b = (const void *)(at->b + off);
	struct buf text = { 0 };

	(void)m;
	node_set_merge(&to->seen, &b->seen);
	node_set_text(&to->seen, &text);
	if (text.len)
		mem_replace(&to->loader_nodes, buf_str(&text));
	buf_fini(&text);
}

const struct merge_rule merge_storage = { .whole = storage_object, .ordered = 1 << MERGE_GROUP };
const struct merge_rule merge_host = { .whole = host_object, .ordered = 1 << MERGE_GROUP };
const struct merge_rule merge_numa_nodes = { .whole = numa_nodes };

/* ---- rules ---- */

/* Without a pace there is no delay, and the total is the latency. This row must precede that of the
 * latencies. */
static void paced(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct direction_result, 0);
	bool is_paced = to->total_ns;

	if (is_paced || b->total_ns)
		merge_latencies(m, &to->total_ns, b->total_ns ? b->total_ns : b->lat_ns);
	if (!is_paced && to->total_ns)
		merge_latencies(m, &to->total_ns, to->lat_ns);
}

static void interval(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct interval_stat, f->off);
	double n = (double)to->samples, more = (double)b->samples;
	double mean = merge_mean_of(to->mean, n, b->mean, more);
	double squares = n * (to->dev * to->dev + to->mean * to->mean) +
			 more * (b->dev * b->dev + b->mean * b->mean);
	double variance = n + more > 0 ? squares / (n + more) - mean * mean : 0;

	if (m->how != MERGE_TURNS) {
		/* Intervals of several hosts or jobs do not coincide. */
		to->min += b->min;
		to->max += b->max;
		to->mean += b->mean;
		if (m->how == MERGE_GROUP)
			return;
		to->dev = (double)NAN;
		to->samples = b->samples < to->samples ? b->samples : to->samples;
		return;
	}
	to->dev = isnan(variance) || variance > 0 ? sqrt(variance) : 0;
	to->min = n > 0 && to->min < b->min ? to->min : b->min;
	to->max = fmax(to->max, b->max);
	to->mean = mean;
	to->samples += b->samples;
}

static void request_sizes(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	(void)m;
	sizes_merge((void *)(at->to + f->off), (const void *)(at->b + f->off));
}

static void failures(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	(void)m;
	failed_merge((void *)(at->to + f->off), (const void *)(at->b + f->off));
}

static void first_err(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct mlgen_err, f->off);

	if (!to->code)
		*to = *b;
}

/* CPU time adds up; each percentage refers to its own elapsed time. */
static double cpu_f64(const struct merging *m, double a, double b)
{
	const struct job_result *before = (const void *)m->record.a;
	const struct job_result *from = (const void *)m->record.b;
	double x = before->elapsed_seconds, y = from->elapsed_seconds;
	double whole = merge_span.f64(m, x, y);

	return whole > 0 ? (a * x + b * y) / whole : a;
}

static bool is_plain(const struct merge_at *at)
{
	const struct job_result *r = (const void *)at->to;

	return r->work && r->work->is_plain;
}

/* A job has only one of the following two objects. */
static void ml_object(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	if (!is_plain(at))
		merge_members.whole(m, f, at);
}

static void io_object(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	if (is_plain(at))
		merge_members.whole(m, f, at);
}

/* If only one of the two results had a tier, copy its figures. */
static void cache_object(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct cache_result, f->off);

	if (a->policy && b->policy)
		merge_members.whole(m, f, at);
	else if (b->policy)
		*to = *b;
}

static const struct merge_rule merge_cache = { .whole = cache_object, .ordered = 1 << MERGE_TURNS };
static const struct merge_rule merge_paced = { .whole = paced };
static const struct merge_rule merge_interval = { .whole = interval, .ordered = 1 << MERGE_GROUP };
static const struct merge_rule merge_sizes = { .whole = request_sizes };
static const struct merge_rule merge_failed = { .whole = failures, .ordered = MERGE_ORDERED };
static const struct merge_rule merge_err = { .whole = first_err, .ordered = MERGE_ORDERED };
static const struct merge_rule merge_cpu = { .f64 = cpu_f64 };
static const struct merge_rule merge_ml = { .whole = ml_object };
static const struct merge_rule merge_io = { .whole = io_object };

/* clang-format off */

#define D struct direction_result
static const struct mlgen_field direction_fields[] = {
	{ "io_bytes", RESULT_U64(D, io_bytes, sum) },
	{ "total_ios", RESULT_U64(D, total_ios, sum) },
	{ "short_ios", RESULT_U64(D, short_ios, sum) },
	{ "sizes", RESULT_PART(D, sizes, sizes) },
	{ "total_ns", RESULT_HIST(D, total_ns, paced) },
	{ "slat_ns", RESULT_HIST(D, slat_ns, hist) },
	{ "lat_ns", RESULT_HIST(D, lat_ns, hist) },
	{ "bw_kib", RESULT_PART(D, bw_kib, interval) },
	{ "iops", RESULT_PART(D, iops, interval) },
	{ 0 },
};
#undef D

/* Directions must come first, because ops share their latencies. */
#define J struct job_result
const struct mlgen_field metrics_result_fields[] = {
	{ "read", RESULT_OBJECT(J, read, struct direction_result, direction_fields, members) },
	{ "write", RESULT_OBJECT(J, write, struct direction_result, direction_fields, members) },
	{ "sync", RESULT_OBJECT(J, sync, struct op_result, metrics_op_fields, members) },
	{ "ml", .type = MLGEN_OBJECT, .sub = metrics_ml_fields, .merge = &merge_ml },
	{ "ml.cut_seconds", RESULT_F64(J, ml.cut_seconds, span) },
	{ "ml.runtime_seconds", RESULT_F64(J, ml.runtime_seconds, span) },
	{ "ml.mlperf_epochs", RESULT_LIST(J, ml.mlperf_epochs, struct mlperf_epoch, NULL, forget) },
	{ "ml.ceiling.is_tried", RESULT_BOOL(J, ml.ceiling.is_tried, forget) },
	{ "ml.saves.is_restore", RESULT_BOOL(J, ml.saves.is_restore, first) },
	{ "ml.restores.is_restore", RESULT_BOOL(J, ml.restores.is_restore, first) },
	{ "ml.cache", RESULT_OBJECT(J, ml.cache, struct cache_result, metrics_cache_fields, cache) },
	{ "io", .type = MLGEN_OBJECT, .sub = metrics_io_fields, .merge = &merge_io },
	{ "numa.seen", RESULT_PART(J, numa.seen, numa_nodes) },
	{ "failed", RESULT_PART(J, failed, failed) },
	{ "prepare", RESULT_OBJECT(J, prepare, struct prepare_result, metrics_prepare_fields, apart) },
	{ "prepare.is_nothing_resident", RESULT_BOOL(J, prepare.is_nothing_resident, first) },
	{ "depths", RESULT_PART(J, depths, mean_ios) },
	{ "elapsed_seconds", RESULT_F64(J, elapsed_seconds, span) },
	{ "usr_cpu_percent", RESULT_F64(J, usr_cpu_percent, cpu), .unit = "%" },
	{ "sys_cpu_percent", RESULT_F64(J, sys_cpu_percent, cpu), .unit = "%" },
	{ "ctx", RESULT_U64(J, ctx, sum) },
	{ "majf", RESULT_U64(J, majf, sum) },
	{ "minf", RESULT_U64(J, minf, sum) },
	{ "err", RESULT_PART(J, err, err) },
	{ "read_align_bytes", RESULT_U64(J, read_align_bytes, first), .unit = "bytes" },
	{ 0 },
};
#undef J

/* clang-format on */
