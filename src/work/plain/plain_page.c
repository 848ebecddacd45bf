/* SPDX-License-Identifier: Apache-2.0 */
/* plain_page.c - a plain job in reports and plans. */
#include "report/metrics.h"
#include "report/page.h"
#include "work/plain/ionames.h"
#include "work/plain/plain.h"
#include "work/plain/plan_io.h"
#include "work/plain/text_io.h"
#include "work/plain/verdict_io.h"

static char *plain_directory_of(const struct plan_report *p)
{
	return p->io.directory;
}

/* A job that has no names here is told elsewhere why. */
static bool any_file(const struct job *j,
		     bool (*is)(const void *arg, const char *path),
		     const void *arg)
{
	struct mlgen_err unused = { 0 };
	struct ionames names = { 0 };
	bool found = false;

	if (!j->engine)
		return false;
	if (ionames_init(&names, j, &unused) == 0)
		for (size_t i = 0; !found && i < names.count; i++)
			found = is(arg, names.paths[i]);
	ionames_fini(&names);
	return found;
}

static double plain_seconds_of(const struct job_result *r)
{
	return r->wall_seconds;
}

const struct page plain_page = {
	.plan = plan_io,
	.plan_text = plan_io_text,
	.directory = plain_directory_of,
	.any_file = any_file,
	.text = text_io_report,
	.has_records = true,
	.text_end = text_io_disks,
	.verdict = verdict_fill_io,
	.seconds = plain_seconds_of,
	.workers = "workers",
	.looked_at = "time",
	.key = "io",
	.fields = metrics_io_fields,
	.planned = metrics_io_planned,
	.fill_planned = metrics_planned_io,
};
