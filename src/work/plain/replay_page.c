/* SPDX-License-Identifier: Apache-2.0 */
/* replay_page.c - a replay in reports and plans. */
#include "work/plain/plain_page.h"
#include "work/plain/plan_replay.h"
#include "work/plain/replay.h"
#include "work/plain/replay_text.h"

/* Its trace is a file that it reads and no one else may write. */
static bool any_file(const struct job *j, bool (*is)(const void *arg, const char *path),
		     const void *arg)
{
	return j->replay_trace && is(arg, j->replay_trace);
}

const struct page replay_page = {
	PLAIN_PAGE,
	.plan = plan_replay,
	.plan_text = plan_replay_text,
	.any_file = any_file,
	.text = replay_text,
	.planned = metrics_replay_planned,
	.fill_planned = metrics_planned_replay,
};
