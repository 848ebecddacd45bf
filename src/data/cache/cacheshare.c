/* SPDX-License-Identifier: Apache-2.0 */
/* cacheshare.c - how much of a data set a cache holds, and how often that is a hit. */
#include "data/cache/cache.h"

#include <math.h>

/* Bisections until the interval is as small as a double can tell. */
#define HALVINGS 60

static double kept_factor(const struct job *j)
{
	return j->cache_stage == CACHE_DECODED ? j->cache_decoded_factor : 1;
}

void cacheshare_of(struct cacheshare *c, const struct job *j, const struct dataset *ds,
		   uint64_t stored_bytes)
{
	const struct cache_size *size = &j->cache_size;
	double samples = (double)dataset_samples(ds);
	double all = (double)stored_bytes * kept_factor(j);

	*c = (struct cacheshare){ .bytes = UINT64_MAX, .samples = UINT64_MAX };
	if (size->samples) {
		c->samples = size->samples;
		c->asked = (double)size->samples / samples;
	} else {
		double bytes = size->bytes ? (double)size->bytes
					   : (double)stored_bytes * size->percent / 100;

		c->bytes = (uint64_t)bytes;
		c->asked = all > 0 ? bytes / all : (double)NAN;
	}
	c->share = fmin(c->asked, 1);
	c->held_bytes = c->share * all;
}

static double hits_of_lru(double c)
{
	return c < 1 ? c + (1 - c) * log1p(-c) : 1;
}

/* What a hit ratio leaves of itself where any of what is there may go: its fixed point is that of
 * random replacement. */
static double hits_of_random(double c)
{
	double low = 0, high = 1;

	for (unsigned i = 0; i < HALVINGS; i++) {
		double h = (low + high) / 2, s = (1 - h) / c;
		double kept = s > 0 ? -expm1(-s) / s : 1;

		*(kept * kept > h ? &low : &high) = h;
	}
	return low;
}

double cacheshare_hits(enum job_cache policy, double share)
{
	if (!(share > 0 && share <= 1))
		return (double)NAN;
	switch (policy) {
	case CACHE_MINIO:
	case CACHE_HOT:
		return share;
	case CACHE_LRU:
		return hits_of_lru(share);
	case CACHE_RANDOM:
		return share < 1 ? hits_of_random(share) : 1;
	default:
		return (double)NAN;
	}
}

double cacheshare_for(enum job_cache policy, double hit_ratio)
{
	double low = 0, high = 1;

	if (!(hit_ratio >= 0 && hit_ratio <= 1) || isnan(cacheshare_hits(policy, 0.5)))
		return (double)NAN;
	for (unsigned i = 0; i < HALVINGS; i++) {
		double c = (low + high) / 2;

		*(cacheshare_hits(policy, c) < hit_ratio ? &low : &high) = c;
	}
	return high;
}

bool cacheshare_holds_for(const struct job *j)
{
	return j->shuffle.kind == SHUFFLE_SAMPLE && j->cache_unit.kind == CACHE_SAMPLES &&
	       j->cache_substitute == CACHE_SUBSTITUTE_NONE && !j->cache_hits_first &&
	       !j->cache_prefetch && !(j->cache_warm > 0) && !j->cache_persist &&
	       (j->cache_scope != CACHE_OF_RANK || j->accelerators == 1);
}
