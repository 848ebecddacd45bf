/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - the report that people read. */
#include "report/text.h"

#include <math.h>

#include "base/units.h"
#include "report/page.h"
#include "report/show.h"
#include "report/text_block.h"
#include "report/text_trace.h"

/* A job that has a record for each of its workers has them behind each other. */
static size_t count_records(const struct run_result *r, size_t first)
{
	const struct job_result *one = &r->jobs[first];
	size_t n = 1;

	while (one->work && page_of(one)->has_records && first + n < r->job_count &&
	       r->jobs[first + n].work == one->work && r->jobs[first + n].job == one->job)
		n++;
	return n;
}

/* Print what the disks did for all jobs of the run together. */
static void text_disks(FILE *to, const struct run_result *run)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < run->disk_count; i++) {
		const struct disk_util *d = &run->disks[i];
		char n[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
		struct buf text = { 0 };

		buf_addf(&text, "%s: %s busy, ", d->name, show_percent(n, d->util));
		if (!isnan(d->queue_depth))
			buf_addf(&text, "%s in its queue (mean), ", units_sig4(n, d->queue_depth));
		buf_addf(&text, "%s reads (%s), ", units_human_count(n, d->read_ios),
			 units_human_bytes(bytes, (double)d->read_sectors * 512));
		buf_addf(&text, "%s writes (%s)", units_human_count(n, d->write_ios),
			 units_human_bytes(bytes, (double)d->write_sectors * 512));
		if (i == 0)
			buf_add(&text, ", of anyone during the whole run");
		text_put(&out, i ? "" : "disk", TEXT_SETTING_INDENT, buf_str(&text));
		buf_fini(&text);
	}
	if (out.len)
		fputc('\n', to);
	text_print(to, &out);
	buf_fini(&out);
}

/* A preparation is over before anything is measured. */
static bool any_ran(const struct run_result *run)
{
	for (size_t i = 0; i < run->job_count; i++)
		if (job_result_ran(&run->jobs[i]))
			return true;
	return false;
}

void text_report(FILE *to, const struct run_result *r, enum detail detail)
{
	size_t n;

	for (size_t i = 0; i < r->job_count; i += n) {
		const struct job_result *j = &r->jobs[i];

		n = count_records(r, i);
		if (i > 0 && detail > DETAIL_FIRST)
			fputc('\n', to);
		if (j->work)
			page_of(j)->text(to, r, j, n, detail);
		else
			fprintf(to, "%s: did not run\n", j->job->name);
	}
	if (detail <= DETAIL_BRIEF)
		return;
	if (any_ran(r))
		text_disks(to, r);
	text_trace(to, &r->trace);
}
