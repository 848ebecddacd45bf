/* SPDX-License-Identifier: Apache-2.0 */
/* view_jobs.c - see view_jobs.h. */
#include "report/view_jobs.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "report/status_figure.h"
#include "report/status_line.h"
#include "report/view_text.h"

#define HANGING_NS (10 * NS_PER_S)

enum { READS = 1, WRITES };

/*
 * A column: the first of its texts that has a value. Those that a narrow picture has no room for
 * say from which width on they are.
 */
static const struct column {
	const char *title;
	unsigned columns, from;
	unsigned moves; /* READS or WRITES: empty until the job does */
	const char *texts[4];
	enum view_look look;
} columns[] = {
	{ "Job", 15, 0, 0, { "{job}" }, VIEW_PLAIN },
	{ "At", 11, 0, 0, { "{phase}" }, VIEW_FAINT },
	{ "Done",
	  13,
	  0,
	  0,
	  { "{epoch} {step}", "{files}", "{checkpoint}", "{done_percent}" },
	  VIEW_PLAIN },
	{ "Read", 11, 0, READS, { "{read_bytes}" }, VIEW_PLAIN },
	{ "Write", 11, 0, WRITES, { "{write_bytes}", "{io_bytes}" }, VIEW_PLAIN },
	{ "AU", 8, 0, 0, { "{au_percent}" }, VIEW_GOOD },
	{ "Left", 8, 0, 0, { "{left}" }, VIEW_PLAIN },
	{ "Reads/s", 8, 100, 0, { "{read_ios}" }, VIEW_PLAIN },
	{ "Writes/s", 9, 100, 0, { "{write_ios}" }, VIEW_PLAIN },
	{ "Stall p99", 11, 110, 0, { "{stall}" }, VIEW_POOR },
	{ "Hits", 8, 120, 0, { "{hit_percent}" }, VIEW_PLAIN },
	{ "Waiting", 9, 130, 0, { "{waiting}" }, VIEW_POOR },
};

static bool is_hanging(const struct live *l)
{
	return l->oldest.start_ns != 0 && l->now_ns >= l->oldest.start_ns + HANGING_NS;
}

static bool is_busy(const struct live *l)
{
	return l->phase != LIVE_WAIT && l->phase != LIVE_DONE;
}

static void put_titles(const struct view_pen *pen, unsigned row)
{
	unsigned at = 1;

	for (unsigned i = 0; i < ARRAY_LEN(columns); i++)
		if (pen->columns >= columns[i].from) {
			view_put(pen, row, at, columns[i].columns - 1, VIEW_HEAD, columns[i].title);
			at += columns[i].columns;
		}
}

/* What would take the place of figures: it hangs, or there are errors. */
static bool put_trouble(const struct view_pen *pen, const struct view_scene *s,
			const struct live *job, const struct status_line_past *past, unsigned row)
{
	char line[STATUS_COLUMNS * 4];

	(void)s;
	if (!is_hanging(job))
		return false;
	status_line(job, past, STATUS_COLUMNS - 2, line, sizeof(line));
	view_put(pen, row, 1, pen->columns - 2, VIEW_BAD, line);
	return true;
}

/* A job that only reads has no 0.00 MiB/s of writes; what a preparation writes is counted apart. */
static bool is_empty(const struct column *c, const struct live *job)
{
	return c->moves && job->phase != LIVE_PREPARE && job->io_moved[c->moves - READS] == 0;
}

static void put_job(const struct view_pen *pen, const struct view_scene *s, const struct live *job,
		    unsigned row)
{
	const struct track *t = tracks_find(s->tracks, job->job_name);
	const struct status_line_past past = {
		.then = track_then(t, job),
		.begin_ns = track_begin_ns(t, job),
		.scratch = s->scratch,
	};
	struct live shown = *job;
	const struct live_span span = { &shown, past.then, NULL };
	char text[STATUS_FIGURE_BYTES];
	unsigned at = 1;

	if (put_trouble(pen, s, job, &past, row))
		return;
	status_line_estimate(&shown, &past);
	for (unsigned i = 0; i < ARRAY_LEN(columns); i++) {
		const struct column *c = &columns[i];
		const char *const *from = c->texts;

		if (pen->columns < c->from)
			continue;
		while (!is_empty(c, job) && from < c->texts + ARRAY_LEN(c->texts) && *from &&
		       !status_figures(*from, &span, s->scratch, text))
			from++;
		if (!is_empty(c, job) && from < c->texts + ARRAY_LEN(c->texts) && *from)
			view_put(pen, row, at, c->columns - 1, c->look, text);
		at += c->columns;
	}
	if (status_figures("{errors}", &span, s->scratch, text))
		view_put(pen, row, 1 + columns[0].columns, columns[1].columns - 1, VIEW_BAD, text);
}

static unsigned put_some(const struct view_pen *pen, const struct view_scene *s, bool busy,
			 unsigned row, unsigned end)
{
	for (size_t i = 0; i < s->job_count && row < end; i++)
		if (is_busy(&s->jobs[i]) == busy)
			put_job(pen, s, &s->jobs[i], row++);
	return row;
}

void view_jobs(const struct view_pen *pen, const struct view_scene *s, unsigned row, unsigned end)
{
	unsigned first = row + 1;
	size_t shown = s->job_count;

	if (first >= end)
		return;
	put_titles(pen, row);
	if (shown > end - first)
		shown = end - first - 1;
	if (shown < s->job_count)
		view_printf(pen, end - 1, 1, pen->columns, VIEW_FAINT, "and %zu more",
			    s->job_count - shown);
	end = first + (unsigned)shown;
	row = put_some(pen, s, true, first, end);
	put_some(pen, s, false, row, end);
}
