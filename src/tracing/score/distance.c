/* SPDX-License-Identifier: Apache-2.0 */
/* distance.c - how far apart two distributions, mixes, series or numbers are. */
#include "tracing/score/distance.h"

#include <math.h>

/* ---- distributions ---- */

static double weight_of(const struct weighted *a, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i].weight;
	return sum;
}

/* Two distribution functions, from one of their values to the next. */
struct walk {
	const struct weighted *a, *b;
	size_t a_count, b_count, i, j;
	double a_weight, b_weight; /* all */
	double a_below, b_below;   /* at or below `value` */
	double value;
};

static struct walk walk_of(const struct weighted *a, size_t a_count, const struct weighted *b,
			   size_t b_count)
{
	return (struct walk){ .a = a,
			      .b = b,
			      .a_count = a_count,
			      .b_count = b_count,
			      .a_weight = weight_of(a, a_count),
			      .b_weight = weight_of(b, b_count) };
}

static int walk_on(struct walk *w)
{
	if (w->i == w->a_count && w->j == w->b_count)
		return 0;
	w->value = w->i == w->a_count   ? w->b[w->j].value
		   : w->j == w->b_count ? w->a[w->i].value
					: fmin(w->a[w->i].value, w->b[w->j].value);
	while (w->i < w->a_count && w->a[w->i].value <= w->value)
		w->a_below += w->a[w->i++].weight;
	while (w->j < w->b_count && w->b[w->j].value <= w->value)
		w->b_below += w->b[w->j++].weight;
	return 1;
}

static double walk_apart(const struct walk *w)
{
	/* At the end rounding may leave them apart. */
	if (w->i == w->a_count && w->j == w->b_count)
		return 0;
	return fabs(w->a_below / w->a_weight - w->b_below / w->b_weight);
}

double distance_ks(const struct weighted *a, size_t a_count, const struct weighted *b,
		   size_t b_count)
{
	struct walk w = walk_of(a, a_count, b, b_count);
	double most = 0;

	if (!(w.a_weight > 0) || !(w.b_weight > 0))
		return (double)NAN;
	while (walk_on(&w))
		most = fmax(most, walk_apart(&w));
	return most;
}

double distance_w1(const struct weighted *a, size_t a_count, const struct weighted *b,
		   size_t b_count)
{
	struct walk w = walk_of(a, a_count, b, b_count);
	double sum = 0, apart = 0, from = 0;

	if (!(w.a_weight > 0) || !(w.b_weight > 0))
		return (double)NAN;
	while (walk_on(&w)) {
		if (apart > 0)
			sum += apart * (w.value - from);
		apart = walk_apart(&w);
		from = w.value;
	}
	return sum;
}

double weighted_mean(const struct weighted *a, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i].value * a[i].weight;
	return count ? sum / weight_of(a, count) : (double)NAN;
}

double weighted_quantile(const struct weighted *a, size_t count, double share)
{
	double wanted = share * weight_of(a, count), below = 0;

	for (size_t i = 0; i < count; i++) {
		below += a[i].weight;
		if (below >= wanted)
			return a[i].value;
	}
	return count ? a[count - 1].value : (double)NAN;
}

/* ---- mixes and numbers ---- */

double distance_variation(const double *a, const double *b, size_t n)
{
	double of_a = 0, of_b = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		of_a += a[i];
		of_b += b[i];
	}
	if (!(of_a > 0) || !(of_b > 0))
		return (double)NAN;
	for (size_t i = 0; i < n; i++)
		sum += fabs(a[i] / of_a - b[i] / of_b);
	return sum / 2;
}

double distance_relative(double real, double candidate)
{
	double apart = fabs(candidate - real);

	if (isnan(apart))
		return (double)NAN;
	return apart > 0 ? apart / fabs(real) : 0;
}

double distance_ratio(double real, double candidate)
{
	if (!(real > 0) || !(candidate > 0))
		return (double)NAN;
	return fabs(log(candidate / real));
}

/* ---- series ---- */

double distance_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : (double)NAN;
}

double distance_pearson(const double *x, const double *y, size_t n)
{
	double mean_x = distance_mean(x, n), mean_y = distance_mean(y, n);
	double xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < n; i++) {
		double dx = x[i] - mean_x, dy = y[i] - mean_y;

		xx += dx * dx;
		yy += dy * dy;
		xy += dx * dy;
	}
	if (n < 2 || !(xx > 0) || !(yy > 0))
		return (double)NAN;
	return fmax(-1, fmin(1, xy / (sqrt(xx) * sqrt(yy))));
}

double distance_variability(const double *x, size_t n)
{
	double mean = distance_mean(x, n), squares = 0;

	for (size_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return n && mean != 0 ? sqrt(squares / (double)n) / mean : (double)NAN;
}
