/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h - which distribution of a job's options comes nearest to values that were seen. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/dist.h"

struct fit {
	struct dist dist; /* CONST, UNIFORM, NORMAL, LOGNORMAL, EXPONENTIAL */
	/* Kolmogorov and Smirnov's D: how far its distribution function and that of the values are
	 * apart at most, 0 to 1. */
	double ks;
};

/*
 * Of so many ascending values, 1 or more. The simplest kind whose D is less than 0.001 above that
 * of the best, in the order of the list above; exponential is tried for times only. Parameters are
 * whole numbers, by moments, a constant's the median, those of uniform the least and the largest
 * value; of lognormal they are from the moments of the logarithms, so that few large values decide
 * nothing.
 */
void fit_values(struct fit *best, const uint64_t *values, size_t count, enum dist_unit unit);

/* D of these values and any distribution but dlio, gamma and a file (NaN). */
double fit_distance(const struct dist *d, const uint64_t *values, size_t count);
