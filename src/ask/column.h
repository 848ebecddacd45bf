/* SPDX-License-Identifier: Apache-2.0 */
/* column.h - figures below each other, in one unit and with aligned points. */
#pragma once

#include <stddef.h>

#include "ask/figure.h"
#include "base/buf.h"

/*
 * How people see the figures of one key: the unit is chosen by the largest of them (GiB/s or MiB/s,
 * ms for all latencies), at most four significant digits.
 */
struct column {
	const struct figure *figure;
	char title[96]; /* "stall p99, ms" */
	enum {
		COLUMN_PLAIN, /* as it is: text, options, whole numbers */
		COLUMN_SCALED,
		COLUMN_PERCENT,
	} kind;
	double scale; /* a figure is divided by it */
	int decimals;
	int width;
};

/* From all its values. `is_alone`: no other column is a throughput, so that the unit is title
 * enough. */
void column_init(struct column *c, const struct figure *f, const struct figure_value *values,
		 size_t count, size_t stride, bool is_alone);

/* One cell, without padding, appended; `-` where there is nothing to show. */
void column_cell(const struct column *c, const struct figure_value *v, struct buf *out);
