/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - the report that people read. */
#include "report/text.h"

#include "report/page.h"
#include "report/text_trace.h"

/* A job that has a record for each of its workers has them behind each other. */
static size_t count_records(const struct run_result *r, size_t first)
{
	const struct job_result *one = &r->jobs[first];
	size_t n = 1;

	while (one->work && page_of(one)->has_records &&
	       first + n < r->job_count &&
	       r->jobs[first + n].work == one->work &&
	       r->jobs[first + n].job == one->job)
		n++;
	return n;
}

/* What comes once, behind all: of each kind of page that there is. */
static void put_ends(FILE *to, const struct run_result *r)
{
	for (size_t w = 0; workloads[w]; w++) {
		bool is_there = false;

		for (size_t i = 0; i < r->job_count; i++)
			is_there |= r->jobs[i].work == workloads[w];
		if (is_there && workloads[w]->page->text_end)
			workloads[w]->page->text_end(to, r);
	}
}

void text_report(FILE *to, const struct run_result *r, bool quiet)
{
	size_t n;

	for (size_t i = 0; i < r->job_count; i += n) {
		const struct job_result *j = &r->jobs[i];

		n = count_records(r, i);
		if (i > 0 && !quiet)
			fputc('\n', to);
		if (j->work)
			page_of(j)->text(to, r, j, n, quiet);
		else
			fprintf(to, "%s: did not run\n", j->job->name);
	}
	if (quiet)
		return;
	put_ends(to, r);
	text_trace(to, &r->trace);
}
