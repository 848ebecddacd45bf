/* SPDX-License-Identifier: Apache-2.0 */
/* view_layout.c - where the figures of running jobs stand in a picture of them. */
#include "report/live/live_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/units.h"
#include "base/util.h"
#include "config.h"

#define VIEW_TEXT_BYTES 1024

struct view_box {
	unsigned row, column, rows, columns;
};

/* A line of parts, one after another: percent of the whole; NaN is none. */
struct view_part {
	double percent;
	enum view_look look;
};

/* Less than that has no room for what there is to be seen. */
#define VIEW_ROWS 24
#define VIEW_COLUMNS 80

/* Letters of `text`, at most so many, as the picture can show them. */
static void view_text_fit(char out[VIEW_TEXT_BYTES], const char *text, unsigned columns,
			  bool is_utf8)
{
	const char *end = text + strlen(text);
	char letter[PRINTABLE_BYTES];
	size_t at = 0;

	while (text < end && columns > 0) {
		size_t n = printable_next(&text, end, letter);
		bool is_ascii = (unsigned char)letter[0] < 0x80;

		/* An escape is several columns. */
		if ((is_ascii && n > columns) || at + n >= VIEW_TEXT_BYTES)
			break;
		if (!is_ascii && !is_utf8) {
			letter[0] = '?';
			n = 1;
		}
		memcpy(out + at, letter, n);
		at += n;
		columns -= is_ascii ? (unsigned)n : 1;
	}
	out[at] = '\0';
}

/* In at most `columns`, and none beyond the picture: made printable, and where it has no UTF-8
 * other letters are '?'. */
static void view_put(const struct view_pen *pen, unsigned row, unsigned column, unsigned columns,
		     enum view_look look, const char *text)
{
	char shown[VIEW_TEXT_BYTES];

	if (row >= pen->rows || column >= pen->columns)
		return;
	if (columns > pen->columns - column)
		columns = pen->columns - column;
	view_text_fit(shown, text, columns, pen->is_utf8);
	pen->put(pen->to, row, column, look, shown);
}

void view_printf(const struct view_pen *pen, unsigned row, unsigned column, unsigned columns,
		 enum view_look look, const char *fmt, ...)
{
	char text[VIEW_TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	view_put(pen, row, column, columns, look, text);
}

#define LEVELS 8

/* From empty to full. */
static const char *const levels[2][LEVELS + 1] = {
	{ " ", ".", ".", ":", ":", "|", "|", "#", "#" },
	{ " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588" },
};

/* Parts differ without colours, too. */
static const char *const fills[2][4] = {
	{ "#", "=", ".", " " },
	{ "\u2588", "\u2592", "\u2591", " " },
};

void view_series_add(struct view_series *s, double value)
{
	s->values[s->next] = value;
	s->next = (s->next + 1) % VIEW_SERIES;
	if (s->count < VIEW_SERIES)
		s->count++;
}

/* So many before the newest; NaN = there is none. */
static double series_at(const struct view_series *s, unsigned ago)
{
	if (ago >= s->count)
		return (double)NAN;
	return s->values[(s->next + VIEW_SERIES - 1 - ago) % VIEW_SERIES];
}

double view_series_max(const struct view_series *s, unsigned n)
{
	double most = (double)NAN;

	for (unsigned i = 0; i < n && i < s->count; i++)
		most = fmax(most, series_at(s, i));
	return most;
}

double view_series_mean(const struct view_series *s, unsigned n)
{
	double sum = 0;
	unsigned known = 0;

	for (unsigned i = 0; i < n && i < s->count; i++) {
		double v = series_at(s, i);

		if (!isnan(v)) {
			sum += v;
			known++;
		}
	}
	return known ? sum / known : (double)NAN;
}

/* Eighths of a row that a value fills, of this row from below. What is more than nothing is to be
 * seen. */
static unsigned level_in(double value, double top, unsigned rows, unsigned row)
{
	double eighths = value / top * rows * LEVELS;
	double here;

	if (!(value > 0) || !(top > 0))
		return 0;
	here = ceil(eighths) - (double)row * LEVELS;
	return here <= 0 ? 0 : here >= LEVELS ? LEVELS : (unsigned)here;
}

/* A column each value, the newest on the right; as high as the box is `top`. */
static void view_curve(const struct view_pen *pen, const struct view_box *box,
		       const struct view_series *s, double top, enum view_look look)
{
	for (unsigned i = 0; i < box->columns; i++) {
		double v = series_at(s, box->columns - 1 - i);

		for (unsigned row = 0; !isnan(v) && row < box->rows; row++)
			pen->put(pen->to, box->row + box->rows - 1 - row, box->column + i, look,
				 levels[pen->is_utf8][level_in(v, top, box->rows, row)]);
	}
}

static void view_bar(const struct view_pen *pen, const struct view_box *box,
		     const struct view_part *parts, unsigned count)
{
	double end = 0;
	unsigned at = 0;

	for (unsigned i = 0; i < count; i++) {
		const char *fill = fills[pen->is_utf8][i < 3 ? i : 3];
		unsigned to;

		end += isnan(parts[i].percent) ? 0 : parts[i].percent;
		to = (unsigned)(fmin(fmax(end, 0), 100) / 100 * box->columns + 0.5);
		for (; at < to; at++)
			pen->put(pen->to, box->row, box->column + at, parts[i].look, fill);
	}
}

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

/* From row `row` on to before `end`: a row each job, those at work first, and how many more there
 * are. */
static void view_jobs(const struct view_pen *pen, const struct view_scene *s, unsigned row,
		      unsigned end)
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
