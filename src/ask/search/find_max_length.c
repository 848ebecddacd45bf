/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_length.c - how far a search can go, how long a probe runs, and what limits more. */
#include "ask/search/search_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/mlperf/mlperf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/order/order.h"
#include "job/job.h"
#include "report/plan/plan.h"
#include "report/text/text.h"

/* ---- values for which the dataset has enough files ---- */

uint64_t find_steps_needed(const struct find_max *f)
{
	return isnan(find_au_limit(f)) ? 1 : 2;
}

/* A copy of the job with another value; it borrows everything the job owns. */
static struct job job_with(const struct find_max *f, uint64_t value)
{
	struct job j = *f->job;

	memcpy((char *)&j + f->option->off, &value, sizeof(value));
	j.scaled_as = f->job;
	return j;
}

double find_files_needed(const struct find_max *f, uint64_t value)
{
	const struct job j = job_with(f, value);

	return ceil((double)find_steps_needed(f) * (double)j.batch_size * (double)j.accelerators /
		    (double)f->samples_per_file);
}

static bool has_enough_files(const struct find_max *f, const struct dataset *ds, uint64_t value)
{
	const struct job j = job_with(f, value);
	const struct sampler_config cfg = sampler_config(&j, j.accelerators);
	struct mlgen_err err = { 0 };
	struct sampler s;

	return dataset_check_ranks(ds, &j, j.accelerators, &err) == 0 &&
	       sampler_init(&s, &cfg, ds, &err) == 0 && s.steps >= find_steps_needed(f);
}

/* The largest value up to `most` for which there are enough files. */
static uint64_t largest_with_files(const struct find_max *f, const struct dataset *ds,
				   uint64_t least, uint64_t most)
{
	uint64_t high = dataset_samples(ds) + 1;

	if (most < high && has_enough_files(f, ds, most))
		return most;
	while (high - least > 1) {
		uint64_t middle = least + (high - least) / 2;

		if (has_enough_files(f, ds, middle))
			least = middle;
		else
			high = middle;
	}
	return least;
}

bool find_makes_files(const struct find_max *f)
{
	return advice_makes_files(f->job) && !f->has_existing_files;
}

uint64_t find_most_by_files(struct find_max *f, uint64_t least, uint64_t most)
{
	static const char *const per_sample_options[] = { "accelerators", "batch_size", NULL };
	const char *const *option = per_sample_options;
	const struct job j = job_with(f, least);
	struct mlgen_err err = { 0 };
	struct dataset ds;

	while (*option && strcmp(*option, f->option->name) != 0)
		option++;
	if (!*option || !job_work(&j)->has_dataset ||
	    dataset_init(&ds, &j, host_job_memory_bytes(f->ask->host), &err) < 0)
		return most;
	if (dataset_use_existing(&ds, &j, &err) < 0) {
		dataset_fini(&ds);
		return most;
	}
	f->files = ds.files;
	f->has_existing_files = ds.is_found;
	f->samples_per_file = ds.samples_per_file;
	if (has_enough_files(f, &ds, least)) {
		uint64_t by_files = largest_with_files(f, &ds, least, most);

		f->is_limited_by_files = by_files < most;
		most = by_files;
	}
	dataset_fini(&ds);
	return most;
}

/* ---- accelerators for which the dataset is valid in MLPerf Storage ---- */

/* The samples that an epoch of n accelerators needs for enough steps. */
static struct mlperf_need need_of(const struct find_max *f, uint64_t n)
{
	struct mlperf_need need;
	struct job j = *f->job;

	j.accelerators = n;
	mlperf_need(&need, &j, (double)f->samples_per_file, dist_mean(&j.sample_size), 1, 0);
	return need;
}

void find_text_mlperf(struct buf *out, const struct find_max *f)
{
	char files[UNITS_TEXT_BYTES];

	if (!mlperf_find_any(f->job) || !find_counts_accelerators(f) || !f->files ||
	    verdict_without_storage(f->job))
		return;

	double samples = (double)f->files * (double)f->samples_per_file;
	double of_one = need_of(f, 1).steps_samples;
	/* MLPerf's tools round down, so there may be room for one accelerator more. */
	uint64_t n = (uint64_t)floor(samples / of_one) + 1;

	while (n > 0 && need_of(f, n).steps_passes > samples)
		n--;

	uint64_t found = f->answer.value ? f->answer.value : 1;
	units_human_count(files, f->files);
	if (n)
		buf_addf(out,
			 "valid for MLPerf Storage up to %" PRIu64
			 " accelerator%s with these %s files (%d steps each)\n",
			 n, n == 1 ? "" : "s", files, MLPERF_STEPS);
	else
		buf_addf(out,
			 "not valid for MLPerf Storage with these %s files: an epoch needs %d "
			 "steps\n",
			 files, MLPERF_STEPS);
	if (found > n)
		buf_addf(out, "  %" PRIu64 " accelerator%s %s files\n", found,
			 found == 1 ? " needs" : "s need",
			 units_human_count(files, (uint64_t)need_of(f, found).files));
}

/* ---- limit: storage, this host, or the option itself ---- */

/* Run a short probe on the null engine with the value that failed. */
static void try_without_storage(struct find_max *f)
{
	struct search_step step = { .what = SEARCH_SHORT, .value = f->answer.limited_by };
	struct probe_args args = { 0 };
	struct probe run = { 0 };
	struct mlgen_err err = { 0 };
	bool is_full = false;
	int rc = find_length(f, step, &args, &is_full, &err);
	/* Few steps suffice without storage: nothing is read ahead, and all steps are alike. */
	double wanted = fmin(20, fmax(4, ceil(2e9 / dist_mean(&f->job->compute_time))));
	uint64_t steps = (uint64_t)wanted;

	if (f->job->steps && f->job->steps < steps)
		steps = f->job->steps;
	probe_args_without_storage(&args, f->ask, f->job);
	probe_args_add(&args, "--%s.steps=%" PRIu64, f->job->name, steps);
	if (rc == 0)
		rc = probe_run(&run, f->ask, &args, &err);
	const struct job_result *r = rc == 0 ? find_result(f, run.result) : NULL;
	if (r && !run.interrupted)
		f->without_storage = r->ml.au_percent;
	f->interrupted |= run.interrupted;
	f->abandoned |= run.abandoned;
	probe_fini(&run);
	probe_args_fini(&args);
}

static const char *known_limit(const char *verdict)
{
	static const char *const names[] = { "storage", "network", "host",  "memory",
					     "compute", "errors",  "cache", "unclear" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(verdict, names[i]) == 0)
			return names[i];
	return NULL;
}

static const struct metrics_probe *last_probe_of(const struct find_max *f, uint64_t value)
{
	for (size_t i = f->probe_count; i-- > 0;)
		if (f->probes[i].value == value)
			return &f->probes[i];
	return NULL;
}

void find_limit(struct find_max *f)
{
	const struct search_answer *a = &f->answer;
	double au = find_au_limit(f);

	if (!a->is_limited) {
		if (a->found && a->at_most == f->search.most)
			f->limit = f->is_limited_by_files ? "files" : "option";
		return;
	}
	const struct metrics_probe *p = last_probe_of(f, a->limited_by);
	f->limit = p && !p->possible ? "not possible"
		   : p && find_is_hidden(f, p) && strcmp(p->verdict, "compute") == 0 ? "storage"
		   : p ? known_limit(p->verdict)
		       : NULL;
	bool moves_nothing = verdict_without_storage(f->job);
	if (f->is_min || !p || !p->possible || p->too_many_errors || isnan(au) || f->interrupted ||
	    (moves_nothing && !verdict_is_model(f->job)))
		return;
	try_without_storage(f);
	if (f->without_storage < au)
		f->limit = "host";
	else if (moves_nothing && !isnan(f->without_storage))
		f->limit = "storage";
	/* Other programs kept the CPUs busy: the limit may be the CPUs or storage. */
	else if (f->limit && !strcmp(f->limit, "host") && !isnan(f->without_storage) &&
		 !f->missed.is_at_ceiling)
		f->limit = "unclear";
}

/* ---- rate that storage delivered, and the part of an accelerator that it feeds ---- */

/* This factor leaves room for the smallest difference that the search trusts. */
#define TO_SPARE (1 - SEARCH_NOISE_LEAST)

/*
 * The time in which no thread reads says nothing about storage; short epochs have much of such
 * time. The read threads of a single accelerator are idle together. The read threads of several
 * accelerators share the storage and would get less if all of them read.
 */
static double delivered(const struct find_max *f, const struct metrics_probe *p)
{
	return find_counts_accelerators(f) && p->value == 1 && find_is_hidden(f, p)
		       ? p->supply_percent / 100 * p->demand_bytes_per_sec
		       : p->sample_bytes_per_sec;
}

/* ---- accelerators that would fit ---- */

/* Bytes per second that one accelerator of this name needs for the required AU; NaN = unknown. */
static double demand_of_one(const struct find_max *f, const char *name)
{
	const char *job = f->job->name;
	struct probe_args args = { 0 };
	struct mlgen_err err = { 0 };
	struct plan_report plan;
	struct jobset set;
	double demand = (double)NAN;

	probe_args_add(&args, "--%s.accelerators=1", job);
	probe_args_add(&args, "--%s.accelerator=%s", job, name);
	int rc = probe_load(&set, f->ask, &args, &err);
	for (size_t i = 0; rc == 0 && i < set.count; i++) {
		if (strcmp(set.jobs[i]->name, job) != 0)
			continue;
		if (plan_make(&plan, set.jobs[i], f->ask->host, &set.settings, &err) == 0)
			demand = plan.bytes_per_sec_one;
		plan_fini(&plan);
	}
	jobset_fini(&set);
	probe_args_fini(&args);
	return demand * find_au_limit(f) / 100;
}

struct accelerator_fit {
	/* names: the most demanding accelerator that fits, the least demanding of all */
	char best[64], least[64];
	double best_rate, least_rate;
	bool rates_differ;
};

static char *format_fit(const struct find_max *f, const struct accelerator_fit *fit)
{
	char rate[UNITS_TEXT_BYTES];
	struct buf out = { 0 };
	double au = find_au_limit(f);

	if (!fit->rates_differ)
		return NULL;
	if (fit->best_rate > 0)
		buf_addf(&out, "%s: %.0f (one needs %s for %g%%)", fit->best,
			 fmax(1, floor(f->delivered_bytes_per_sec / fit->best_rate)),
			 show_rate(rate, &f->unit, fit->best_rate), au);
	else
		buf_addf(&out,
			 "no accelerator published for this job: the least demanding, "
			 "%s, needs %s for %g%%",
			 fit->least, show_rate(rate, &f->unit, fit->least_rate), au);
	return buf_detach(&out);
}

/* An option of the command line holds for all accelerators. */
static bool is_overridden(const struct job *j, const char *option)
{
	const struct job_origin *o = &j->origins[field_find(job_fields, option) - job_fields];

	return o->how && strcmp(o->how, "command line") == 0;
}

static void find_fit(struct find_max *f)
{
	if (!f->job->accelerators_known || is_overridden(f->job, "compute_time") ||
	    is_overridden(f->job, "batch_size"))
		return;
	struct accelerator_fit fit = { 0 };
	char *names = mem_strdup(f->job->accelerators_known);
	char *rest = names;

	for (char *name; (name = strsep(&rest, " "));) {
		double rate = *name ? demand_of_one(f, name) : 0;

		if (!(rate > 0))
			continue;
		fit.rates_differ |= fit.least_rate > 0 && fabs(rate / fit.least_rate - 1) > 1e-6;
		if (rate <= f->delivered_bytes_per_sec && rate > fit.best_rate) {
			snprintf(fit.best, sizeof(fit.best), "%s", name);
			fit.best_rate = rate;
		}
		if (!(fit.least_rate > 0) || rate < fit.least_rate) {
			snprintf(fit.least, sizeof(fit.least), "%s", name);
			fit.least_rate = rate;
		}
	}
	f->fits = format_fit(f, &fit);
	mem_free(names);
}

/* ---- part of one accelerator ---- */

void find_fraction(struct find_max *f)
{
	const struct find_side *s = &f->missed;
	double most = (double)NAN;

	for (size_t i = 0; i < f->probe_count; i++)
		if (strcmp(f->probes[i].verdict, "memory") != 0)
			most = fmax(most, delivered(f, &f->probes[i]));
	f->delivered_bytes_per_sec = most;
	if (f->answer.found || f->interrupted || f->err.code || !f->search.falls ||
	    f->required_count != 1 || !f->limit || strcmp(f->limit, "storage") != 0 ||
	    s->value != 1 || !(s->demand_bytes_per_sec > 0))
		return;
	double need = s->demand_bytes_per_sec * find_au_limit(f) / 100;
	double part = f->delivered_bytes_per_sec / need * TO_SPARE;
	if (!(part > 0) || part >= 1)
		return;

	/* Round down to two digits. */
	double unit = pow(10, floor(log10(part)) - 1);
	f->fraction = floor(part / unit + 1e-9) * unit;
	find_fit(f);
}

/* ---- command that simulates this part ---- */

/* Options of the search alone, and options that would overwrite its answer. */
static bool is_dropped(const char *arg)
{
	static const char *const names[] = { "find-max", "find_max", "json", "output", "html" };
	size_t len = strcspn(arg, "=");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t n = strlen(names[i]);

		if (len > n && strncmp(arg + len - n, names[i], n) == 0 &&
		    strchr("-.", arg[len - n - 1]))
			return true;
	}
	return false;
}

void find_append_play(struct buf *out, const struct find_max *f)
{
	const struct ask *a = f->ask;
	struct probe_args args = { 0 };
	char line[sizeof(a->host->command)] = "";
	bool is_whole = true;
	int i = 0;
	const struct job *j = f->job;
	struct dist time = dist_scale(&j->compute_time, 1 / f->fraction);
	struct buf text = { 0 };

	if (time.kind == DIST_CONST) {
		/* Round up to four digits. */
		double unit = pow(10, floor(log10(time.a)) - 3);
		time.a = round(ceil(time.a / unit - 1e-9) * unit);
	}
	dist_format(&text, &time, DIST_NS);
	probe_args_add(&args, "--%s.accelerators=1", j->name);
	/* Append num_files= to the arguments if scale= would lead to another number of files. */
	if (j->scale < 100 && j->accelerators > 1 && f->files && find_makes_files(f)) {
		probe_args_add(&args, "--%s.scale=100%%", j->name);
		probe_args_add(&args, "--%s.num_files=%" PRIu64, j->name, f->files);
	}
	probe_args_add(&args, "--%s.compute_time=%s", j->name, buf_str(&text));
	buf_fini(&text);

	for (; i < a->argc && strcmp(a->argv[i], "--") != 0; i++)
		if (!is_dropped(a->argv[i]))
			is_whole &= host_append_argument(line, sizeof(line), a->argv[i]);
	for (size_t k = 0; k < args.count; k++)
		is_whole &= host_append_argument(line, sizeof(line), args.at[k]);
	for (; i < a->argc; i++)
		is_whole &= host_append_argument(line, sizeof(line), a->argv[i]);
	if (is_whole)
		buf_add(out, line);
	probe_args_fini(&args);
}

/* ---- length of a probe ---- */

/*
 * A short probe runs for enough steps that most of its samples were not read ahead before the first
 * step. AU itself would need more steps; the rate of read threads while they have work
 * (supply_margin()) does not.
 */
#define SHORT_STEPS_LEAST 12
#define SHORT_STEPS_PER_BATCH_AHEAD 3
#define SHORT_SECONDS 2.0
#define SHORT_SECONDS_MOST 60.0
/* A probe that takes this many times as long as expected has failed, even if it has done few steps.
 */
#define SLOWER_MOST 2.0
/* If a full run has at most this many times the steps of a short probe, it replaces the short
 * probe. A full run that fails ends early, and a full run that holds may be needed anyway. */
#define HARDLY_LONGER 5
/* Time of a probe with plain or concurrent jobs, the same for all of them. */
#define TIMED_SECONDS 3.0

static void add_number(struct probe_args *args, const struct job *j, const char *option,
		       uint64_t value)
{
	probe_args_add(args, "--%s.%s=%" PRIu64, j->name, option, value);
}

static void add_runtime(struct probe_args *a, const struct job *j, double seconds)
{
	char value[UNITS_TEXT_BYTES];
	uint64_t ns = (uint64_t)(seconds * 1e9);

	if (j->runtime_ns == 0 || ns < j->runtime_ns)
		probe_args_add(a, "--%s.runtime=%s", j->name, units_format_time(value, ns));
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

/* Short epochs are repeated for up to this time; a run that takes longer keeps the length of the
 * job. */
#define REPEAT_SECONDS 30.0

static bool is_cold(const struct job *j)
{
	return job_drops_each_epoch(j) || j->direct || !job_touches_files(j);
}

/* Seconds that the job needs at the best rate so far, at least plan->least_seconds. */
static double expected_seconds(const struct find_max *f, const struct plan_report *plan)
{
	double seconds = plan->least_seconds, most = 0;

	for (size_t i = 0; i < f->probe_count; i++)
		most = fmax(most, f->probes[i].sample_bytes_per_sec);
	return most > 0 ? fmax(seconds, plan->read_bytes / most) : seconds;
}

/*
 * Repeat short epochs until FEW_STEPS steps are counted or the time is over. The first step of each
 * epoch is not counted. The page cache is invalidated before each epoch, so that repeated epochs
 * read from storage, too.
 */
static void repeat_epochs(struct probe_args *args, const struct find_max *f, const struct job *j,
			  const struct plan_report *plan)
{
	double seconds = expected_seconds(f, plan);
	uint64_t counted = plan->steps_per_epoch - 1;
	/* The job neither states its length nor reads from memory on purpose. */
	bool can_be_longer = j->steps == 0 && j->runtime_ns == 0 &&
			     (is_cold(j) || !job_is_given(j, "invalidate"));

	if (plan->steps_per_epoch < 2 || counted * j->epochs >= FEW_STEPS || !can_be_longer ||
	    seconds > REPEAT_SECONDS)
		return;
	add_number(args, j, "epochs", (FEW_STEPS + counted - 1) / counted);
	if (!is_cold(j))
		probe_args_add(args, "--%s.invalidate=epoch", j->name);
	add_runtime(args, j, fmax(REPEAT_SECONDS, SLOWER_MOST * seconds));
}

static bool is_alone(const struct jobset *set, const struct job *j)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->jobs[i] != j && set->jobs[i]->group == j->group)
			return false;
	return true;
}

/* Limit the time of a plain job, a job with a runtime, or a job that is not alone. */
static void limit_time(struct probe_args *args, const struct jobset *set, const struct job *j,
		       double expected_seconds, bool *is_full)
{
	double seconds = fmax(TIMED_SECONDS, FEW_STEPS * step_seconds(j));
	double whole = (double)j->runtime_ns / 1e9;

	seconds = fmin(seconds, SHORT_SECONDS_MOST);
	if (!is_alone(set, j) && !j->runtime_ns)
		whole = fmax(expected_seconds, seconds);
	*is_full |= whole > 0 && whole <= seconds;
	if (*is_full && is_alone(set, j))
		return;

	/* All jobs of the group get the same time, so that all of them run from the start of the
	 * group to its end. */
	uint64_t ns = (uint64_t)(1e9 * (*is_full ? whole : seconds));
	char runtime[UNITS_TEXT_BYTES];

	units_format_time(runtime, ns);
	for (size_t i = 0; i < set->count; i++) {
		const struct job *other = set->jobs[i];

		if (other->group != j->group || (other->time_based && other->runtime_ns == ns))
			continue;
		if (job_work(other)->is_open_ended)
			add_number(args, other, "time_based", 1);
		probe_args_add(args, "--%s.runtime=%s", other->name, runtime);
	}
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
		repeat_epochs(args, f, j, &plan);
	else if (!*is_full && counts) {
		uint64_t few = short_steps(j);

		add_number(args, j, "steps", few);
		add_runtime(args, j, SLOWER_MOST * (double)few * step_seconds(j) + SHORT_SECONDS);
	} else if (!counts)
		limit_time(args, set, j, plan.least_seconds, is_full);
	uint64_t steps = plan.steps_per_epoch;
	bool is_too_short = job_work(j)->has_accelerators && steps < find_steps_needed(f);
	if (is_too_short && !workload_trains(job_work(j)))
		rc = mlgen_fail(err, -EINVAL,
				"steps=%" PRIu64 ": AU counts from the second step on; raise steps",
				steps);
	else if (is_too_short)
		rc = mlgen_fail(err, -EINVAL,
				"an epoch has %" PRIu64
				" step%s, but AU counts from the second step on; at least "
				"%.0f files are needed: %s",
				steps, steps == 1 ? "" : "s",
				ceil(2.0 * (double)j->batch_size * (double)j->accelerators /
				     (double)plan.dataset.samples_per_file),
				advice_more_files(j, find_makes_files(f)));
	plan_fini(&plan);
	return rc;
}

int find_length(const struct find_max *f, struct search_step step, struct probe_args *args,
		bool *is_full, struct mlgen_err *err)
{
	struct buf value = { 0 };
	struct jobset set;
	struct job *j = NULL;

	find_append_shown(&value, f, step.value);
	probe_args_add(args, "--%s.%s=%s", f->job->name, f->option->name, buf_str(&value));
	buf_fini(&value);
	int rc = probe_load(&set, f->ask, args, err);
	/* A short probe would show nothing about a cache tier, which has to fill first. */
	*is_full = step.what == SEARCH_FULL || f->is_min;
	/* The requirement is for the sum of all numjobs. */
	if (job_work(f->job)->page->has_records)
		add_number(args, f->job, "group_reporting", 1);
	for (size_t i = 0; rc == 0 && i < set.count; i++)
		if (strcmp(set.jobs[i]->name, f->job->name) == 0)
			j = set.jobs[i];
	if (j)
		rc = set_length(f, &set, j, args, is_full, err);
	jobset_fini(&set);
	return rc;
}
