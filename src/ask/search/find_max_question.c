/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_question.c - parse the question of --find-max and --find-min. */
#include "ask/search/search_internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "ask/ask.h"
#include "base/mem.h"

/* The AU that MLPerf Storage requires of most workloads. */
#define USUAL_REQUIREMENT "au>=90"

/* The largest number tried where the option itself has no limit. */
#define LARGEST_NUMBER (1ull << 40)

/* The text of the question: "cache_size" or "unet3d.cache_size". */
static const char *question_text(const struct find_max *f)
{
	const struct settings *set = &f->ask->set->settings;

	return f->is_min ? set->find_min : set->find_max;
}

/* Options that the search may vary; NULL = none for this workload. */
static const char *const *varied(const struct find_max *f)
{
	return f->is_min ? job_work(f->job)->asked->lessened : job_work(f->job)->asked->varied;
}

static bool is_listed(const char *const *list, const char *name)
{
	while (list && *list && strcmp(*list, name) != 0)
		list++;
	return list && *list;
}

/* Append "accelerators, batch_size and prefetch". */
static void append_options(struct buf *out, const char *const *at)
{
	for (size_t i = 0; at && at[i]; i++)
		buf_addf(out, "%s%s", i == 0 ? "" : at[i + 1] ? ", " : " and ", at[i]);
}

static int fail_unknown_option(const struct find_max *f, const char *name, struct mlgen_err *err)
{
	const struct mlgen_field *const tables[] = { job_fields, NULL };
	const char *nearest = field_nearest(tables, name);

	if (nearest)
		return mlgen_fail(err, -EINVAL, "%s=%s: no such option; did you mean '%s'?",
				  f->word, question_text(f), nearest);
	return mlgen_fail(err, -EINVAL, "%s=%s: no such option; name %s or JOB.OPTION", f->word,
			  question_text(f),
			  f->is_min ? "cache_size"
				    : "an option with a whole number, such as accelerators,");
}

/* The other direction needs no run, because its answer is the whole dataset. */
static int fail_other_direction(const struct find_max *f, struct mlgen_err *err)
{
	const char *option = f->option->name;

	if (!f->is_min)
		return mlgen_fail(err, -EINVAL,
				  "%s=%s: a larger tier is never worse, so the maximum is the "
				  "whole dataset; find the minimum: --find-min=%s",
				  f->word, question_text(f), option);
	struct buf names = { 0 };
	append_options(&names, varied(f));
	mlgen_fail(err, -EINVAL,
		   "%s=%s: a minimum is searched only for options that cost "
		   "more and help more if larger; for phase=%s: %s",
		   f->word, question_text(f), job_work_name(f->job),
		   names.len ? buf_str(&names) : "none");
	buf_fini(&names);
	return -EINVAL;
}

/* Only numbers that scale the same job can be varied: neither texts nor options that change the
 * kind of job or its length. */
static int check_varied(const struct find_max *f, struct mlgen_err *err)
{
	const char *const *other = job_work(f->job)->asked->lessened;
	struct buf names = { 0 };

	if (is_listed(varied(f), f->option->name))
		return 0;
	if (f->is_min || is_listed(other, f->option->name))
		return fail_other_direction(f, err);
	append_options(&names, varied(f));
	mlgen_fail(err, -EINVAL,
		   "%s=%s: %s cannot be increased for the same job; options "
		   "that can be, for phase=%s: %s",
		   f->word, question_text(f), f->option->name, job_work_name(f->job),
		   buf_str(&names));
	buf_fini(&names);
	return -EINVAL;
}

static int fail_job(const struct find_max *f, const char *job, struct mlgen_err *err)
{
	const struct jobset *set = f->ask->set;
	struct buf names = { 0 };

	for (size_t i = 0; i < set->count && names.len < 400; i++)
		buf_addf(&names, " %s", set->jobs[i]->name);
	if (job)
		mlgen_fail(err, -EINVAL, "%s=%s: there is no job '%s'; jobs:%s", f->word,
			   question_text(f), job, buf_str(&names));
	else
		mlgen_fail(err, -EINVAL, "%s=%s: which job? Jobs:%s; write --%s.%s=%s", f->word,
			   question_text(f), buf_str(&names), set->jobs[0]->name, f->word,
			   f->option->name);
	buf_fini(&names);
	return -EINVAL;
}

/* Find option and job of "accelerators" or "unet3d.accelerators". A job's name may have dots
 * itself. */
static int parse_option(struct find_max *f, const struct jobset *set, struct mlgen_err *err)
{
	const char *text = question_text(f);
	const char *dot = strrchr(text, '.');
	const char *name = dot ? dot + 1 : text;
	const struct mlgen_field *option = field_find(job_fields, name);

	if (!option)
		return fail_unknown_option(f, name, err);
	f->option = option;
	char *job = dot ? mem_strndup(text, (size_t)(dot - text)) : NULL;
	size_t at = set->count;
	for (size_t i = 0; i < set->count; i++)
		if (job ? strcmp(set->jobs[i]->name, job) == 0 : set->count == 1)
			at = i;
	int rc = 0;
	if (at < set->count)
		f->job = set->jobs[at];
	else
		rc = fail_job(f, job, err);
	mem_free(job);
	return rc;
}

static int set_requirement(struct find_max *f, const struct settings *set, struct mlgen_err *err)
{
	struct buf text = { 0 };
	const struct job *j = f->job;

	if (set->require)
		buf_add(&text, set->require);
	else if (job_work(j)->has_accelerators && !isnan(j->target_au))
		buf_addf(&text, "au>=%g", j->target_au);
	else if (job_work(j)->has_accelerators)
		buf_add(&text, USUAL_REQUIREMENT);
	else
		return mlgen_fail(
			err, -EINVAL,
			"%s=%s: no requirement; set it with --require, such as --require='%s'",
			f->word, question_text(f), job_work(j)->asked->example);
	f->requirement = buf_detach(&text);
	int n = jobset_requirements(f->requirement, f->required, REQUIREMENTS_MAX, err);
	f->required_count = n > 0 ? (unsigned)n : 0;
	return n < 0 ? n : 0;
}

static bool is_possible(const struct find_max *f, uint64_t value)
{
	struct search_step step = { .what = SEARCH_SHORT, .value = value };
	struct probe_args args = { 0 };
	struct mlgen_err err = { 0 };
	bool is_full = false;
	int rc = find_length(f, step, &args, &is_full, &err);

	probe_args_fini(&args);
	return rc == 0;
}

/* The smallest value or, if the job cannot run with it, the job's own value: a single file may be
 * too few. */
static uint64_t first_value(const struct find_max *f)
{
	const struct mlgen_field *o = f->option;
	uint64_t least = o->min > 1 ? (uint64_t)o->min : 1, own;

	memcpy(&own, (const char *)f->job + o->off, sizeof(own));
	return own > least && !is_possible(f, least) && is_possible(f, own) ? own : least;
}

/* True if the search varies accelerators, and all requirements are on AU or on waiting, which more
 * accelerators never improve. */
static bool falls(const struct find_max *f)
{
	unsigned n = 0;

	while (n < f->required_count &&
	       (find_is_au(&f->required[n])
			? f->required[n].op[0] == '>'
			: find_is_time(&f->required[n]) && f->required[n].op[0] == '<'))
		n++;
	return find_counts_accelerators(f) && n == f->required_count;
}

/* Parse the option and check that it matters for the job. */
static int check_option(struct find_max *f, struct mlgen_err *err)
{
	if (parse_option(f, f->ask->set, err) < 0)
		return -EINVAL;
	if (job_work(f->job)->only_prepares)
		return mlgen_fail(err, -EINVAL,
				  "%s=%s: phase=prepare measures nothing; use phase=train", f->word,
				  question_text(f));
	if (check_varied(f, err) < 0)
		return -EINVAL;
	const struct job *j = f->job;
	if (f->is_min && j->cache == CACHE_NONE)
		return mlgen_fail(
			err, -EINVAL,
			"%s=%s: the job has no cache tier; set a policy, such as cache=minio",
			f->word, question_text(f));
	/* The first epoch of an empty tier says nothing about its hits. */
	if (f->is_min && j->epochs < 2 && !j->time_based && !(j->cache_warm > 0))
		return mlgen_fail(err, -EINVAL,
				  "%s=%s: a tier is empty in its first epoch; set epochs=3 or "
				  "more, or cache_warm=100%%",
				  f->word, question_text(f));
	if (strcmp(f->option->name, "iodepth") == 0 && !f->job->engine->reap)
		return mlgen_fail(err, -EINVAL,
				  "%s=%s: ioengine=%s has one request in flight at any iodepth; "
				  "use io_uring or libaio, or vary numjobs",
				  f->word, question_text(f), f->job->engine->name);
	return 0;
}

int find_question(struct find_max *f, struct mlgen_err *err)
{
	const struct settings *set = &f->ask->set->settings;

	/* Logs and DLIO's output describe a single run. */
	if (set->log)
		return mlgen_fail(err, -EINVAL,
				  "log: --%s runs the job many times, but a log covers one "
				  "run; leave out --log",
				  f->word);
	if (set->output_format == OUTPUT_DLIO)
		return mlgen_fail(
			err, -EINVAL,
			"output-format=dlio: has no place for the answer of --%s; use json",
			f->word);
	if (check_option(f, err) < 0 || set_requirement(f, set, err) < 0)
		return -EINVAL;
	if (!isnan(find_au_limit(f)) && dist_mean(&f->job->compute_time) <= 0)
		return mlgen_fail(err, -EINVAL,
				  "require=%s: compute_time=0 means no accelerator utilisation; "
				  "set compute_time, or require something else",
				  f->requirement);
	if (f->is_min) {
		search_init(&f->search, 1, FIND_MIN_STEPS);
		return 0;
	}

	double max = f->option->max;
	uint64_t most = max > 0 && max < (double)LARGEST_NUMBER ? (uint64_t)max : LARGEST_NUMBER;
	uint64_t least = first_value(f);
	search_init(&f->search, least, find_most_by_files(f, least, most));
	f->search.falls = falls(f);
	return 0;
}
