/* SPDX-License-Identifier: Apache-2.0 */
/* reader_describe.c - what is wrong with a file that could not be read, in words. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/filekind.h"
#include "io/meta.h"
#include "job/job.h"
#include "run/reader_inside.h"

static const struct task *task_of(const struct read_task *t)
{
	return (const struct task *)t; /* its first member */
}

/* Among the files of all parts. */
static uint64_t file_of(const struct read_task *t)
{
	const struct task *task = task_of(t);

	return task->part * task->config->dataset->files + t->extent.file;
}

/* Files of a scan are not for mlgen to write. */
static bool is_ours(const struct read_task *t)
{
	return !task_of(t)->config->dataset->scan;
}

/* What is no file is no short one, nor one that cannot be read. */
static bool is_other(const struct read_task *t, const char *where, struct mlgen_err *err)
{
	char advice[PATH_MAX];

	snprintf(advice, sizeof(advice), " (%s); remove it%s", where,
		 is_ours(t) ? ", and --phase=prepare writes the file" : "");
	return filekind_check(t->path, advice, err) < 0;
}

static void describe_short(const struct read_task *t, const char *where, struct mlgen_err *err)
{
	uint64_t expected = dataset_file_bytes(task_of(t)->config->dataset, file_of(t));
	uint64_t end = t->error_off + t->error_done;

	/* It may end long before what was asked for. */
	if (t->error_done == 0)
		end = meta_end_before(t->path, end);
	mlgen_fail(err, -ENODATA,
		   "%s: the file ends at %" PRIu64 " of %" PRIu64
		   " bytes; it was truncated or replaced (%s)%s",
		   t->path, end, expected, where,
		   is_ours(t) ? "; --phase=prepare writes it again" : "");
}

/* A file of a cache's. */
static void describe_tier(const struct read_task *t, const char *what, const char *where,
			  struct mlgen_err *err)
{
	mlgen_fail(err, t->error,
		   "%s: %s at %" PRIu64
		   " of a cached sample: %s (%s); another cache_directory, or cache=none",
		   t->path, what, t->error_off, strerror(-t->error), where);
}

void reader_describe(const struct read_task *t, const char *where, struct mlgen_err *err)
{
	const char *what = opstat_name(t->error_op);

	if (t->is_tier) {
		describe_tier(t, what, where, err);
		return;
	}
	if (t->error != -ENOENT && is_other(t, where, err))
		return;
	if (t->error == -ESTALE && t->error_op == MLGEN_STAT)
		mlgen_fail(err, t->error,
			   "%s: has %" PRIu64 " bytes, and had %" PRIu64
			   " when it was scanned; it was replaced (%s)",
			   t->path, t->error_done,
			   dataset_file_bytes(task_of(t)->config->dataset, file_of(t)), where);
	else if (t->error == -EBADMSG && t->error_words)
		mlgen_fail(err, t->error,
			   "%s: at byte %" PRIu64 ": it cannot be decompressed: %s (%s)", t->path,
			   t->error_off, t->error_words, where);
	else if (t->error == -ENODATA)
		describe_short(t, where, err);
	else if (t->error_op == MLGEN_READ)
		mlgen_fail(err, t->error, "%s: %s at %" PRIu64 ": %s (%s)%s%s", t->path, what,
			   t->error_off, strerror(-t->error), where,
			   t->error == -EAGAIN ? "; " : "",
			   t->error == -EAGAIN ? IGNORED_HINT_EAGAIN : "");
	else if (t->error == -ENOENT)
		mlgen_fail(err, t->error, "%s: %s: %s (%s)%s", t->path, what, strerror(ENOENT),
			   where,
			   is_ours(t) ? "; the dataset was complete: --phase=prepare writes what "
					"is missing"
				      : "");
	else
		mlgen_fail(err, t->error, "%s: %s: %s (%s)", t->path, what, strerror(-t->error),
			   where);
}
