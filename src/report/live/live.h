/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - what is shown during a run: the status line, --live and rows of the log. */
#pragma once

/*
 * The main thread takes snapshots during the run (watch_run). The snapshots feed the status line,
 * the full-screen view and the log. The threads of the run do no work for this.
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
 * Throughput, AU and stall percentile cover the last ten seconds. A stall of more than two seconds
 * replaces the throughput. An operation that is outstanding for ten seconds is shown with its path,
 * so that a hung mount is noticed. A plain job shows operations and bytes per second of each
 * direction and how much of its time is over. Main thread only.
 *
 * --eta=auto draws on a terminal only. --status-interval also prints whole lines, one per job, each
 * with the time (UTC) in front. No line is wider than 80 columns.
 */
struct status;

struct status *status_new(const struct settings *set);

/* The output of a status line, which tests replace; `columns` 0 = not a terminal. */
struct status_screen {
	int fd;
	unsigned columns;
	time_t (*wall_clock)(void);
};
struct status *status_new_on(const struct settings *set, const struct status_screen *screen);

/* Call about once a second, with all jobs. Jobs that wait or are done are shown only while no job
 * is busy. */
void status_update(struct status *s, const struct live *jobs, size_t n);

/* Print one whole line per job now, for SIGUSR1. */
void status_print(struct status *s, const struct live *jobs, size_t n);

/* Clear the line, so that the report or another message can be printed. */
void status_erase(struct status *s);
void status_free(struct status *s); /* NULL is fine */

/* ---- --live: a full screen of a run's figures, while it runs ---- */

/*
 * The view draws the same snapshots as the status line, once an interval, on the main thread. Rates
 * and percentiles cover the last ten seconds. view_close() restores the terminal; on every other
 * exit view_restore() does.
 */
struct view;

/* Check that a view is possible. 0, or -errno with err. */
int view_check(struct mlgen_err *err);

/* Take over the terminal until view_close() (see live_internal.h). */
int view_open(struct view **out, struct mlgen_err *err);
void view_close(struct view *v); /* NULL is fine */

/* Draw all jobs of the run. The snapshots must contain all histograms. */
void view_update(struct view *v, const struct live *jobs, size_t n);

/* Call about ten times a second, with the same snapshots: follow a change of the terminal's size
 * and read keys. True: the user asked to end the run (q). */
#define VIEW_INPUT_NS 100000000ull
bool view_handle_input(struct view *v, const struct live *jobs, size_t n);

/* Show from now on that the run is ending. */
void view_set_ending(struct view *v);

/* ---- restoring the terminal, on whatever way the program ends ---- */

/*
 * While a view is on a terminal, standard error is redirected to a file in memory if it is the same
 * terminal. Otherwise messages would appear in the middle of the picture. view_restore() undoes the
 * redirection and restores the terminal: at the end of the view, in exit(), before any _exit(), and
 * before a fatal signal kills the process. A process has one terminal, so this state is global.
 */

/* Copy the end of the messages so far, at most size - 1 bytes, as a string. */
void view_restore_messages(char *out, size_t size);

/* Restore the terminal and print the messages on it. Any thread may call this, even in a signal
 * handler. Later calls, and calls without a view, do nothing. */
void view_restore(void);

/* ---- the main thread while a run runs: signals, status line, log rows ---- */

/* The run took place, but its log could not be written: err says why. */
enum { WATCH_NO_LOG = 1 };

/* Outputs that are written during the run, in addition to the status line. */
struct watch_outputs {
	struct csv *log;              /* NULL = none */
	struct view *view;            /* NULL = none */
	struct series_result *series; /* filled at the end; NULL = none */
	struct json_each *each;       /* NULL = none */
};

/*
 * Execute the run to its end on a separate thread. The first SIGINT, SIGTERM or SIGHUP (thread.h),
 * even one that came before this call, ends the run: no call starts and no sleep continues. One
 * second later, or sooner after a second signal, threads that are still inside a call are reported
 * and abandoned. Then *abandoned is set, and the caller must report and exit without freeing memory
 * that those threads may still use. SIGUSR1 prints a status line.
 *
 * Rank 0 of several processes shows the sum over all processes and waits until the last one has
 * finished. The log and the view are closed in any case; the view's q key is treated like a signal.
 * 0, WATCH_NO_LOG, or -errno with err: nothing ran.
 */
int watch_run(struct run *run, size_t jobs, const struct settings *set,
	      const struct watch_outputs *shows, bool *abandoned, struct mlgen_err *err);
