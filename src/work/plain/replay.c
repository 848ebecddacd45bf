/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - phase=replay: the operations of a trace, done again. */
#include "work/plain/replay.h"

#include "work/plain/plain.h"
#include "work/plain/replay_check.h"

static const char *const groups[] = { "Replay", NULL };

static const struct workload_default defaults[] = {
	{ "directory", "mlgen-replay/$jobname" },
	{ "continue_on_error", "all" },
	{ "percentile_list", "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99" },
	{ 0 },
};

const struct workload work_replay = {
	.groups = groups,
	.option_of = "an option of phase=replay (replay_trace=...)",
	.defaults = defaults,
	.check = replay_check,
	.more_at_once = "replay_threads",
	.is_plain = true,
	.said_by = "replay_trace",
	.is_grouped = true,
	.counts_errors = true,
	.needs_read = true,
	.run = &replay_activity,
	.page = &replay_page,
	.asked = &plain_asked,
};
