/* SPDX-License-Identifier: Apache-2.0 */
/* status_figure.c - a figure of a running job as a person reads it. */
#include "report/status_figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/util.h"

char *status_figure_rate(char *out, double bytes_per_sec)
{
	bool is_gib = bytes_per_sec >= GIB;
	double v = bytes_per_sec / (is_gib ? GIB : MIB);
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(out, UNITS_TEXT_BYTES, "%.*f %s", decimals, v, is_gib ? "GiB/s" : "MiB/s");
	return out;
}

/* "1.66 of 3.73 TiB": both in the unit of the larger. */
static void put_done_of(char *out, size_t size, uint64_t done, uint64_t total)
{
	char whole[UNITS_TEXT_BYTES];
	double power = 1;

	while ((double)total / power >= 1023.5)
		power *= 1024;
	double v = (double)done / power;
	units_human_bytes(whole, (double)total);
	snprintf(out, size, "%.*f of %s", power < 2 ? 0 : v < 99.995 ? 2 : v < 999.95, v, whole);
}

/* Three digits, too: "203k". */
static char *put_iops(char *out, double per_sec)
{
	static const char units[] = { 0, 'k', 'M' };
	unsigned unit = 0;

	while (per_sec >= 999.5 && unit < 2) {
		per_sec /= 1000;
		unit++;
	}
	int decimals = unit == 0 || per_sec >= 99.95 ? 0 : per_sec >= 9.995 ? 1 : 2;
	char suffix[2] = { units[unit], '\0' };
	snprintf(out, UNITS_TEXT_BYTES, "%.*f%s", decimals, per_sec, suffix);
	return out;
}

/* What the text of a figure is made of; one that has no value leaves it "". */
struct shown {
	const struct live_field *row;
	const struct live_span *span;
	struct hist *scratch;
	char *out;
};

static void status_figure_put_text(const struct shown *s)
{
	const char *text = *(const char *const *)live_now(s->row, s->span);

	snprintf(s->out, STATUS_FIGURE_BYTES, "%s", text);
}

static void status_figure_put_choice(const struct shown *s)
{
	int value = *(const int *)live_now(s->row, s->span);

	for (const struct mlgen_choice *c = s->row->field.choices; c->name; c++)
		if (c->value == value)
			snprintf(s->out, STATUS_FIGURE_BYTES, "%s", c->name);
}

static void put_number(const struct shown *s)
{
	uint64_t n = live_count(s->row, s->span), of = live_of(s->row, s->span);

	if (of > 0)
		snprintf(s->out, STATUS_FIGURE_BYTES, "%" PRIu64 "/%" PRIu64, n, of);
	else
		snprintf(s->out, STATUS_FIGURE_BYTES, "%" PRIu64, n);
}

static void put_count(const struct shown *s)
{
	char n[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];

	units_human_count(n, live_count(s->row, s->span));
	units_human_count(of, live_of(s->row, s->span));
	snprintf(s->out, STATUS_FIGURE_BYTES, "%s/%s", n, of);
}

static void put_errors(const struct shown *s)
{
	uint64_t errors = *(const uint64_t *)live_now(s->row, s->span);
	char n[UNITS_TEXT_BYTES];

	if (errors)
		snprintf(s->out, STATUS_FIGURE_BYTES, "%s error%s", units_human_count(n, errors),
			 errors == 1 ? "" : "s");
}

static void put_bytes(const struct shown *s)
{
	put_done_of(s->out, STATUS_FIGURE_BYTES, live_count(s->row, s->span),
		    live_of(s->row, s->span));
}

static void put_bandwidth(const struct shown *s)
{
	double per_sec = live_per_sec(s->row, s->span);

	if (!isnan(per_sec))
		status_figure_rate(s->out, per_sec);
}

static void put_operations(const struct shown *s)
{
	uint64_t all = *(const uint64_t *)live_now(s->row, s->span);
	double per_sec = live_per_sec(s->row, s->span);

	if (all > 0 && !isnan(per_sec))
		put_iops(s->out, per_sec);
}

static void put_share(const struct shown *s)
{
	double percent = live_percent(s->row, s->span);

	if (!isnan(percent))
		snprintf(s->out, STATUS_FIGURE_BYTES, "%.1f%%", percent);
}

static void put_percent(const struct shown *s)
{
	double percent = live_percent(s->row, s->span);

	if (!isnan(percent))
		snprintf(s->out, STATUS_FIGURE_BYTES, "%.0f%%", percent);
}

static void put_seconds(const struct shown *s)
{
	snprintf(s->out, STATUS_FIGURE_BYTES, "%" PRIu64 " s",
		 live_count(s->row, s->span) / NS_PER_S);
}

static void put_left(const struct shown *s)
{
	uint64_t ns = live_count(s->row, s->span);
	uint64_t seconds = ns / NS_PER_S;

	if (ns == UINT64_MAX)
		return;
	if (seconds < 60)
		snprintf(s->out, STATUS_FIGURE_BYTES, "%" PRIu64 "s", seconds);
	else
		units_human_time(s->out, seconds * NS_PER_S);
}

static void put_p99(const struct shown *s)
{
	if (!live_distribution(s->row, s->span, s->scratch))
		return;
	double ms = (double)hist_percentile(s->scratch, 99) / 1e6;
	snprintf(s->out, STATUS_FIGURE_BYTES, "%.*f ms",
		 ms < 0.995  ? 3
		 : ms < 9.95 ? 2
			     : ms < 99.5,
		 ms);
}

static void (*const show[])(const struct shown *s) = {
	[LIVE_AS_TEXT] = status_figure_put_text,
	[LIVE_AS_CHOICE] = status_figure_put_choice,
	[LIVE_AS_NUMBER] = put_number,
	[LIVE_AS_COUNT] = put_count,
	[LIVE_AS_ERRORS] = put_errors,
	[LIVE_AS_BYTES] = put_bytes,
	[LIVE_AS_BANDWIDTH] = put_bandwidth,
	[LIVE_AS_OPERATIONS] = put_operations,
	[LIVE_AS_SHARE] = put_share,
	[LIVE_AS_PERCENT] = put_percent,
	[LIVE_AS_SECONDS] = put_seconds,
	[LIVE_AS_LEFT] = put_left,
	[LIVE_AS_P99] = put_p99,
};

static size_t append_figure(char out[STATUS_FIGURE_BYTES], size_t at, const char *text, size_t len)
{
	if (len > STATUS_FIGURE_BYTES - 1 - at)
		len = STATUS_FIGURE_BYTES - 1 - at;
	memcpy(out + at, text, len);
	out[at + len] = '\0';
	return at + len;
}

bool status_figure(const char *name, size_t len, const struct live_span *span, struct hist *scratch,
		   char out[STATUS_FIGURE_BYTES])
{
	struct shown s = { live_find(name, len, span), span, scratch, out };

	out[0] = '\0';
	if (s.row)
		show[s.row->show](&s);
	return out[0] != '\0';
}

bool status_figures(const char *text, const struct live_span *span, struct hist *scratch,
		    char out[STATUS_FIGURE_BYTES])
{
	char figure[STATUS_FIGURE_BYTES];
	size_t at = 0;

	while (*text) {
		size_t len = strcspn(text, "{");

		at = append_figure(out, at, text, len);
		text += len;
		if (!*text)
			break;
		len = strcspn(++text, "}");
		if (!status_figure(text, len, span, scratch, figure))
			return false;
		at = append_figure(out, at, figure, strlen(figure));
		text += len + 1;
	}
	return true;
}
