/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_limit.c - what stands in the way of more: storage, this host, or the option itself. */
#include "ask/find_max.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "report/verdict.h"

/* Nothing is read ahead that would have to be waited out, and every step is like the next. */
static uint64_t steps_without(const struct job *j)
{
	double steps = ceil(2e9 / dist_mean(&j->compute_time));
	uint64_t n = (uint64_t)fmin(20, fmax(4, steps));

	return j->steps && j->steps < n ? j->steps : n;
}

/* A short probe of the value that failed, on the null engine. */
static void try_without_storage(struct find_max *f)
{
	struct search_step step = { .what = SEARCH_SHORT, .value = f->answer.limited_by };
	struct probe_args args = { 0 };
	struct probe run = { 0 };
	struct mlgen_err err = { 0 };
	bool is_full = false;
	int rc = find_length(f, step, &args, &is_full, &err);

	probe_args_take_storage_away(&args, f->ask, f->job);
	probe_args_add(&args, "--%s.steps=%" PRIu64, f->job->name, steps_without(f->job));
	if (rc == 0)
		rc = probe_run(&run, f->ask, &args, &err);
	const struct job_result *r = rc == 0 ? find_result(f, run.result) : NULL;
	if (r && !run.interrupted)
		f->without_storage = r->ml.au_percent;
	f->interrupted |= run.interrupted;
	f->abandoned |= run.abandoned;
	probe_fini(&run);
	probe_args_fini(&args);
}

static const char *known_limit(const char *verdict)
{
	static const char *const names[] = { "storage", "network", "host",  "memory",
					     "compute", "errors",  "cache", "unclear" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(verdict, names[i]) == 0)
			return names[i];
	return NULL;
}

static const struct metrics_probe *last_probe_of(const struct find_max *f, uint64_t value)
{
	for (size_t i = f->probe_count; i-- > 0;)
		if (f->probes[i].value == value)
			return &f->probes[i];
	return NULL;
}

void find_limit(struct find_max *f)
{
	const struct search_answer *a = &f->answer;
	double au = find_au_limit(f);

	if (!a->is_limited) {
		if (a->found && a->at_most == f->search.most)
			f->limit = f->is_of_files ? "files" : "option";
		return;
	}
	const struct metrics_probe *p = last_probe_of(f, a->limited_by);
	f->limit = p && !p->possible ? "not possible"
		   : p && find_is_hidden(f, p) && strcmp(p->verdict, "compute") == 0 ? "storage"
		   : p ? known_limit(p->verdict)
		       : NULL;
	bool moves_nothing = verdict_without_storage(f->job);
	if (f->is_min || !p || !p->possible || p->too_many_errors || isnan(au) || f->interrupted ||
	    (moves_nothing && !verdict_is_model(f->job)))
		return;
	try_without_storage(f);
	if (f->without_storage < au)
		f->limit = "host";
	else if (moves_nothing && !isnan(f->without_storage))
		f->limit = "storage";
	/* Others kept its CPUs busy: that may be in the way, or storage. */
	else if (f->limit && !strcmp(f->limit, "host") && !isnan(f->without_storage) &&
		 !f->missed.is_at_ceiling)
		f->limit = "unclear";
}
