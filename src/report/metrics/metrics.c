/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - tables for the top of the document and for its jobs, and their own members. */
#include "report/metrics/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "config.h"
#include "job/job.h"
#include "report/plan/plan.h"
#include "run/result/result.h"

/* Keys are borrowed, values are owned. */
static void pair_add(struct metric_list *l, const char *key, char *value)
{
	l->items = mem_realloc(l->items, (l->count + 1) * sizeof(struct metric_pair));
	struct metric_pair *pairs = l->items;
	pairs[l->count++] = (struct metric_pair){ key, value };
}

/* The origins of the options in a table: job_fields or the table of the job's engine; NULL = the
 * table of another engine. */
static const struct job_origin *origins_of(const struct job *j, const struct mlgen_field *table)
{
	if (table == job_fields)
		return j->origins;
	return j->engine && j->engine->opts == table ? j->engine_origins : NULL;
}

static const struct mlgen_field *engine_table(const struct job *j)
{
	return j->engine ? j->engine->opts : NULL;
}

/* The value of an option as the user wrote it; NULL = not set. */
static const char *raw_of(const struct job *j, const struct mlgen_field *table, size_t option)
{
	const struct job_origin *o = origins_of(j, table);

	return o ? o[option].raw : NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* True if [global] sets the option to the same text for every job of the set. */
static bool is_global_everywhere(const struct jobset *set, const struct mlgen_field *table,
				 size_t option)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct job_origin *o = origins_of(set->jobs[i], table);

		if (!o || !same_text(o[option].how, "[global]") ||
		    !same_text(o[option].raw, raw_of(set->jobs[0], table, option)))
			return false;
	}
	return set->count > 0;
}

/* True if the figures of `other` are merged into the record of `j`. */
static bool is_member(const struct job *other, const struct job *j, unsigned members)
{
	return other == j || (members > 1 && other->group_reporting && other->group == j->group &&
			      other->phase == j->phase);
}

static bool is_shared(const struct jobset *set, const struct job *j, unsigned members,
		      const struct mlgen_field *table, size_t option)
{
	for (size_t i = 0; i < set->count; i++)
		if (is_member(set->jobs[i], j, members) &&
		    !same_text(raw_of(set->jobs[i], table, option), raw_of(j, table, option)))
			return false;
	return true;
}

/* Fill options, options_resolved and options_origin of a record from a table of options. */
static void fill_table(struct job_document *m, const struct job *j, const struct jobset *set,
		       unsigned members, const struct mlgen_field *table, const void *base)
{
	const struct job_origin *origins = origins_of(j, table);

	for (size_t i = 0; table && table[i].name; i++) {
		const struct job_origin *o = &origins[i];
		const char *name = table[i].name, *raw = o->raw;
		struct buf text = { 0 };

		if (raw && !is_global_everywhere(set, table, i) &&
		    is_shared(set, j, members, table, i))
			pair_add(&m->options, name, mem_strdup(raw));
		job_field_text(j, &table[i], base, &text);
		pair_add(&m->options_resolved, name, text.len ? buf_detach(&text) : NULL);
		/* "unet3d.job:12 [global]" */
		if (o->at.file)
			buf_addf(&text, "%s:%u ", o->at.file, o->at.line);
		buf_add(&text, o->how ? o->how : "default");
		pair_add(&m->options_origin, name, buf_detach(&text));
	}
}

/* Add the options that [global] sets for all jobs alike, as the user wrote them. */
static void add_globals(struct metric_list *map, const struct jobset *set,
			const struct mlgen_field *table)
{
	for (size_t i = 0; table && table[i].name; i++)
		if (is_global_everywhere(set, table, i))
			pair_add(map, table[i].name, mem_strdup(raw_of(set->jobs[0], table, i)));
}

static void options_fini(struct metric_list *map)
{
	struct metric_pair *pairs = map->items;

	for (size_t i = 0; i < map->count; i++) {
		char *value;

		memcpy(&value, &pairs[i].value, sizeof(value));
		mem_free(value);
	}
	mem_free(map->items);
	memset(map, 0, sizeof(*map));
}

/* clang-format off */

/* A row of an array of percentages. */
#define SHARE(i, limit, what) \
	{ limit, .type = MLGEN_PERCENT, .off = (i) * sizeof(double), .unit = "%", \
	  .help = "Percent of " what "." }

/* Limits as in fio: a value belongs to the first limit above it. */
#define LATENCIES(unit) \
	SHARE(1, "4", "reads and writes that took 2 to 3 " unit), \
	SHARE(2, "10", "reads and writes that took 4 to 9 " unit), \
	SHARE(3, "20", "reads and writes that took 10 to 19 " unit), \
	SHARE(4, "50", "reads and writes that took 20 to 49 " unit), \
	SHARE(5, "100", "reads and writes that took 50 to 99 " unit), \
	SHARE(6, "250", "reads and writes that took 100 to 249 " unit), \
	SHARE(7, "500", "reads and writes that took 250 to 499 " unit), \
	SHARE(8, "750", "reads and writes that took 500 to 749 " unit), \
	SHARE(9, "1000", "reads and writes that took 750 to 999 " unit)

static const struct mlgen_field latency_ns_fields[] = {
	SHARE(0, "2", "reads and writes that took below 2 ns"),
	LATENCIES("ns"),
	{ 0 },
};

static const struct mlgen_field latency_us_fields[] = {
	SHARE(0, "2", "reads and writes that took 1 us"),
	LATENCIES("us"),
	{ 0 },
};

static const struct mlgen_field latency_ms_fields[] = {
	SHARE(0, "2", "reads and writes that took 1 ms"),
	LATENCIES("ms"),
	SHARE(10, "2000", "reads and writes that took 1 to 2 s"),
	SHARE(11, ">=2000", "reads and writes that took 2 s or longer"),
	{ 0 },
};

static const struct mlgen_field iodepth_level_fields[] = {
	SHARE(1, "1", "reads and writes that were the only one in flight in their worker"),
	SHARE(2, "2", "reads and writes at 2 to 3 in flight"),
	SHARE(3, "4", "reads and writes at 4 to 7 in flight"),
	SHARE(4, "8", "reads and writes at 8 to 15 in flight"),
	SHARE(5, "16", "reads and writes at 16 to 31 in flight"),
	SHARE(6, "32", "reads and writes at 32 to 63 in flight"),
	SHARE(7, ">=64", "reads and writes at 64 or more in flight"),
	{ 0 },
};

/* Rows of fio: first calls without operations, then calls up to and including the limit. */
static const struct mlgen_field iodepth_batch_fields[] = {
	SHARE(0, "0", "calls that moved no operation"),
	SHARE(1, "4", "calls that moved 1 to 4"),
	SHARE(2, "8", "calls that moved 5 to 8"),
	SHARE(3, "16", "calls that moved 9 to 16"),
	SHARE(4, "32", "calls that moved 17 to 32"),
	SHARE(5, "64", "calls that moved 33 to 64"),
	SHARE(6, ">=64", "calls that moved more"),
	{ 0 },
};

/* MLGEN_FIO: a histogram without values has no bins. */
#define D struct direction_result
static const struct mlgen_field direction_fields[] = {
	{ "io_bytes", MLGEN_F_U64(D, io_bytes), .unit = "bytes",
	  .help = "Bytes transferred in this direction." },
	{ "io_kbytes", MLGEN_F_U64(D, fio.io_kbytes), .unit = "KiB",
	  .help = "The same in KiB, cut to a whole number." },
	{ "bw_bytes", MLGEN_F_U64(D, fio.bw_bytes), .unit = "bytes/s",
	  .help = "Bytes transferred per second of job_runtime." },
	{ "bw", MLGEN_F_U64(D, fio.bw), .unit = "KiB/s",
	  .help = "The same in KiB/s, cut to a whole number." },
	{ "iops", MLGEN_F_F64(D, fio.iops), .unit = "1/s",
	  .help = "Operations completed per second of job_runtime." },
	{ "runtime", MLGEN_F_U64(D, fio.runtime_ms), .unit = "ms",
	  .help = "Time over which the rates are computed; 0 without operations." },
	{ "total_ios", MLGEN_F_U64(D, total_ios), .unit = "operations",
	  .help = "Operations completed, without those that failed." },
	{ "short_ios", MLGEN_F_U64(D, short_ios), .unit = "operations",
	  .help = "Transfers that came back short and were resumed." },
	{ "drop_ios", MLGEN_F_U64(D, fio.drop_ios), .unit = "operations",
	  .help = "Always 0: no operation is dropped before it is sent." },
	{ "slat_ns", METRIC_HIST(D, slat_ns), .flags = MLGEN_FIO, .unit = "ns",
	  .help = "Delay from the intended start to submission, for a job with a pace; zeros without a pace." },
	{ "clat_ns", METRIC_HIST(D, lat_ns), .flags = MLGEN_FIO, .unit = "ns",
	  .help = "Latency from submission to completion." },
	{ "lat_ns", METRIC_HIST(D, fio.lat_ns), .flags = MLGEN_FIO, .unit = "ns",
	  .help = "Latency from the intended start to completion; without a pace the same as clat_ns." },
	{ "bw_min", MLGEN_F_U64(D, fio.bw_min), .unit = "KiB/s",
	  .help = "Least bandwidth in a second of the run." },
	{ "bw_max", MLGEN_F_U64(D, fio.bw_max), .unit = "KiB/s",
	  .help = "Greatest bandwidth in a second of the run." },
	{ "bw_agg", MLGEN_F_PERCENT(D, fio.bw_agg), .unit = "%",
	  .help = "Bandwidth as a percentage of the bandwidth of all jobs of the group." },
	{ "bw_mean", MLGEN_F_F64(D, bw_kib.mean), .unit = "KiB/s",
	  .help = "Mean of the bandwidths in the seconds of the run." },
	{ "bw_dev", MLGEN_F_F64(D, bw_kib.dev), .unit = "KiB/s",
	  .help = "Standard deviation of these bandwidths." },
	{ "bw_samples", MLGEN_F_U64(D, bw_kib.samples), .unit = "seconds",
	  .help = "Number of those seconds." },
	{ "iops_min", MLGEN_F_U64(D, fio.iops_min), .unit = "1/s",
	  .help = "Fewest operations completed in a second of the run." },
	{ "iops_max", MLGEN_F_U64(D, fio.iops_max), .unit = "1/s",
	  .help = "Most operations completed in a second of the run." },
	{ "iops_mean", MLGEN_F_F64(D, iops.mean), .unit = "1/s",
	  .help = "Mean number of operations in a second of the run." },
	{ "iops_stddev", MLGEN_F_F64(D, iops.dev), .unit = "1/s",
	  .help = "Standard deviation of the number of operations in a second." },
	{ "iops_samples", MLGEN_F_U64(D, iops.samples), .unit = "seconds",
	  .help = "Number of those seconds." },
	{ 0 },
};
#undef D

#define S struct op_result
static const struct mlgen_field sync_fields[] = {
	{ "total_ios", MLGEN_F_U64(S, total), .unit = "operations",
	  .help = "Flushes completed: fsync, fdatasync and end_fsync." },
	{ "lat_ns", METRIC_HIST(S, lat_ns), .flags = MLGEN_FIO, .unit = "ns",
	  .help = "Latency from submission to completion." },
	{ 0 },
};
#undef S

static const struct mlgen_field member_fields[] = {
	{ "jobname", METRICS_TEXT(struct metric_pair, key),
	  .help = "Name of a job that this record includes." },
	{ 0 },
};

#define S struct request_size
static const struct mlgen_field size_fields[] = {
	{ "operation", METRICS_TEXT(S, operation),
	  .help = "Operation: read or write." },
	{ "largest_bytes", MLGEN_F_U64(S, largest_bytes), .unit = "bytes",
	  .help = "Largest size of this bin, whose limits are powers of two." },
	{ "count", MLGEN_F_U64(S, count), .unit = "operations",
	  .help = "Requests in this bin: up to that size, and larger than half of its power of two." },
	{ 0 },
};
#undef S

#define J struct job_result
const struct mlgen_field metrics_job_fields[] = {
	{ "jobname", METRICS_TEXT(J, doc.jobname),
	  .help = "Name of the job, which is the name of its section in the job file." },
	{ "groupid", MLGEN_F_U64(J, group),
	  .help = "Number of the group: its jobs ran together; stonewall starts the next group." },
	{ "error", MLGEN_F_U64(J, doc.error),
	  .help = "The errno of the first error of this job; 0 = none." },
	{ "error_text", METRICS_TEXT(J, doc.error_text),
	  .help = "Text of the first error; null = none." },
	{ "total_err", MLGEN_F_U64(J, errors), .unit = "errors",
	  .help = "Errors that continue_on_error counted; fio writes total_err and first_error only if it is set." },
	{ "first_error", MLGEN_F_U64(J, failed.first_errno),
	  .help = "The errno of the first counted error; 0 = none." },
	{ "elapsed", MLGEN_F_U64(J, doc.elapsed), .unit = "s",
	  .help = "Whole time of the job, including startdelay and preparation, rounded up." },
	{ "elapsed_seconds", MLGEN_F_F64(J, elapsed_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "The same, not rounded." },
	{ "job_runtime", MLGEN_F_U64(J, doc.job_runtime_ms), .unit = "ms",
	  .help = "Time over which the job was measured; for a training its epochs, evaluations and waits for checkpoints." },
	{ "members", METRIC_LIST(J, doc.members, struct metric_pair, member_fields),
	  .help = "Jobs that group_reporting merged into this record; without it only the job itself." },
	{ "job options", METRIC_MAP(J, doc.options),
	  .help = "Options set for this job, as written; for a merged record the options that all members share." },
	{ "options_resolved", METRIC_MAP(J, doc.options_resolved),
	  .help = "Every option with the value in effect, as in a job file, including options of the engine; null = unset." },
	{ "options_origin", METRIC_MAP(J, doc.options_origin),
	  .help = "Where the value of each option was set." },
	{ "usr_cpu", MLGEN_F_F64(J, usr_cpu_percent), .unit = "%",
	  .help = "CPU time of the job in user mode, percent of its elapsed time." },
	{ "sys_cpu", MLGEN_F_F64(J, sys_cpu_percent), .unit = "%",
	  .help = "CPU time of the job in the kernel, percent of its elapsed time." },
	{ "ctx", MLGEN_F_U64(J, ctx), .unit = "switches",
	  .help = "Context switches of the job's threads." },
	{ "majf", MLGEN_F_U64(J, majf), .unit = "faults",
	  .help = "Major page faults of the job's threads." },
	{ "minf", MLGEN_F_U64(J, minf), .unit = "faults",
	  .help = "Minor page faults of the job's threads." },
	{ "read_align_bytes", MLGEN_F_U64(J, read_align_bytes), .unit = "bytes",
	  .help = "Alignment to which direct=1 rounded offsets and lengths; 0 = through the page cache." },
	{ "read", METRIC_OBJECT(J, read, struct direction_result, direction_fields),
	  .help = "Reads of the job." },
	{ "write", METRIC_OBJECT(J, write, struct direction_result, direction_fields),
	  .help = "Writes of the job, its preparation not included." },
	{ "trim", METRIC_OBJECT(J, doc.trim, struct direction_result, direction_fields),
	  .help = "All zeros: mlgen does not trim; programs that read fio's output expect it." },
	{ "sync", METRIC_OBJECT(J, sync, struct op_result, sync_fields),
	  .help = "Flushes of a plain job, or of the checkpoints that a job saves." },
	{ "request_sizes", METRIC_LIST(J, doc.request_sizes, struct request_size, size_fields),
	  .help = "Sizes of reads and writes, as the job requested them." },
	{ "latency_ns", METRIC_OBJECT(J, doc.latency_ns, struct latency_shares, latency_ns_fields),
	  .help = "How many reads and writes took less than a microsecond." },
	{ "latency_us", METRIC_OBJECT(J, doc.latency_us, struct latency_shares, latency_us_fields),
	  .help = "How many reads and writes took less than a millisecond." },
	{ "latency_ms", METRIC_OBJECT(J, doc.latency_ms, struct latency_shares, latency_ms_fields),
	  .help = "How many reads and writes took a millisecond or longer." },
	{ "iodepth_level", METRIC_OBJECT(J, depths.depth, double *, iodepth_level_fields),
	  .help = "How many reads and writes of a worker were in flight at the same time." },
	{ "iodepth_submit", METRIC_OBJECT(J, depths.submit, double *, iodepth_batch_fields),
	  .help = "How many operations were submitted in one call." },
	{ "iodepth_complete", METRIC_OBJECT(J, depths.complete, double *, iodepth_batch_fields),
	  .help = "How many operations were completed by one call." },
	{ "latency_depth", MLGEN_F_U64(J, doc.latency_depth), .unit = "requests",
	  .help = "Maximum number of requests in flight in one worker." },
	{ "latency_target", MLGEN_F_U64(J, doc.latency_target), .unit = "us",
	  .help = "Always 0: the depth is not adapted to a latency." },
	{ "latency_percentile", MLGEN_F_PERCENT(J, doc.latency_percentile), .unit = "%",
	  .help = "Always 100, for the same reason." },
	{ "latency_window", MLGEN_F_U64(J, doc.latency_window), .unit = "us",
	  .help = "Always 0, for the same reason." },
	{ 0 },
};
#undef J

#define M struct run_result
static const struct mlgen_field machine_fields[] = {
	{ "hostname", METRICS_CHARS(M, host.hostname), .help = "Name of this host." },
	{ "kernel", METRICS_CHARS(M, host.kernel), .help = "Kernel and its version." },
	{ "cpus", MLGEN_F_U64(M, host.cpus), .unit = "CPUs",
	  .help = "CPUs that this process may use." },
	{ "cpus_online", MLGEN_F_U64(M, host.cpus_online), .unit = "CPUs",
	  .help = "CPUs of this host." },
	{ "memory_bytes", MLGEN_F_U64(M, host.memory_bytes), .unit = "bytes",
	  .help = "Memory of this host, or of this process's control group if that is less." },
	{ "open_files", MLGEN_F_U64(M, host.open_files), .unit = "files",
	  .help = "Open files that this process may have." },
	{ "memory_limit_bytes", MLGEN_F_U64(M, host.memory_limit_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Memory of this host that memory_limit left, the same as memory_bytes; null = no limit." },
	{ "cpu_model", METRICS_CHARS(M, host.cpu_model),
	  .help = "Model of the CPUs, or their architecture; null = unknown." },
	{ "numa_nodes", MLGEN_F_U64(M, host.numa_nodes), .flags = MLGEN_NULLABLE,
	  .help = "NUMA nodes of this host; null = unknown." },
	{ "command", METRICS_CHARS(M, host.command),
	  .help = "The command line, quoted for a shell; after 4,000 bytes it is cut and ends in dots." },
	{ "liburing", METRICS_TEXT(M, liburing),
	  .help = "Version of liburing that mlgen was built with; null = not built with it, or unknown." },
	{ "libaio", METRICS_TEXT(M, libaio),
	  .help = "File of libaio that mlgen was built with, with the version in its name; null as above." },
	{ 0 },
};
#undef M

#define U struct disk_util
static const struct mlgen_field disk_fields[] = {
	{ "name", METRICS_CHARS(U, name), .help = "Name of the disk." },
	{ "read_ios", MLGEN_F_U64(U, read_ios), .unit = "operations",
	  .help = "Reads that the disk completed for all processes, during preparation and all jobs." },
	{ "write_ios", MLGEN_F_U64(U, write_ios), .unit = "operations",
	  .help = "Writes that the disk completed, as for read_ios." },
	{ "read_sectors", MLGEN_F_U64(U, read_sectors), .unit = "512 bytes",
	  .help = "Sectors read." },
	{ "write_sectors", MLGEN_F_U64(U, write_sectors), .unit = "512 bytes",
	  .help = "Sectors written." },
	{ "read_merges", MLGEN_F_U64(U, read_merges), .unit = "operations",
	  .help = "Reads merged with another." },
	{ "write_merges", MLGEN_F_U64(U, write_merges), .unit = "operations",
	  .help = "Writes merged with another." },
	{ "read_ticks", MLGEN_F_U64(U, read_ticks), .unit = "ms",
	  .help = "Sum of the times of all reads." },
	{ "write_ticks", MLGEN_F_U64(U, write_ticks), .unit = "ms",
	  .help = "Sum of the times of all writes." },
	{ "in_queue", MLGEN_F_U64(U, in_queue), .unit = "ms",
	  .help = "Sum of the times of all operations in the queue." },
	{ "util", MLGEN_F_PERCENT(U, util), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the time in which the disk was busy." },
	{ "queue_depth", MLGEN_F_F64(U, queue_depth), .flags = MLGEN_NULLABLE,
	  .help = "Operations in the queue, averaged over time." },
	{ 0 },
};
#undef U

#define T struct run_result
const struct mlgen_field metrics_top_fields[] = {
	{ "mlgen version", METRICS_TEXT(T, version), .help = "Version of this program." },
	{ "schema_version", MLGEN_F_U64(T, doc.schema_version),
	  .help = "Version of the schema: within a version, keys may be added, but never changed or removed." },
	{ "timestamp", MLGEN_F_U64(T, doc.timestamp), .unit = "s",
	  .help = "Start of the run, seconds since 1970." },
	{ "timestamp_ms", MLGEN_F_U64(T, timestamp_ms), .unit = "ms",
	  .help = "The same in milliseconds." },
	{ "time", MLGEN_F_STR(T, doc.time), .help = "The same as text, in local time." },
	{ "interrupted", MLGEN_F_BOOL(T, interrupted),
	  .help = "True if the run was stopped by a signal; figures cover the time before it." },
	{ "title", METRICS_TEXT(T, title),
	  .help = "Text of --title; null = not given." },
	{ "notes", METRICS_LINES(T, notes),
	  .help = "Texts of --note." },
	{ "machine", .type = MLGEN_OBJECT, .sub = machine_fields,
	  .help = "This host." },
	{ "global options", METRIC_MAP(T, doc.global_options),
	  .help = "Options of [global] that apply to all jobs, as written." },
	{ "jobs", METRIC_LIST(T, job_list, struct job_result, metrics_job_fields),
	  .help = "One record per job, or per group with group_reporting." },
	{ "disk_util", METRIC_LIST(T, disk_list, struct disk_util, disk_fields),
	  .help = "Disks that store the datasets, and their operations during the run." },
	{ 0 },
};
#undef T

const struct metrics_section metrics_sections[] = {
	{ "", metrics_top_fields },
	{ "machine", machine_fields },
	{ "jobs[]", metrics_job_fields },
	{ "jobs[].members[]", member_fields },
	{ "jobs[].read, jobs[].write, jobs[].trim", direction_fields },
	{ "jobs[].sync", sync_fields },
	{ "jobs[].request_sizes[]", size_fields },
	{ "jobs[].latency_ns", latency_ns_fields },
	{ "jobs[].latency_us", latency_us_fields },
	{ "jobs[].latency_ms", latency_ms_fields },
	{ "jobs[].iodepth_level", iodepth_level_fields },
	{ "jobs[].iodepth_submit, jobs[].iodepth_complete", iodepth_batch_fields },
	{ "jobs[].dataset", metrics_dataset_fields },
	{ "jobs[].prepare", metrics_prepare_fields },
	{ "jobs[].ml", metrics_ml_fields },
	{ "jobs[].ml.slowest_rank", metrics_slowest_rank_fields },
	{ "jobs[].ml.time_percent", metrics_time_percent_fields },
	{ "jobs[].ml.loader_percent, jobs[].io.worker_percent", metrics_loader_percent_fields },
	{ "jobs[].ml.ranks[]", metrics_rank_time_fields },
	{ "jobs[].ml.epochs[]", metrics_epoch_fields },
	{ "jobs[].ml.ops, jobs[].io.ops", metrics_ops_fields },
	{ "jobs[].ml.ops.KIND, jobs[].io.ops.KIND", metrics_op_fields },
	{ "jobs[].ml.storage, jobs[].io.storage", metrics_storage_fields },
	{ "jobs[].ml.window, jobs[].io.window", metrics_window_fields },
	{ "jobs[].ml.host, jobs[].io.host", metrics_host_fields },
	{ "jobs[].ml.host.noise, jobs[].io.host.noise", metrics_noise_fields },
	{ "jobs[].ml.network, jobs[].io.network", metrics_network_fields },
	{ "jobs[].ml.thread_cpu, jobs[].io.thread_cpu", metrics_thread_cpu_fields },
	{ "jobs[].ml.energy, jobs[].io.energy", metrics_energy_fields },
	{ "jobs[].ml.numa, jobs[].io.numa", metrics_numa_fields },
	{ "jobs[].ml.mlperf", metrics_mlperf_fields },
	{ "jobs[].ml.mlperf.VERSION", metrics_mlperf_window_fields },
	{ "jobs[].ml.mlperf_check[]", metrics_mlperf_rule_fields },
	{ "jobs[].ml.eval", metrics_eval_fields },
	{ "jobs[].ml.ceiling", metrics_ceiling_fields },
	{ "jobs[].ml.checkpoints[], jobs[].ml.restore[]", metrics_checkpoint_fields },
	{ "jobs[].ml.saves, jobs[].ml.restores", metrics_checkpoints_fields },
	{ "jobs[].ml.saves.rank_times[], jobs[].ml.restores.rank_times[]", metrics_checkpoint_rank_fields },
	{ "jobs[].ml.saves.rank_percent, jobs[].ml.restores.rank_percent", metrics_rank_percent_fields },
	{ "jobs[].ml.verdict, jobs[].io.verdict", metrics_verdict_fields },
	{ "jobs[].cache", metrics_cache_fields },
	{ "jobs[].cache.epochs[]", metrics_cache_epoch_fields },
	{ "jobs[].cache.ranks[]", metrics_cache_rank_fields },
	{ "jobs[].io", metrics_io_fields },
	{ "jobs[].io.rate_read, jobs[].io.rate_write", metrics_rate_fields },
	{ "jobs[].io.replay", metrics_replay_fields },
	{ "jobs[].io.replay.slices[]", metrics_replay_slice_fields },
	{ "jobs[].plan", metrics_plan_fields },
	{ "jobs[].plan.calls_per_sample", metrics_calls_fields },
	{ "jobs[].plan.checkpoint", metrics_plan_checkpoint_fields },
	{ "jobs[].plan.checkpoint.classes[]", metrics_plan_ranks_fields },
	{ "jobs[].plan.checks[]", metrics_check_fields },
	{ "jobs[].plan.blockers[]", metrics_blocker_fields },
	{ "disk_util[]", disk_fields },
	{ "series", metrics_series_fields },
	{ "series.jobs[]", metrics_series_job_fields },
	{ "series.jobs[].phases[]", metrics_series_phase_fields },
	{ "series.jobs[].latencies[]", metrics_series_latency_fields },
	{ "trace", metrics_trace_fields },
	{ "find_max", metrics_find_max_fields },
	{ "find_max.lines[]", metrics_answer_line_fields },
	{ "find_max.probes[]", metrics_probe_fields },
	{ "merged", metrics_merged_fields },
	{ "merged.runs[]", metrics_merged_run_fields },
	{ "merged.runs[].jobs[]", metrics_merged_job_fields },
	{ 0 },
};

/* clang-format on */

const char *metrics_version(void)
{
	return MLGEN_VERSION;
}

static uint64_t whole(double v)
{
	return v > 0 && v < 1e18 ? (uint64_t)v : 0;
}

static void fill_direction(struct direction_result *d, double seconds)
{
	uint64_t bytes_per_sec = seconds > 0 ? (uint64_t)((double)d->io_bytes / seconds) : 0;

	d->fio = (struct direction_fio){
		.io_kbytes = d->io_bytes >> 10,
		.bw_bytes = bytes_per_sec,
		.bw = bytes_per_sec >> 10,
		.iops = seconds > 0 ? (double)d->total_ios / seconds : 0,
		.runtime_ms = d->total_ios ? whole(seconds * 1e3) : 0,
		/* Without a pace, the intended start of an operation is its submission. */
		.lat_ns = d->total_ns ? d->total_ns : d->lat_ns,
		.bw_min = whole(d->bw_kib.min),
		.bw_max = whole(d->bw_kib.max),
		.iops_min = whole(d->iops.min),
		.iops_max = whole(d->iops.max),
	};
}

/* The index of the first of fio's limits that is above the value. */
static unsigned share_of(uint64_t value)
{
	static const uint64_t limits[] = { 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000 };
	unsigned i = 0;

	while (i < ARRAY_LEN(limits) && value >= limits[i])
		i++;
	return i;
}

static void add_shares(struct job_document *m, const struct hist *h, double percent)
{
	if (!h)
		return;
	for (unsigned b = hist_first_bucket(h); b <= hist_last_bucket(h); b++) {
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

static double measured_seconds(const struct job_result *r)
{
	double seconds = r->work ? page_of(r)->seconds(r) : 0;

	return seconds > 0 ? seconds : 0;
}

void metrics_top_init(struct run_result *t, const struct run_result *r, const struct jobset *set)
{
	time_t seconds = (time_t)(r->timestamp_ms / 1000);
	struct tm tm;
	char text[64] = "";

	*t = *r;
	t->job_list = (struct metric_list){ 0 };
	t->version = metrics_version();
	t->liburing = *MLGEN_LIBURING ? MLGEN_LIBURING : NULL;
	t->libaio = *MLGEN_LIBAIO ? MLGEN_LIBAIO : NULL;
	if (!t->host.numa_nodes)
		t->host.numa_nodes = UINT64_MAX;
	if (!t->host.memory_limit_bytes)
		t->host.memory_limit_bytes = UINT64_MAX;
	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm);
	t->doc = (struct run_document){
		.schema_version = METRICS_SCHEMA_VERSION,
		.timestamp = r->timestamp_ms / 1000,
		.time = mem_strdup(text),
	};
	add_globals(&t->doc.global_options, set, job_fields);
	if (set->count)
		add_globals(&t->doc.global_options, set, engine_table(set->jobs[0]));
}

void metrics_top_fini(struct run_result *t)
{
	mem_free(t->doc.time);
	options_fini(&t->doc.global_options);
}

void metrics_job_init(struct job_result *m, const struct job_result *r, const struct jobset *set)
{
	const struct hist *read = r->read.lat_ns, *write = r->write.lat_ns;
	uint64_t count = (read ? read->count : 0) + (write ? write->count : 0);
	double seconds = measured_seconds(r);

	*m = *r;
	m->doc = (struct job_document){
		.jobname = r->job->name,
		.error = (uint64_t)(r->err.code < 0 ? -r->err.code : r->err.code),
		.error_text = r->err.code ? r->err.text : NULL,
		.elapsed = whole(ceil(r->elapsed_seconds)),
		.job_runtime_ms = whole(seconds * 1e3),
		.latency_depth = r->iodepth_used,
		.latency_percentile = 100,
	};
	if (r->dataset && r->dataset->format) {
		m->doc.dataset = *r->dataset;
		m->doc.format = r->dataset->format->name;
		m->doc.samples = dataset_samples(r->dataset);
		m->doc.is_uneven = r->dataset->uneven_samples != 0;
	}
	fill_direction(&m->read, seconds);
	fill_direction(&m->write, seconds);
	if (count) {
		add_shares(&m->doc, read, 100.0 / (double)count);
		add_shares(&m->doc, write, 100.0 / (double)count);
	}
	if (!set)
		return;

	struct request_size *out = mem_array((size_t)2 * SIZES_CLASSES, sizeof(*out));
	const struct sizes *sizes[] = { &r->read.sizes, &r->write.sizes };
	size_t n = 0;

	for (unsigned d = 0; d < 2; d++)
		for (unsigned i = 0; i < SIZES_CLASSES; i++)
			if (sizes[d]->count[i])
				out[n++] = (struct request_size){ d ? "write" : "read",
								  sizes[d]->largest[i],
								  sizes[d]->count[i] };
	m->doc.request_sizes = (struct metric_list){ out, n };

	for (size_t i = 0; i < set->count; i++)
		if (is_member(set->jobs[i], r->job, r->members))
			pair_add(&m->doc.members, set->jobs[i]->name, NULL);
	fill_table(&m->doc, r->job, set, r->members, job_fields, r->job);
	fill_table(&m->doc, r->job, set, r->members, engine_table(r->job), r->job->engine_opts);
}

void metrics_job_fini(struct job_result *m)
{
	mem_free(m->doc.request_sizes.items);
	options_fini(&m->doc.members);
	options_fini(&m->doc.options);
	options_fini(&m->doc.options_resolved);
	options_fini(&m->doc.options_origin);
}

void metrics_job_share(struct job_result *m, const struct run_result *r)
{
	double read = 0, write = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *j = &r->jobs[i];
		double seconds = measured_seconds(j);

		if (j->group != m->group || !(seconds > 0))
			continue;
		read += (double)j->read.io_bytes / seconds;
		write += (double)j->write.io_bytes / seconds;
	}
	if (read > 0)
		m->read.fio.bw_agg = fmin(100 * (double)m->read.fio.bw_bytes / read, 100);
	if (write > 0)
		m->write.fio.bw_agg = fmin(100 * (double)m->write.fio.bw_bytes / write, 100);
}

/* Rows for a job that only saves or restores: the other rows are about accelerators. */
static const char *const checkpoint_rows[] = {
	"iodepth_used", "in_use",   "checkpoints",  "saves",  "restore", "restores",
	"storage",      "host",     "network",      "numa",   "verdict", "errors",
	"interrupted",  "complete", "mlperf_check", "energy",
};

bool metrics_ml_has(const struct job_result *r, const char *name)
{
	bool is_checkpoint = job_result_is_of_checkpoints(r);
	bool is_restore = job_work(r->job)->restores;

	if (!strcmp(name, "saves"))
		return r->ml.saves.count > 0 || (is_checkpoint && !is_restore);
	if (!strcmp(name, "restores"))
		return r->ml.restores.count > 0 || (is_checkpoint && is_restore);
	if (!is_checkpoint)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(checkpoint_rows); i++)
		if (!strcmp(checkpoint_rows[i], name))
			return true;
	return false;
}

bool metrics_io_has(const struct job_result *r, const char *name)
{
	return strcmp(name, "replay") != 0 || r->io.replay.trace;
}

/* clang-format off */

#define T struct trace_result
const struct mlgen_field metrics_trace_fields[] = {
	{ "file", METRICS_TEXT(T, file),
	  .help = "File of --trace, as given." },
	{ "complete", MLGEN_F_BOOL(T, complete),
	  .help = "True if the trace contains all records: none was lost, and all were written." },
	{ "records", MLGEN_F_U64(T, records), .unit = "records",
	  .help = "Operations and markers in the trace; it contains preparations only with phase=prepare." },
	{ "bytes", MLGEN_F_U64(T, bytes), .unit = "bytes",
	  .help = "Its size." },
	{ "lost", MLGEN_F_U64(T, lost), .unit = "records",
	  .help = "Records lost because a buffer was full or a write failed; the trace has their number for each operation." },
	{ "cpu_ns", MLGEN_F_U64(T, cpu_ns), .unit = "ns",
	  .help = "CPU time of the thread that wrote the trace, which is not a worker." },
	{ 0 },
};
#undef T

/* clang-format on */
