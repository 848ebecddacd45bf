/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - the main thread while a run runs: signals, status line, log rows. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "report/csv.h"
#include "report/json_each.h"
#include "report/view.h"
#include "run/run.h"
#include "run/watch/watch.h"

/* It ran, but its log could not be written: err says why. */
enum { WATCH_NO_LOG = 1 };

/* Where a run is seen over time, besides the status line. */
struct watch_shows {
	struct csv *log;              /* NULL = none */
	struct view *view;            /* NULL = none */
	struct series_result *series; /* to be filled; NULL = not */
	struct json_each *each;       /* NULL = none */
};

/*
 * Run to the end on a thread of its own. The first SIGINT, SIGTERM or SIGHUP (signals.h), be it of
 * before, ends the run: no call is begun and no sleep goes on, and who is still inside a call a
 * second later, or sooner after a second signal, is named and left behind: then *abandoned is set,
 * and the caller reports and exits without freeing what those threads may still touch. SIGUSR1
 * prints a status line. What rank 0 of several processes shows is of all of them, and it goes on
 * until the last one is over. The log (NULL: none) and the view (NULL: none), a key of which is as
 * good as a signal, are closed in any case. 0, WATCH_NO_LOG, or -errno with err: nothing ran.
 */
int watch_run(struct run *run, size_t jobs, const struct settings *set,
	      const struct watch_shows *shows, bool *abandoned, struct mlgen_err *err);
