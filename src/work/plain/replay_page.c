/* SPDX-License-Identifier: Apache-2.0 */
/* replay_page.c - a replay in reports and plans. */
#include "report/metrics.h"
#include "report/page.h"
#include "work/plain/plan_io.h"
#include "work/plain/plan_replay.h"
#include "work/plain/replay.h"
#include "work/plain/replay_text.h"
#include "work/plain/text_io.h"
#include "work/plain/verdict_io.h"

/* Its trace is a file that it reads and no one else may write. */
static bool any_file(const struct job *j,
		     bool (*is)(const void *arg, const char *path),
		     const void *arg)
{
	return j->replay_trace && is(arg, j->replay_trace);
}

const struct page replay_page = {
	.plan = plan_replay,
	.plan_text = plan_replay_text,
	.directory = plan_io_directory,
	.any_file = any_file,
	.text = replay_text,
	.text_end = text_io_disks,
	.verdict = verdict_fill_io,
	.seconds = text_io_seconds,
	.workers = "workers",
	.looked_at = "time",
	.key = "io",
	.fields = metrics_io_fields,
	.has_row = metrics_io_has,
	.planned = metrics_replay_planned,
	.fill_planned = metrics_planned_replay,
};
