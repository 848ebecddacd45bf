/* SPDX-License-Identifier: Apache-2.0 */
/* plain_page.c - a plain job in reports and plans. */
#include "work/plain/plain_page.h"

#include "work/plain/ionames.h"
#include "work/plain/plain.h"

/* A job that has no names here is told elsewhere why. */
static bool any_file(const struct job *j, bool (*is)(const void *arg, const char *path),
		     const void *arg)
{
	struct mlgen_err unused = { 0 };
	struct ionames names = { 0 };
	bool found = false;

	if (!j->engine)
		return false;
	if (ionames_init(&names, j, &unused) == 0)
		for (size_t i = 0; !found && i < names.paths.count; i++)
			found = is(arg, names.paths.at[i]);
	ionames_fini(&names);
	return found;
}

const struct page plain_page = {
	PLAIN_PAGE,
	.plan = plan_io,
	.plan_text = plan_io_text,
	.any_file = any_file,
	.text = text_io_report,
	.has_records = true,
	.planned = metrics_io_planned,
	.fill_planned = metrics_planned_io,
};
