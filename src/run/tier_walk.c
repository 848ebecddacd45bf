/* SPDX-License-Identifier: Apache-2.0 */
/* tier_walk.c - the accesses of an epoch as a cache tier decides them, some of them looked up at a
 * time. */
#include "run/tier_inside.h"

/*
 * What is known of a sample lies anywhere in memory, and who waits for one such place after the
 * other waits longer than all of the rest takes. The order is known: so some accesses are looked at
 * before the first of them is decided, and what they need is fetched side by side.
 */
static void look_ahead(struct tier_cache *c)
{
	const struct tier *t = c->tier;
	struct tier_walk *w = &c->walk;
	uint64_t units[TIER_COMING];

	w->next = w->end = 0;
	while (w->end < TIER_COMING) {
		struct tier_access *a = &w->coming[w->end];

		if (!orderwalk_next(&w->order, &a->at))
			break;
		dataset_extent(t->cfg.pass->dataset, a->at.extent, &a->extent);
		a->unit = tier_unit_of(&t->units, &a->extent);
		__builtin_prefetch(&c->seen.last[a->at.extent], 1);
		units[w->end++] = a->unit;
	}
	cache_expect(c->cache, units, w->end);
}

void tier_walk_begin(struct tier_cache *c, uint64_t epoch)
{
	tier_walk_end(c);
	orderwalk_begin(&c->walk.order, &c->tier->cfg.pass->sampler, c->first_rank, c->end_rank,
			epoch);
}

const struct tier_access *tier_walk_look(struct tier_cache *c)
{
	struct tier_walk *w = &c->walk;

	if (w->next == w->end)
		look_ahead(c);
	return w->next < w->end ? &w->coming[w->next] : NULL;
}

const struct tier_access *tier_walk_next(struct tier_cache *c)
{
	const struct tier_access *a = tier_walk_look(c);

	c->walk.next += a != NULL;
	return a;
}

void tier_walk_end(struct tier_cache *c)
{
	orderwalk_end(&c->walk.order);
	c->walk.next = c->walk.end = 0;
}
