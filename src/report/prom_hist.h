/* SPDX-License-Identifier: Apache-2.0 */
/* prom_hist.h - a histogram of nanoseconds in the few buckets that a scrape can bear. */
#pragma once

#include <stdint.h>

#include "stat/hist.h"

/*
 * 1, 2.5 and 5 of each decade from 10 microseconds to 50 seconds, and +Inf: 22 series, whose bounds
 * are the same in every run, so that runs and hosts can be added up. A value within 0.4 % of a
 * bound, which is how exact the histogram is that it comes from, may be counted on the bound's
 * other side.
 */
#define PROM_BOUNDS 21u

/* As they are written, in seconds: a number with a point, as OpenMetrics wants it, so that the
 * label is the same in both forms. */
extern const char *const prom_bound_names[PROM_BOUNDS];

struct prom_hist {
	uint64_t count, sum_ns;
	uint64_t below[PROM_BOUNDS]; /* at or below the bound, of all */
};

void prom_hist_of(struct prom_hist *to, const struct hist *from);
