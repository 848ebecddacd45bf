/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_question.c - what --find-max asks: which option, of which job, for what. */
#include "ask/find_max.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "ask/asked.h"
#include "base/mem.h"

/* MLPerf Storage's, for most workloads. */
#define USUAL_REQUIREMENT "au>=90"

/* Where the option itself has no limit. */
#define MOST (1ull << 40)

static bool is_varied(const struct job *j, const char *name)
{
	const char *const *at = job_work(j)->asked->varied;

	while (*at && strcmp(*at, name) != 0)
		at++;
	return *at;
}

/* "accelerators, batch_size and prefetch" */
static void put_varied(struct buf *out, const struct job *j)
{
	const char *const *at = job_work(j)->asked->varied;

	for (size_t i = 0; at[i]; i++)
		buf_addf(out, "%s%s",
			 i == 0      ? ""
			 : at[i + 1] ? ", "
				     : " and ",
			 at[i]);
}

static int fail_unknown_option(const char *text, const char *name,
			       struct mlgen_err *err)
{
	const struct mlgen_field *const tables[] = { job_fields, NULL };
	const char *nearest = field_nearest(tables, name);

	if (nearest)
		return mlgen_fail(err, -EINVAL,
				  "find-max=%s: no such option; did you mean "
				  "'%s'?",
				  text, nearest);
	return mlgen_fail(err, -EINVAL,
			  "find-max=%s: no such option; name one that is a "
			  "whole number, such as accelerators, or JOB.OPTION",
			  text);
}

/* Not of a text, of what makes another job of it, or of its length. */
static int check_varied(const struct find_max *f, const char *text,
			struct mlgen_err *err)
{
	struct buf names = { 0 };

	if (is_varied(f->job, f->option->name))
		return 0;
	put_varied(&names, f->job);
	mlgen_fail(err, -EINVAL,
		   "find-max=%s: %s is none that can be more and more of the "
		   "same job; of phase=%s these are: %s",
		   text, f->option->name, job_work_name(f->job),
		   buf_str(&names));
	buf_fini(&names);
	return -EINVAL;
}

static int fail_job(const struct jobset *set, const char *text,
		    const char *option, const char *job, struct mlgen_err *err)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < set->count && names.len < 400; i++)
		buf_addf(&names, " %s", set->jobs[i]->name);
	if (job)
		mlgen_fail(err, -EINVAL,
			   "find-max=%s: there is no job '%s'; there is%s",
			   text, job, buf_str(&names));
	else
		mlgen_fail(err, -EINVAL,
			   "find-max=%s: of which job? There is%s; write "
			   "--%s.find-max=%s",
			   text, buf_str(&names), set->jobs[0]->name, option);
	buf_fini(&names);
	return -EINVAL;
}

/* "accelerators", or "unet3d.accelerators": a name may have dots itself. */
static int find_max_question_option(struct find_max *f,
				    const struct jobset *set,
				    struct mlgen_err *err)
{
	const char *text = set->settings.find_max;
	const char *dot = strrchr(text, '.');
	const char *name = dot ? dot + 1 : text;
	const struct mlgen_field *option = field_find(job_fields, name);

	if (!option)
		return fail_unknown_option(text, name, err);
	f->option = option;
	char *job = dot ? mem_strndup(text, (size_t)(dot - text)) : NULL;
	size_t at = set->count;
	for (size_t i = 0; i < set->count; i++)
		if (job ? strcmp(set->jobs[i]->name, job) == 0
			: set->count == 1)
			at = i;
	int rc = 0;
	if (at < set->count)
		f->job = set->jobs[at];
	else
		rc = fail_job(set, text, option->name, job, err);
	mem_free(job);
	return rc;
}

static int find_requirement(struct find_max *f, const struct settings *set,
			    struct mlgen_err *err)
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
		return mlgen_fail(err, -EINVAL,
				  "find-max=%s: what has to hold? Say it with "
				  "--require, such as --require='%s'",
				  set->find_max, job_work(j)->asked->example);
	f->requirement = buf_take(&text);
	int n = jobset_requirements(f->requirement, f->required,
				    REQUIREMENTS_MAX, err);
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

/* The least, or what the job says: one file, say, is too few for any. */
static uint64_t first_value(const struct find_max *f)
{
	const struct mlgen_field *o = f->option;
	uint64_t least = o->min > 1 ? (uint64_t)o->min : 1, own;

	memcpy(&own, (const char *)f->job + o->off, sizeof(own));
	return own > least && !is_possible(f, least) && is_possible(f, own)
		       ? own
		       : least;
}

/* More accelerators are never busier, and never wait less. */
static bool falls(const struct find_max *f)
{
	unsigned n = 0;

	while (n < f->required_count &&
	       (find_is_au(&f->required[n])
			? f->required[n].op[0] == '>'
			: find_is_time(&f->required[n]) &&
				  f->required[n].op[0] == '<'))
		n++;
	return find_counts_accelerators(f) && n == f->required_count;
}

int find_question(struct find_max *f, struct mlgen_err *err)
{
	const struct jobset *set = f->ask->set;

	if (set->settings.log)
		return mlgen_fail(err, -EINVAL,
				  "log: --find-max runs the job many times, "
				  "and a log is of one run; leave out --log");
	if (set->settings.output_format == OUTPUT_DLIO)
		return mlgen_fail(err, -EINVAL,
				  "output-format=dlio: has no place for what "
				  "--find-max finds; use json");
	if (find_max_question_option(f, set, err) < 0)
		return -EINVAL;
	if (job_work(f->job)->only_prepares)
		return mlgen_fail(err, -EINVAL,
				  "find-max=%s: phase=prepare measures "
				  "nothing; use phase=train",
				  set->settings.find_max);
	if (check_varied(f, set->settings.find_max, err) < 0 ||
	    find_requirement(f, &set->settings, err) < 0)
		return -EINVAL;
	if (strcmp(f->option->name, "iodepth") == 0 && !f->job->engine->reap)
		return mlgen_fail(err, -EINVAL,
				  "find-max=%s: ioengine=%s has one request "
				  "under way, whatever iodepth says; use "
				  "io_uring or libaio, or vary numjobs",
				  set->settings.find_max, f->job->engine->name);
	if (!isnan(find_au_limit(f)) && dist_mean(&f->job->compute_time) <= 0)
		return mlgen_fail(err, -EINVAL,
				  "require=%s: compute_time=0 leaves no "
				  "accelerator utilisation; set compute_time, "
				  "or require something else",
				  f->requirement);
	const struct mlgen_field *o = f->option;
	uint64_t least = first_value(f);
	uint64_t most =
		o->max > 0 && o->max < (double)MOST ? (uint64_t)o->max : MOST;
	search_init(&f->search, least, find_most_by_files(f, least, most));
	f->search.falls = falls(f);
	return 0;
}
