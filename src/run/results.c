/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - give back what a result owns. */
#include "run/results.h"

#include "base/mem.h"

static void fini_job(struct job_result *r)
{
	struct ml_result *ml = &r->ml;
	mem_free(ml->au_percent_per_accelerator.items);
	mem_free(ml->epochs.items);
	mem_free(ml->numa.loader_nodes);
	mem_free(ml->verdict.name);
	mem_free(ml->verdict.headline);
	mem_free(ml->verdict.because);
	mem_free(ml->verdict.try_next);
}

void run_result_fini(struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++)
		fini_job(&r->jobs[i]);
	mem_free(r->jobs);
	mem_free(r->disks);
	*r = (struct run_result){ 0 };
}
