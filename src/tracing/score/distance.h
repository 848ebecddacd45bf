/* SPDX-License-Identifier: Apache-2.0 */
/* distance.h - how far apart two distributions, mixes, series or numbers are. */
#pragma once

#include <stddef.h>

/* A value, and how often it was seen, or for how long. */
struct weighted {
	double value, weight;
};

/*
 * Of two distributions, each in ascending order of values, with weights above
 * 0. Both are 0 of equal ones and the same either way round. NaN: one of them
 * is empty.
 */

/* Kolmogorov and Smirnov's D: the largest distance of their distribution functions, 0 to 1. */
double distance_ks(const struct weighted *a, size_t a_count, const struct weighted *b,
		   size_t b_count);
/* Wasserstein's W1, in the unit of the values: the area between these. */
double distance_w1(const struct weighted *a, size_t a_count, const struct weighted *b,
		   size_t b_count);

/* Total variation of two mixes of n kinds, by their counts: 0 = the same shares, 1 = no kind in
 * common. NaN: one of them is empty. */
double distance_variation(const double *a, const double *b, size_t n);

/* |candidate - real| of |real|; 0 of equal ones, infinity where only `real` is
 * 0. NaN: one of them is. */
double distance_relative(double real, double candidate);

/* |ln(candidate / real)|, so that twice and half are as far. NaN: one of them
 * is not above 0. */
double distance_ratio(double real, double candidate);

/* Pearson's correlation of n pairs. NaN: fewer than two, or one does not vary. */
double distance_pearson(const double *x, const double *y, size_t n);

/* Standard deviation of a population by its mean. NaN of nothing, or a mean of 0. */
double distance_variability(const double *x, size_t n);
double distance_mean(const double *x, size_t n); /* NaN of nothing */

/* Mean of weights, and the least value that `share` (0 to 1) of all weight is at or below; NaN of
 * nothing. */
double weighted_mean(const struct weighted *a, size_t count);
double weighted_quantile(const struct weighted *a, size_t count, double share);
