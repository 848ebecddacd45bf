/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - what the reports ask of a workload: its plan, its text, its figures in the document. */
#pragma once

#include <stdio.h>

#include "base/units.h"
#include "job/job.h"
#include "report/detail.h"
#include "report/plan_report.h"
#include "run/results.h"

/* One line of --list-jobs, as text; "-" where there is nothing. */
struct listing {
	char size[UNITS_TEXT_BYTES], need[UNITS_TEXT_BYTES];
	char who[UNITS_TEXT_BYTES]; /* that needs it; "" = the accelerator */
};

struct page {
	/* ---- before a run ---- */

	/* Fill a plan whose job is set: 0, or -EINVAL with err for a job that cannot be planned. */
	int (*plan)(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);
	/* What it misses may be made by the jobs before it; NULL = it is not. */
	void (*expect)(struct plan_report *p, const struct plan_report *before, size_t count);
	/* Its page below the first line. */
	void (*plan_text)(FILE *to, const struct plan_report *p);
	/* Where its files lie; NULL = not known. */
	char *(*directory)(const struct plan_report *p);
	/* NULL: it has nothing to list. */
	void (*list)(struct listing *l, const struct job *j, const struct host *host);
	/* Is one of the files that the job names itself this one? NULL = it names none. */
	bool (*any_file)(const struct job *j, bool (*is)(const void *arg, const char *path),
			 const void *arg);

	/* ---- of a result ---- */

	/* `n` records of one job behind each other, of more than one where it has a record for each
	 * worker. */
	void (*text)(FILE *to, const struct run_result *run, const struct job_result *records,
		     size_t n, enum detail detail);
	bool has_records; /* one for each worker */
	/* Decide what limits it, into its verdict; NULL = it has none. */
	void (*verdict)(const struct run_result *run, struct job_result *r);
	/* Over which its bytes and operations are counted. */
	double (*seconds)(const struct job_result *r);
	/* Who does its I/O ("loaders"), and at what they are looked at for where they run ("time";
	 * NULL = as its loader model has it). */
	const char *workers, *looked_at;

	/* ---- in the document ---- */

	/* Its object in a job's record, and the rows, of struct job_result; key NULL = it has
	 * none. */
	const char *key;
	const struct mlgen_field *fields;
	/* Has this result that row? NULL = any. */
	bool (*has_row)(const struct job_result *r, const char *name);
	/* Those of them that a plan knows, a list that ends with NULL, and how they are filled. */
	const char *const *planned;
	void (*fill_planned)(struct job_result *to, const struct plan_report *p);
};

/* Of a result, which came to something. */
static inline const struct page *page_of(const struct job_result *r)
{
	return r->work->page;
}
