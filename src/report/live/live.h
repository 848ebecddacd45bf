/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - what is shown while a run goes on: status line, --live, rows of the log. */
#pragma once

/*
 * The main thread looks at the run while it goes on (watch_run), and hands the looks to the status
 * line, to the view on a whole terminal, and to the log. The threads of the run do nothing for it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "report/document/document.h"
#include "run/run.h"
#include "run/watch/watch.h"

/* ---- one line on stderr, redrawn in place while jobs run ---- */

/*
 * Throughput, AU and stall percentile are those of the last ten seconds. An accelerator that has
 * waited for more than two seconds takes the place of the throughput, an operation outstanding for
 * ten is shown with its path: a hung mount is visible at once. A plain job shows operations and
 * bytes per second of each direction and how much of its time is over. Main thread only.
 *
 * --eta=auto draws on a terminal only; --status-interval adds whole lines with the time (UTC) in
 * front, one per job. No line is wider than 80 columns.
 */
struct status;

struct status *status_new(const struct settings *set);

/* Where it draws, for tests: `columns` 0 = not a terminal. */
struct status_screen {
	int fd;
	unsigned columns;
	time_t (*wall_clock)(void);
};
struct status *status_new_on(const struct settings *set, const struct status_screen *screen);

/* Once a second or so, with all jobs; those that wait or are done are shown only while no other one
 * works. */
void status_update(struct status *s, const struct live *jobs, size_t n);

/* SIGUSR1: one whole line per job now. */
void status_print(struct status *s, const struct live *jobs, size_t n);

/* Before the report, or another message: leave an empty line. */
void status_erase(struct status *s);
void status_free(struct status *s); /* NULL is fine */

/* ---- --live: a full screen of a run's figures, while it runs ---- */

/*
 * What the status line reads, once an interval, on the main thread; the threads of the run do
 * nothing for it. The screen is given back by view_close, and on every other way out
 * (live.h). Rates and percentiles are those of the last ten seconds.
 */
struct view;

/* Can there be one? 0, or -errno with err. */
int view_check(struct mlgen_err *err);

/* The terminal is the view's from here on: live_internal.h. */
int view_open(struct view **out, struct mlgen_err *err);
void view_close(struct view *v); /* NULL is fine */

/* With all jobs of the run, whose looks have all histograms. */
void view_update(struct view *v, const struct live *jobs, size_t n);

/* Ten times a second or so, with the same looks: follow a change of its size, and take keys. True:
 * the run is to end (q). */
#define VIEW_ATTEND_NS 100000000ull
bool view_attend(struct view *v, const struct live *jobs, size_t n);

/* It ends, and the picture says so. */
void view_is_ending(struct view *v);

/* ---- a terminal as it was, on whatever way the program ends ---- */

/*
 * While a view is on a terminal, standard error, where it is that terminal, is a file in memory, so
 * that no message falls into the picture. Both are put right by view_restore(): at the end of the
 * view, by exit(), by whoever calls _exit(), and before a signal that kills does so. A process has
 * one terminal; so this state is not handed down.
 */

/* `fd` is the terminal; `leave` the text that ends its picture. Before it is changed. 0 or
 * -errno. */
int view_restore_begin(int fd);
/* What the terminal has to be told then; kept up to a limit. */
void view_restore_text(const char *leave);

/* Of the messages so far: the last ones, at most size - 1 bytes, as a text. */
void view_restore_messages(char *out, size_t size);

/* Any thread, also in a handler of a signal: the terminal is as it was, and the messages are on it.
 * Once; without a view nothing. */
void view_restore(void);

/* ---- the main thread while a run runs: signals, status line, log rows ---- */

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
 * Run to the end on a thread of its own. The first SIGINT, SIGTERM or SIGHUP (thread.h), be it of
 * before, ends the run: no call is begun and no sleep goes on, and who is still inside a call a
 * second later, or sooner after a second signal, is named and left behind: then *abandoned is set,
 * and the caller reports and exits without freeing what those threads may still touch. SIGUSR1
 * prints a status line. What rank 0 of several processes shows is of all of them, and it goes on
 * until the last one is over. The log (NULL: none) and the view (NULL: none), a key of which is as
 * good as a signal, are closed in any case. 0, WATCH_NO_LOG, or -errno with err: nothing ran.
 */
int watch_run(struct run *run, size_t jobs, const struct settings *set,
	      const struct watch_shows *shows, bool *abandoned, struct mlgen_err *err);
