/* SPDX-License-Identifier: Apache-2.0 */
/* view_layout.c - lays out the figures of running jobs as a picture. */
#include "report/live/live_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "config.h"

#define VIEW_TEXT_BYTES 1024

struct view_box {
	unsigned row, column, rows, columns;
};

/* A part of a bar: percent of the whole; NaN counts as 0. */
struct view_part {
	double percent;
	enum view_style look;
};

/* The smallest terminal that has room for all panels. */
#define VIEW_ROWS 24
#define VIEW_COLUMNS 80

/* Draw a text in at most `columns` columns, clipped to the picture. */
static void draw_text(const struct view_pen *pen, unsigned row, unsigned column, unsigned columns,
		      enum view_style look, const char *text)
{
	char shown[VIEW_TEXT_BYTES];

	if (row >= pen->rows || column >= pen->columns)
		return;
	if (columns > pen->columns - column)
		columns = pen->columns - column;

	const char *end = text + strlen(text);
	char letter[PRINTABLE_BYTES];
	size_t at = 0;

	while (text < end && columns > 0) {
		size_t n = printable_next(&text, end, letter);
		bool is_ascii = (unsigned char)letter[0] < 0x80;

		/* An escape takes several columns. */
		if ((is_ascii && n > columns) || at + n >= VIEW_TEXT_BYTES)
			break;
		if (!is_ascii && !pen->is_utf8) {
			letter[0] = '?';
			n = 1;
		}
		memcpy(shown + at, letter, n);
		at += n;
		columns -= is_ascii ? (unsigned)n : 1;
	}
	shown[at] = '\0';
	pen->put(pen->to, row, column, look, shown);
}

__attribute__((format(printf, 6, 7))) static void draw_printf(const struct view_pen *pen,
							      unsigned row, unsigned column,
							      unsigned columns,
							      enum view_style look, const char *fmt,
							      ...)
{
	char text[VIEW_TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	draw_text(pen, row, column, columns, look, text);
}

#define LEVELS 8

/* Letters from empty to full: ASCII, UTF-8. */
static const char *const levels[2][LEVELS + 1] = {
	{ " ", ".", ".", ":", ":", "|", "|", "#", "#" },
	{ " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588" },
};

/* The parts of a bar use different letters, for terminals without colours. */
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

/* The value that is `ago` values older than the newest; NaN = none. */
static double series_at(const struct view_series *s, unsigned ago)
{
	if (ago >= s->count)
		return (double)NAN;
	return s->values[(s->next + VIEW_SERIES - 1 - ago) % VIEW_SERIES];
}

double view_series_max(const struct view_series *s, unsigned n)
{
	double max = (double)NAN;

	for (unsigned i = 0; i < n && i < s->count; i++)
		max = fmax(max, series_at(s, i));
	return max;
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

/* Eighths of row `row`, counted from the bottom, that a value fills. A value above 0 fills at least
 * one. */
static unsigned level_in(double value, double top, unsigned rows, unsigned row)
{
	double eighths = value / top * rows * LEVELS;

	if (!(value > 0) || !(top > 0))
		return 0;
	double here = ceil(eighths) - (double)row * LEVELS;
	return here <= 0 ? 0 : here >= LEVELS ? LEVELS : (unsigned)here;
}

/* Draw each value as a column, the newest on the right; `top` is the value that fills the box. */
static void draw_curve(const struct view_pen *pen, const struct view_box *box,
		       const struct view_series *s, double top, enum view_style look)
{
	for (unsigned i = 0; i < box->columns; i++) {
		double v = series_at(s, box->columns - 1 - i);

		for (unsigned row = 0; !isnan(v) && row < box->rows; row++)
			pen->put(pen->to, box->row + box->rows - 1 - row, box->column + i, look,
				 levels[pen->is_utf8][level_in(v, top, box->rows, row)]);
	}
}

#define HANGING_NS (10 * NS_PER_S)

enum { READS = 1, WRITES };

/* The columns of the job table. A cell shows the first of the column's texts that has a value. */
static const struct view_column {
	const char *title;
	unsigned columns;
	unsigned from;  /* width of the picture that has room for this column */
	unsigned moves; /* READS or WRITES: empty until the job reads or writes */
	const char *texts[4];
	enum view_style look;
} columns[] = {
	{ "Job", 15, 0, 0, { "{job}" }, VIEW_PLAIN },
	{ "Phase", 11, 0, 0, { "{phase}" }, VIEW_FAINT },
	{ "Progress",
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

/* The first text of a column that has a value, expanded into `out`; false if there is none. */
static bool cell_text(const struct view_column *c, const struct live_span *span,
		      struct hist *scratch, char out[STATUS_FIGURE_BYTES])
{
	for (unsigned i = 0; i < ARRAY_LEN(c->texts) && c->texts[i]; i++)
		if (status_figures(c->texts[i], span, scratch, out))
			return true;
	return false;
}

static void draw_job(const struct view_pen *pen, const struct view_scene *s, const struct live *job,
		     unsigned row)
{
	const struct track *t = tracks_find(s->tracks, job->job_name);
	const struct status_baseline base = {
		.then = track_oldest(t, job),
		.begin_ns = track_phase_begin_ns(t, job),
		.scratch = s->scratch,
	};
	struct live shown = *job;
	const struct live_span span = { &shown, base.then, NULL };
	char text[STATUS_FIGURE_BYTES], line[STATUS_COLUMNS * 4];
	unsigned at = 1;

	/* An operation that hangs is shown instead of the figures. */
	if (job->oldest.start_ns != 0 && job->now_ns >= job->oldest.start_ns + HANGING_NS) {
		status_line(job, &base, STATUS_COLUMNS - 2, line, sizeof(line));
		draw_text(pen, row, 1, pen->columns - 2, VIEW_BAD, line);
		return;
	}
	status_line_estimate(&shown, &base);
	for (unsigned i = 0; i < ARRAY_LEN(columns); i++) {
		const struct view_column *c = &columns[i];

		if (pen->columns < c->from)
			continue;
		/* A job that only reads does not show 0.00 MiB/s of writes. The writes of a
		 * preparation are not in io_moved. */
		bool is_empty = c->moves && job->phase != LIVE_PREPARE &&
				job->io_moved[c->moves - READS] == 0;
		if (!is_empty && cell_text(c, &span, s->scratch, text))
			draw_text(pen, row, at, c->columns - 1, c->look, text);
		at += c->columns;
	}
	if (status_figures("{errors}", &span, s->scratch, text))
		draw_text(pen, row, 1 + columns[0].columns, columns[1].columns - 1, VIEW_BAD, text);
}

/* Draw the job table in the rows [row, end): one row per job, busy jobs first, then the number of
 * jobs that did not fit. */
static void draw_jobs(const struct view_pen *pen, const struct view_scene *s, unsigned row,
		      unsigned end)
{
	unsigned first = row + 1, at = 1;
	size_t shown = s->job_count;

	if (first >= end)
		return;
	for (unsigned i = 0; i < ARRAY_LEN(columns); i++)
		if (pen->columns >= columns[i].from) {
			draw_text(pen, row, at, columns[i].columns - 1, VIEW_HEAD,
				  columns[i].title);
			at += columns[i].columns;
		}
	if (shown > end - first)
		shown = end - first - 1;
	if (shown < s->job_count)
		draw_printf(pen, end - 1, 1, pen->columns, VIEW_FAINT, "and %zu more",
			    s->job_count - shown);
	end = first + (unsigned)shown;
	row = first;
	for (unsigned is_idle = 0; is_idle < 2; is_idle++)
		for (size_t i = 0; i < s->job_count && row < end; i++)
			if (is_idle ==
			    (s->jobs[i].phase == LIVE_WAIT || s->jobs[i].phase == LIVE_DONE))
				draw_job(pen, s, &s->jobs[i], row++);
}

#define LABEL_COLUMNS 13
#define LEGEND_COLUMNS 47
#define LATENCY_COLUMNS 10
#define MESSAGES 3

static void draw_title(const struct view_pen *pen, const struct view_scene *s)
{
	char blank[VIEW_TEXT_BYTES], time[UNITS_TEXT_BYTES];
	const char *hint =
		s->is_ending ? "stopping, report follows" : "q stops the run and reports";

	memset(blank, ' ', sizeof(blank) - 1);
	blank[sizeof(blank) - 1] = '\0';
	draw_text(pen, 0, 0, pen->columns, VIEW_TITLE, blank);
	draw_printf(pen, 0, 1, 24, VIEW_TITLE, "mlgen %s", MLGEN_VERSION);
	draw_printf(pen, 0, 26, 20, VIEW_TITLE, "%zu job%s", s->job_count, plural(s->job_count));
	units_human_time(time, s->elapsed_ns / NS_PER_S * NS_PER_S);
	draw_printf(pen, 0, 36, 16, VIEW_TITLE, "%s", time);
	draw_printf(pen, 0, pen->columns - (unsigned)strlen(hint) - 1, pen->columns, VIEW_TITLE,
		    "%s", hint);
}

static const char *rate_text(char out[UNITS_TEXT_BYTES], double bytes_per_sec)
{
	if (isnan(bytes_per_sec))
		return "-";
	return status_figure_rate(out, bytes_per_sec);
}

static unsigned draw_throughput(const struct view_pen *pen, const struct view_scene *s,
				unsigned row)
{
	const struct view_series *series = s->bytes_per_sec;
	unsigned n = pen->columns - 2;
	unsigned rows = pen->rows >= 45 ? 10 : pen->rows >= 32 ? 6 : 3;
	const struct view_box box = { row + 1, 1, rows, n };
	char now[UNITS_TEXT_BYTES], mean[UNITS_TEXT_BYTES], max[UNITS_TEXT_BYTES];
	double top = view_series_max(series, n);

	draw_text(pen, row, 1, LABEL_COLUMNS, VIEW_HEAD, "Throughput");
	draw_text(pen, row, LABEL_COLUMNS + 1, 12, VIEW_STRONG,
		  rate_text(now, view_series_mean(series, 1)));
	draw_printf(pen, row, LABEL_COLUMNS + 14, pen->columns, VIEW_PLAIN,
		    "mean %s, max %s over %u intervals",
		    rate_text(mean, view_series_mean(series, n)), rate_text(max, top),
		    series->count < n ? series->count : n);
	draw_curve(pen, &box, series, top, VIEW_GOOD);
	return row + 1 + box.rows;
}

static double figure_percent(const char *name, const struct live_span *span)
{
	const struct live_field *f = live_find(name, strlen(name), span);

	return f ? fmin(live_percent(f, span), 100) : (double)NAN;
}

/* A bar of two figures of live_fields and the rest. */
struct shares {
	const char *label, *first, *second;
	const char *first_name, *second_name;
	enum view_style looks[3];
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

static unsigned draw_shares(const struct view_pen *pen, const struct shares *sh,
			    const struct live_span *span, unsigned row)
{
	unsigned bar = pen->columns - LABEL_COLUMNS - LEGEND_COLUMNS;
	const struct view_box box = { row, LABEL_COLUMNS + 1, 1, bar };
	double first = figure_percent(sh->first, span);
	double second = figure_percent(sh->second, span);
	struct view_part parts[3] = { { first, sh->looks[0] },
				      { second, sh->looks[1] },
				      { 100, sh->looks[2] } };
	unsigned at = LABEL_COLUMNS + bar + 3;

	if (isnan(first) || isnan(second))
		return row;
	second = fmin(second, 100 - first);
	draw_text(pen, row, 1, LABEL_COLUMNS, VIEW_HEAD, sh->label);

	double end = 0;
	unsigned column = 0;

	for (unsigned i = 0; i < ARRAY_LEN(parts); i++) {
		const char *fill = fills[pen->is_utf8][i < 3 ? i : 3];

		end += isnan(parts[i].percent) ? 0 : parts[i].percent;
		unsigned to = (unsigned)(fmin(fmax(end, 0), 100) / 100 * box.columns + 0.5);
		for (; column < to; column++)
			pen->put(pen->to, box.row, box.column + column, parts[i].look, fill);
	}

	draw_printf(pen, row, at, 16, sh->looks[0], "%s %.1f%%", sh->first_name, first);
	draw_printf(pen, row, at + 16, 14, sh->looks[1], "%s %.1f%%", sh->second_name, second);
	draw_printf(pen, row, at + 29, 14, sh->looks[2], "other %.1f%%", 100 - first - second);
	return row + 1;
}

static unsigned draw_au(const struct view_pen *pen, const struct view_scene *s,
			const struct live_span *span, unsigned row)
{
	double au = figure_percent("au_percent", span);
	const struct view_box box = { row, LABEL_COLUMNS + 9, 1,
				      pen->columns - LABEL_COLUMNS - 10 };

	if (isnan(au))
		return row;
	draw_text(pen, row, 1, LABEL_COLUMNS, VIEW_HEAD, "AU");
	draw_printf(pen, row, LABEL_COLUMNS + 1, 8, VIEW_STRONG, "%.1f%%", au);
	draw_curve(pen, &box, s->au_percent, 100, VIEW_GOOD);
	return row + 1;
}

/* Draw a row for each distribution whose median is a row of live_fields. */
static unsigned draw_latencies(const struct view_pen *pen, const struct view_scene *s,
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
		draw_printf(pen, row, 1, LABEL_COLUMNS, VIEW_PLAIN, "%.*s", (int)(len - cut),
			    f->field.name);

		static const double at[] = { 50, 90, 99, 99.9, 100 };
		char text[UNITS_TEXT_BYTES];
		unsigned column = LABEL_COLUMNS + 1;

		for (unsigned i = 0; i < ARRAY_LEN(at); i++) {
			units_human_ms(text, (double)hist_percentile(s->scratch, at[i]));
			draw_printf(pen, row, column, LATENCY_COLUMNS, VIEW_PLAIN, "%*s",
				    LATENCY_COLUMNS - 1, text);
			column += LATENCY_COLUMNS;
		}
		units_human_count(text, s->scratch->count);
		draw_printf(pen, row, column, 12, VIEW_FAINT, "%11s", text);
	}
	if (row < first)
		return first - 1;
	draw_text(pen, first - 1, 1, LABEL_COLUMNS, VIEW_HEAD, "Latency, ms");
	draw_text(pen, first - 1, LABEL_COLUMNS + 1, pen->columns, VIEW_FAINT,
		  "      p50       p90       p99     p99.9       max       count");
	return row + 1;
}

/* Draw the last lines of the messages at the bottom. Returns the number of lines. */
static unsigned draw_messages(const struct view_pen *pen, const char *text)
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
	for (unsigned i = 0; i < n; i++)
		draw_printf(pen, pen->rows - 1 - i, 1, pen->columns - 2, VIEW_POOR, "%.*s",
			    (int)strcspn(starts[i], "\n"), starts[i]);
	return n;
}

void view_layout(const struct view_pen *pen, const struct view_scene *s)
{
	const struct live_span span = { s->all, s->all_then, NULL };
	unsigned row = 2, before, bottom;

	if (pen->rows < VIEW_ROWS || pen->columns < VIEW_COLUMNS) {
		char rate[UNITS_TEXT_BYTES];

		draw_printf(pen, 0, 0, pen->columns, VIEW_STRONG,
			    "%ux%u: the live view needs %ux%u", pen->columns, pen->rows,
			    VIEW_COLUMNS, VIEW_ROWS);
		if (pen->rows > 1)
			draw_printf(pen, 1, 0, pen->columns, VIEW_PLAIN,
				    "the run continues: %s; q stops it",
				    rate_text(rate, view_series_mean(s->bytes_per_sec, 1)));
		return;
	}
	draw_title(pen, s);
	row = draw_throughput(pen, s, row) + 1;
	before = row;
	row = draw_au(pen, s, &span, row);
	for (unsigned i = 0; i < ARRAY_LEN(shares); i++)
		row = draw_shares(pen, &shares[i], &span, row);
	row += row > before;
	before = row;
	row = draw_latencies(pen, s, &span, row);
	row += row > before;
	bottom = pen->rows - draw_messages(pen, s->messages);
	draw_jobs(pen, s, row, bottom);
}
