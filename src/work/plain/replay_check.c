/* SPDX-License-Identifier: Apache-2.0 */
/* replay_check.c - see replay_check.h. */
#include "work/plain/replay_check.h"

#include "base/util.h"

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)

/* What has no meaning where the trace says what is done, and when. */
static void check_options(const struct job *j, struct diag *d)
{
	static const char *const options[] = { "ramp_time", "time_based", "iodepth", "bs" };

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (job_is_changed(j, options[i]))
			diag_add(d, DIAG_NOTE, job_place(j, options[i]),
				 "%s: is not used by phase=replay, which does what the trace says",
				 options[i]);
}

void replay_check(const struct job *j, struct diag *d)
{
	if (!j->replay_trace || !*j->replay_trace)
		FAULT(d, j, "replay_trace",
		      "phase=replay needs the trace that is replayed: replay_trace=FILE");
	if (j->replay_time == REPLAY_ASAP && job_is_changed(j, "replay_speed"))
		diag_add(d, DIAG_NOTE, job_place(j, "replay_speed"),
			 "replay_speed: has nothing to speed up with replay_time=asap");
	if (j->engine && !job_touches_files(j) && j->replay_files == REPLAY_TRACED)
		FAULT(d, j, "replay_files", "ioengine=%s touches no files; use replay_files=own",
		      j->engine->name);
	check_options(j, d);
}
