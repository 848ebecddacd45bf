/* SPDX-License-Identifier: Apache-2.0 */
/* sizefit.h - the distribution that sizes have been drawn from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dist.h"

struct sizefit {
	/* The best of constant, normal, lognormal and uniform (stat/fit.h). */
	struct dist dist;
	/* Between its distribution function and that of the values: the largest distance
	 * (Kolmogorov and Smirnov's D). */
	double distance;
	/* No more than chance makes of so many values; else they are better told by themselves. */
	bool is_good;
	double mean, stdev; /* of the values */
};

/* Of ascending values, one at least. */
void sizefit(struct sizefit *fit, const uint64_t *values, size_t count);

/*
 * A data set of so many files draws them always alike (DATASET_SEED), with a mean and a deviation
 * that are off by chance: the parameters are moved until what it draws has those of the values.
 * Where it does not come near them, as of a few large ones among many, or of few by chance, the fit
 * is not good: what a job makes is to be alike, not what it might have made.
 */
void sizefit_settle(struct sizefit *fit, const uint64_t *values, size_t count, uint64_t files);

/*
 * Values that come as often as it takes for a data set of `count` files, which draws from them as
 * from a file (base/dist.h), to have each of the given ones once. To be freed; *weighed of
 * them, ascending.
 */
uint64_t *sizefit_weigh(const uint64_t *values, size_t count, size_t *weighed);
