/* SPDX-License-Identifier: Apache-2.0 */
/* dist_draw.c - values of a distribution, and what they come to: mean, expectation, deviation,
 * quantiles. */
#include <math.h>

#include "base/dist.h"
#include "base/dist_file.h"
#include "base/quantile.h"
#include "base/rng.h"

static double draw_file(const struct dist *d, double p)
{
	return dist_file_quantile(dist_file_of(d), p) * dist_file_factor(d);
}

/* To the nearest whole number, 1 at least. */
static uint64_t dist_whole(double v)
{
	if (!(v >= 1))
		return 1;
	if (v >= 0x1p52) /* is whole */
		return v < DIST_VALUE_MAX ? (uint64_t)v : (uint64_t)DIST_VALUE_MAX;
	return (uint64_t)(v + 0.5);
}

/* mu and sigma of the logarithm from mean and stdev of the values. */
static double lognormal(double p, double mean, double stdev)
{
	double ratio = stdev / mean;
	double variance = quantile_log(1 + ratio * ratio);

	return mean * quantile_exp(sqrt(variance) * quantile_normal(p) - variance / 2);
}

/* MIN .. MAX, both ends as likely as any other. */
static double uniform(double p, double min, double max)
{
	double v = min + floor(p * (max - min + 1));

	return v < max ? v : max;
}

/* DLIO utils/config.py: the side's stdev is STDEV / 2 / sqrt(MEAN). */
static void dlio_side(const struct dist *d, double *mean, double *stdev)
{
	*mean = sqrt(d->a);
	*stdev = d->b / 2 / *mean;
}

static uint64_t draw_side(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index)
{
	double mean, stdev;

	dlio_side(d, &mean, &stdev);
	if (stdev > 0)
		mean += stdev * quantile_normal(rng_f64(seed, stream, index));
	/* Cut, not rounded; the product of two must fit. */
	if (!(mean >= 1))
		return 1;
	return mean < 0x1p31 ? (uint64_t)mean : UINT64_C(1) << 31;
}

/* Mean and variance of a side as drawn. Cutting takes half a unit off the mean and adds the
 * variance of what is cut off, 1/12. */
static void dlio_drawn_side(const struct dist *d, double *mean, double *variance)
{
	double stdev;

	dlio_side(d, mean, &stdev);
	if (stdev > 0) {
		*mean -= 0.5;
		*variance = stdev * stdev + 1.0 / 12;
	} else {
		*mean = floor(*mean);
		*variance = 0;
	}
}

static double dlio_stdev(const struct dist *d)
{
	double mean, variance;

	dlio_drawn_side(d, &mean, &variance);
	return sqrt(variance * (2 * mean * mean + variance));
}

uint64_t dist_draw(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index)
{
	uint64_t sides[2];

	dist_draw_sides(d, seed, stream, index, sides);
	return sides[0] * sides[1];
}

double dist_draw_number(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index)
{
	struct dist steps = dist_times(d, DIST_NUMBER_STEPS);

	return (double)dist_draw(&steps, seed, stream, index) / DIST_NUMBER_STEPS;
}

double dist_quantile(const struct dist *d, double p)
{
	switch (d->kind) {
	case DIST_NORMAL:
		return d->a + d->b * quantile_normal(p);
	case DIST_UNIFORM:
		return uniform(p, d->a, d->b);
	case DIST_LOGNORMAL:
		return lognormal(p, d->a, d->b);
	case DIST_EXPONENTIAL:
		return d->a * quantile_exponential(p);
	case DIST_GAMMA:
		return d->b * quantile_gamma(p, d->a);
	case DIST_FILE:
		return draw_file(d, p);
	case DIST_CONST:
	case DIST_DLIO:
		break;
	}
	return d->a;
}

void dist_draw_sides(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index,
		     uint64_t sides[2])
{
	sides[0] = 1;
	if (d->kind == DIST_CONST) {
		sides[1] = (uint64_t)d->a;
		return;
	}
	if (d->kind == DIST_DLIO) {
		sides[0] = draw_side(d, seed, stream, 2 * index);
		sides[1] = draw_side(d, seed, stream, 2 * index + 1);
		return;
	}
	sides[1] = dist_whole(dist_quantile(d, rng_f64(seed, stream, index)));
}

double dist_mean(const struct dist *d)
{
	switch (d->kind) {
	case DIST_UNIFORM:
		return (d->a + d->b) / 2;
	case DIST_GAMMA:
		return d->a * d->b;
	default:
		return d->a;
	}
}

double dist_expectation(const struct dist *d)
{
	if (d->kind != DIST_DLIO)
		return dist_mean(d);
	double mean, variance;
	dlio_drawn_side(d, &mean, &variance);
	return mean * mean;
}

double dist_stdev(const struct dist *d)
{
	switch (d->kind) {
	case DIST_CONST:
		return 0;
	case DIST_UNIFORM:
		return sqrt(((d->b - d->a + 1) * (d->b - d->a + 1) - 1) / 12);
	case DIST_EXPONENTIAL:
		return d->a;
	case DIST_GAMMA:
		return sqrt(d->a) * d->b;
	case DIST_DLIO:
		return dlio_stdev(d);
	case DIST_FILE:
		return dist_file_stdev(dist_file_of(d)) * dist_file_factor(d);
	default:
		return d->b;
	}
}

bool dist_is_const(const struct dist *d)
{
	return d->kind == DIST_CONST;
}

double dist_normal_quantile(double p)
{
	return quantile_normal(p);
}
