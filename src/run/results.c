/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - give back what a result owns. */
#include "run/results.h"

#include "base/mem.h"

static void fini_verdict(struct verdict_result *v)
{
	mem_free(v->name);
	mem_free(v->headline);
	mem_free(v->because);
	mem_free(v->try_next);
}

static void fini_job(struct job_result *r)
{
	struct ml_result *ml = &r->ml;
	mem_free(ml->au_percent_per_accelerator.items);
	mem_free(ml->epochs.items);
	mem_free(ml->numa.loader_nodes);
	fini_verdict(&ml->verdict);
	mem_free(r->io.numa.loader_nodes);
	fini_verdict(&r->io.verdict);
}

void run_result_fini(struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++)
		fini_job(&r->jobs[i]);
	mem_free(r->jobs);
	mem_free(r->disks);
	*r = (struct run_result){ 0 };
}
