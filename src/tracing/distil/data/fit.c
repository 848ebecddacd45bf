/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c - the distribution that comes nearest to the values of a trace. */
#include "tracing/distil/data/data_internal.h"

#include <math.h>
#include <stdbool.h>

#include "base/util.h"

/* A kind with more parameters has to improve D by more than this. */
#define AS_GOOD 0.001

struct fit_moments {
	double mean, stdev;
	double log_mean, log_stdev; /* NaN where a value is 0 */
};

static double whole(double v)
{
	return floor(v + 0.5);
}

/* The share of drawn values that is below v. Values are drawn as whole numbers. */
static double share_below(const struct dist *d, double v)
{
	double at = v - 0.5, ratio, variance;

	switch (d->kind) {
	case DIST_CONST:
		return v > d->a;
	case DIST_UNIFORM:
		return fmin(fmax((v - d->a) / (d->b - d->a + 1), 0), 1);
	case DIST_NORMAL:
		if (d->b <= 0)
			return v > d->a;
		/* A value below 1 is drawn as 1. */
		return v <= 1 ? 0 : erfc((d->a - at) / d->b / sqrt(2)) / 2;
	case DIST_LOGNORMAL:
		if (d->b <= 0)
			return v > d->a;
		ratio = d->b / d->a;
		variance = log1p(ratio * ratio);
		return v <= 1 ? 0
			      : erfc((log(d->a) - variance / 2 - log(at)) / sqrt(2 * variance)) / 2;
	case DIST_EXPONENTIAL:
		return v <= 1 ? 0 : -expm1(-at / d->a);
	default:
		return (double)NAN;
	}
}

double fit_distance(const struct dist *d, const uint64_t *values, size_t count)
{
	double n = (double)count, most = 0;

	for (size_t i = 0, end; i < count; i = end) {
		double v = (double)values[i];

		for (end = i + 1; end < count && values[end] == values[i];)
			end++;
		double below = fabs(share_below(d, v) - (double)i / n);
		double until = fabs(share_below(d, v + 1) - (double)end / n);

		if (isnan(below))
			return below;
		most = fmax(most, fmax(below, until));
	}
	return most;
}

/* Set the parameters of a kind, rounded as in options. False: no parameters are valid. */
static bool set_parameters(struct dist *d, const struct fit_moments *m, const uint64_t *values,
			   size_t count)
{
	double variance = m->log_stdev * m->log_stdev;
	size_t middle = count / 2;

	switch (d->kind) {
	case DIST_CONST:
		d->a = (double)values[middle];
		return true;
	case DIST_UNIFORM:
		d->a = (double)values[0];
		d->b = (double)values[count - 1];
		return true;
	case DIST_NORMAL:
		d->a = whole(m->mean);
		d->b = whole(m->stdev);
		break;
	case DIST_LOGNORMAL:
		d->a = whole(exp(m->log_mean + variance / 2));
		d->b = whole(d->a * sqrt(expm1(variance)));
		break;
	default:
		d->a = whole(m->mean);
	}
	return d->a >= 1 && d->a <= DIST_VALUE_MAX && d->b <= DIST_VALUE_MAX;
}

void fit_values(struct fit *best, const uint64_t *values, size_t count, enum dist_unit unit)
{
	static const enum dist_kind kinds[] = { DIST_CONST, DIST_UNIFORM, DIST_NORMAL,
						DIST_LOGNORMAL, DIST_EXPONENTIAL };
	struct fit_moments m = { 0 };
	double n = (double)count;

	for (size_t i = 0; i < count; i++) {
		m.mean += (double)values[i] / n;
		m.log_mean += log((double)values[i]) / n;
	}
	for (size_t i = 0; i < count; i++) {
		double off = (double)values[i] - m.mean;
		double log_off = log((double)values[i]) - m.log_mean;

		m.stdev += off * off / n;
		m.log_stdev += log_off * log_off / n;
	}
	m.stdev = sqrt(m.stdev);
	m.log_stdev = sqrt(m.log_stdev);

	*best = (struct fit){ .ks = 2 };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct fit f = { .dist.kind = kinds[i] };

		if ((kinds[i] == DIST_EXPONENTIAL && unit != DIST_NS) ||
		    !set_parameters(&f.dist, &m, values, count))
			continue;
		f.ks = fit_distance(&f.dist, values, count);
		if (f.ks < best->ks - AS_GOOD)
			*best = f;
	}
}
