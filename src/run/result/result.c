/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - results of jobs and runs, their failures, and the host's activity in their window. */
#include "run/result/result.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "job/job.h"

/* Highest plausible percentage of the line rate. Bytes are counted when they are read from the
 * adapter, so slightly more than 100 is possible. */
#define MOST_OF_LINE_RATE 105

uint64_t marks_ns(const struct marks *m)
{
	uint64_t begin = m->begin.ns, end = m->end.ns;

	return begin && end > begin ? end - begin : 0;
}

/* The less reliable of two sources that count the same bytes; NULL = they count different bytes. */
static const struct memsource *same_storage(const struct memsource *a, const struct memsource *b)
{
	if (!a || !b || a->kind != b->kind || !memsource_counts(a, b))
		return NULL;
	return a->is_sure ? b : a;
}

void marks_join(struct marks *to, const struct marks *from)
{
	if (!marks_ns(from))
		return;
	if (!marks_ns(to)) {
		*to = *from;
		return;
	}
	if (from->begin.ns < to->begin.ns) {
		to->begin = from->begin;
		to->zero_ns = from->zero_ns;
		to->is_after_ramp = from->is_after_ramp;
	}
	if (from->end.ns > to->end.ns)
		to->end = from->end;
	if (!to->network || !from->network || strcmp(to->network->name, from->network->name))
		to->network = NULL;
	to->storage = same_storage(to->storage, from->storage);
	to->mhz_sum += from->mhz_sum;
	to->mhz_readings += from->mhz_readings;
}

void marks_window(struct window_result *w, const struct marks *m)
{
	uint64_t ns = marks_ns(m);

	*w = (struct window_result){ NULL, (double)NAN, (double)NAN };
	if (!ns)
		return;
	w->from = m->is_after_ramp ? "ramp_time" : "start";
	w->begin_seconds = (double)(m->begin.ns - m->zero_ns) / 1e9;
	w->seconds = (double)ns / 1e9;
}

static uint64_t process_cpu_ns(const struct marks *m)
{
	const struct host_cpu *a = &m->begin.cpu, *b = &m->end.cpu;

	return b->process_user_ns + b->process_system_ns - a->process_user_ns -
	       a->process_system_ns;
}

static void set_host_unknown(struct host_result *h)
{
	const double none = (double)NAN;
	const struct noise_counts c = { .throttled = UINT64_MAX, .hot = UINT64_MAX };

	*h = (struct host_result){ .cpus = none,
				   .cpu_percent = none,
				   .user_percent = none,
				   .system_percent = none,
				   .switches_per_sec = none,
				   .oversleep_ns = h->oversleep_ns };
	noise_between(&h->noise, &c, &c, 0, 0);
}

void marks_host(struct host_result *h, const struct marks *m)
{
	static const char *const of[] = {
		[HOST_CPU_OF_ALLOWED] = "allowed CPUs",
		[HOST_CPU_OF_QUOTA] = "quota",
		[HOST_CPU_OF_QUOTA_ALONE] = "quota, mlgen alone",
	};
	const struct host_cpu *a = &m->begin.cpu, *b = &m->end.cpu;
	uint64_t wall_ns = marks_ns(m);
	double ns = (double)wall_ns, room_ns = ns * b->cpus;

	if (!wall_ns) {
		set_host_unknown(h);
		return;
	}
	h->cpus = b->cpus;
	h->cpu_percent_of = of[b->of];
	h->cpu_percent = host_cpu_percent(a, b, wall_ns);
	h->user_percent =
		result_percent((double)(b->process_user_ns - a->process_user_ns), room_ns);
	h->system_percent =
		result_percent((double)(b->process_system_ns - a->process_system_ns), room_ns);
	h->switches_per_sec = result_per_second(b->switches - a->switches, ns / 1e9);
	noise_between(&h->noise, &m->begin.noise, &m->end.noise, ns, (double)process_cpu_ns(m));
	if (m->mhz_readings)
		h->noise.clock_mhz = m->mhz_sum / (double)m->mhz_readings;
	h->noise.most_mhz = noise_max_mhz("");
}

/* An interface that carried more than its line rate reports a wrong rate (a virtual adapter). */
void marks_network(struct network_result *n, const struct marks *m)
{
	double seconds = (double)marks_ns(m) / 1e9, of_line;
	uint64_t begin = m->begin.received_bytes, end = m->end.received_bytes;

	*n = (struct network_result){ .line_rate_bits_per_sec = UINT64_MAX,
				      .received_bytes = UINT64_MAX,
				      .received_bits_per_sec = (double)NAN,
				      .percent = (double)NAN };
	if (!m->network || !(seconds > 0))
		return;
	if (begin == UINT64_MAX || end == UINT64_MAX || end < begin)
		return;
	n->interface = m->network->name;
	n->received_bytes = end - begin;
	n->received_bits_per_sec = 8 * (double)n->received_bytes / seconds;
	of_line = result_percent(n->received_bits_per_sec,
				 (double)m->network->line_rate_bits_per_sec);
	if (!(of_line <= MOST_OF_LINE_RATE))
		return;
	n->line_rate_bits_per_sec = m->network->line_rate_bits_per_sec;
	n->percent = of_line;
}

bool marks_storage(struct storage_result *st, const struct marks *m)
{
	const struct memsource_count *a = &m->begin.storage, *b = &m->end.storage;
	uint64_t read = m->end.jobs_read_bytes - m->begin.jobs_read_bytes;
	double delivered;

	if (!marks_ns(m) || !m->storage || read == 0)
		return false;
	/* Counters may have been cleared in the window. */
	if (a->read_bytes == UINT64_MAX || b->read_bytes == UINT64_MAX ||
	    b->read_bytes < a->read_bytes)
		return false;
	delivered = (double)(b->read_bytes - a->read_bytes);
	if (!m->storage->is_sure && delivered < (double)read / 2)
		return false;
	st->source = m->storage->name;
	st->device_read_bytes = b->read_bytes - a->read_bytes;
	st->device_reads = b->reads == UINT64_MAX ? UINT64_MAX : b->reads - a->reads;
	st->jobs_read_bytes = read;
	st->memory_percent = fmax(100 * (1 - delivered / (double)read), 0);
	return true;
}

static double joules_between(uint64_t a, uint64_t b)
{
	if (a == UINT64_MAX || b == UINT64_MAX || b < a)
		return (double)NAN;
	return (double)(b - a) / 1e6;
}

static double joules_per(double joules, double n)
{
	return n > 0 ? joules / n : (double)NAN;
}

void marks_energy(struct energy_result *e, const struct marks *m, uint64_t bytes, uint64_t samples)
{
	const struct energy_counts *a = &m->begin.energy, *b = &m->end.energy;

	*e = (struct energy_result){ (double)NAN, (double)NAN, (double)NAN,
				     (double)NAN, (double)NAN, NULL };
	if (!marks_ns(m))
		return;
	e->package_joules = joules_between(a->package_uj, b->package_uj);
	e->dram_joules = joules_between(a->dram_uj, b->dram_uj);
	e->joules = e->package_joules;
	if (!isnan(e->dram_joules))
		e->joules += e->dram_joules;
	e->joules_per_gib = joules_per(e->joules, (double)bytes / BYTES_PER_GIB);
	e->joules_per_sample = joules_per(e->joules, (double)samples);
	e->unmeasured = b->unmeasured;
}

void marks_other_cpu(struct thread_cpu_result *t, const struct marks *m)
{
	double known = 0;

	t->others_seconds = (double)NAN;
	if (!marks_ns(m))
		return;
	if (!isnan(t->workers_seconds))
		known += t->workers_seconds;
	if (!isnan(t->accelerators_seconds))
		known += t->accelerators_seconds;
	t->others_seconds = fmax((double)process_cpu_ns(m) / 1e9 - known, 0);
}

bool failed_exceeds(const struct job *job, uint64_t count, uint64_t of)
{
	const struct u64_share *most = &job->max_errors;
	double allowed = (double)most->count;

	if (most->percent > 0)
		allowed = most->percent / 100 * (double)of;
	return (double)count > allowed;
}

void failed_count(struct job_result *r)
{
	struct failed_result *f = &r->failed;
	const struct ml_result *ml = &r->ml;
	const struct eval_result *eval = &ml->eval;

	if (r->work && r->work->is_plain) {
		f->count = r->errors;
		f->of = r->read.total_ios + r->write.total_ios + r->sync.total + r->errors;
	} else {
		f->count = ml->failed_samples + eval->failed_samples;
		if (f->count == 0)
			f->count = r->errors;
		f->of = ml->samples + ml->failed_samples + eval->samples + eval->failed_samples;
	}
	f->percent = f->of ? 100 * (double)f->count / (double)f->of : (double)NAN;
	if (f->percent > 100)
		f->percent = 100;
}

void failed_fill(struct job_result *r)
{
	struct ml_result *ml = &r->ml;
	struct epoch_result *e = ml->epochs.items;

	failed_count(r);
	if (!r->work || !r->work->has_accelerators)
		return;
	/* Accelerators that computed on missing samples were not utilised. */
	if (r->failed.is_too_many && ml->failed_samples > 0) {
		ml->au_percent = (double)NAN;
		ml->au_unmeasured = "samples failed, more than max_errors allows";
		ml->target_met = false;
		for (size_t i = 0; i < ml->epochs.count; i++)
			if (e[i].failed_samples)
				e[i].au_percent = (double)NAN;
	}
	if (!isnan(ml->au_percent))
		ml->au_unmeasured = NULL;
}

void failed_merge(struct failed_result *to, const struct failed_result *from)
{
	to->is_too_many |= from->is_too_many;
	if (to->first[0])
		return;
	memcpy(to->first, from->first, sizeof(to->first));
	to->first_errno = from->first_errno;
}

bool failed_in_any(const struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++)
		if (r->jobs[i].failed.is_too_many)
			return true;
	return false;
}

/* AU misleads when it exceeds the busy percentage by more than this. */
#define AU_MISLEADS_POINTS 10

static double or_zero(double seconds)
{
	return seconds > 0 ? seconds : 0;
}

/* All bytes that the job moves fall into this time. The last checkpoint may end after the
 * training. */
double job_result_runtime(const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;

	return fmax(or_zero(r->wall_seconds) + or_zero(ml->cut_seconds) +
			    or_zero(ml->eval.seconds) + or_zero(ml->saves.stall_seconds),
		    or_zero(ml->saves.wall_seconds));
}

/* A result has NULL where a mount has "". Results never write to these texts. */
static char *text_or_null(const char *s)
{
	char *out = NULL;

	if (*s)
		memcpy(&out, &s, sizeof(out));
	return out;
}

void storage_result_init(struct storage_result *st, const struct mount *m)
{
	*st = (struct storage_result){
		.filesystem = text_or_null(m->type),
		.mount_source = text_or_null(m->source),
		.mount_target = text_or_null(m->target),
		.mount_options = text_or_null(m->options),
		.device = text_or_null(m->device),
		.device_kind = text_or_null(m->device_kind),
		.scheduler = text_or_null(m->scheduler),
		.read_ahead_bytes = m->read_ahead_bytes ? m->read_ahead_bytes : UINT64_MAX,
		.device_paths = m->paths ? m->paths : UINT64_MAX,
		.osts = m->osts ? m->osts : UINT64_MAX,
		.is_memory = m->is_memory,
		.has_own_cache = m->has_own_cache,
		.device_read_bytes = UINT64_MAX,
		.device_reads = UINT64_MAX,
		.jobs_read_bytes = UINT64_MAX,
		.memory_percent = (double)NAN,
	};
}

void ceiling_result_init(struct ceiling_result *r)
{
	const double none = (double)NAN;

	*r = (struct ceiling_result){
		.null_au_percent = none,
		.null_samples_per_sec = none,
		.null_seconds = none,
		.cached_au_percent = none,
		.cached_samples_per_sec = none,
		.cached_seconds = none,
	};
}

bool job_result_ran(const struct job_result *r)
{
	return r->work && !r->work->only_prepares;
}

bool job_result_has_accelerators(const struct job_result *r)
{
	return r->work && r->work->has_accelerators;
}

double job_result_busy_percent(const struct job_result *r)
{
	const struct time_percent *t = &r->ml.time_percent;
	double steps = t->compute + t->stall + t->barrier + t->host_barrier + t->oversleep;

	return !isnan(r->ml.au_percent) && steps > 0 ? 100 * t->compute / steps : (double)NAN;
}

bool job_result_au_misleads(const struct job_result *r)
{
	uint64_t epochs = r->ml.epochs_total ? r->ml.epochs_total : 1;

	return r->ml.counted_steps < FEW_STEPS * r->ml.accelerators * epochs &&
	       job_result_busy_percent(r) < r->ml.au_percent - AU_MISLEADS_POINTS;
}

bool job_result_is_of_checkpoints(const struct job_result *r)
{
	return r->work && r->work->checkpoints == CHECKPOINTS_ALWAYS;
}

void checkpoints_result_init(struct checkpoints_result *r)
{
	const double none = (double)NAN;

	*r = (struct checkpoints_result){
		.seconds_mean = none,
		.seconds_min = none,
		.seconds_max = none,
		.first_seconds = none,
		.later_seconds = none,
		.bytes_per_sec = none,
		.slowest_rank_bytes_per_sec = none,
		.stall_seconds = none,
		.snapshot_seconds = none,
		.wait_seconds = none,
		.delete_seconds = none,
		.rank_percent = { none, none, none, none, none, none, none },
		.dirty_bytes = UINT64_MAX,
		.in_memory_bytes = UINT64_MAX,
		.wall_seconds = none,
	};
}

const struct checkpoints_result *job_result_checkpoints(const struct job_result *r)
{
	return job_work(r->job)->restores ? &r->ml.restores : &r->ml.saves;
}

void run_result_fini(struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++) {
		struct job_result *job = &r->jobs[i];
		struct ml_result *ml = &job->ml;

		mlperf_rules_fini(&ml->mlperf_check);
		mem_free(ml->mlperf_epochs.items);
		mem_free(ml->au_percent_per_accelerator.items);
		mem_free(ml->ranks.items);
		mem_free(ml->epochs.items);
		mem_free(ml->cache.epochs.items);
		mem_free(ml->cache.ranks.items);
		mem_free(ml->saves.items.items);
		mem_free(ml->saves.rank_times.items);
		mem_free(ml->restores.items.items);
		mem_free(ml->restores.rank_times.items);
		mem_free(job->io.replay.slices.items);
		mem_free(job->numa.loader_nodes);
		mem_free(job->verdict.name);
		mem_free(job->verdict.headline);
		mem_free(job->verdict.because);
		mem_free(job->verdict.try_next);
		mem_free(job->sums);
	}
	series_result_fini(&r->series);
	mem_free(r->jobs);
	mem_free(r->disks);
	*r = (struct run_result){ 0 };
}

void mlperf_rules_fini(struct metric_list *l)
{
	struct mlperf_rule *rules = l->items;

	for (size_t i = 0; i < l->count; i++)
		mem_free(rules[i].text);
	mem_free(rules);
}
