/* SPDX-License-Identifier: Apache-2.0 */
/* train_collect.c - what a training counted; see DESIGN.md, "What the numbers mean". */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/demand.h"
#include "run/activity.h"
#include "run/collect.h"
#include "run/failed.h"
#include "run/saver.h"
#include "run/tier.h"
#include "work/train/train_collect.h"
#include "work/train/training.h"

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

static void collect_ranks(struct job_result *out, struct slot *s)
{
	struct ml_result *ml = &out->ml;
	uint64_t n = s->job->accelerators;
	double *au = mem_array(n, sizeof(*au)), au_sum = 0;
	uint64_t au_ranks = 0, wall_ns = 0, cut_ns = 0;
	bool has_compute = dist_mean(&s->job->compute_time) > 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct rank *r = &s->train.ranks[i];
		const struct rank_count *c = &r->count;

		ml->samples += count_get(&c->samples);
		ml->failed_samples += count_get(&c->failed_samples);
		ml->sample_bytes += count_get(&c->sample_bytes);
		ml->counted_steps += r->counted_steps;
		if (count_get(&c->steps) > ml->steps)
			ml->steps = count_get(&c->steps);
		if (count_get(&c->step_ns) > wall_ns)
			wall_ns = count_get(&c->step_ns);
		if (r->counts && r->cut_ns > cut_ns)
			cut_ns = r->cut_ns;
		au[i] = has_compute
				? collect_percent((double)r->counted_compute_ns,
						  (double)r->counted_wall_ns)
				: (double)NAN;
		if (!isnan(au[i])) {
			au_sum += au[i];
			au_ranks++;
		}
	}
	ml->au_percent_per_accelerator = (struct metric_list){ au, n };
	ml->au_percent = au_ranks ? au_sum / (double)au_ranks : (double)NAN;
	if (!au_ranks)
		ml->au_unmeasured =
			has_compute ? "no step was counted" : "compute_time=0";
	ml->too_short = ml->counted_steps < FEW_STEPS * n;
	out->wall_seconds = (double)wall_ns / 1e9;
	ml->cut_seconds = (double)cut_ns / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the ranks' mean stalls, while each still has its own histogram. */
static void collect_slowest_rank(struct slowest_rank *out, const struct slot *s)
{
	uint64_t n = 0, all = s->job->accelerators;
	double *means = mem_array(all, sizeof(*means));

	*out = (struct slowest_rank){ UINT64_MAX, (double)NAN, (double)NAN };
	for (uint64_t i = 0; i < all; i++) {
		const struct hist *stall = s->train.ranks[i].stall;

		if (stall->count == 0)
			continue;
		means[n] = hist_mean(stall);
		if (n == 0 || means[n] > out->stall_mean_ns) {
			out->rank = s->train.ranks[i].index;
			out->stall_mean_ns = means[n];
		}
		n++;
	}
	qsort(means, n, sizeof(*means), by_value);
	if (n > 0)
		out->stall_median_ns = (means[(n - 1) / 2] + means[n / 2]) / 2;
	mem_free(means);
}

static void collect_time(struct time_percent *p, const struct rank *ranks,
			 uint64_t n)
{
	double wall = 0, compute = 0, stall = 0, barrier = 0, oversleep = 0;
	double evaluation = 0, checkpoint = 0, others = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct rank_count *c = &ranks[i].count;

		wall += (double)count_get(&c->step_ns);
		evaluation += (double)count_get(&c->eval_ns);
		checkpoint += (double)count_get(&c->checkpoint_ns);
		compute += (double)count_get(&c->compute_ns);
		stall += (double)count_get(&c->stall_ns);
		barrier += (double)count_get(&c->barrier_ns);
		others += (double)count_get(&c->host_barrier_ns);
		oversleep += (double)count_get(&c->oversleep_ns);
	}
	double known = compute + stall + barrier + others + oversleep +
		       evaluation + checkpoint;
	wall += evaluation + checkpoint;
	*p = (struct time_percent){
		.compute = collect_percent(compute, wall),
		.stall = collect_percent(stall, wall),
		.barrier = collect_percent(barrier, wall),
		.host_barrier = collect_percent(others, wall),
		.checkpoint = collect_percent(checkpoint, wall),
		.evaluation = collect_percent(evaluation, wall),
		.oversleep = collect_percent(oversleep, wall),
		.other = collect_percent(wall > known ? wall - known : 0, wall),
	};
}

static void collect_loaders(struct loader_percent *p, const struct rank *r,
			    uint64_t loaders)
{
	struct opstat all = { 0 };

	opstat_init(&all);
	for (uint64_t i = 0; i < loaders; i++)
		opstat_merge(&all, &r->loaders[i].worker.stat);
	collect_worker_time(p, &all);
	opstat_fini(&all);
}

/* Of one alone it is what all have. */
static void collect_each_rank(struct ml_result *ml, const struct slot *s)
{
	uint64_t n = u64_min(s->job->accelerators, RANK_TIMES_KEPT);
	uint64_t loaders = u64_max(job_read_threads(s->job), 1);

	if (n < 2)
		return;
	struct rank_time *out = mem_array(n, sizeof(*out));
	for (uint64_t i = 0; i < n; i++) {
		const struct rank *r = &s->train.ranks[i];

		out[i].rank = r->index;
		collect_time(&out[i].time_percent, r, 1);
		collect_loaders(&out[i].loader_percent, r, loaders);
	}
	ml->ranks = (struct metric_list){ out, n };
}

static void collect_eval(struct eval_result *e, const struct slot *s)
{
	uint64_t ns = 0;

	for (uint64_t i = 0; i < s->job->accelerators; i++) {
		const struct rank_count *c = &s->train.ranks[i].count;
		uint64_t steps = count_get(&c->eval_steps);

		e->samples += count_get(&c->eval_samples);
		e->failed_samples += count_get(&c->eval_failed_samples);
		e->sample_bytes += count_get(&c->eval_sample_bytes);
		e->steps = steps > e->steps ? steps : e->steps;
		ns = count_get(&c->eval_ns) > ns ? count_get(&c->eval_ns) : ns;
	}
	e->seconds = (double)ns / 1e9;
	e->samples_per_sec = collect_per_second(e->samples, e->seconds);
	e->sample_bytes_per_sec =
		collect_per_second(e->sample_bytes, e->seconds);
	e->io_bytes = s->total.eval_bytes;
	e->io_bytes_per_sec = collect_per_second(e->io_bytes, e->seconds);
}

static void collect_rates(struct job_result *out)
{
	struct ml_result *ml = &out->ml;
	double t = out->wall_seconds;

	ml->samples_per_sec = collect_per_second(ml->samples, t);
	ml->sample_bytes_per_sec = collect_per_second(ml->sample_bytes, t);
	ml->io_bytes_per_sec =
		collect_per_second(ml->io_bytes, t + ml->cut_seconds);
}

static void collect_target(struct ml_result *ml, const struct job *j)
{
	ml->target_au_percent = j->target_au;
	if (isnan(j->target_au) ||
	    (isnan(ml->au_percent) && !ml->failed_samples))
		return;
	ml->target_met = ml->au_percent >= j->target_au;
	/* The published rule compares their own AU. */
	ml->mlperf.train_au_meet_expectation =
		ml->mlperf.v2_0.train_au_mean_percentage >= j->target_au
			? "success"
			: "fail";
}

static void collect_ml(struct job_result *out, struct slot *s)
{
	struct ml_result *ml = &out->ml;
	const struct job *j = s->job;
	struct demand demand;

	collect_workers(s);
	ml->accelerators = j->accelerators;
	ml->accelerator = j->accelerator;
	out->iodepth_used = job_depth(j);
	out->in_use = collect_in_use(s);
	collect_ranks(out, s);
	collect_time(&ml->time_percent, s->train.ranks, j->accelerators);
	collect_worker_time(&ml->loader_percent, &s->total);
	collect_each_rank(ml, s);
	ml->sample_ns = s->total.sample;
	ml->samples_per_extent = s->dataset.extents_differ
					 ? UINT64_MAX
					 : s->dataset.extent_samples;
	out->errors = count_get(&s->total.errors);
	collect_ops(&out->ops, &s->total);
	collect_eval(&ml->eval, s);
	ml->io_bytes = opstat_io_bytes(&s->total, 0) - ml->eval.io_bytes;
	collect_rates(out);
	collect_slowest_rank(&ml->slowest_rank, s);
	ml->step_ns = merge_ranks(s, offsetof(struct rank, step));
	ml->first_step_ns = merge_ranks(s, offsetof(struct rank, first_step));
	ml->stall_ns = merge_ranks(s, offsetof(struct rank, stall));
	epochs_result(s->train.epochs, ml);
	if (s->train.tier)
		tier_result(s->train.tier, &ml->cache);
	ml->cache.draw_seconds += (double)s->train.draw_ns / 1e9;
	if (s->train.saver)
		saver_collect(s->train.saver, &ml->saves);
	ml->runtime_seconds = job_result_runtime(out);
	demand_of(&demand, j, &s->train.stages.train.plan);
	ml->demand_bytes_per_sec = demand.all_bytes_per_sec;
	ml->demand_io_bytes_per_sec = demand.all_io_bytes_per_sec;
	collect_storage(&out->storage, s, s->dataset.directory);
	/* An engine without files has read none that could be named. */
	if (job_touches_files(j))
		collect_slowest(&out->storage, &s->total);
	out->host.oversleep_ns =
		merge_ranks(s, offsetof(struct rank, oversleep));
	collect_numa(&out->numa, s);
	out->interrupted = atomic_load(s->train.interrupted);
	out->complete = !out->interrupted && !atomic_load(&s->train.closed) &&
			atomic_load(&s->train.hopeless) < j->accelerators &&
			atomic_load(&s->train.finished);
}

/* An accelerator to which samples were missing has no AU either. */
static void judge_errors(struct job_result *out, const struct slot *s)
{
	struct failed_result *f = &out->failed;
	double *au = out->ml.au_percent_per_accelerator.items;

	collect_first_error(f, s, 0, UINT64_MAX);
	failed_count(out);
	f->is_too_many = failed_exceeds(s->job, f->count, f->of);
	failed_fill(out);
	for (uint64_t i = 0; f->is_too_many && i < s->job->accelerators; i++)
		if (count_get(&s->train.ranks[i].count.failed_samples))
			au[i] = (double)NAN;
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

/* Accelerators that read by themselves are no others than their loaders. */
static void collect_thread_cpu(struct thread_cpu_result *t,
			       const struct slot *s)
{
	uint64_t ns = 0;

	collect_worker_cpu(t, &s->total.usage);
	if (!s->job->read_threads)
		t->workers_seconds = (double)NAN;
	for (uint64_t i = 0; i < s->job->accelerators; i++) {
		const struct usage *u = &s->train.ranks[i].counted;

		ns += u->user_ns + u->system_ns;
	}
	t->accelerators_seconds = (double)ns / 1e9;
}

static void collect_trained(struct job_result *out, struct slot *s)
{
	struct usage u = { 0 };

	out->work = job_work(s->job);
	collect_ml(out, s);
	judge_errors(out, s);
	collect_target(&out->ml, s->job);
	collect_direction(&out->read, &s->rates, &s->total, 0);
	collect_direction(&out->write, &s->rates, &s->total, 1);
	collect_depths(&out->depths, &s->total);
	/* Without read_threads that of the loaders is within the ranks'. */
	if (s->job->read_threads)
		u = s->total.usage;
	for (uint64_t i = 0; i < s->job->accelerators; i++)
		usage_add(&u, &s->train.ranks[i].usage);
	collect_usage(out, &u);
	collect_thread_cpu(&out->thread_cpu, s);
	add_saves(out);
	collect_around(out, s, 0);
}

void train_collect(struct job_result *out, struct slot *s)
{
	out->dataset = &s->dataset;
	out->prepare = s->prepare;
	dataset_totals(&s->dataset, &out->totals);
	if (s->train.ranks && s->work_begin_ns) {
		collect_trained(out, s);
	} else if (s->is_prepared) {
		/* Also a training that came no further. */
		out->work = &work_prepare;
		collect_storage(&out->storage, s, s->dataset.directory);
	}
}
