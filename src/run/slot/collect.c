/* SPDX-License-Identifier: Apache-2.0 */
/* collect.c - fill the figures of a report from the counters of the threads. */
#include "run/slot/slot.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "run/result/result.h"

void collect_workers(struct slot *s)
{
	const struct worker *w = worker_counted(atomic_load(&s->workers.first));

	opstat_fini(&s->total);
	opstat_init(&s->total);
	for (; w; w = worker_counted(w->next))
		if (w->share == WORKER_MOVES)
			opstat_merge_transfers(&s->total, &w->stat);
		else
			opstat_merge(&s->total, &w->stat);
}

/* Time that is neither inside a call nor idle is the thread's own: up to the user-mode time of the
 * thread it counts as CPU time, the rest as other. */
void collect_worker_time(struct loader_percent *p, const struct opstat *t)
{
	const _Atomic uint64_t *b = t->blocked_ns;
	double wall = (double)t->wall_ns, inside = (double)t->reap_ns;

	for (unsigned i = 0; i < MLGEN_OPS; i++)
		inside += (double)b[i];
	/* Calls in progress when counting began are counted with their whole time. */
	if (wall < inside + (double)t->idle_ns)
		wall = inside + (double)t->idle_ns;
	double rest = wall - inside - (double)t->idle_ns;
	double cpu = (double)t->usage.user_ns < rest ? (double)t->usage.user_ns : rest;
	*p = (struct loader_percent){
		.open = result_percent((double)b[MLGEN_OPEN], wall),
		.stat = result_percent((double)b[MLGEN_STAT], wall),
		.read = result_percent((double)b[MLGEN_READ], wall),
		.write = result_percent((double)b[MLGEN_WRITE], wall),
		.fsync = result_percent((double)(b[MLGEN_FSYNC] + b[MLGEN_FDATASYNC]), wall),
		.close = result_percent((double)b[MLGEN_CLOSE], wall),
		.reap = result_percent((double)t->reap_ns, wall),
		.cpu = result_percent(cpu, wall),
		.idle = result_percent((double)t->idle_ns, wall),
	};
	p->other = 100 - p->open - p->stat - p->read - p->write - p->fsync - p->close - p->reap -
		   p->cpu - p->idle;
	if (p->other < 0)
		p->other = 0;
}

static struct op_result op_result(const struct opstat *t, enum mlgen_op op)
{
	return (struct op_result){ .total = t->lat[op]->count + t->linked[op],
				   .lat_ns = t->lat[op] };
}

void collect_ops(struct ops_result *ops, struct opstat *t)
{
	hist_merge(t->lat[MLGEN_FSYNC], t->lat[MLGEN_FDATASYNC]);
	hist_reset(t->lat[MLGEN_FDATASYNC]);
	*ops = (struct ops_result){
		.open = op_result(t, MLGEN_OPEN),
		.stat = op_result(t, MLGEN_STAT),
		.read = op_result(t, MLGEN_READ),
		.write = op_result(t, MLGEN_WRITE),
		.fsync = op_result(t, MLGEN_FSYNC),
		.close = op_result(t, MLGEN_CLOSE),
	};
}

void collect_storage(struct storage_result *st, struct slot *s, char *directory)
{
	storage_result_init(st, &s->mount);
	st->directory = directory;
	st->source = "unknown";
	st->resident_before_percent = s->resident_before_percent;
	st->resident_files = s->prepare.resident_files;
	st->caches_dropped = s->has_dropped_caches;
	if (*s->mount.device_model)
		st->device_model = s->mount.device_model;
	st->slowest_sample_ns = (double)NAN;
}

void collect_slowest(struct storage_result *st, const struct opstat *t)
{
	const struct dataset *ds = t->slowest.of;
	char path[PATH_MAX];
	size_t len, cut = 0;

	if (!ds || dataset_path(ds, t->slowest.file, path, sizeof(path)) < 0)
		return;
	len = strlen(path);
	if (len >= sizeof(st->slowest_file)) {
		cut = len + 1 - sizeof(st->slowest_file);
		memcpy(path + cut, "...", 3);
	}
	memcpy(st->slowest_file, path + cut, len - cut + 1);
	st->slowest_sample_ns = (double)t->slowest.ns;
	st->slowest_file_bytes = dataset_file_bytes(ds, t->slowest.file);
}

void collect_window(struct job_result *out, const struct slot *s, size_t record)
{
	struct storage_result *st = &out->storage;
	bool is_read = out->read.io_bytes > 0;

	span_marks(&s->span, record, &out->marks);
	out->marks.zero_ns = s->begin_ns;
	out->marks.mhz_sum = s->mhz_sum;
	out->marks.mhz_readings = s->mhz_readings;
	marks_window(&out->window, &out->marks);
	marks_host(&out->host, &out->marks);
	marks_network(&out->network, &out->marks);

	/* The mount decides which source counts the delivered bytes; without a source, `source` is
	 * the reason. */
	if (!slot_touches_files(s)) {
		st->source = "ioengine=null reads nothing";
	} else if (st->is_memory) {
		st->source = "files lie in memory";
		st->memory_percent = is_read ? 100 : (double)NAN;
	} else if (is_read || out->work->checkpoints != CHECKPOINTS_ALWAYS) {
		/* If a job of checkpoints alone read nothing, the delivered bytes are those of
		 * other processes. */
		marks_storage(st, &out->marks);
	}
	marks_energy(&out->energy, &out->marks, out->read.io_bytes + out->write.io_bytes,
		     out->ml.samples);
	marks_other_cpu(&out->thread_cpu, &out->marks);
}

void collect_numa(struct numa_result *n, const struct slot *s)
{
	const struct placement *p = &s->place;
	const struct worker *w = worker_counted(atomic_load(&s->workers.first));
	struct node_watch all = { 0 };
	struct buf text = { 0 };

	for (; w; w = worker_counted(w->next))
		node_watch_merge(&all, &w->watch);
	node_set_text(&all.seen, &text);
	*n = (struct numa_result){
		.device_node = p->disk_node < 0 ? UINT64_MAX : (uint64_t)p->disk_node,
		.seen = all.seen,
		.loader_nodes = all.looks ? buf_detach(&text) : NULL,
		.far_percent = p->disk_node < 0
				       ? (double)NAN
				       : result_percent((double)all.far, (double)all.looks),
		.unbound = p->unbound,
	};
	buf_fini(&text);
}

static struct interval_stat interval(const struct rate_series *r, double unit)
{
	return (struct interval_stat){
		.min = r->min / unit,
		.max = r->max / unit,
		.mean = r->rates.mean / unit,
		.dev = r->rates.count ? moments_stdev(&r->rates) / unit : 0,
		.samples = r->rates.count,
	};
}

void collect_direction(struct direction_result *d, const struct rate_set *rates, struct opstat *t,
		       unsigned which)
{
	enum mlgen_op op = which ? MLGEN_WRITE : MLGEN_READ;
	bool is_paced = t->total[which]->count > 0;

	*d = (struct direction_result){
		.io_bytes = opstat_io_bytes(t, which),
		.total_ios = t->lat[op]->count + t->linked[op],
		.sizes = t->sizes[which],
		.short_ios = t->short_ios[which],
		.lat_ns = t->lat[op],
		.slat_ns = is_paced ? t->slat[which] : NULL,
		.total_ns = is_paced ? t->total[which] : NULL,
		.bw_kib = interval(&rates->bytes[which], 1024),
		.iops = interval(&rates->ios[which], 1),
	};
}

static void shares(double out[OPSTAT_DEPTHS], const uint64_t n[OPSTAT_DEPTHS])
{
	double all = 0;

	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++)
		all += (double)n[i];
	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++)
		out[i] = all > 0 ? 100 * (double)n[i] / all : 0;
}

void collect_depths(struct depth_result *d, const struct opstat *t)
{
	shares(d->depth, t->depth);
	shares(d->submit, t->submits);
	shares(d->complete, t->reaps);
}

void collect_usage(struct job_result *out, const struct usage *u)
{
	double ns = out->elapsed_seconds * 1e9;

	out->usr_cpu_percent = ns > 0 ? 100 * (double)u->user_ns / ns : 0;
	out->sys_cpu_percent = ns > 0 ? 100 * (double)u->system_ns / ns : 0;
	out->ctx = u->context_switches;
	out->majf = u->major_faults;
	out->minf = u->minor_faults;
}

void collect_worker_cpu(struct thread_cpu_result *t, const struct usage *u)
{
	*t = (struct thread_cpu_result){
		.workers_seconds = (double)(u->user_ns + u->system_ns) / 1e9,
		.workers_waited_seconds = (double)u->waited_ns / 1e9,
		.accelerators_seconds = (double)NAN,
		.others_seconds = (double)NAN,
	};
}

void collect_first_error(struct failed_result *f, const struct slot *s, uint64_t first, uint64_t n)
{
	const struct worker *w, *earliest = NULL;

	for (uint64_t i = first; i - first < n; i++) {
		w = s->does->worker(s, i);
		if (!w)
			break;
		if (worker_has_error(w) &&
		    (!earliest || w->first_error_ns < earliest->first_error_ns))
			earliest = w;
	}
	if (!earliest)
		return;
	memcpy(f->first, earliest->first_error, sizeof(f->first));
	f->first_errno = earliest->first_errno;
}

const char *collect_in_use(const struct slot *s)
{
	const struct worker *w = s->does->worker(s, 0);
	const struct io *io = w ? atomic_load(&w->io) : NULL;

	return io ? io_in_use(io) : "";
}

void collect_job(struct job_result *out, size_t record, struct slot *s)
{
	/* The record of a worker ends when that worker leaves. */
	uint64_t end_ns = s->span.records > 1 ? s->span.ends[record].ns : s->end_ns;

	*out = (struct job_result){ .job = s->job,
				    .group = s->job->group,
				    .read_align_bytes = s->align_bytes,
				    .members = 1 };
	ceiling_result_init(&out->ml.ceiling);
	checkpoints_result_init(&out->ml.saves);
	checkpoints_result_init(&out->ml.restores);
	if (s->begin_ns)
		out->elapsed_seconds = (double)(end_ns - s->begin_ns) / 1e9;
	s->does->collect(out, record, s);
	failed_count(out);
}
