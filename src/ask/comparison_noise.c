/* SPDX-License-Identifier: Apache-2.0 */
/* comparison_noise.c - how far figures vary within one result. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ask/comparison.h"
#include "base/units.h"
#include "report/json_read.h"
#include "stat/hist.h"

/* What two values differ by is half of what several do: 1.13 standard deviations
 * on the mean, four 2.06. */
#define OF_TWO 2
/* As many seconds say how much seconds vary. */
#define SECONDS_LEAST 3

static double number_at(json_t *o, const char *key)
{
	json_t *value = json_object_get(o, key);
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Samples of an epoch, read or not. */
static double taken(json_t *epoch)
{
	double failed = number_at(epoch, "failed_samples");
	return number_at(epoch, "samples") + (failed > 0 ? failed : 0);
}

/* Of all whole epochs but the first, which fills caches, where there are three
 * of them: what lies between the least and the most, in its unit or percent. */
static double epochs_spread(json_t *job, const char *key, bool is_points)
{
	json_t *epochs = json_object_get(json_object_get(job, "ml"), "epochs");
	size_t n = json_array_size(epochs), from;
	double least = (double)INFINITY, most = -least;
	if (n >= 2 && taken(json_array_get(epochs, n - 1)) <
			      taken(json_array_get(epochs, 0)))
		n--;
	from = n >= 3;
	if (n < 2)
		return (double)NAN;
	for (size_t i = from; i < n; i++) {
		double v = number_at(json_array_get(epochs, i), key);
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
static double seconds_spread(json_t *job, const char *direction)
{
	json_t *d = json_object_get(job, direction);
	double mean = number_at(d, "bw_mean");
	if (!(number_at(d, "bw_samples") >= SECONDS_LEAST) || !(mean > 0))
		return (double)NAN;
	return number_at(d, "bw_dev") / mean * 100;
}

static double checkpoints_spread(json_t *job, const char *which)
{
	json_t *c = json_object_get(json_object_get(job, "ml"), which);
	double least = number_at(c, "seconds_min");
	if (!(number_at(c, "completed") >= 2) || !(least > 0))
		return (double)NAN;
	double times = number_at(c, "completed") <= 2 ? OF_TWO : 1;
	return (number_at(c, "seconds_max") - least) / least * 100 * times;
}

static double run_spread(enum comparison_noise kind, json_t *job)
{
	switch (kind) {
	case SPREAD_AU:
		return epochs_spread(job, "au_percent", true);
	case SPREAD_EPOCHS:
		return epochs_spread(job, "sample_bytes_per_sec", false);
	case SPREAD_READ:
		return seconds_spread(job, "read");
	case SPREAD_WRITE:
		return seconds_spread(job, "write");
	case SPREAD_SAVES:
		return checkpoints_spread(job, "saves");
	case SPREAD_RESTORES:
		return checkpoints_spread(job, "restores");
	case SPREAD_NONE:
		break;
	}
	return (double)NAN;
}

/* Another percentile of the same latency. */
static int value_beside(const struct comparison_row *row,
			const struct results_file *doc, size_t job,
			double percent, double *ns, struct mlgen_err *err)
{
	char key[128];
	struct figure f = row->figure;
	struct figure_value v;
	const char *part = strstr(f.path, ".p");
	snprintf(key, sizeof(key), "%.*s.p%.9f", (int)(part - f.path), f.path,
		 percent);
	f.path = key;
	if (figure_value(&f, doc, job, &v, err) < 0)
		return -EINVAL;
	*ns = v.kind == VALUE_NONE ? (double)NAN : v.real;
	figure_value_fini(&v);
	return 0;
}

/* Where 95 % of such samples would have the percentile: by its rank, two
 * standard deviations of a binomial distribution to either side. */
static int percentile_spread(const struct comparison_row *row,
			     const struct results_file *doc, size_t job,
			     double *spread, struct mlgen_err *err)
{
	const char *part = strstr(row->figure.path, ".p");
	char key[128];
	struct figure count = row->figure;
	struct figure_value n;
	double p, low, at, high;
	snprintf(key, sizeof(key), "%.*s.N", (int)(part - count.path),
		 count.path);
	count.path = key;
	if (units_f64(part + 2, &p, NULL) < 0 ||
	    figure_value(&count, doc, job, &n, err) < 0)
		return -EINVAL;
	double values = n.kind == VALUE_NONE ? 0 : n.real;
	figure_value_fini(&n);
	*spread = (double)NAN;
	if (!(values > 0))
		return 0;
	double aside = 200 * sqrt(p / 100 * (1 - p / 100) / values);
	if (value_beside(row, doc, job, fmax(p - aside, 0), &low, err) < 0 ||
	    value_beside(row, doc, job, p, &at, err) < 0 ||
	    value_beside(row, doc, job, fmin(p + aside, 100), &high, err) < 0)
		return -EINVAL;
	if (at > 0)
		*spread = fmax(at - low, high - at) / at * 100;
	return 0;
}

int comparison_noise(const struct comparison_row *row,
		     const struct results_file *doc, size_t job, double *noise,
		     struct mlgen_err *err)
{
	double spread = (double)NAN;
	*noise = run_spread(row->noise_of, results_job(doc, job));
	if (figure_is_ns(&row->figure) &&
	    percentile_spread(row, doc, job, &spread, err) < 0)
		return -EINVAL;
	if (!isnan(*noise))
		*noise = fmax(fmax(*noise, spread),
			      row->is_points ? COMPARISON_POINTS_LEAST
					     : COMPARISON_NOISE_LEAST);
	return 0;
}
