/* SPDX-License-Identifier: Apache-2.0 */
/* timefit.c - fit the distribution of an option to measured times. */
#include "tracing/distil/steps/steps_internal.h"

#include <math.h>

#include "base/dist.h"
#include "base/util.h"

/* A busy host wakes a sleeping thread late, sometimes very late, and makes a constant look like
 * anything. But a third of the times of a constant still differ by no more than this part of their
 * median. A normal distribution is as narrow if its deviation is less than 3%. */
#define CONST_PART 3
#define CONST_RANGE 0.025
/* Times this close to the narrowest third are the constant plus the usual delay. The mean of these
 * times is reported, so that most steps of the job last as long as those of the trace. */
#define NEAR_PART 0.05
/* Quantiles that are compared. */
#define POINTS 256
#define DIGITS 4

static double rounded(double x)
{
	if (x <= 0)
		return 0;
	double unit = pow(10, floor(log10(x)) + 1 - DIGITS);
	return unit < 1 ? round(x) : round(round(x / unit) * unit);
}

static double model_quantile(const struct dist *d, double p)
{
	switch (d->kind) {
	case DIST_NORMAL:
		return d->a + d->b * quantile_normal(p);
	case DIST_UNIFORM:
		return d->a + p * (d->b - d->a);
	case DIST_LOGNORMAL: {
		double s2 = log(1 + d->b * d->b / (d->a * d->a));

		return d->a * exp(sqrt(s2) * quantile_normal(p) - s2 / 2);
	}
	case DIST_EXPONENTIAL:
		return d->a * quantile_exponential(p);
	case DIST_GAMMA:
		return d->b * quantile_gamma(p, d->a);
	default:
		return d->a;
	}
}

static double off_by(const struct dist *d, const double *sorted, size_t count)
{
	double sum = 0;

	for (int i = 0; i < POINTS; i++) {
		double p = (i + 0.5) / POINTS;

		sum += fabs(model_quantile(d, p) - pulse_quantile(sorted, count, p));
	}
	return sum / POINTS;
}

static void moments(const double *at, size_t count, double *mean, double *stdev)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++)
		sum += at[i];
	*mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (at[i] - *mean) * (at[i] - *mean);
	*stdev = sqrt(squares / (double)count);
}

struct dist timefit_constant(double ns)
{
	return (struct dist){ .kind = DIST_CONST, .a = rounded(ns) };
}

static double mean_near(const double *sorted, size_t count, double middle)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (fabs(sorted[i] - middle) > NEAR_PART * middle)
			continue;
		sum += sorted[i];
		n++;
	}
	return n ? sum / (double)n : middle;
}

/* Set f->dist to the nearest model with this mean and deviation, if the model is nearer than
 * `best`. Returns the smaller distance. */
static double fit_models(struct timefit *f, const double *sorted, size_t count, double m, double s,
			 double best)
{
	double wide = sqrt(3) * s;
	const struct dist models[] = {
		{ DIST_NORMAL, rounded(m), rounded(s) },
		{ DIST_UNIFORM, rounded(fmax(m - wide, 0)), rounded(m + wide) },
		{ DIST_LOGNORMAL, rounded(m), rounded(s) },
		{ DIST_EXPONENTIAL, rounded(m), 0 },
		{ DIST_GAMMA, fmax(round(1e3 * m * m / (s * s)) / 1e3, QUANTILE_SHAPE_MIN),
		  rounded(s * s / m) },
	};

	for (size_t i = 0; i < ARRAY_LEN(models); i++) {
		double off = off_by(&models[i], sorted, count);

		if (off < best) {
			best = off;
			f->dist = models[i];
		}
	}
	return best;
}

/* A few long delays change the deviation. Therefore models are tried with the moments of all times,
 * and with those that leave out the outermost 1 % and 5 %. */
static void fit_nearest(struct timefit *f, const double *sorted, size_t count)
{
	static const double held_up[] = { 0, 0.01, 0.05 };
	double best = (double)INFINITY;

	for (size_t i = 0; i < ARRAY_LEN(held_up); i++) {
		size_t cut = (size_t)(held_up[i] * (double)count);
		double mean, stdev;

		moments(sorted + cut, count - 2 * cut, &mean, &stdev);
		if (mean > 0 && stdev > 0)
			best = fit_models(f, sorted, count, mean, stdev, best);
	}
}

void timefit(struct timefit *f, const double *sorted, size_t count)
{
	size_t part = count / CONST_PART + 1;

	/* The index at which the narrowest run of `part` times begins. */
	size_t at = 0;
	for (size_t i = 0; i + part <= count; i++)
		if (sorted[i + part - 1] - sorted[i] < sorted[at + part - 1] - sorted[at])
			at = i;

	double middle = pulse_quantile(sorted + at, part, 0.5);

	moments(sorted, count, &f->mean_ns, &f->stdev_ns);
	f->dist = timefit_constant(mean_near(sorted, count, middle));
	if (sorted[at + part - 1] - sorted[at] > CONST_RANGE * middle && f->mean_ns > 0 &&
	    f->stdev_ns > 0)
		fit_nearest(f, sorted, count);
	f->off_percent = f->mean_ns > 0 ? 100 * off_by(&f->dist, sorted, count) / f->mean_ns : 0;
}
