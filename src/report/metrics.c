/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - every figure of the JSON document, declared once. */
#include "report/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/util.h"
#include "config.h"
#include "job/job.h"
#include "report/metrics_find_max.h"
#include "report/metrics_merged.h"
#include "report/metrics_options.h"
#include "report/metrics_tables.h"
#include "report/metrics_trace.h"
#include "report/page.h"
#include "run/failed.h"

/* clang-format off */

#define M struct metrics_machine
static const struct mlgen_field machine_fields[] = {
	{ "hostname", METRICS_TEXT(M, hostname), .help = "Name of this host." },
	{ "kernel", METRICS_TEXT(M, kernel), .help = "Kernel and its version." },
	{ "cpus", MLGEN_F_U64(M, cpus), .unit = "CPUs",
	  .help = "CPUs that this process may use." },
	{ "cpus_online", MLGEN_F_U64(M, cpus_online), .unit = "CPUs",
	  .help = "CPUs of this host." },
	{ "memory_bytes", MLGEN_F_U64(M, memory_bytes), .unit = "bytes",
	  .help = "Memory of this host, or of this process's control group if that is less." },
	{ "open_files", MLGEN_F_U64(M, open_files), .unit = "files",
	  .help = "Open files that this process may have." },
	{ "memory_limit_bytes", MLGEN_F_U64(M, memory_limit_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "What memory_limit left of this host's memory, which then is memory_bytes; null = all of it." },
	{ "cpu_model", METRICS_TEXT(M, cpu_model),
	  .help = "Model of the CPUs, or their architecture; null = unknown." },
	{ "numa_nodes", MLGEN_F_U64(M, numa_nodes), .flags = MLGEN_NULLABLE,
	  .help = "NUMA nodes of this host; null = unknown." },
	{ "command", METRICS_TEXT(M, command),
	  .help = "The command line, quoted for a shell; one of more than 4,000 bytes ends in dots." },
	{ "liburing", METRICS_TEXT(M, liburing),
	  .help = "Version of liburing that io_uring was built with; null = without, or unknown." },
	{ "libaio", METRICS_TEXT(M, libaio),
	  .help = "File of the libaio it was built with, whose name has the version; null as above." },
	{ 0 },
};
#undef M

#define U struct metrics_disk
static const struct mlgen_field disk_fields[] = {
	{ "name", METRICS_TEXT(U, name), .help = "Name of the disk." },
	{ "read_ios", MLGEN_F_U64(U, util.read_ios), .unit = "operations",
	  .help = "Reads that the disk completed during the whole run, preparation and all jobs, of anyone." },
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
	{ "queue_depth", MLGEN_F_F64(U, util.queue_depth), .flags = MLGEN_NULLABLE,
	  .help = "Operations in the queue, on the mean over the time." },
	{ 0 },
};
#undef U

#define T struct metrics_top
const struct mlgen_field metrics_top_fields[] = {
	{ "mlgen version", METRICS_TEXT(T, version), .help = "Version of this program." },
	{ "schema_version", MLGEN_F_U64(T, schema_version),
	  .help = "Version of this document: a key may be added to one, never changed or removed." },
	{ "timestamp", MLGEN_F_U64(T, timestamp), .unit = "s",
	  .help = "Start of the run, seconds since 1970." },
	{ "timestamp_ms", MLGEN_F_U64(T, timestamp_ms), .unit = "ms",
	  .help = "The same in milliseconds." },
	{ "time", MLGEN_F_STR(T, time), .help = "The same in words, local time." },
	{ "interrupted", MLGEN_F_BOOL(T, interrupted),
	  .help = "The run was stopped by a signal; figures cover what ran before." },
	{ "title", METRICS_TEXT(T, title),
	  .help = "Text of --title; null = not given." },
	{ "notes", METRICS_LINES(T, notes),
	  .help = "Texts of --note." },
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
	{ "jobs[].members[]", metrics_member_fields },
	{ "jobs[].read, jobs[].write, jobs[].trim", metrics_direction_fields },
	{ "jobs[].sync", metrics_sync_fields },
	{ "jobs[].request_sizes[]", metrics_size_fields },
	{ "jobs[].latency_ns", metrics_latency_ns_fields },
	{ "jobs[].latency_us", metrics_latency_us_fields },
	{ "jobs[].latency_ms", metrics_latency_ms_fields },
	{ "jobs[].iodepth_level", metrics_iodepth_level_fields },
	{ "jobs[].iodepth_submit, jobs[].iodepth_complete", metrics_iodepth_batch_fields },
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

static uint64_t rate(uint64_t n, double seconds)
{
	return seconds > 0 ? (uint64_t)((double)n / seconds) : 0;
}

static uint64_t whole(double v)
{
	return v > 0 && v < 1e18 ? (uint64_t)v : 0;
}

static void fill_direction(struct metrics_direction *m, const struct direction_result *r,
			   double seconds)
{
	m->io_bytes = r->io_bytes;
	m->io_kbytes = r->io_bytes >> 10;
	m->bw_bytes = rate(r->io_bytes, seconds);
	m->bw = m->bw_bytes >> 10;
	m->iops = seconds > 0 ? (double)r->total_ios / seconds : 0;
	m->runtime_ms = r->total_ios ? whole(seconds * 1e3) : 0;
	m->total_ios = r->total_ios;
	m->short_ios = r->short_ios;
	m->slat_ns = r->slat_ns;
	m->clat_ns = r->lat_ns;
	/* Where nothing is paced the intended start is the submission. */
	m->lat_ns = r->total_ns ? r->total_ns : r->lat_ns;
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
	static const uint64_t limits[] = { 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000 };
	unsigned i = 0;

	while (i < ARRAY_LEN(limits) && value >= limits[i])
		i++;
	return i;
}

static void add_shares(struct metrics_job *m, const struct hist *h, double percent)
{
	if (!h)
		return;
	for (unsigned b = hist_first(h); b <= hist_last(h); b++) {
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
}

static void fill_depths(struct metrics_job *m, const struct job_result *r)
{
	for (unsigned i = 1; i < OPSTAT_DEPTHS; i++)
		m->iodepth_level.percent[i - 1] = r->depths.depth[i];
	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++) {
		m->iodepth_submit.percent[i] = r->depths.submit[i];
		m->iodepth_complete.percent[i] = r->depths.complete[i];
	}
	m->latency_depth = r->iodepth_used;
	m->latency_percentile = 100;
}

static void fill_sizes(struct metrics_job *m, const struct job_result *r)
{
	struct metrics_size *out = mem_array((size_t)2 * SIZES_CLASSES, sizeof(*out));
	const struct sizes *of[] = { &r->read.sizes, &r->write.sizes };
	size_t n = 0;

	for (unsigned d = 0; d < 2; d++)
		for (unsigned i = 0; i < SIZES_CLASSES; i++)
			if (of[d]->count[i])
				out[n++] =
					(struct metrics_size){ d ? "write" : "read",
							       of[d]->largest[i], of[d]->count[i] };
	m->request_sizes = (struct metric_list){ out, n };
}

static double measured_seconds(const struct job_result *r)
{
	double seconds = r->work ? page_of(r)->seconds(r) : 0;

	return seconds > 0 ? seconds : 0;
}

static const char *or_null(const char *s)
{
	return *s ? s : NULL;
}

static uint64_t or_unknown(uint64_t n)
{
	return n ? n : UINT64_MAX;
}

void metrics_top_init(struct metrics_top *t, const struct run_result *r, const struct jobset *set)
{
	memset(t, 0, sizeof(*t));
	t->version = metrics_version();
	t->schema_version = METRICS_SCHEMA_VERSION;
	t->timestamp_ms = r->timestamp_ms;
	t->timestamp = r->timestamp_ms / 1000;
	time_t seconds = (time_t)t->timestamp;
	struct tm tm;
	char text[64] = "";
	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm);
	t->time = mem_strdup(text);
	t->interrupted = r->interrupted;
	t->title = r->title;
	t->notes = r->notes;
	t->machine = (struct metrics_machine){
		.hostname = r->host.hostname,
		.kernel = r->host.kernel,
		.cpus = r->host.cpus,
		.cpus_online = r->host.cpus_online,
		.memory_bytes = r->host.memory_bytes,
		.open_files = r->host.open_files,
		.cpu_model = or_null(r->host.cpu_model),
		.command = or_null(r->host.command),
		.liburing = or_null(MLGEN_LIBURING),
		.libaio = or_null(MLGEN_LIBAIO),
		.numa_nodes = or_unknown(r->host.numa_nodes),
		.memory_limit_bytes = or_unknown(r->host.memory_limit_bytes),
	};
	metrics_options_global(&t->global_options, set);
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
	metrics_options_fini(&t->global_options);
	mem_free(t->disk_util.items);
	memset(t, 0, sizeof(*t));
}

void metrics_job_init(struct metrics_job *m, const struct job_result *r, const struct jobset *set)
{
	double seconds = measured_seconds(r);

	memset(m, 0, sizeof(*m));
	m->jobname = r->job->name;
	m->groupid = r->group;
	m->error = (uint64_t)(r->err.code < 0 ? -r->err.code : r->err.code);
	m->error_text = r->err.code ? r->err.text : NULL;
	m->total_err = r->errors;
	m->first_error = r->failed.first_errno;
	m->elapsed = whole(ceil(r->elapsed_seconds));
	m->elapsed_seconds = r->elapsed_seconds;
	m->job_runtime_ms = whole(seconds * 1e3);
	m->usr_cpu = r->usr_cpu_percent;
	m->sys_cpu = r->sys_cpu_percent;
	m->ctx = r->ctx;
	m->majf = r->majf;
	m->minf = r->minf;
	m->read_align_bytes = r->read_align_bytes;
	fill_direction(&m->read, &r->read, seconds);
	fill_direction(&m->write, &r->write, seconds);
	m->sync = (struct metrics_sync){ r->sync.total, r->sync.lat_ns };
	fill_shares(m, r);
	fill_depths(m, r);
	if (!set)
		return;
	fill_sizes(m, r);
	metrics_options_fill(m, r->job, set, r->members);
}

void metrics_job_fini(struct metrics_job *m)
{
	mem_free(m->request_sizes.items);
	metrics_options_fini(&m->members);
	metrics_options_fini(&m->options);
	metrics_options_fini(&m->options_resolved);
	metrics_options_fini(&m->options_origin);
	memset(m, 0, sizeof(*m));
}

void metrics_job_share(struct metrics_job *m, const struct run_result *r)
{
	double read = 0, write = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *j = &r->jobs[i];
		double seconds = measured_seconds(j);

		if (j->group != m->groupid || !(seconds > 0))
			continue;
		read += (double)j->read.io_bytes / seconds;
		write += (double)j->write.io_bytes / seconds;
	}
	if (read > 0)
		m->read.bw_agg = fmin(100 * (double)m->read.bw_bytes / read, 100);
	if (write > 0)
		m->write.bw_agg = fmin(100 * (double)m->write.bw_bytes / write, 100);
}

/* Of a job that saves or restores: what is not about accelerators. */
static const char *const of_checkpoints[] = {
	"iodepth_used", "in_use",   "checkpoints",  "saves",  "restore", "restores",
	"storage",      "host",     "network",      "numa",   "verdict", "errors",
	"interrupted",  "complete", "mlperf_check", "energy",
};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

bool metrics_ml_has(const struct job_result *r, const char *name)
{
	bool is_checkpoint = job_result_is_of_checkpoints(r);
	bool is_restore = job_work(r->job)->restores;

	if (!strcmp(name, "saves"))
		return r->ml.saves.count > 0 || (is_checkpoint && !is_restore);
	if (!strcmp(name, "restores"))
		return r->ml.restores.count > 0 || (is_checkpoint && is_restore);
	return !is_checkpoint || is_one_of(name, of_checkpoints, ARRAY_LEN(of_checkpoints));
}

bool metrics_io_has(const struct job_result *r, const char *name)
{
	return strcmp(name, "replay") != 0 || r->io.replay.trace;
}
