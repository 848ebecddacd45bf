/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - give back what a result owns. */
#include "run/results.h"

#include <math.h>

#include "base/mem.h"
#include "job/job.h"

/* AU is no figure of a run that it makes look so many points better. */
#define AU_MISLEADS_POINTS 10

static void fini_verdict(struct verdict_result *v)
{
	mem_free(v->name);
	mem_free(v->headline);
	mem_free(v->because);
	mem_free(v->try_next);
}

static void fini_job(struct job_result *r)
{
	struct ml_result *ml = &r->ml;

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
	mem_free(r->io.replay.slices.items);
	mem_free(r->numa.loader_nodes);
	fini_verdict(&r->verdict);
	mem_free(r->sums);
}

static double or_zero(double seconds)
{
	return seconds > 0 ? seconds : 0;
}

/* All bytes that it moves have their time here: a last checkpoint may go on when the training is
 * over. */
double job_result_runtime(const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;

	return fmax(or_zero(r->wall_seconds) + or_zero(ml->cut_seconds) +
			    or_zero(ml->eval.seconds) + or_zero(ml->saves.stall_seconds),
		    or_zero(ml->saves.wall_seconds));
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
	for (size_t i = 0; i < r->job_count; i++)
		fini_job(&r->jobs[i]);
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
