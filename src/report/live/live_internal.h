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

/* "14.9 GiB/s", in UNITS_TEXT_BYTES: three digits are enough for something that changes every
 * second. */
char *status_figure_rate(char *out, double bytes_per_sec);

/* A text with figures in braces, "epoch {epoch}"; false where one of them has no value. */
bool status_figures(const char *text, const struct live_span *span, struct hist *scratch,
		    char out[STATUS_FIGURE_BYTES]);

/* ---- the last seconds of running jobs, which figures are differences from ---- */

#define TRACK_LOOKS 10 /* seconds that AU, throughput and percentiles look back */

/* Of one job: a ring, the oldest at `next` once it is full. A phase that is new begins anew. */
struct track {
	char *job_name; /* owned */
	enum live_phase phase;
	uint64_t begin_ns; /* of the phase */
	struct live looks[TRACK_LOOKS];
	unsigned next, count;
};

/* A look, which is remembered once a second, however often there is one; of its histograms all, or
 * that of the stalls. */
void track_follow(struct track *t, const struct live *now, bool is_whole);
void track_fini(struct track *t);

/* The look that is the longest ago, in the phase of `now`; where there is none, `now` itself. t may
 * be NULL. */
const struct live *track_then(const struct track *t, const struct live *now);
/* When that phase began. */
uint64_t track_begin_ns(const struct track *t, const struct live *now);

/* Of several, by their names. A zeroed struct has none. */
struct tracks {
	struct track *items;
	size_t count;
};

void tracks_follow(struct tracks *t, const struct live *now);
const struct track *tracks_find(const struct tracks *t, const char *job_name);
void tracks_fini(struct tracks *t);

/* ---- what the status line says of one job ---- */

#define STATUS_COLUMNS 80

/* What the figures are differences from. */
struct status_line_past {
	const struct live *then; /* some seconds ago, same phase */
	uint64_t begin_ns;       /* of this phase */
	struct hist *scratch;
};

/* left_ns where the job does not know it, and done_percent. */
void status_line_estimate(struct live *l, const struct status_line_past *past);

/* In at most `columns`; what is least important is left out. */
void status_line(const struct live *now, const struct status_line_past *past, size_t columns,
		 char *out, size_t size);

/* Several jobs share a line: its name, throughput or wait, and AU. Of a job that trains, or a plain
 * one at work. */
void status_line_short(const struct live *now, const struct live *then, char *out, size_t size);

/* ---- what draws letters at a place of a picture ---- */

enum view_look {
	VIEW_PLAIN,
	VIEW_TITLE, /* the line on top */
	VIEW_HEAD,  /* of a panel */
	VIEW_STRONG,
	VIEW_GOOD, /* what is wanted: compute, bytes */
	VIEW_POOR, /* what is waited for */
	VIEW_BAD,  /* errors */
	VIEW_FAINT,
	VIEW_LOOKS
};

struct view_pen {
	/* A printable text, which has room; columns and rows from 0. */
	void (*put)(void *to, unsigned row, unsigned column, enum view_look look, const char *text);
	void *to;
	unsigned rows, columns;
	bool is_utf8; /* else text is ASCII */
};

/* ---- text with an end, at a place of a picture ---- */

__attribute__((format(printf, 6, 7))) void view_printf(const struct view_pen *pen, unsigned row,
						       unsigned column, unsigned columns,
						       enum view_look look, const char *fmt, ...);

/* ---- curves and bars of letters ---- */

/* A value each interval: the newest `count` of them, the latest at next - 1. */
#define VIEW_SERIES 1024
struct view_series {
	double values[VIEW_SERIES]; /* NaN = there was none */
	unsigned next, count;
};

void view_series_add(struct view_series *s, double value);
/* The largest and the mean of the newest n; NaN where there is none. */
double view_series_max(const struct view_series *s, unsigned n);
double view_series_mean(const struct view_series *s, unsigned n);

/* ---- where the figures of running jobs stand in a picture of them ---- */

/* What there is to draw, of all of the run. */
struct view_scene {
	const struct live *jobs;
	size_t job_count;
	const struct tracks *tracks; /* of each */
	const struct live *all;      /* their sum, and some seconds ago */
	const struct live *all_then;
	const struct view_series *bytes_per_sec, *au_percent;
	struct hist *scratch;
	uint64_t elapsed_ns;
	const char *messages; /* the last lines of standard error */
	bool is_ending;       /* it was asked to come to an end */
};

void view_layout(const struct view_pen *pen, const struct view_scene *s);

/* ---- a full screen of letters on the terminal, by ncurses ---- */

struct view_terminal;

/* Can there be one? 0, or -errno with err: mlgen was built without it, there is no terminal, or it
 * is another one's (a job in the background). */
int view_terminal_check(struct mlgen_err *err);

/*
 * The terminal of standard error, or else of standard output, shows pictures from here on;
 * live.h has what becomes of messages. The calling thread has the locale of the environment
 * until it is closed. 0, or -errno with err, and the terminal is as it was. All that follows on the
 * same thread.
 */
int view_terminal_open(struct view_terminal **out, struct mlgen_err *err);
void view_terminal_close(struct view_terminal *t); /* NULL is fine */

/* A picture, as large as the terminal is now: draw with the pen, then show. */
void view_terminal_begin(struct view_terminal *t, struct view_pen *pen);
void view_terminal_show(struct view_terminal *t);

/* Has its size changed since the last picture? */
bool view_terminal_is_resized(const struct view_terminal *t);

/* A key that was pressed; 0 = none. Never waits. Ctrl-L draws all anew, Ctrl-Z stops the program,
 * and comes back when it goes on. */
int view_terminal_key(struct view_terminal *t);
