/* SPDX-License-Identifier: Apache-2.0 */
/* train_collect.c - what a training counted; see DESIGN.md, "What the numbers mean". */
#include <math.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/plans/plans.h"
#include "run/activity.h"
#include "run/collect.h"
#include "run/failed.h"
#include "run/rank_collect.h"
#include "run/saver.h"
#include "run/tier.h"
#include "work/train/train_collect.h"
#include "work/train/training.h"

static struct hist *merge_ranks(struct slot *s, size_t member_off)
{
	return rank_collect_hist(s->train.ranks, s->job->accelerators, member_off);
}

static void collect_loaders(struct loader_percent *p, const struct rank *r, uint64_t loaders)
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
		rank_collect_time(&out[i].time_percent, r, 1);
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
	e->sample_bytes_per_sec = collect_per_second(e->sample_bytes, e->seconds);
	e->io_bytes = s->total.eval_bytes;
	e->io_bytes_per_sec = collect_per_second(e->io_bytes, e->seconds);
}

static void collect_rates(struct job_result *out)
{
	struct ml_result *ml = &out->ml;
	double t = out->wall_seconds;

	ml->samples_per_sec = collect_per_second(ml->samples, t);
	ml->sample_bytes_per_sec = collect_per_second(ml->sample_bytes, t);
	ml->io_bytes_per_sec = collect_per_second(ml->io_bytes, t + ml->cut_seconds);
}

static void collect_target(struct ml_result *ml, const struct job *j)
{
	ml->target_au_percent = j->target_au;
	if (isnan(j->target_au) || (isnan(ml->au_percent) && !ml->failed_samples))
		return;
	ml->target_met = ml->au_percent >= j->target_au;
	/* The published rule compares their own AU. */
	ml->mlperf.train_au_meet_expectation =
		ml->mlperf.v2_0.train_au_mean_percentage >= j->target_au ? "success" : "fail";
}

static void collect_ml(struct job_result *out, struct slot *s)
{
	struct ml_result *ml = &out->ml;
	const struct job *j = s->job;
	struct demand demand;

	collect_workers(s);
	out->iodepth_used = job_depth(j);
	out->in_use = collect_in_use(s);
	rank_collect_au(out, s->train.ranks, j);
	rank_collect_time(&ml->time_percent, s->train.ranks, j->accelerators);
	collect_worker_time(&ml->loader_percent, &s->total);
	collect_each_rank(ml, s);
	ml->sample_ns = s->total.sample;
	ml->samples_per_extent = s->dataset.extents_differ ? UINT64_MAX : s->dataset.extent_samples;
	out->errors = count_get(&s->total.errors);
	collect_ops(&out->ops, &s->total);
	collect_eval(&ml->eval, s);
	ml->io_bytes = opstat_io_bytes(&s->total, 0) - ml->eval.io_bytes;
	collect_rates(out);
	rank_collect_slowest(&ml->slowest_rank, s->train.ranks, j->accelerators);
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
	out->host.oversleep_ns = merge_ranks(s, offsetof(struct rank, oversleep));
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
static void collect_thread_cpu(struct thread_cpu_result *t, const struct slot *s)
{
	collect_worker_cpu(t, &s->total.usage);
	if (!s->job->read_threads)
		t->workers_seconds = t->workers_waited_seconds = (double)NAN;
	t->accelerators_seconds = rank_collect_cpu_seconds(s->train.ranks, s->job->accelerators);
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
	rank_collect_usage(&u, s->train.ranks, s->job->accelerators);
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
