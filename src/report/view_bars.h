/* SPDX-License-Identifier: Apache-2.0 */
/* view_bars.h - curves and bars of letters. */
#pragma once

#include <stddef.h>

#include "report/view_pen.h"

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

struct view_box {
	unsigned row, column, rows, columns;
};

/* A column each value, the newest on the right; as high as the box is `top`. */
void view_curve(const struct view_pen *pen, const struct view_box *box, const struct view_series *s,
		double top, enum view_look look);

/* A line of parts, one after another: percent of the whole; NaN is none. */
struct view_part {
	double percent;
	enum view_look look;
};
void view_bar(const struct view_pen *pen, const struct view_box *box, const struct view_part *parts,
	      unsigned count);
