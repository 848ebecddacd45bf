/* SPDX-License-Identifier: Apache-2.0 */
/* view_layout.c - see view_layout.h; a panel each function, from top to bottom. */
#include "report/view_layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/units.h"
#include "base/util.h"
#include "config.h"
#include "report/status_figure.h"
#include "report/status_line.h"
#include "report/view_jobs.h"
#include "report/view_text.h"

#define LABEL_COLUMNS 13
#define LEGEND_COLUMNS 47
#define LATENCY_COLUMNS 10
#define MESSAGES 3

/* Rows of the curve: it takes what is left where there is much. */
static unsigned curve_rows(const struct view_pen *pen)
{
	return pen->rows >= 45 ? 10 : pen->rows >= 32 ? 6 : 3;
}

static void put_title(const struct view_pen *pen, const struct view_scene *s)
{
	char blank[VIEW_TEXT_BYTES], time[UNITS_TEXT_BYTES];
	const char *what = s->is_ending ? "ending, the report comes" : "q ends the run and reports";

	memset(blank, ' ', sizeof(blank) - 1);
	blank[sizeof(blank) - 1] = '\0';
	view_put(pen, 0, 0, pen->columns, VIEW_TITLE, blank);
	view_printf(pen, 0, 1, 24, VIEW_TITLE, "mlgen %s", MLGEN_VERSION);
	view_printf(pen, 0, 26, 20, VIEW_TITLE, "%zu job%s", s->job_count, plural(s->job_count));
	units_human_time(time, s->elapsed_ns / NS_PER_S * NS_PER_S);
	view_printf(pen, 0, 36, 16, VIEW_TITLE, "%s", time);
	view_printf(pen, 0, pen->columns - (unsigned)strlen(what) - 1, pen->columns, VIEW_TITLE,
		    "%s", what);
}

static const char *rate_text(char out[UNITS_TEXT_BYTES], double bytes_per_sec)
{
	if (isnan(bytes_per_sec))
		return "-";
	return status_figure_rate(out, bytes_per_sec);
}

static unsigned put_throughput(const struct view_pen *pen, const struct view_scene *s, unsigned row)
{
	const struct view_series *series = s->bytes_per_sec;
	unsigned n = pen->columns - 2;
	const struct view_box box = { row + 1, 1, curve_rows(pen), n };
	char now[UNITS_TEXT_BYTES], mean[UNITS_TEXT_BYTES];
	char most[UNITS_TEXT_BYTES];
	double top = view_series_max(series, n);

	view_put(pen, row, 1, LABEL_COLUMNS, VIEW_HEAD, "Throughput");
	view_put(pen, row, LABEL_COLUMNS + 1, 12, VIEW_STRONG,
		 rate_text(now, view_series_mean(series, 1)));
	view_printf(pen, row, LABEL_COLUMNS + 14, pen->columns, VIEW_PLAIN,
		    "mean %s, most %s of the last %u looks",
		    rate_text(mean, view_series_mean(series, n)), rate_text(most, top),
		    series->count < n ? series->count : n);
	view_curve(pen, &box, series, top, VIEW_GOOD);
	return row + 1 + box.rows;
}

static double figure_percent(const char *name, const struct live_span *span)
{
	const struct live_field *f = live_find(name, strlen(name), span);

	return f ? fmin(live_percent(f, span), 100) : (double)NAN;
}

/* Two figures of rows, and what is left. */
struct shares {
	const char *label, *first, *second;
	const char *first_name, *second_name;
	enum view_look looks[3];
};

static const struct shares shares[] = {
	{ "Accelerators",
	  "au_percent",
	  "stall_percent",
	  "compute",
	  "stall",
	  { VIEW_GOOD, VIEW_POOR, VIEW_FAINT } },
	{ "Read threads",
	  "inside_percent",
	  "idle_percent",
	  "I/O",
	  "idle",
	  { VIEW_POOR, VIEW_GOOD, VIEW_FAINT } },
};

static unsigned put_shares(const struct view_pen *pen, const struct shares *what,
			   const struct live_span *span, unsigned row)
{
	unsigned bar = pen->columns - LABEL_COLUMNS - LEGEND_COLUMNS;
	const struct view_box box = { row, LABEL_COLUMNS + 1, 1, bar };
	double first = figure_percent(what->first, span);
	double second = figure_percent(what->second, span);
	struct view_part parts[3] = { { first, what->looks[0] },
				      { second, what->looks[1] },
				      { 100, what->looks[2] } };
	unsigned at = LABEL_COLUMNS + bar + 3;

	if (isnan(first) || isnan(second))
		return row;
	second = fmin(second, 100 - first);
	view_put(pen, row, 1, LABEL_COLUMNS, VIEW_HEAD, what->label);
	view_bar(pen, &box, parts, ARRAY_LEN(parts));
	view_printf(pen, row, at, 16, what->looks[0], "%s %.1f%%", what->first_name, first);
	view_printf(pen, row, at + 16, 14, what->looks[1], "%s %.1f%%", what->second_name, second);
	view_printf(pen, row, at + 29, 14, what->looks[2], "other %.1f%%", 100 - first - second);
	return row + 1;
}

static unsigned put_au(const struct view_pen *pen, const struct view_scene *s,
		       const struct live_span *span, unsigned row)
{
	double au = figure_percent("au_percent", span);
	const struct view_box box = { row, LABEL_COLUMNS + 9, 1,
				      pen->columns - LABEL_COLUMNS - 10 };

	if (isnan(au))
		return row;
	view_put(pen, row, 1, LABEL_COLUMNS, VIEW_HEAD, "AU");
	view_printf(pen, row, LABEL_COLUMNS + 1, 8, VIEW_STRONG, "%.1f%%", au);
	view_curve(pen, &box, s->au_percent, 100, VIEW_GOOD);
	return row + 1;
}

static void put_percentiles(const struct view_pen *pen, struct hist *h, unsigned row)
{
	static const double at[] = { 50, 90, 99, 99.9, 100 };
	char text[UNITS_TEXT_BYTES];
	unsigned column = LABEL_COLUMNS + 1;

	for (unsigned i = 0; i < ARRAY_LEN(at); i++) {
		units_human_ms(text, (double)hist_percentile(h, at[i]));
		view_printf(pen, row, column, LATENCY_COLUMNS, VIEW_PLAIN, "%*s",
			    LATENCY_COLUMNS - 1, text);
		column += LATENCY_COLUMNS;
	}
	units_human_count(text, h->count);
	view_printf(pen, row, column, 12, VIEW_FAINT, "%11s", text);
}

/* A row for each distribution of which the median is a row of live_fields. */
static unsigned put_latencies(const struct view_pen *pen, const struct view_scene *s,
			      const struct live_span *span, unsigned row)
{
	static const char median[] = "_p50_ns";
	unsigned first = row + 1;

	for (const struct live_field *f = live_fields; f->field.name; f++) {
		size_t len = strlen(f->field.name), cut = sizeof(median) - 1;

		if (f->kind != LIVE_DISTRIBUTION || len <= cut ||
		    strcmp(f->field.name + len - cut, median) != 0 || !live_applies(f, span) ||
		    !live_distribution(f, span, s->scratch))
			continue;
		row++;
		view_printf(pen, row, 1, LABEL_COLUMNS, VIEW_PLAIN, "%.*s", (int)(len - cut),
			    f->field.name);
		put_percentiles(pen, s->scratch, row);
	}
	if (row < first)
		return first - 1;
	view_put(pen, first - 1, 1, LABEL_COLUMNS, VIEW_HEAD, "Latency, ms");
	view_put(pen, first - 1, LABEL_COLUMNS + 1, pen->columns, VIEW_FAINT,
		 "      p50       p90       p99     p99.9       max       count");
	return row + 1;
}

/* The last lines; the number of rows that they take at the bottom. */
static unsigned put_messages(const struct view_pen *pen, const char *text)
{
	const char *starts[MESSAGES];
	unsigned n = 0;

	for (const char *end = text + strlen(text); end > text && n < MESSAGES;) {
		const char *at = end - 1;

		while (at > text && at[-1] != '\n')
			at--;
		starts[n++] = at;
		end = at;
	}
	for (unsigned i = 0; i < n; i++) {
		int len = (int)strcspn(starts[i], "\n");

		view_printf(pen, pen->rows - 1 - i, 1, pen->columns - 2, VIEW_POOR, "%.*s", len,
			    starts[i]);
	}
	return n;
}

static void put_too_small(const struct view_pen *pen, const struct view_scene *s)
{
	char rate[UNITS_TEXT_BYTES];

	view_printf(pen, 0, 0, pen->columns, VIEW_STRONG, "%ux%u: the live view needs %ux%u",
		    pen->columns, pen->rows, VIEW_COLUMNS, VIEW_ROWS);
	if (pen->rows > 1)
		view_printf(pen, 1, 0, pen->columns, VIEW_PLAIN, "the run goes on: %s; q ends it",
			    rate_text(rate, view_series_mean(s->bytes_per_sec, 1)));
}

void view_layout(const struct view_pen *pen, const struct view_scene *s)
{
	const struct live_span span = { s->all, s->all_then, NULL };
	unsigned row = 2, before, bottom;

	if (pen->rows < VIEW_ROWS || pen->columns < VIEW_COLUMNS) {
		put_too_small(pen, s);
		return;
	}
	put_title(pen, s);
	row = put_throughput(pen, s, row) + 1;
	before = row;
	row = put_au(pen, s, &span, row);
	for (unsigned i = 0; i < ARRAY_LEN(shares); i++)
		row = put_shares(pen, &shares[i], &span, row);
	row += row > before;
	before = row;
	row = put_latencies(pen, s, &span, row);
	row += row > before;
	bottom = pen->rows - put_messages(pen, s->messages);
	view_jobs(pen, s, row, bottom);
}
