/* SPDX-License-Identifier: Apache-2.0 */
/* collect.c - see collect.h. DESIGN.md, "What the numbers mean". */
#include "run/collect.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/demand.h"
#include "run/activity.h"

/* Fewer counted steps of a rank than this say little (MLPerf asks for 500). */
#define FEW_STEPS 50

/* Percent; bytes are counted when they are taken from the adapter. */
#define MOST_OF_LINE_RATE 105

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
}

static double per_second(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}

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

/* The ranks' histograms are merged into the first rank's: after this there
 * is nobody else who wants them. */
static struct hist *merge_ranks(struct slot *s, size_t member_off)
{
	struct rank *ranks = s->train.ranks;
	struct hist *to = *(struct hist **)((char *)&ranks[0] + member_off);
	for (uint64_t i = 1; i < s->job->accelerators; i++)
		hist_merge(to,
			   *(struct hist **)((char *)&ranks[i] + member_off));
	return to;
}

static void collect_ranks(struct ml_result *ml, struct slot *s)
{
	uint64_t n = s->job->accelerators;
	double *au = mem_array(n, sizeof(*au)), au_sum = 0;
	uint64_t au_ranks = 0, wall_ns = 0;
	bool has_compute = dist_mean(&s->job->compute_time) > 0;
	for (uint64_t i = 0; i < n; i++) {
		const struct rank *r = &s->train.ranks[i];
		const struct rank_count *c = &r->count;
		ml->samples += count_get(&c->samples);
		ml->sample_bytes += count_get(&c->sample_bytes);
		ml->counted_steps += r->counted_steps;
		if (count_get(&c->steps) > ml->steps)
			ml->steps = count_get(&c->steps);
		if (count_get(&c->step_ns) > wall_ns)
			wall_ns = count_get(&c->step_ns);
		au[i] = has_compute ? percent((double)r->counted_compute_ns,
					      (double)r->counted_wall_ns)
				    : (double)NAN;
		if (!isnan(au[i])) {
			au_sum += au[i];
			au_ranks++;
		}
	}
	ml->au_percent_per_accelerator = (struct metric_list){ au, n };
	ml->au_percent = au_ranks ? au_sum / (double)au_ranks : (double)NAN;
	ml->too_short = ml->counted_steps < FEW_STEPS * n;
	ml->wall_seconds = (double)wall_ns / 1e9;
}

static void collect_time(struct time_percent *p, const struct slot *s)
{
	double wall = 0, compute = 0, stall = 0, barrier = 0, oversleep = 0;
	double evaluation = 0;
	for (uint64_t i = 0; i < s->job->accelerators; i++) {
		const struct rank_count *c = &s->train.ranks[i].count;
		wall += (double)count_get(&c->step_ns);
		evaluation += (double)count_get(&c->eval_ns);
		compute += (double)count_get(&c->compute_ns);
		stall += (double)count_get(&c->stall_ns);
		barrier += (double)count_get(&c->barrier_ns);
		oversleep += (double)count_get(&c->oversleep_ns);
	}
	double known = compute + stall + barrier + oversleep + evaluation;
	wall += evaluation;
	*p = (struct time_percent){
		.compute = percent(compute, wall),
		.stall = percent(stall, wall),
		.barrier = percent(barrier, wall),
		.evaluation = percent(evaluation, wall),
		.oversleep = percent(oversleep, wall),
		.other = percent(wall > known ? wall - known : 0, wall),
	};
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
		.open = percent((double)b[MLGEN_OPEN], wall),
		.stat = percent((double)b[MLGEN_STAT], wall),
		.read = percent((double)b[MLGEN_READ], wall),
		.write = percent((double)b[MLGEN_WRITE], wall),
		.fsync = percent((double)(b[MLGEN_FSYNC] + b[MLGEN_FDATASYNC]),
				 wall),
		.close = percent((double)b[MLGEN_CLOSE], wall),
		.reap = percent((double)t->reap_ns, wall),
		.cpu = percent(cpu, wall),
		.idle = percent((double)t->idle_ns, wall),
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
	};
}

/* What carried more than its line rate has another one (a virtual adapter). */
void collect_network(struct network_result *n, const struct slot *s)
{
	const struct gauge *g = &s->gauge;
	uint64_t line = g->network.line_rate_bits_per_sec;
	double seconds = (double)g->network_ns / 1e9;
	*n = (struct network_result){ .line_rate_bits_per_sec = UINT64_MAX,
				      .received_bytes = UINT64_MAX,
				      .received_bits_per_sec = (double)NAN,
				      .percent = (double)NAN };
	if (!g->network.name[0] || !(seconds > 0))
		return;
	n->interface = g->network.name;
	n->received_bytes = g->received_bytes;
	n->received_bits_per_sec = 8 * (double)g->received_bytes / seconds;
	double of_line = percent(n->received_bits_per_sec, (double)line);
	if (!(of_line <= MOST_OF_LINE_RATE))
		return;
	n->line_rate_bits_per_sec = line;
	n->percent = of_line;
}

void collect_host(struct host_result *h, const struct slot *s,
		  const struct host *host)
{
	const struct host_cpu *a = &s->cpu_before, *b = &s->cpu_after;
	double ns = (double)(s->work_end_ns - s->work_begin_ns);
	h->cpu_percent = percent((double)(b->busy_ns - a->busy_ns),
				 ns * (double)host->cpus);
	if (b->busy_ns == 0)
		h->cpu_percent = (double)NAN; /* /proc is not mounted */
	if (h->cpu_percent > 100) /* /proc/stat counts in ticks of 10 ms */
		h->cpu_percent = 100;
	h->user_percent =
		percent((double)(b->process_user_ns - a->process_user_ns),
			ns * (double)host->cpus);
	h->system_percent =
		percent((double)(b->process_system_ns - a->process_system_ns),
			ns * (double)host->cpus);
	h->switches_per_sec = per_second(b->switches - a->switches, ns / 1e9);
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
		.far_percent = p->disk_node < 0 ? (double)NAN
						: percent((double)all.far,
							  (double)all.looks),
		.unbound = p->unbound,
	};
	buf_fini(&text);
}

static void collect_eval(struct eval_result *e, const struct slot *s)
{
	uint64_t ns = 0;
	for (uint64_t i = 0; i < s->job->accelerators; i++) {
		const struct rank_count *c = &s->train.ranks[i].count;
		uint64_t steps = count_get(&c->eval_steps);
		e->samples += count_get(&c->eval_samples);
		e->sample_bytes += count_get(&c->eval_sample_bytes);
		e->steps = steps > e->steps ? steps : e->steps;
		ns = count_get(&c->eval_ns) > ns ? count_get(&c->eval_ns) : ns;
	}
	e->seconds = (double)ns / 1e9;
	e->samples_per_sec = per_second(e->samples, e->seconds);
	e->sample_bytes_per_sec = per_second(e->sample_bytes, e->seconds);
}

static void collect_rates(struct ml_result *ml)
{
	double t = ml->wall_seconds;
	ml->samples_per_sec = per_second(ml->samples, t);
	ml->sample_bytes_per_sec = per_second(ml->sample_bytes, t);
	ml->io_bytes_per_sec = per_second(ml->io_bytes, t);
}

static void collect_target(struct ml_result *ml, const struct job *j)
{
	ml->target_au_percent = j->target_au;
	if (isnan(j->target_au) || isnan(ml->au_percent))
		return;
	ml->target_met = ml->au_percent >= j->target_au;
	/* The published rule compares their own AU. */
	ml->mlperf.train_au_meet_expectation =
		ml->mlperf.v2_0.train_au_mean_percentage >= j->target_au
			? "success"
			: "fail";
}

static void collect_ml(struct ml_result *ml, struct slot *s,
		       const struct host *host)
{
	const struct job *j = s->job;
	struct demand demand;
	collect_workers(s);
	ml->accelerators = j->accelerators;
	ml->accelerator = j->accelerator;
	ml->iodepth_used = job_depth(j);
	ml->in_use = collect_in_use(s);
	collect_ranks(ml, s);
	collect_time(&ml->time_percent, s);
	collect_worker_time(&ml->loader_percent, &s->total);
	ml->sample_ns = s->total.sample;
	ml->errors = s->total.errors;
	ml->io_bytes = count_get(&s->total.io_bytes[0]);
	collect_ops(&ml->ops, &s->total);
	collect_rates(ml);
	collect_eval(&ml->eval, s);
	ml->step_ns = merge_ranks(s, offsetof(struct rank, step));
	ml->first_step_ns = merge_ranks(s, offsetof(struct rank, first_step));
	ml->stall_ns = merge_ranks(s, offsetof(struct rank, stall));
	epochs_result(s->train.epochs, ml);
	demand_of(&demand, j, &s->train.stages.train.plan);
	ml->demand_bytes_per_sec = demand.all_bytes_per_sec;
	ml->demand_io_bytes_per_sec = demand.all_io_bytes_per_sec;
	collect_storage(&ml->storage, s, s->dataset.directory);
	collect_host(&ml->host, s, host);
	ml->host.oversleep_ns =
		merge_ranks(s, offsetof(struct rank, oversleep));
	collect_network(&ml->network, s);
	collect_numa(&ml->numa, s);
	collect_target(ml, j);
	ml->interrupted = atomic_load(s->train.interrupted);
	ml->complete = !ml->interrupted && !atomic_load(&s->train.closed) &&
		       atomic_load(&s->train.finished);
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
		.io_bytes = count_get(&t->io_bytes[which]),
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

const char *collect_in_use(const struct slot *s)
{
	const struct worker *w = s->does->worker(s, 0);
	const struct io *io = w ? atomic_load(&w->io) : NULL;

	return io ? io_in_use(io) : "";
}

static void collect_trained(struct job_result *out, struct slot *s,
			    const struct host *host)
{
	struct usage u;

	out->kind = RESULT_TRAIN;
	collect_ml(&out->ml, s, host);
	collect_direction(&out->read, &s->rates, &s->total, 0);
	collect_direction(&out->write, &s->rates, &s->total, 1);
	collect_depths(&out->depths, &s->total);
	u = s->total.usage;
	for (uint64_t i = 0; i < s->job->accelerators; i++)
		usage_add(&u, &s->train.ranks[i].usage);
	collect_usage(out, &u);
}

void collect_train(struct job_result *out, struct slot *s,
		   const struct host *host)
{
	out->dataset = &s->dataset;
	out->prepare = s->prepare;
	dataset_totals(&s->dataset, &out->totals);
	if (s->train.ranks && s->work_begin_ns) {
		collect_trained(out, s, host);
	} else if (s->is_prepared) {
		/* Also a training that came no further. */
		out->kind = RESULT_PREPARE;
		collect_storage(&out->ml.storage, s, s->dataset.directory);
	}
}

void collect_job(struct job_result *out, size_t record, struct slot *s,
		 const struct host *host)
{
	*out = (struct job_result){ .job = s->job,
				    .group = s->job->group,
				    .read_align_bytes = s->align_bytes,
				    .members = 1 };
	if (s->begin_ns)
		out->elapsed_seconds = (double)(s->end_ns - s->begin_ns) / 1e9;
	s->does->collect(out, record, s, host);
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
	if (out->kind != RESULT_TRAIN && out->kind != RESULT_IO)
		return;
	if (!slot_touches_files(of)) {
		st->source = "ioengine=null reads nothing";
	} else if (st->is_memory) {
		st->source = "files lie in memory";
		st->memory_percent = out->read.io_bytes ? 100 : (double)NAN;
	} else if (find_delivery(&d, of, slots, count)) {
		put_delivery(st, &d, of->gauge.memory.name);
	}
}
