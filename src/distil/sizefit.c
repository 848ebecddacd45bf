/* SPDX-License-Identifier: Apache-2.0 */
/* sizefit.c - see sizefit.h. */
#include "distil/sizefit.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/util.h"
#include "data/file/file.h"
#include "stat/fit.h"

/* Of fewer values every distribution is as good as another. */
enum { COUNT_LEAST = 32 };
/* As far apart as sizes of files may be (the threshold of M4 in --score); and what chance makes of
 * n values with parameters that were fitted to them: 0.886/sqrt(n) is exceeded once in 20 times
 * (Lilliefors 1967). */
#define DISTANCE_MOST 0.05
#define CHANCE 0.886
/* What is below zero is cut: there is little of it. */
#define STDEVS_LEAST 2.5
/* By chance alone a deviation is not further off. */
#define RATIO_MOST 1.25

/* Of the mean of what is drawn. */
#define OFF_MOST 0.005

/* What is drawn is looked at so often, and of more files only the first. */
enum { ROUNDS = 4, DRAWN_MOST = 100000 };

/* How often all values together come in a file of them. */
enum { WEIGHED = 1 << 20 };

static bool is_const(const struct sizefit *fit)
{
	return dist_is_const(&fit->dist);
}

/* Below zero there would be much of it. */
static bool is_cut(const struct dist *d)
{
	return d->kind == DIST_NORMAL && d->a < STDEVS_LEAST * d->b;
}

static double stdev_of(const uint64_t *values, size_t count, double mean)
{
	double squares = 0;

	for (size_t i = 0; i < count; i++) {
		double from = (double)values[i] - mean;

		squares += from * from;
	}
	return sqrt(squares / (double)count);
}

static double mean_of(const uint64_t *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)values[i];
	return sum / (double)count;
}

void sizefit(struct sizefit *fit, const uint64_t *values, size_t count)
{
	double most = fmax(DISTANCE_MOST, CHANCE / sqrt((double)count));
	struct fit best;

	fit_values(&best, values, count, DIST_BYTES);
	*fit = (struct sizefit){ .dist = best.dist,
				 .distance = best.ks,
				 .mean = mean_of(values, count) };
	fit->stdev = stdev_of(values, count, fit->mean);
	fit->is_good = best.ks <= 0 || (count >= COUNT_LEAST && best.ks <= most && !is_const(fit) &&
					!is_cut(&fit->dist));
}

static void settle(struct sizefit *fit, double mean, double stdev)
{
	struct dist *d = &fit->dist;
	double ratio = stdev > 0 ? fit->stdev / stdev : 1;
	double middle = (d->a + d->b) / 2, half = (d->b - d->a) / 2;

	if (d->kind == DIST_UNIFORM) {
		middle += fit->mean - mean;
		d->a = fmax(1, round(middle - half * ratio));
		d->b = fmax(d->a, round(middle + half * ratio));
	} else {
		d->a = fmax(1, round(d->a + fit->mean - mean));
		d->b = round(d->b * ratio);
	}
}

/* How far the distribution functions of both, ascending, are apart. */
static double drawn_distance(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
	double most = 0;
	size_t i = 0, k = 0;

	while (i < n && k < m) {
		uint64_t v = u64_min(a[i], b[k]);

		while (i < n && a[i] <= v)
			i++;
		while (k < m && b[k] <= v)
			k++;
		most = fmax(most, fabs((double)i / (double)n - (double)k / (double)m));
	}
	return most;
}

static double draw_mean(const struct dist *d, uint64_t *drawn, size_t n)
{
	for (size_t i = 0; i < n; i++)
		drawn[i] = dist_draw(d, DATASET_SEED, RNG_SAMPLE_SIZE, i);
	return mean_of(drawn, n);
}

void sizefit_settle(struct sizefit *fit, const uint64_t *values, size_t count, uint64_t files)
{
	size_t n = (size_t)u64_min(files, DRAWN_MOST);
	const struct sizefit before = *fit;
	uint64_t *drawn;
	double mean;

	if (is_const(fit) || n < COUNT_LEAST)
		return;
	drawn = mem_array(n, sizeof(*drawn));
	for (unsigned round = 0; round < ROUNDS; round++) {
		mean = draw_mean(&fit->dist, drawn, n);
		settle(fit, mean, stdev_of(drawn, n, mean));
	}
	if (fit->dist.kind != DIST_UNIFORM &&
	    (fit->dist.b > before.dist.b * RATIO_MOST || is_cut(&fit->dist)))
		*fit = before;
	mean = draw_mean(&fit->dist, drawn, n);
	qsort(drawn, n, sizeof(*drawn), u64_compare);
	fit->is_good &= fabs(mean / fit->mean - 1) <= OFF_MOST &&
			drawn_distance(values, count, drawn, n) <= DISTANCE_MOST;
	mem_free(drawn);
}

uint64_t *sizefit_weigh(const uint64_t *values, size_t count, size_t *weighed)
{
	uint64_t *all = mem_array(WEIGHED, sizeof(*all));
	double *p = mem_array(count, sizeof(*p));
	size_t k = 0;

	for (size_t i = 0; i < count; i++)
		p[i] = rng_f64(DATASET_SEED, RNG_SAMPLE_SIZE, i);
	qsort(p, count, sizeof(*p), f64_compare);
	/* The k-th value is what is drawn half way to the neighbours of the k-th of the
	 * probabilities. */
	for (size_t i = 0; i < WEIGHED; i++) {
		double at = ((double)i + 0.5) / WEIGHED;

		while (k + 1 < count && at > (p[k] + p[k + 1]) / 2)
			k++;
		all[i] = values[k];
	}
	mem_free(p);
	*weighed = WEIGHED;
	return all;
}
