/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - see verdict.h. */
#include "report/verdict.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "report/page.h"
#include "report/verdict_supply.h"

#define USUAL_AU_PERCENT 90.0 /* where a job states no target */

void verdict_fill(struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++) {
		struct job_result *j = &r->jobs[i];

		if (j->work && page_of(j)->verdict)
			page_of(j)->verdict(r, j);
	}
}

const char *verdict_label(const char *name)
{
	static const char *const labels[][2] = {
		{ "errors", "ERRORS" },         { "memory", "NOT A STORAGE RESULT" },
		{ "network", "NETWORK-BOUND" }, { "host", "HOST-BOUND" },
		{ "compute", "COMPUTE-BOUND" }, { "cache", "CACHE-BOUND" },
		{ "storage", "STORAGE-BOUND" }, { "unclear", "UNCLEAR" },
	};

	for (size_t i = 0; name && i < ARRAY_LEN(labels); i++)
		if (!strcmp(labels[i][0], name))
			return labels[i][1];
	return NULL;
}

double verdict_target_au(const struct job_result *j)
{
	return isnan(j->ml.target_au_percent) ? USUAL_AU_PERCENT : j->ml.target_au_percent;
}

uint64_t verdict_enough(const struct job_result *j, double *au_percent)
{
	const struct ml_result *ml = &j->ml;

	*au_percent = verdict_target_au(j);
	if (!(ml->demand_bytes_per_sec > 0) || !(*au_percent > 0))
		return UINT64_MAX;
	if (verdict_is_hidden(j))
		return (uint64_t)floor((double)ml->accelerators * verdict_supply_percent(j) /
				       *au_percent);
	double one = ml->demand_bytes_per_sec / (double)ml->accelerators;
	double n = floor(ml->sample_bytes_per_sec / (one * *au_percent / 100));
	uint64_t enough = n > 0 ? (uint64_t)n : 0;
	/* Throughput holds first steps that AU leaves out: stay on the side of what was seen. */
	if (ml->au_percent < *au_percent && enough >= ml->accelerators)
		return ml->accelerators - 1;
	if (ml->au_percent >= *au_percent && enough < ml->accelerators)
		return ml->accelerators;
	return enough;
}

bool verdict_without_storage(const struct job *job)
{
	return job->engine && (job->engine->caps & MLGEN_CAP_NO_FILES);
}

bool verdict_is_model(const struct job *job)
{
	const struct mlgen_field *f = job->engine ? job->engine->opts : NULL;

	if (!verdict_without_storage(job) || !job->engine_opts)
		return false;
	for (; f && f->name; f++)
		if (!field_is_default(f, job->engine_opts))
			return true;
	return false;
}
