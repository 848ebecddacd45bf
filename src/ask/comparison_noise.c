/* SPDX-License-Identifier: Apache-2.0 */
/* comparison_noise.c - how far figures vary within one result. */
#include <math.h>
#include <string.h>

#include "ask/comparison.h"
#include "base/units.h"
#include "stat/hist.h"

/* What two values differ by is half of what several do: 1.13 standard deviations on the mean, four
 * 2.06. */
#define OF_TWO 2
/* As many seconds say how much seconds vary. */
#define SECONDS_LEAST 3

/* Samples of an epoch, read or not. */
static uint64_t taken(const struct epoch_result *e)
{
	return e->samples + e->failed_samples;
}

/* Of all whole epochs but the first, which fills caches, where there are three of them: what lies
 * between the least and the most, in its unit or percent. */
static double epochs_spread(const struct record *r, bool is_points)
{
	const struct epoch_result *epochs = r->ml ? r->ml->ml.epochs.items : NULL;
	size_t n = r->ml ? r->ml->ml.epochs.count : 0, from;
	double least = (double)INFINITY, most = -least;

	if (n >= 2 && taken(&epochs[n - 1]) < taken(&epochs[0]))
		n--;
	from = n >= 3;
	if (n < 2)
		return (double)NAN;
	for (size_t i = from; i < n; i++) {
		double v = is_points ? epochs[i].au_percent : epochs[i].sample_bytes_per_sec;

		if (isnan(v))
			return (double)NAN;
		least = fmin(least, v);
		most = fmax(most, v);
	}
	double times = n - from == 2 ? OF_TWO : 1;
	if (is_points)
		return (most - least) * times;
	return least > 0 ? (most - least) / least * 100 * times : (double)NAN;
}

/* One standard deviation of its seconds. */
static double seconds_spread(const struct metrics_direction *d)
{
	if (d->bw_samples < SECONDS_LEAST || !(d->bw_mean > 0))
		return (double)NAN;
	return d->bw_dev / d->bw_mean * 100;
}

static double checkpoints_spread(const struct checkpoints_result *c)
{
	double least = c->seconds_min;

	if (c->completed < 2 || !(least > 0))
		return (double)NAN;
	double times = c->completed == 2 ? OF_TWO : 1;
	return (c->seconds_max - least) / least * 100 * times;
}

static double run_spread(enum comparison_noise kind, const struct record *r)
{
	switch (kind) {
	case SPREAD_AU:
		return epochs_spread(r, true);
	case SPREAD_EPOCHS:
		return epochs_spread(r, false);
	case SPREAD_READ:
		return seconds_spread(&r->job->read);
	case SPREAD_WRITE:
		return seconds_spread(&r->job->write);
	case SPREAD_SAVES:
		return r->ml ? checkpoints_spread(&r->ml->ml.saves) : (double)NAN;
	case SPREAD_RESTORES:
		return r->ml ? checkpoints_spread(&r->ml->ml.restores) : (double)NAN;
	case SPREAD_NONE:
		break;
	}
	return (double)NAN;
}

static double percentile(const struct hist *h, double percent)
{
	/* Of the digits that a key has, so that no rank lies just beyond. */
	return (double)hist_percentile(h, rint(percent * 1e9) / 1e9);
}

/* Where 95 % of such samples would have the percentile: by its rank, two standard deviations of a
 * binomial distribution to either side. */
static double percentile_spread(const struct comparison_row *row, const struct record *r)
{
	const struct hist *h = figure_latency(&row->figure, r);
	const char *part = strstr(row->figure.path, ".p");
	double p;

	if (!h || h->count == 0 || units_f64(part + 2, &p, NULL) < 0)
		return (double)NAN;
	double aside = 200 * sqrt(p / 100 * (1 - p / 100) / (double)h->count);
	double low = percentile(h, fmax(p - aside, 0));
	double at = percentile(h, p);
	double high = percentile(h, fmin(p + aside, 100));
	return at > 0 ? fmax(at - low, high - at) / at * 100 : (double)NAN;
}

double comparison_noise(const struct comparison_row *row, const struct record *r)
{
	double noise = run_spread(row->noise_of, r), spread = (double)NAN;

	if (figure_is_ns(&row->figure))
		spread = percentile_spread(row, r);
	if (isnan(noise))
		return noise;
	return fmax(fmax(noise, spread),
		    row->is_points ? COMPARISON_POINTS_LEAST : COMPARISON_NOISE_LEAST);
}
