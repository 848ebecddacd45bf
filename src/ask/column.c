/* SPDX-License-Identifier: Apache-2.0 */
/* column.c - see column.h. */
#include "ask/column.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/units.h"
#include "base/util.h"
#include "report/show.h"

static const double kib = 1024, mib = 1048576, gib = 1073741824;

/* A key ends with the unit of its figures: it goes, and another one comes. */
static const struct {
	const char *ending, *unit;
} endings[] = {
	{ "bytes_per_sec", "bytes/s" },
	{ "bits_per_sec", "bits/s" },
	{ "bytes", "bytes" },
	{ "_ns", "ns" },
};

/* "sample_bytes_per_sec" is "sample", "stall_ns.p99" is "stall p99". */
static void put_name(struct column *c, const char *unit)
{
	const char *path = c->figure->path;
	size_t len = strlen(path), end = len;
	const char *part = strstr(path, "_ns.");

	if (strcmp(unit, "ns") == 0 && part) {
		snprintf(c->title, sizeof(c->title), "%.*s %s", (int)(part - path), path, part + 4);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t n = strlen(endings[i].ending);

		if (strcmp(endings[i].unit, unit) == 0 && len >= n &&
		    strcmp(path + len - n, endings[i].ending) == 0)
			end = len - n;
	}
	while (end > 0 && strchr("_.", path[end - 1]))
		end--;
	snprintf(c->title, sizeof(c->title), "%.*s", (int)end, path);
}

static void put_unit(struct column *c, const char *unit)
{
	size_t len = strlen(c->title);

	snprintf(c->title + len, sizeof(c->title) - len, "%s%s", len ? ", " : "", unit);
}

static int decimals_of(double largest)
{
	int d = largest < 9.9995 ? 3 : largest < 99.995 ? 2 : largest < 999.95;

	for (double limit = 0.09995; largest < limit && d < 9; limit /= 10)
		d++;
	return largest > 0 ? d : 0;
}

static double largest_of(const struct figure_value *v, size_t count, size_t stride)
{
	double largest = 0;

	for (size_t i = 0; i < count; i++) {
		const struct figure_value *one = &v[i * stride];
		bool is_number = one->kind == VALUE_WHOLE || one->kind == VALUE_REAL;

		if (is_number && fabs(one->real) > largest)
			largest = fabs(one->real);
	}
	return largest;
}

/* One rule for both: the unit in which the largest is at least one. */
static void scale_bytes(struct column *c, double largest, bool is_rate, bool is_alone)
{
	struct rate_unit unit = show_rate_unit(largest);
	const char *name = unit.name;

	c->scale = unit.bytes;
	if (!is_rate) {
		c->scale = largest >= gib ? gib : largest >= mib ? mib : kib;
		name = largest >= gib ? "GiB" : largest >= mib ? "MiB" : "KiB";
	}
	put_name(c, is_rate ? "bytes/s" : "bytes");
	if (is_rate && is_alone)
		c->title[0] = '\0';
	put_unit(c, name);
}

static void column_choose(struct column *c, double largest, bool is_alone)
{
	const struct figure *f = c->figure;
	bool is_rate = figure_has_unit(f, "bytes/s");

	c->kind = COLUMN_SCALED;
	c->scale = 1;
	if (figure_is_ns(f)) {
		c->scale = 1e6;
		put_name(c, "ns");
		put_unit(c, "ms");
	} else if (is_rate || figure_has_unit(f, "bytes")) {
		scale_bytes(c, largest, is_rate, is_alone);
	} else if (figure_has_unit(f, "bits/s")) {
		c->scale = 1e9;
		put_name(c, "bits/s");
		put_unit(c, "Gb/s");
	} else if (figure_has_unit(f, "KiB/s") || figure_has_unit(f, "ms")) {
		put_unit(c, f->row->unit);
	} else if (figure_has_unit(f, "%")) {
		c->kind = COLUMN_PERCENT;
	} else if (f->kind != FIGURE_METRIC) {
		c->kind = COLUMN_PLAIN;
	}
}

void column_init(struct column *c, const struct figure *f, const struct figure_value *values,
		 size_t count, size_t stride, bool is_alone)
{
	double largest = largest_of(values, count, stride);
	struct buf cell = { 0 };

	memset(c, 0, sizeof(*c));
	c->figure = f;
	snprintf(c->title, sizeof(c->title), "%s", f->key);
	column_choose(c, largest, is_alone);
	c->decimals = c->kind == COLUMN_PERCENT ? 1 : decimals_of(largest / c->scale);
	c->width = (int)printable_columns(c->title);
	for (size_t i = 0; i < count; i++) {
		buf_reset(&cell);
		column_cell(c, &values[i * stride], &cell);
		int width = (int)printable_columns(buf_str(&cell));
		if (width > c->width)
			c->width = width;
	}
	buf_fini(&cell);
}

void column_cell(const struct column *c, const struct figure_value *v, struct buf *out)
{
	char count[UNITS_TEXT_BYTES];
	bool is_whole = v->kind == VALUE_WHOLE && c->scale <= 1 && c->kind == COLUMN_SCALED;

	if (figure_told(v) == VALUE_NONE)
		buf_addc(out, '-');
	else if (v->kind == VALUE_BOOL)
		buf_add(out, v->whole ? "true" : "false");
	else if (v->text)
		printable_add(out, *v->text ? v->text : "-");
	else if (is_whole)
		buf_add(out, units_human_count(count, v->whole));
	else
		buf_addf(out, "%.*f", c->decimals, v->real / c->scale);
}
