/* SPDX-License-Identifier: Apache-2.0 */
/* tier_substitute.c - what a cache tier gives in place of a sample that it has not
 * (cache_substitute). */
#include "base/rng.h"
#include "base/util.h"
#include "run/tier_inside.h"

/* Of a file that has more samples, so many neighbours are asked about. */
#define LOOKS_MOST 256u

/* One that turns newcomers away, decides itself what is worth a read. */
bool tier_makes_room(const struct tier_cache *c, uint64_t unit)
{
	int policy = c->tier->job->cache;

	return policy == CACHE_IMPORTANCE || policy == CACHE_BELADY ||
	       cache_find(c->cache, unit) != CACHE_NO_SLOT || cache_has_room(c->cache, unit);
}

/* From any of the file's on. */
static bool find_in_file(const struct tier_cache *c, uint64_t file, uint64_t random, uint64_t *unit,
			 uint32_t *slot)
{
	const struct dataset *ds = c->tier->plain.dataset;
	uint64_t first = dataset_first_extent(ds, file);
	uint64_t count = dataset_first_extent(ds, file + 1) - first;

	for (uint64_t i = 0; i < u64_min(count, LOOKS_MOST); i++) {
		struct extent x;

		dataset_extent(ds, first + (random + i) % count, &x);
		*unit = tier_unit_of(&c->tier->units, &x);
		*slot = cache_find(c->cache, *unit);
		if (*slot != CACHE_NO_SLOT)
			return true;
	}
	return false;
}

bool tier_substitute(struct tier_cache *c, const struct extent *x, uint64_t *unit, uint32_t *slot)
{
	const struct job *j = c->tier->job;
	/* A file's worth of neighbours does not overflow. */
	uint64_t random = rng_u64(j->randseed, RNG_SUBSTITUTE, c->substituted++) >> 1;

	return j->cache_substitute == CACHE_SUBSTITUTE_ANY
		       ? cache_any(c->cache, random, unit, slot)
		       : find_in_file(c, x->file, random, unit, slot);
}
