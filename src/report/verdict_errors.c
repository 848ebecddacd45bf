/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_errors.c - see verdict_errors.h. */
#include "report/verdict_errors.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/units.h"
#include "job/job.h"
#include "run/failed.h"

bool verdict_is_errors(const struct job_result *r)
{
	const struct failed_result *f = &r->failed;

	return f->is_too_many || f->percent > VERDICT_ERRORS_PERCENT;
}

/* Errors that no accelerator met are not those of a part of the samples. */
static bool is_a_part(const struct job_result *r)
{
	return r->work->is_plain || r->ml.failed_samples + r->ml.eval.failed_samples > 0;
}

void verdict_put_failed(struct buf *out, const struct job_result *r)
{
	const struct failed_result *f = &r->failed;
	char count[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];

	units_human_count(count, f->count);
	if (is_a_part(r))
		buf_addf(out, "%s of %s %s failed", count, units_human_count(of, f->of),
			 r->work->is_plain ? "operations" : "samples");
	else
		buf_addf(out, "%s error%s", count, f->count == 1 ? "" : "s");
}

void verdict_put_allowance(struct buf *out, const struct job_result *r)
{
	const struct u64_share *most = &r->job->max_errors;
	bool is_none = !most->count && !(most->percent > 0);

	buf_add(out, "max_errors=");
	job_option_text(r->job, "max_errors", out);
	buf_addf(out, " allows %s", is_none ? "none" : r->failed.is_too_many ? "no more" : "them");
}

bool verdict_log_failed(const struct run_result *r)
{
	const struct job *last = NULL;

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *j = &r->jobs[i];
		struct buf text = { 0 };

		/* Workers of a plain job have records behind each other. */
		if (!j->failed.is_too_many || j->job == last)
			continue;
		last = j->job;
		verdict_put_failed(&text, j);
		buf_add(&text, "; ");
		verdict_put_allowance(&text, j);
		if (j->failed.first[0])
			buf_addf(&text, ". The first: %s", j->failed.first);
		log_error("%s: %s", j->job->name, buf_str(&text));
		buf_fini(&text);
	}
	return last != NULL;
}

bool verdict_errors_holds(const struct verdict_findings *f)
{
	return verdict_is_errors(f->result);
}

void verdict_errors_headline(struct buf *out, const struct verdict_findings *f)
{
	verdict_put_failed(out, f->result);
	buf_add(out, "; ");
	verdict_put_allowance(out, f->result);
}

void verdict_errors_because(struct buf *out, const struct verdict_findings *f)
{
	const char *first = f->result->failed.first;

	if (first[0])
		buf_addf(out, "the first: %s", first);
}

void verdict_errors_try(struct buf *out, const struct verdict_findings *f)
{
	buf_add(out, "dmesg, or the log of the storage : why did they fail?");
	if (f->result->failed.is_too_many)
		buf_add(out, " --max_errors=N, or N%, lets a run have some");
}
