/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_compare.c - a job beside the shipped one of its name: what a closed submission must not
 * change. */
#include "ask/mlperf_rules.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "job/job.h"

/* So many are named, others are counted. */
#define NAMED 8

/* Beside the program, or among the installed; never what lies in the current folder, which may be
 * the very file that was changed. NULL = neither. */
static char *shipped_path(const char *name, const struct jobset_env *env)
{
	struct buf path = { 0 };

	if (env->binary_dir)
		buf_addf(&path, "%s/jobs/%s.job", env->binary_dir, name);
	if (path.len && access(buf_str(&path), R_OK) == 0)
		return buf_take(&path);
	buf_reset(&path);
	if (env->installed_dir)
		buf_addf(&path, "%s/%s.job", env->installed_dir, name);
	if (path.len && access(buf_str(&path), R_OK) == 0)
		return buf_take(&path);
	buf_fini(&path);
	return NULL;
}

static int fail_load(const struct diag *d, const char *name, struct mlgen_err *err)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->entries[i].level == DIAG_ERROR)
			return mlgen_fail(err, -EINVAL, "the shipped %s.job: %s", name,
					  d->entries[i].text);
	return mlgen_fail(err, -EINVAL, "the shipped %s.job cannot be read", name);
}

/* The shipped job, for the same accelerator. */
static int load_shipped(struct jobset *set, const struct job *j, const struct mlperf_workload *w,
			const struct jobset_env *env, struct mlgen_err *err)
{
	struct buf accelerator = { 0 };
	char program[] = "mlgen";
	char *path = shipped_path(w->name, env);

	memset(set, 0, sizeof(*set));
	if (!path)
		return mlgen_fail(
			err, -ENOENT,
			"the shipped %s.job to compare with is neither beside mlgen nor installed",
			w->name);
	if (w->is_training && j->accelerator)
		buf_addf(&accelerator, "--accelerator=%s", j->accelerator);
	char *text = buf_take(&accelerator);
	char *const argv[] = { program, path, text, NULL };
	struct diag d;
	diag_init(&d);
	int rc = jobset_load(set, *text ? 3 : 2, argv, env, &d);
	if (rc < 0)
		rc = fail_load(&d, w->name, err);
	diag_fini(&d);
	mem_free(text);
	mem_free(path);
	return rc;
}

static const struct job *find_phase(const struct jobset *set, int phase)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->jobs[i]->phase == phase)
			return set->jobs[i];
	return NULL;
}

static const char *or_unset(const struct buf *text)
{
	return text->len ? buf_str(text) : "(not set)";
}

/* Is the option another one, and said so? */
static bool add_difference(const struct job *j, const struct job *shipped,
			   const struct mlgen_field *f, unsigned before, struct buf *out)
{
	struct buf have = { 0 }, want = { 0 };

	job_option_text(j, f->name, &have);
	job_option_text(shipped, f->name, &want);
	bool differs = strcmp(buf_str(&have), buf_str(&want)) != 0;
	if (differs && before < NAMED)
		buf_addf(out, "%s%s=%s, the rules have %s%s", before ? "; " : "", f->name,
			 or_unset(&have), or_unset(&want),
			 mlperf_is_open_option(f) ? " (the OPEN division may change it)" : "");
	buf_fini(&have);
	buf_fini(&want);
	return differs;
}

int mlperf_compare(const struct job *j, const struct mlperf_workload *w,
		   const struct jobset_env *env, struct buf *out, struct mlgen_err *err)
{
	struct jobset set;
	unsigned n = 0;
	int rc = load_shipped(&set, j, w, env, err);
	const struct job *shipped = rc < 0 ? NULL : find_phase(&set, j->phase);

	if (rc == 0 && !shipped)
		rc = mlgen_fail(err, -ENOENT, "the shipped %s.job has no such phase", w->name);
	for (const struct mlgen_field *f = job_fields; shipped && f->name; f++)
		if (workload_has(job_work(j), f) && !mlperf_is_closed_option(w, j, f))
			n += add_difference(j, shipped, f, n, out);
	if (n > NAMED)
		buf_addf(out, "; %u more", n - NAMED);
	jobset_fini(&set);
	return rc < 0 ? rc : (int)n;
}
