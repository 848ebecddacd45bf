/* SPDX-License-Identifier: Apache-2.0 */
/* live_internal.h - what the files of report/live share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "report/live/live.h"
#include "run/watch/watch.h"
#include "stat/hist.h"

/* ---- a figure of a running job as a person reads it ---- */

#define STATUS_FIGURE_BYTES 96

/* Format "14.9 GiB/s" into UNITS_TEXT_BYTES: three digits are enough for a figure that changes
 * every second. */
char *status_figure_rate(char *out, double bytes_per_sec);

/* Expand a text with figures in braces, "epoch {epoch}"; false if a figure has no value. */
bool status_figures(const char *text, const struct live_span *span, struct hist *scratch,
		    char out[STATUS_FIGURE_BYTES]);

/* ---- recent snapshots of running jobs, which figures are differences from ---- */

#define TRACK_SNAPSHOTS 10 /* AU, throughput and percentiles cover this many seconds */

/* A ring of one job's snapshots; once it is full, the oldest is at `next`. A new phase empties it.
 */
struct track {
	char *job_name; /* owned */
	enum live_phase phase;
	uint64_t begin_ns; /* start of the phase */
	struct live snapshots[TRACK_SNAPSHOTS];
	unsigned next, count;
};

/* Store a snapshot at most once a second, however often this is called. Without all_hists, the
 * snapshot has only the histogram of stalls. */
void track_follow(struct track *t, const struct live *now, bool all_hists);
void track_fini(struct track *t);

/* The oldest snapshot in the phase of `now`, or `now` itself if there is none. t may be NULL. */
const struct live *track_oldest(const struct track *t, const struct live *now);
/* The time at which the current phase began. */
uint64_t track_phase_begin_ns(const struct track *t, const struct live *now);

/* Tracks of several jobs, by name. A zeroed struct has none. */
struct tracks {
	struct track *items;
	size_t count;
};

void tracks_follow(struct tracks *t, const struct live *now);
const struct track *tracks_find(const struct tracks *t, const char *job_name);
void tracks_fini(struct tracks *t);

/* ---- the status line of one job ---- */

#define STATUS_COLUMNS 80

/* The earlier state from which figures are computed as differences. */
struct status_baseline {
	const struct live *then; /* some seconds ago, same phase */
	uint64_t begin_ns;       /* start of this phase */
	struct hist *scratch;
};

/* Set done_percent, and left_ns unless the job itself knows it. */
void status_line_estimate(struct live *l, const struct status_baseline *base);

/* Write the line in at most `columns` columns; the least important parts are left out. */
void status_line(const struct live *now, const struct status_baseline *base, size_t columns,
		 char *out, size_t size);

/* Write a short form for several jobs that share a line: name, throughput or wait, and AU. The job
 * must be training, doing plain I/O, or working on checkpoints. */
void status_line_short(const struct live *now, const struct live *then, char *out, size_t size);

/* ---- a pen that draws letters at a place of a picture ---- */

enum view_style {
	VIEW_PLAIN,
	VIEW_TITLE, /* the top line */
	VIEW_HEAD,  /* heading of a panel */
	VIEW_STRONG,
	VIEW_GOOD, /* useful work: compute, bytes */
	VIEW_POOR, /* waiting */
	VIEW_BAD,  /* errors */
	VIEW_FAINT,
	VIEW_STYLES
};

struct view_pen {
	/* Draw a printable text that fits; columns and rows count from 0. */
	void (*put)(void *to, unsigned row, unsigned column, enum view_style look,
		    const char *text);
	void *to;
	unsigned rows, columns;
	bool is_utf8; /* false: text is ASCII */
};

/* ---- values over time, for curves ---- */

/* A ring of values, one per interval; the latest is at next - 1. */
#define VIEW_SERIES 1024
struct view_series {
	double values[VIEW_SERIES]; /* NaN = no value */
	unsigned next, count;
};

void view_series_add(struct view_series *s, double value);
/* The largest of the newest n values, and their mean; NaN if there are no values. */
double view_series_max(const struct view_series *s, unsigned n);
double view_series_mean(const struct view_series *s, unsigned n);

/* ---- the layout of a picture of running jobs ---- */

/* The input of one picture: all of the run. */
struct view_scene {
	const struct live *jobs;
	size_t job_count;
	const struct tracks *tracks; /* indexed by job name */
	const struct live *all;      /* sum of the jobs */
	const struct live *all_then; /* their sum some seconds ago */
	const struct view_series *bytes_per_sec, *au_percent;
	struct hist *scratch;
	uint64_t elapsed_ns;
	const char *messages; /* the last lines of standard error */
	bool is_ending;       /* the user or a signal asked the run to end */
};

void view_layout(const struct view_pen *pen, const struct view_scene *s);

/* ---- a full screen of letters on the terminal, by ncurses ---- */

struct view_terminal;

/* Check that a view can be shown. 0, or -errno with err: mlgen was built without ncurses, there is
 * no terminal, or the process runs in the background. */
int view_terminal_check(struct mlgen_err *err);

/*
 * Take over the terminal of standard error or, failing that, of standard output; live.h says what
 * becomes of messages. The calling thread uses the locale of the environment until
 * view_terminal_close(). 0, or -errno with err and an unchanged terminal. All other calls must come
 * from the same thread.
 */
int view_terminal_open(struct view_terminal **out, struct mlgen_err *err);
void view_terminal_close(struct view_terminal *t); /* NULL is fine */

/* Begin a picture as large as the terminal is now: draw it with the pen, then call
 * view_terminal_show(). */
void view_terminal_begin(struct view_terminal *t, struct view_pen *pen);
void view_terminal_show(struct view_terminal *t);

/* True if the size has changed since the last picture. */
bool view_terminal_is_resized(const struct view_terminal *t);

/* A key that was pressed; 0 = none. Never waits. Ctrl-L redraws everything; Ctrl-Z stops the
 * program and returns when it continues. */
int view_terminal_key(struct view_terminal *t);
