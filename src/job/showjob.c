/* SPDX-License-Identifier: Apache-2.0 */
/* showjob.c - see showjob.h. */
#include "job/job_internal.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/printable.h"

/* A comment is one line, whatever the file is called. */
static void print_origin(FILE *to, const struct job_origin *o)
{
	struct buf file = { 0 };

	printable_add(&file, o->at.file ? o->at.file : "");
	if (o->at.file)
		fprintf(to, "# %s:%u %s\n", buf_str(&file), o->at.line, o->how);
	else
		fprintf(to, "# %s\n", o->how);
	buf_fini(&file);
}

static void show_option(FILE *to, const struct job *j, const struct mlgen_field *f,
			const void *base, const struct job_origin *origin)
{
	struct buf value = { 0 };

	job_field_text(j, f, base, &value);
	print_origin(to, origin);
	if (value.len)
		fprintf(to, "%s=%s\n", f->name, buf_str(&value));
	else
		fprintf(to, "# %s is not set\n", f->name);
	buf_fini(&value);
}

static bool is_stonewall(const struct mlgen_field *f)
{
	return strcmp(f->name, "stonewall") == 0;
}

static void show_job(FILE *to, const struct job *j, bool begins_file)
{
	const struct mlgen_field *table = j->engine ? j->engine->opts : NULL;

	fprintf(to, "[%s]\n", j->name);
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		if (begins_file && is_stonewall(f))
			fprintf(to, "# another job file\n%s=1\n", f->name);
		else if (workload_has(job_work(j), f))
			show_option(to, j, f, j, &j->origins[f - job_fields]);
	}
	for (const struct mlgen_field *f = table; f && f->name; f++)
		show_option(to, j, f, j->engine_opts, &j->engine_origins[f - table]);
}

/* Of another job file than the jobs above, which it waits for. */
static bool begins_file(const struct jobset *set, size_t i)
{
	return i && !set->jobs[i]->stonewall && set->jobs[i]->group != set->jobs[i - 1]->group;
}

/* Why it would not read back alike, as a clause, or NULL. */
static const char *why_not(const char *text)
{
	const char *why = jobreader_cannot_hold(text);

	return why || printable_is(text) ? why : "letters shown as escapes";
}

static int check_name(const char *name, struct mlgen_err *err)
{
	const char *why = why_not(name);

	if (strlen(name) > JOBFILE_NAME_MAX)
		why = "too many bytes";
	if (why)
		return mlgen_fail(err, -EINVAL,
				  "showjob: name=%s: has %s, which no name in a job file can have; "
				  "take another one",
				  name, why);
	if (!jobfile_is_job_name(name))
		return mlgen_fail(
			err, -EINVAL,
			"showjob: name=%s: means something else in a job file; take another one",
			name);
	return 0;
}

/* Does the option's value read back alike? */
static int check_option(const struct job *j, const struct mlgen_field *f, const void *base,
			struct mlgen_err *err)
{
	struct buf value = { 0 };
	const char *why;
	int rc = 0;

	job_field_text(j, f, base, &value);
	why = why_not(buf_str(&value));
	if (why)
		rc = mlgen_fail(err, -EINVAL,
				"showjob: %s=%s: has %s, which no line of a job file can hold; in "
				"one, a variable can, as %s=${NAME}",
				f->name, buf_str(&value), why, f->name);
	buf_fini(&value);
	return rc;
}

static int check_job(const struct job *j, struct mlgen_err *err)
{
	const struct mlgen_field *table = j->engine ? j->engine->opts : NULL;
	int rc = 0;

	for (const struct mlgen_field *f = job_fields; !rc && f->name; f++) {
		if (workload_has(job_work(j), f))
			rc = check_option(j, f, j, err);
	}
	for (const struct mlgen_field *f = table; !rc && f && f->name; f++)
		rc = check_option(j, f, j->engine_opts, err);
	return rc;
}

int showjob_check(const struct jobset *set, struct mlgen_err *err)
{
	for (size_t i = 0; i < set->count; i++) {
		int rc = check_name(set->jobs[i]->name, err);

		if (rc == 0)
			rc = check_job(set->jobs[i], err);
		if (rc)
			return rc;
		for (size_t k = 0; k < i; k++) {
			if (strcmp(set->jobs[k]->name, set->jobs[i]->name) == 0)
				return mlgen_fail(
					err, -EINVAL,
					"showjob: two jobs are called '%s', and one job file "
					"cannot hold both; show the files one by one",
					set->jobs[i]->name);
		}
	}
	return 0;
}

void showjob_print(FILE *to, const struct jobset *set)
{
	for (size_t i = 0; i < set->count; i++) {
		if (i)
			fputc('\n', to);
		show_job(to, set->jobs[i], begins_file(set, i));
	}
}
