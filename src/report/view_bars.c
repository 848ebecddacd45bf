/* SPDX-License-Identifier: Apache-2.0 */
/* view_bars.c - see view_bars.h. */
#include "report/view_bars.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

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

void view_curve(const struct view_pen *pen, const struct view_box *box, const struct view_series *s,
		double top, enum view_look look)
{
	for (unsigned i = 0; i < box->columns; i++) {
		double v = series_at(s, box->columns - 1 - i);

		for (unsigned row = 0; !isnan(v) && row < box->rows; row++)
			pen->put(pen->to, box->row + box->rows - 1 - row, box->column + i, look,
				 levels[pen->is_utf8][level_in(v, top, box->rows, row)]);
	}
}

void view_bar(const struct view_pen *pen, const struct view_box *box, const struct view_part *parts,
	      unsigned count)
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
