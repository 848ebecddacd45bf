/* SPDX-License-Identifier: Apache-2.0 */
/* text_tables.c - tables of the text report: epochs and latencies. */
#include "report/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"

#define NS_PER_MS 1e6

/* A percentile is printed if at least this many values are beyond it. */
#define BEYOND 10
/* Plain jobs whose means are all below this are shown in microseconds. */
#define SHORT_NS 100e3
/* The number of stalls that an epoch needs for a p99. */
#define STALLS_FOR_P99 1000

#define EPOCHS_AT_START 3
/* Widths of name and count in a line of latencies, before the columns of times. */
#define LATENCY_NAME 11
#define LATENCY_COUNT 13
/* Least number of lines for epochs, without the header and the line for all epochs. */
#define EPOCHS_LEAST (TEXT_EPOCHS_LEAST - 2)

/* Decimals of each column. */
struct epoch_columns {
	const struct rate_unit *unit;
	bool has_p99;
	int seconds, samples_per_sec, rate, stall, first_step;
};

/* The figures of a line, in the units of the columns. NaN is printed as `-`. */
struct epoch_line {
	char name[24];
	uint64_t samples;
	double seconds, samples_per_sec, rate, au_percent, stall_ms, first_step_seconds;
};

struct latency_columns {
	const char *title; /* NULL = "latency" */
	const char *unit;
	double unit_ns;
	bool has_min;
	int width;
	unsigned count;
	double percents[F64_LIST_MAX];
};

/* Number of decimals with which the largest value has four significant digits, at most `max`. */
static int decimals_of(double largest, int max)
{
	int d = largest < 9.9995 ? 3 : largest < 99.995 ? 2 : largest < 999.95;

	return d < max ? d : max;
}

/* The larger value; a NaN in b is ignored. */
static double larger(double a, double b)
{
	return b > a ? b : a;
}

static const struct epoch_result *epoch_at(const struct ml_result *ml, size_t i)
{
	return (const struct epoch_result *)ml->epochs.items + i;
}

static double stall_ms(const struct epoch_result *e, bool has_p99)
{
	if (e->stall_count < (has_p99 ? STALLS_FOR_P99 : 1))
		return (double)NAN;
	return (has_p99 ? e->stall_p99_ns : e->stall_mean_ns) / NS_PER_MS;
}

static void append_cell(struct buf *out, int width, int decimals, double v, const char *sign)
{
	if (isnan(v))
		buf_addf(out, "%*s", width, "-");
	else
		buf_addf(out, "%*.*f%s", width - (int)strlen(sign), decimals, v, sign);
}

static void append_epoch_line(struct buf *out, const struct epoch_columns *c,
			      const struct epoch_line *l, bool has_first_step)
{
	char count[UNITS_TEXT_BYTES];

	buf_addf(out, "%5s", l->name);
	append_cell(out, 9, c->seconds, l->seconds, "");
	buf_addf(out, "%10s", units_human_count(count, l->samples));
	append_cell(out, 11, c->samples_per_sec, l->samples_per_sec, "");
	append_cell(out, 7, c->rate, l->rate, "");
	append_cell(out, 7, 1, l->au_percent, "%");
	append_cell(out, 16, c->stall, l->stall_ms, "");
	if (has_first_step)
		append_cell(out, 15, c->first_step, l->first_step_seconds, "");
	buf_addc(out, '\n');
}

static void append_epoch(struct buf *out, const struct epoch_columns *c,
			 const struct epoch_result *e)
{
	struct epoch_line l = {
		.samples = e->samples,
		.seconds = e->seconds,
		.samples_per_sec = e->samples_per_sec,
		.rate = e->sample_bytes_per_sec / c->unit->bytes,
		.au_percent = e->au_percent,
		.stall_ms = stall_ms(e, c->has_p99),
		.first_step_seconds = e->first_step_ns / NS_PER_S,
	};

	snprintf(l.name, sizeof(l.name), "%" PRIu64, e->epoch);
	append_epoch_line(out, c, &l, true);
}

/* Choose as many percentiles as fit next to name, count, mean and max: first the usual ones, then
 * the highest. They keep the order of the list. */
static void fit_percentiles(struct latency_columns *c, const struct f64_list *list)
{
	static const double usual[] = { 99, 50, 90, 99.9, 95, 99.99 };
	unsigned room = (unsigned)((WRAP_COLUMNS - LATENCY_NAME - LATENCY_COUNT) / c->width) - 2 -
			c->has_min;
	bool chosen[F64_LIST_MAX] = { false };

	room = list->count < room ? list->count : room;
	for (size_t u = 0; u < ARRAY_LEN(usual); u++) {
		for (unsigned i = 0; i < list->count && room > 0; i++) {
			if (chosen[i] || fabs(list->values[i] - usual[u]) >= 1e-9)
				continue;
			chosen[i] = true;
			room--;
		}
	}
	for (unsigned i = list->count; i-- > 0 && room > 0;) {
		room -= !chosen[i];
		chosen[i] = true;
	}
	for (unsigned i = 0; i < list->count; i++)
		if (chosen[i])
			c->percents[c->count++] = list->values[i];
}

/* Append a time so that the decimal points of its column are aligned. NaN is printed as `-`. */
static void append_time(struct buf *out, const struct latency_columns *c, double ns)
{
	char number[UNITS_TEXT_BYTES];

	if (isnan(ns)) {
		buf_addf(out, "%*s", c->width, "-");
		return;
	}
	units_human_ms(number, ns / c->unit_ns * NS_PER_MS);
	int whole = (int)strcspn(number, ".");
	int decimals = (int)strlen(number) - whole;
	buf_addf(out, "%*.*s%-4.*s", c->width - 4, whole, number, decimals, number + whole);
}

static void append_latency_header(struct buf *out, const struct latency_columns *c)
{
	char percent[UNITS_TEXT_BYTES], name[UNITS_TEXT_BYTES + 1], title[32];
	int len =
		snprintf(title, sizeof(title), "%s, %s", c->title ? c->title : "latency", c->unit);

	buf_addf(out, "%s%*s", title, LATENCY_NAME + LATENCY_COUNT - len, "count");
	buf_addf(out, "%*s", c->width, c->has_min ? "min" : "mean");
	if (c->has_min)
		buf_addf(out, "%*s", c->width, "mean");
	for (unsigned i = 0; i < c->count; i++) {
		snprintf(name, sizeof(name), "p%s", units_format_f64(percent, c->percents[i]));
		buf_addf(out, "%*s", c->width, name);
	}
	buf_addf(out, "%*s\n", c->width, "max");
}

static void append_latency(struct buf *out, const struct latency_columns *c,
			   const struct text_latency_row *row)
{
	const double unknown = (double)NAN;
	char count[UNITS_TEXT_BYTES];
	const struct hist *h = row->hist;
	/* Operations of a chain are counted, but their latencies are unknown. The latencies of the
	 * remaining operations would not represent all operations. */
	bool is_known = h && h->count > 0 && h->count >= row->count;

	buf_addf(out, "%-*s%*s", LATENCY_NAME, row->name, LATENCY_COUNT,
		 units_human_count(count, row->count));
	if (c->has_min)
		append_time(out, c, is_known ? (double)h->min_ns : unknown);
	append_time(out, c, is_known ? hist_mean(h) : unknown);
	for (unsigned i = 0; i < c->count; i++) {
		bool is_sure = is_known && hist_beyond(h, c->percents[i]) >= BEYOND;

		append_time(out, c, is_sure ? (double)hist_percentile(h, c->percents[i]) : unknown);
	}
	append_time(out, c, is_known ? (double)h->max_ns : unknown);
	while (out->len > 0 && out->s[out->len - 1] == ' ')
		out->s[--out->len] = '\0';
	buf_addc(out, '\n');
}

static void append_latencies(struct buf *out, struct latency_columns *c,
			     const struct text_latency_row *rows, size_t n,
			     const struct f64_list *percentiles)
{
	bool any = false;

	/* A column of times has 8 characters for up to 999.999; a hung mount needs more. */
	int width = 8;
	double largest = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].hist)
			largest = larger(largest, (double)rows[i].hist->max_ns);
	for (double limit = 999.95 * c->unit_ns; largest >= limit; limit *= 10)
		width++;
	c->width = width;
	fit_percentiles(c, percentiles);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].count == 0)
			continue;
		if (!any)
			append_latency_header(out, c);
		any = true;
		append_latency(out, c, &rows[i]);
	}
}

void text_epochs(struct buf *out, const struct job_result *r, const struct rate_unit *unit,
		 unsigned most_lines)
{
	const struct ml_result *ml = &r->ml;
	struct epoch_columns c = { .unit = unit };
	size_t count = ml->epochs.count;

	if (count == 0)
		return;

	/* The largest value of each column, ignoring the line for all epochs, which may be wider.
	 */
	double seconds = 0, samples = 0, rate = 0, stall = 0, first = 0;
	for (size_t i = 0; i < ml->epochs.count; i++)
		if (epoch_at(ml, i)->stall_count >= STALLS_FOR_P99)
			c.has_p99 = true;
	for (size_t i = 0; i < ml->epochs.count; i++) {
		const struct epoch_result *e = epoch_at(ml, i);

		seconds = larger(seconds, e->seconds);
		samples = larger(samples, e->samples_per_sec);
		rate = larger(rate, e->sample_bytes_per_sec / unit->bytes);
		stall = larger(stall, stall_ms(e, c.has_p99));
		first = larger(first, e->first_step_ns / NS_PER_S);
	}
	c.seconds = decimals_of(seconds, 2);
	c.samples_per_sec = decimals_of(samples, 3);
	c.rate = show_rate_decimals(unit, rate);
	c.stall = decimals_of(stall, 3);
	c.first_step = first >= 0.995 ? 1 : first >= 0.0995 ? 2 : 3;

	buf_addf(out, "epoch  seconds   samples  samples/s%7s     AU%16s%15s\n", unit->name,
		 c.has_p99 ? "stall p99, ms" : "stall mean, ms", "first step, s");

	size_t room = most_lines > 2 ? most_lines - 2 : 0;
	room = room < EPOCHS_LEAST ? EPOCHS_LEAST : room;
	size_t head = count, tail = count;
	if (ml->epochs_total > count) {
		/* The last epochs are not in the result: print the first ones, then `...`. */
		head = count < room ? count : room - 1;
	} else if (count > room) {
		head = room > EPOCHS_AT_START + 1 ? EPOCHS_AT_START : 1;
		tail = count - (room - 1 - head);
	}
	for (size_t i = 0; i < head; i++)
		append_epoch(out, &c, epoch_at(ml, i));
	if (head < count || ml->epochs_total > count)
		buf_add(out, "  ...\n");
	for (size_t i = tail; i < count; i++)
		append_epoch(out, &c, epoch_at(ml, i));
	if (ml->epochs_total > 1) {
		const struct hist *stalls = ml->stall_ns;
		struct epoch_line l = {
			.name = "all",
			.samples = ml->samples,
			.seconds = r->wall_seconds,
			.samples_per_sec = ml->samples_per_sec,
			.rate = ml->sample_bytes_per_sec / c.unit->bytes,
			.au_percent = ml->au_percent,
			.stall_ms = (double)NAN,
		};

		if (stalls && !c.has_p99 && stalls->count > 0)
			l.stall_ms = hist_mean(stalls) / NS_PER_MS;
		else if (stalls && hist_beyond(stalls, 99) >= BEYOND)
			l.stall_ms = (double)hist_percentile(stalls, 99) / NS_PER_MS;
		append_epoch_line(out, &c, &l, false);
	}
}

const char *text_read_unit(const struct ml_result *ml)
{
	return ml->samples_per_extent > 1 ? "extent" : "sample";
}

void text_latency(struct buf *out, const struct job_result *r, const struct f64_list *percentiles)
{
	const struct ml_result *ml = &r->ml;
	const struct ops_result *o = &r->ops;
	const struct text_latency_row rows[] = {
		{ "open", o->open.total, o->open.lat_ns },
		{ "stat", o->stat.total, o->stat.lat_ns },
		{ "read", o->read.total, o->read.lat_ns },
		{ "write", o->write.total, o->write.lat_ns },
		{ "fsync", o->fsync.total, o->fsync.lat_ns },
		{ "close", o->close.total, o->close.lat_ns },
		{ text_read_unit(ml), ml->sample_ns ? ml->sample_ns->count : 0, ml->sample_ns },
		{ "hit", ml->cache.hit_ns ? ml->cache.hit_ns->count : 0, ml->cache.hit_ns },
		{ "peer hit", ml->cache.peer_ns ? ml->cache.peer_ns->count : 0, ml->cache.peer_ns },
		{ "miss", ml->cache.miss_ns ? ml->cache.miss_ns->count : 0, ml->cache.miss_ns },
		{ "stall", ml->stall_ns ? ml->stall_ns->count : 0, ml->stall_ns },
		{ "step", ml->step_ns ? ml->step_ns->count : 0, ml->step_ns },
	};
	struct latency_columns c = { .unit = "ms", .unit_ns = NS_PER_MS };

	append_latencies(out, &c, rows, ARRAY_LEN(rows), percentiles);
}

const char *text_io_latency(struct buf *out, const struct text_latency_row *rows, size_t n,
			    const struct f64_list *percentiles)
{
	/* Use microseconds if the means would lose digits in milliseconds. */
	bool is_us = true;
	for (size_t i = 0; i < n; i++)
		is_us &= !rows[i].hist || !(hist_mean(rows[i].hist) >= SHORT_NS);
	struct latency_columns c = { .unit = is_us ? "us" : "ms",
				     .unit_ns = is_us ? 1e3 : NS_PER_MS,
				     .has_min = true };

	append_latencies(out, &c, rows, n, percentiles);
	return c.unit;
}

void text_rows_latency(struct buf *out, const char *title, const struct text_latency_row *rows,
		       size_t n, const struct f64_list *percentiles)
{
	struct latency_columns c = { .title = title, .unit = "ms", .unit_ns = NS_PER_MS };

	append_latencies(out, &c, rows, n, percentiles);
}
