/* SPDX-License-Identifier: Apache-2.0 */
/* sampler_drawn.c - extents drawn with replacement: all alike, or by a weight of each. */
#include "data/order/order_internal.h"

#include <errno.h>

#include "base/rng.h"

/*
 * shuffle=replacement and weighted. What stands at a place is drawn for this place alone; by weight
 * it is drawn among all until one passes, which one of the largest weight always does. So an order
 * needs no memory, whatever the weights, and as many draws as the largest weight is times the mean.
 */

/* More draws are too slow: some 20 us a sample. */
#define DRAWS_MOST 1000

/* Of the weights of all extents, less than one in so many is cut. */
#define CUT_ONE_IN 64

static uint64_t any_extent(const struct sampler *s, uint64_t bits)
{
	return (uint64_t)(((unsigned __int128)bits * s->extents) >> 64);
}

int sampler_weights_init(struct sampler *s, const struct dist *weights, struct mlgen_err *err)
{
	double mean = dist_mean(weights);
	double p = 1.0 / (CUT_ONE_IN * (double)s->extents);

	s->weights = *weights;
	s->weight_most = dist_is_const(weights) ? mean : dist_quantile(weights, 1 - p);
	if (s->weight_most <= DRAWS_MOST * mean)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"shuffle: weights up to %.0f times their mean are too uneven to be drawn from, of "
		"as many samples at most %d times is possible; use a narrower distribution",
		s->weight_most / mean, DRAWS_MOST);
}

double sampler_weight(const struct sampler *s, uint64_t extent)
{
	double weight = dist_draw_number(&s->weights, s->seed, RNG_WEIGHT, extent);

	return weight < s->weight_most ? weight : s->weight_most;
}

static uint64_t weighted_at(const struct sampler *s, uint64_t seed)
{
	for (uint64_t n = 0;; n += 2) {
		uint64_t extent = any_extent(s, rng_u64(seed, RNG_WEIGHTED, n));

		if (rng_f64(seed, RNG_WEIGHTED, n + 1) * s->weight_most <=
		    sampler_weight(s, extent))
			return extent;
	}
}

void sampler_drawn_epoch(struct sampler_epoch *e, uint64_t epoch)
{
	e->drawn_seed = rng_u64(e->sampler->seed, RNG_REPLACEMENT, epoch);
}

uint64_t sampler_drawn_at(const struct sampler_epoch *e, uint64_t at)
{
	const struct sampler *s = e->sampler;
	uint64_t bits = rng_u64(e->drawn_seed, RNG_REPLACEMENT, at);

	return s->shuffle == SHUFFLE_WEIGHTED ? weighted_at(s, bits) : any_extent(s, bits);
}
