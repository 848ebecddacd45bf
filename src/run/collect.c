/* SPDX-License-Identifier: Apache-2.0 */
/* collect.c - see collect.h. DESIGN.md, "What the numbers mean". */
#include "run/collect.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "run/activity.h"
#include "run/failed.h"

/* Percent; bytes are counted when they are taken from the adapter. */
#define MOST_OF_LINE_RATE 105

static char *or_null(char *s)
{
	return *s ? s : NULL;
}

void collect_workers(struct slot *s)
{
	const struct worker *w;

	opstat_fini(&s->total);
	opstat_init(&s->total);
	for (uint64_t i = 0; (w = s->does->worker(s, i)); i++)
		opstat_merge(&s->total, &w->stat);
}

/* What is neither inside a call nor idle is the loader's own: as much of it
 * as the thread spent in user mode is its CPU time, the rest is other. */
void collect_worker_time(struct loader_percent *p, const struct opstat *t)
{
	const uint64_t *b = t->blocked_ns;
	double wall = (double)t->wall_ns, inside = (double)t->reap_ns;
	for (unsigned i = 0; i < MLGEN_OPS; i++)
		inside += (double)b[i];
	/* Calls that were under way when counting began have their whole time. */
	if (wall < inside + (double)t->idle_ns)
		wall = inside + (double)t->idle_ns;
	double rest = wall - inside - (double)t->idle_ns;
	double cpu = (double)t->usage.user_ns < rest ? (double)t->usage.user_ns
						     : rest;
	*p = (struct loader_percent){
		.open = collect_percent((double)b[MLGEN_OPEN], wall),
		.stat = collect_percent((double)b[MLGEN_STAT], wall),
		.read = collect_percent((double)b[MLGEN_READ], wall),
		.write = collect_percent((double)b[MLGEN_WRITE], wall),
		.fsync = collect_percent(
			(double)(b[MLGEN_FSYNC] + b[MLGEN_FDATASYNC]), wall),
		.close = collect_percent((double)b[MLGEN_CLOSE], wall),
		.reap = collect_percent((double)t->reap_ns, wall),
		.cpu = collect_percent(cpu, wall),
		.idle = collect_percent((double)t->idle_ns, wall),
	};
	p->other = 100 - p->open - p->stat - p->read - p->write - p->fsync -
		   p->close - p->reap - p->cpu - p->idle;
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
	struct mount *m = &s->mount;
	*st = (struct storage_result){
		.directory = directory,
		.filesystem = or_null(m->type),
		.mount_source = or_null(m->source),
		.mount_target = or_null(m->target),
		.mount_options = or_null(m->options),
		.device = or_null(m->device),
		.device_kind = or_null(m->device_kind),
		.scheduler = or_null(m->scheduler),
		.read_ahead_bytes =
			m->read_ahead_bytes ? m->read_ahead_bytes : UINT64_MAX,
		.device_paths = m->paths ? m->paths : UINT64_MAX,
		.osts = m->osts ? m->osts : UINT64_MAX,
		.is_memory = m->is_memory,
		.has_own_cache = m->has_own_cache,
		.device_read_bytes = UINT64_MAX,
		.device_reads = UINT64_MAX,
		.memory_percent = (double)NAN,
		.resident_before_percent = s->resident_before_percent,
		.resident_files = s->prepare.resident_files,
		.cache_drops = s->train.drops,
		.caches_dropped = s->has_dropped_caches,
		.device_model = or_null(m->device_model),
		.slowest_sample_ns = (double)NAN,
	};
}

/* What carried more than its line rate has another one (a virtual adapter). */
void collect_network(struct network_result *n, const struct slot *s,
		     size_t record)
{
	const struct span *p = &s->span;
	uint64_t line = p->network.line_rate_bits_per_sec;
	double seconds = (double)span_ns(p, record) / 1e9;
	uint64_t begin = p->begin.received_bytes, end;

	*n = (struct network_result){ .line_rate_bits_per_sec = UINT64_MAX,
				      .received_bytes = UINT64_MAX,
				      .received_bits_per_sec = (double)NAN,
				      .percent = (double)NAN };
	if (!p->network.name[0] || !(seconds > 0))
		return;
	end = p->ends[record].received_bytes;
	if (begin == UINT64_MAX || end == UINT64_MAX || end < begin)
		return;
	n->interface = p->network.name;
	n->received_bytes = end - begin;
	n->received_bits_per_sec = 8 * (double)n->received_bytes / seconds;
	double of_line =
		collect_percent(n->received_bits_per_sec, (double)line);
	if (!(of_line <= MOST_OF_LINE_RATE))
		return;
	n->line_rate_bits_per_sec = line;
	n->percent = of_line;
}

/* The sample that took longest of all, where there are samples. */
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

static void collect_noise(struct noise *n, const struct slot *s, size_t record)
{
	const struct span_mark *a = &s->span.begin, *b = &s->span.ends[record];
	uint64_t own = b->cpu.process_user_ns + b->cpu.process_system_ns -
		       a->cpu.process_user_ns - a->cpu.process_system_ns;

	noise_between(n, &a->noise, &b->noise,
		      (double)span_ns(&s->span, record), (double)own);
	if (s->mhz_looks)
		n->clock_mhz = s->mhz_sum / (double)s->mhz_looks;
	n->most_mhz = noise_most_mhz("");
}

/* Nothing was measured. */
static void leave_host_out(struct host_result *h)
{
	const double none = (double)NAN;
	const struct noise_counts c = { .throttled = UINT64_MAX,
					.hot = UINT64_MAX };

	*h = (struct host_result){ .cpus = none,
				   .cpu_percent = none,
				   .user_percent = none,
				   .system_percent = none,
				   .switches_per_sec = none };
	noise_between(&h->noise, &c, &c, 0, 0);
}

void collect_window(struct window_result *w, const struct slot *s,
		    size_t record)
{
	const struct span *p = &s->span;
	uint64_t ns = span_ns(p, record);

	*w = (struct window_result){ NULL, (double)NAN, (double)NAN };
	if (!ns)
		return;
	w->from = p->is_behind_ramp ? "ramp_time" : "start";
	w->begin_seconds = (double)(p->begin.ns - s->begin_ns) / 1e9;
	w->seconds = (double)ns / 1e9;
}

void collect_host(struct host_result *h, const struct slot *s, size_t record)
{
	static const char *const of[] = {
		[HOST_CPU_OF_ALLOWED] = "allowed CPUs",
		[HOST_CPU_OF_QUOTA] = "quota",
		[HOST_CPU_OF_QUOTA_ALONE] = "quota, mlgen alone",
	};
	const struct host_cpu *a = &s->span.begin.cpu;
	uint64_t wall_ns = span_ns(&s->span, record);

	if (!wall_ns) {
		leave_host_out(h);
		return;
	}
	const struct host_cpu *b = &s->span.ends[record].cpu;
	double ns = (double)wall_ns, room_ns = ns * b->cpus;

	h->cpus = b->cpus;
	h->cpu_percent_of = of[b->of];
	h->cpu_percent = host_cpu_percent(a, b, wall_ns);
	h->user_percent = collect_percent(
		(double)(b->process_user_ns - a->process_user_ns), room_ns);
	h->system_percent = collect_percent(
		(double)(b->process_system_ns - a->process_system_ns), room_ns);
	h->switches_per_sec =
		collect_per_second(b->switches - a->switches, ns / 1e9);
	collect_noise(&h->noise, s, record);
}

void collect_numa(struct numa_result *n, const struct slot *s)
{
	const struct placement *p = &s->place;
	const struct worker *w;
	struct node_watch all = { 0 };
	struct buf text = { 0 };
	for (uint64_t i = 0; (w = s->does->worker(s, i)); i++)
		node_watch_merge(&all, &w->watch);
	node_set_text(&all.seen, &text);
	*n = (struct numa_result){
		.device_node =
			p->disk_node < 0 ? UINT64_MAX : (uint64_t)p->disk_node,
		.seen = all.seen,
		.loader_nodes = all.looks ? buf_take(&text) : NULL,
		.far_percent = p->disk_node < 0
				       ? (double)NAN
				       : collect_percent((double)all.far,
							 (double)all.looks),
		.unbound = p->unbound,
	};
	buf_fini(&text);
}

static struct interval_stat interval(const struct rate_series *r, double unit)
{
	return (struct interval_stat){
		.min = r->min / unit,
		.max = r->max / unit,
		.mean = r->mean / unit,
		.dev = r->samples ? sqrt(r->m2 / (double)r->samples) / unit : 0,
		.samples = r->samples,
	};
}

void collect_direction(struct direction_result *d, const struct rate_set *rates,
		       struct opstat *t, unsigned which)
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

void collect_first_error(struct failed_result *f, const struct slot *s,
			 uint64_t first, uint64_t n)
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

/* What a training wrote is its checkpoints: its own threads only read. */
static void add_saves(struct job_result *out)
{
	const struct checkpoints_result *c = &out->ml.saves;
	if (c->count == 0 || !c->write_ns || !c->fsync_ns)
		return;
	out->write.io_bytes += c->bytes;
	out->write.total_ios += c->write_ns->count;
	out->write.lat_ns = c->write_ns;
	out->sync = (struct op_result){ c->fsync_ns->count, c->fsync_ns };
}

/* Of a record: of a plain job, when its worker left. */
static uint64_t end_of(const struct slot *s, size_t record)
{
	return s->span.records > 1 ? s->span.ends[record].ns : s->end_ns;
}

void collect_job(struct job_result *out, size_t record, struct slot *s)
{
	*out = (struct job_result){ .job = s->job,
				    .group = s->job->group,
				    .read_align_bytes = s->align_bytes,
				    .members = 1 };
	ceiling_result_init(&out->ml.ceiling);
	checkpoints_result_init(&out->ml.saves);
	checkpoints_result_init(&out->ml.restores);
	if (s->begin_ns)
		out->elapsed_seconds =
			(double)(end_of(s, record) - s->begin_ns) / 1e9;
	s->does->collect(out, record, s);
	failed_count(out);
	if (out->kind == RESULT_CHECKPOINT)
		out->sync = out->ml.ops.fsync;
	else if (out->kind == RESULT_TRAIN)
		add_saves(out);
}

/* Does the source of slot `of` count what `s` has read? */
static bool is_counted(const struct slot *of, const struct slot *s)
{
	return s->job->group == of->job->group && s->gauge.has_memory_end &&
	       slot_touches_files(s) &&
	       memsource_counts(&of->gauge.memory, &s->gauge.memory);
}

/* What a source has counted while any of the jobs that it counts ran, and what
 * these have read. */
struct delivery {
	struct memsource_count begin, end;
	double job_bytes;
};

static void add_delivery(struct delivery *d, const struct slot *of,
			 const struct slot *s)
{
	const struct gauge *g = &s->gauge;
	d->job_bytes += (double)slot_read_bytes(s);
	/* Another source than ours has other numbers. */
	if (g->memory.kind != of->gauge.memory.kind)
		return;
	if (g->memory_begin.read_bytes < d->begin.read_bytes)
		d->begin = g->memory_begin;
	if (g->memory_end.read_bytes > d->end.read_bytes)
		d->end = g->memory_end;
}

static bool find_delivery(struct delivery *d, const struct slot *of,
			  const struct slot *slots, size_t count)
{
	const struct gauge *g = &of->gauge;
	*d = (struct delivery){ g->memory_begin, g->memory_end, 0 };
	if (!g->has_memory_begin || !g->has_memory_end)
		return false;
	for (size_t k = 0; k < count; k++)
		if (is_counted(of, &slots[k]) &&
		    slots[k].gauge.has_memory_begin)
			add_delivery(d, of, &slots[k]);
	/* Counters can be cleared. */
	if (d->end.read_bytes < d->begin.read_bytes || !(d->job_bytes > 0))
		return false;
	double bytes = (double)(d->end.read_bytes - d->begin.read_bytes);
	return g->memory.is_sure || bytes >= d->job_bytes / 2;
}

static void put_delivery(struct storage_result *st, const struct delivery *d,
			 const char *source)
{
	st->source = source;
	st->device_read_bytes = d->end.read_bytes - d->begin.read_bytes;
	if (d->end.reads != UINT64_MAX)
		st->device_reads = d->end.reads - d->begin.reads;
	st->memory_percent =
		100 * (1 - (double)st->device_read_bytes / d->job_bytes);
	if (st->memory_percent < 0)
		st->memory_percent = 0;
}

void collect_memory(struct job_result *out, const struct slot *of,
		    const struct slot *slots, size_t count)
{
	struct storage_result *st =
		out->kind == RESULT_IO ? &out->io.storage : &out->ml.storage;
	struct delivery d;

	st->source = "unknown";
	if (out->kind != RESULT_TRAIN && out->kind != RESULT_IO &&
	    out->kind != RESULT_CHECKPOINT)
		return;
	if (!slot_touches_files(of)) {
		st->source = "ioengine=null reads nothing";
	} else if (st->is_memory) {
		st->source = "files lie in memory";
		st->memory_percent = out->read.io_bytes ? 100 : (double)NAN;
	} else if (out->kind == RESULT_CHECKPOINT && !out->read.io_bytes) {
		/* Nothing was read, whatever others did meanwhile. */
	} else if (find_delivery(&d, of, slots, count)) {
		put_delivery(st, &d, of->gauge.memory.name);
	}
}
