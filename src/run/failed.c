/* SPDX-License-Identifier: Apache-2.0 */
/* failed.c - see failed.h. */
#include "job/job.h"
#include "run/failed.h"

#include <math.h>
#include <string.h>

bool failed_exceeds(const struct job *job, uint64_t count, uint64_t of)
{
	const struct u64_share *most = &job->max_errors;
	double allowed = (double)most->count;

	if (most->percent > 0)
		allowed = most->percent / 100 * (double)of;
	return (double)count > allowed;
}

static void count_samples(struct failed_result *f, const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;
	const struct eval_result *eval = &ml->eval;

	f->count = ml->failed_samples + eval->failed_samples;
	if (f->count == 0)
		f->count = r->errors;
	f->of = ml->samples + ml->failed_samples + eval->samples + eval->failed_samples;
}

static void count_operations(struct failed_result *f, const struct job_result *r)
{
	f->count = r->errors;
	f->of = r->read.total_ios + r->write.total_ios + r->sync.total + r->errors;
}

/* Accelerators that computed on what was not there have not been used so. */
static void take_au(struct ml_result *ml)
{
	struct epoch_result *e = ml->epochs.items;

	if (ml->failed_samples == 0)
		return;
	ml->au_percent = (double)NAN;
	ml->au_unmeasured = "samples failed, more than max_errors allows";
	ml->target_met = false;
	for (size_t i = 0; i < ml->epochs.count; i++)
		if (e[i].failed_samples)
			e[i].au_percent = (double)NAN;
}

void failed_count(struct job_result *r)
{
	struct failed_result *f = &r->failed;

	if (r->work && r->work->is_plain)
		count_operations(f, r);
	else
		count_samples(f, r);
	f->percent = f->of ? 100 * (double)f->count / (double)f->of : (double)NAN;
	if (f->percent > 100)
		f->percent = 100;
}

void failed_fill(struct job_result *r)
{
	failed_count(r);
	if (!r->work || !r->work->has_accelerators)
		return;
	if (r->failed.is_too_many)
		take_au(&r->ml);
	if (!isnan(r->ml.au_percent))
		r->ml.au_unmeasured = NULL;
}

void failed_merge(struct failed_result *to, const struct failed_result *from)
{
	to->is_too_many |= from->is_too_many;
	if (to->first[0])
		return;
	memcpy(to->first, from->first, sizeof(to->first));
	to->first_errno = from->first_errno;
}

bool failed_in_any(const struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++)
		if (r->jobs[i].failed.is_too_many)
			return true;
	return false;
}
