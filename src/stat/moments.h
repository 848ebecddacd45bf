/* SPDX-License-Identifier: Apache-2.0 */
/* moments.h - mean and standard deviation of numbers as they come. */
#pragma once

#include <math.h>
#include <stdint.h>

/*
 * Of a population, one value at a time (Welford 1962): exact where sums of squares of large values
 * would lose the difference. A zeroed one is empty.
 */
struct moments {
	uint64_t count;
	double mean;    /* 0 of nothing */
	double squares; /* of the differences from the mean, summed */
};

static inline void moments_add(struct moments *m, double v)
{
	double delta = v - m->mean;

	m->count++;
	m->mean += delta / (double)m->count;
	m->squares += delta * (v - m->mean);
}

/* NaN of nothing. */
static inline double moments_mean(const struct moments *m)
{
	return m->count ? m->mean : (double)NAN;
}

/* NaN of nothing. */
static inline double moments_stdev(const struct moments *m)
{
	return m->count ? sqrt(m->squares / (double)m->count) : (double)NAN;
}
