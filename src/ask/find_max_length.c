/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_length.c - how long a probe of --find-max runs. */
#include "ask/find_max.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "job/job.h"
#include "report/page.h"
#include "report/plan_report.h"
#include "report/verdict_supply.h"

/*
 * A short probe: so many steps that most of what it takes was not read ahead before the first one.
 * AU would want more; what read threads bring while they have to read (find_max_judge.c) does not.
 */
#define SHORT_STEPS_LEAST 12
#define SHORT_STEPS_PER_BATCH_AHEAD 3
#define SHORT_SECONDS 2.0
#define SHORT_SECONDS_MOST 60.0
/* Slower than this and it has failed, however many steps there are. */
#define SLOWER_MOST 2.0
/* A full run of so few times the steps is run at once: one that fails ends early, and one that
 * holds may be needed anyway. */
#define HARDLY_LONGER 5
/* A plain job, and jobs side by side: the same time for all. */
#define TIMED_SECONDS 3.0

static void find_max_length_add(struct probe_args *args, const struct job *j, const char *option,
				uint64_t value)
{
	probe_args_add(args, "--%s.%s=%" PRIu64, j->name, option, value);
}

static void add_runtime(struct probe_args *a, const struct job *j, double seconds)
{
	char value[UNITS_TEXT_BYTES];
	uint64_t ns = (uint64_t)(seconds * 1e9);

	if (j->runtime_ns == 0 || ns < j->runtime_ns)
		probe_args_add(a, "--%s.runtime=%s", j->name, units_put_time(value, ns));
}

static double step_seconds(const struct job *j)
{
	return dist_mean(&j->compute_time) / 1e9;
}

static uint64_t short_steps(const struct job *j)
{
	double ahead = (double)verdict_batches_ahead(j) * SHORT_STEPS_PER_BATCH_AHEAD;
	double steps = fmax(ahead, SHORT_SECONDS / step_seconds(j));

	steps = fmin(steps, SHORT_SECONDS_MOST / step_seconds(j));
	return (uint64_t)ceil(fmax(SHORT_STEPS_LEAST, steps));
}

/* Time for epochs that are repeated; longer runs are as the job has them. */
#define REPEAT_SECONDS 30.0

static bool is_cold(const struct job *j)
{
	return job_drops_each_epoch(j) || j->direct || !job_touches_files(j);
}

/* May epochs be repeated? Not where somebody has said how long it is, or that they come from
 * memory. */
static bool can_be_longer(const struct job *j)
{
	return j->steps == 0 && j->runtime_ns == 0 &&
	       (is_cold(j) || !job_is_given(j, "invalidate"));
}

/* At the best rate that was seen so far. */
static double least_seconds(const struct find_max *f, const struct plan_report *plan)
{
	double seconds = plan->least_seconds, most = 0;

	for (size_t i = 0; i < f->probe_count; i++)
		most = fmax(most, f->probes[i].sample_bytes_per_sec);
	return most > 0 ? fmax(seconds, plan->read_bytes / most) : seconds;
}

/*
 * Short epochs are repeated until so many steps are counted, or its time is over; the first step of
 * each is not. What is read again comes from storage.
 */
static void make_longer(struct probe_args *args, const struct find_max *f, const struct job *j,
			const struct plan_report *plan)
{
	double seconds = least_seconds(f, plan);
	uint64_t counted = plan->steps_per_epoch - 1;

	if (plan->steps_per_epoch < 2 || counted * j->epochs >= FEW_STEPS || !can_be_longer(j) ||
	    seconds > REPEAT_SECONDS)
		return;
	find_max_length_add(args, j, "epochs", (FEW_STEPS + counted - 1) / counted);
	if (!is_cold(j))
		probe_args_add(args, "--%s.invalidate=epoch", j->name);
	add_runtime(args, j, fmax(REPEAT_SECONDS, SLOWER_MOST * seconds));
}

static void limit_steps(struct probe_args *args, const struct job *j)
{
	uint64_t steps = short_steps(j);

	find_max_length_add(args, j, "steps", steps);
	add_runtime(args, j, SLOWER_MOST * (double)steps * step_seconds(j) + SHORT_SECONDS);
}

static bool is_alone(const struct jobset *set, const struct job *j)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->jobs[i] != j && set->jobs[i]->group == j->group)
			return false;
	return true;
}

static bool is_timed(const struct job *j, uint64_t ns)
{
	return j->time_based && j->runtime_ns == ns;
}

/* What runs beside it is there from its beginning to its end. */
static void run_for(struct probe_args *args, const struct jobset *set, const struct job *j,
		    uint64_t ns)
{
	char runtime[UNITS_TEXT_BYTES];

	units_put_time(runtime, ns);
	for (size_t i = 0; i < set->count; i++) {
		const struct job *other = set->jobs[i];

		if (other->group != j->group || is_timed(other, ns))
			continue;
		if (job_work(other)->is_open_ended)
			find_max_length_add(args, other, "time_based", 1);
		probe_args_add(args, "--%s.runtime=%s", other->name, runtime);
	}
}

/* A plain job, one that lasts for a time, or one that is not alone. */
static void limit_time(struct probe_args *args, const struct jobset *set, const struct job *j,
		       double least_seconds, bool *is_full)
{
	double seconds = fmax(TIMED_SECONDS, FEW_STEPS * step_seconds(j));
	double whole = (double)j->runtime_ns / 1e9;

	seconds = fmin(seconds, SHORT_SECONDS_MOST);
	if (!is_alone(set, j) && !j->runtime_ns)
		whole = fmax(least_seconds, seconds);
	*is_full |= whole > 0 && whole <= seconds;
	if (*is_full && is_alone(set, j))
		return;
	run_for(args, set, j, (uint64_t)(1e9 * (*is_full ? whole : seconds)));
}

/* AU counts from the second step of an epoch on. */
static int check_steps(const struct find_max *f, const struct job *j,
		       const struct plan_report *plan, struct mlgen_err *err)
{
	uint64_t steps_per_epoch = plan->steps_per_epoch;

	if (steps_per_epoch >= find_steps_needed(f))
		return 0;
	if (!workload_trains(job_work(j)))
		return mlgen_fail(err, -EINVAL,
				  "steps=%" PRIu64
				  ": AU counts from the second step on; raise steps",
				  steps_per_epoch);
	return mlgen_fail(
		err, -EINVAL,
		"an epoch has %" PRIu64
		" step%s, and AU counts from the second on; it takes at least %.0f files: %s",
		steps_per_epoch, steps_per_epoch == 1 ? "" : "s",
		ceil(2.0 * (double)j->batch_size * (double)j->accelerators /
		     (double)plan->dataset.samples_per_file),
		advice_more_files(j, find_makes_files(f)));
}

static int set_length(const struct find_max *f, const struct jobset *set, struct job *j,
		      struct probe_args *args, bool *is_full, struct mlgen_err *err)
{
	struct plan_report plan;

	if (plan_make(&plan, j, f->ask->host, &set->settings, err) < 0)
		return -EINVAL;
	int rc = 0;
	bool counts = job_work(j)->has_accelerators && step_seconds(j) > 0 && !j->time_based &&
		      is_alone(set, j);
	if (counts && plan.total_steps <= HARDLY_LONGER * short_steps(j))
		*is_full = true;
	if (job_work(j)->checkpoints == CHECKPOINTS_ALWAYS)
		*is_full = true;
	else if (*is_full && counts)
		make_longer(args, f, j, &plan);
	else if (!*is_full && counts)
		limit_steps(args, j);
	else if (!counts)
		limit_time(args, set, j, plan.least_seconds, is_full);
	if (job_work(j)->has_accelerators)
		rc = check_steps(f, j, &plan, err);
	plan_fini(&plan);
	return rc;
}

static void add_value(struct probe_args *args, const struct find_max *f, uint64_t number)
{
	struct buf value = { 0 };

	find_put_shown(&value, f, number);
	probe_args_add(args, "--%s.%s=%s", f->job->name, f->option->name, buf_str(&value));
	buf_fini(&value);
}

int find_length(const struct find_max *f, struct search_step step, struct probe_args *args,
		bool *is_full, struct mlgen_err *err)
{
	struct jobset set;
	struct job *j = NULL;

	add_value(args, f, step.value);
	int rc = probe_load(&set, f->ask, args, err);
	/* Before a tier has filled it shows nothing. */
	*is_full = step.what == SEARCH_FULL || f->is_min;
	/* Its figures are those of all numjobs together. */
	if (job_work(f->job)->page->has_records)
		find_max_length_add(args, f->job, "group_reporting", 1);
	for (size_t i = 0; rc == 0 && i < set.count; i++)
		if (strcmp(set.jobs[i]->name, f->job->name) == 0)
			j = set.jobs[i];
	if (j)
		rc = set_length(f, &set, j, args, is_full, err);
	jobset_fini(&set);
	return rc;
}
