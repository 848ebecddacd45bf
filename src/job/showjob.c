/* SPDX-License-Identifier: Apache-2.0 */
/* showjob.c - prints a set of jobs as one job file, with the origin of each value. */
#include "job/job_internal.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"

static void show_option(FILE *to, const struct job *j, const struct mlgen_field *f,
			const void *base, const struct job_origin *origin)
{
	struct buf value = { 0 }, file = { 0 };

	job_field_text(j, f, base, &value);
	/* The comment has to stay one line, whatever the name of the file. */
	printable_add(&file, origin->at.file ? origin->at.file : "");
	if (origin->at.file)
		fprintf(to, "# %s:%u %s\n", buf_str(&file), origin->at.line, origin->how);
	else
		fprintf(to, "# %s\n", origin->how);
	if (value.len)
		fprintf(to, "%s=%s\n", f->name, buf_str(&value));
	else
		fprintf(to, "# %s is not set\n", f->name);
	buf_fini(&file);
	buf_fini(&value);
}

/* The reason why the text would not be read back unchanged, as a clause, or NULL. */
static const char *why_not(const char *text)
{
	const char *why = jobreader_cannot_hold(text);

	return why || printable_is(text) ? why : "characters that are shown as escapes";
}

static int check_name(const char *name, struct mlgen_err *err)
{
	const char *why = why_not(name);

	if (strlen(name) > JOBFILE_NAME_MAX)
		why = "too many bytes";
	if (why)
		return mlgen_fail(err, -EINVAL,
				  "showjob: name=%s: has %s, which is invalid in a job file; use "
				  "another name",
				  name, why);
	if (!jobfile_is_job_name(name))
		return mlgen_fail(
			err, -EINVAL,
			"showjob: name=%s: has another meaning in a job file; use another name",
			name);
	return 0;
}

/* Check that the option's value is read back unchanged. */
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
				"showjob: %s=%s: has %s, which a job file cannot contain; use a "
				"variable in the job file, as in %s=${NAME}",
				f->name, buf_str(&value), why, f->name);
	buf_fini(&value);
	return rc;
}

int showjob_check(const struct jobset *set, struct mlgen_err *err)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct job *j = set->jobs[i];
		const struct mlgen_field *table = j->engine ? j->engine->opts : NULL;
		int rc = check_name(j->name, err);

		for (const struct mlgen_field *f = job_fields; !rc && f->name; f++)
			if (workload_has(job_work(j), f))
				rc = check_option(j, f, j, err);
		for (const struct mlgen_field *f = table; !rc && f && f->name; f++)
			rc = check_option(j, f, j->engine_opts, err);
		if (rc)
			return rc;
		for (size_t k = 0; k < i; k++) {
			if (strcmp(set->jobs[k]->name, j->name) == 0)
				return mlgen_fail(
					err, -EINVAL,
					"showjob: two jobs are named '%s', and a job file cannot "
					"contain both; show the files one by one",
					j->name);
		}
	}
	return 0;
}

void showjob_print(FILE *to, const struct jobset *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct job *j = set->jobs[i];
		const struct mlgen_field *table = j->engine ? j->engine->opts : NULL;
		/* The jobs of a file wait for the jobs of the previous file. */
		bool begins_file = i && !j->stonewall && j->group != set->jobs[i - 1]->group;

		fprintf(to, "%s[%s]\n", i ? "\n" : "", j->name);
		for (const struct mlgen_field *f = job_fields; f->name; f++) {
			if (begins_file && strcmp(f->name, "stonewall") == 0)
				fprintf(to, "# another job file\n%s=1\n", f->name);
			else if (workload_has(job_work(j), f))
				show_option(to, j, f, j, &j->origins[f - job_fields]);
		}
		for (const struct mlgen_field *f = table; f && f->name; f++)
			show_option(to, j, f, j->engine_opts, &j->engine_origins[f - table]);
	}
}
