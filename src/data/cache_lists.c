/* SPDX-License-Identifier: Apache-2.0 */
/* cache_lists.c - policies by age: lru, fifo and clock, a list of slots each. */
#include "data/cache_inside.h"

/* The member of the neighbour, or of the list, that points here. */
static uint32_t *to_older(struct cache *c, uint32_t newer)
{
	return newer == CACHE_NO_SLOT ? &c->newest : &c->links[newer].older;
}

static uint32_t *to_newer(struct cache *c, uint32_t older)
{
	return older == CACHE_NO_SLOT ? &c->oldest : &c->links[older].newer;
}

void cache_list_add(struct cache *c, uint32_t slot,
		    const struct cache_access *a)
{
	(void)a;
	c->links[slot] = (struct cache_link){ CACHE_NO_SLOT, c->newest };
	*to_newer(c, c->newest) = slot;
	c->newest = slot;
}

void cache_list_remove(struct cache *c, uint32_t slot)
{
	struct cache_link l = c->links[slot];

	*to_older(c, l.newer) = l.older;
	*to_newer(c, l.older) = l.newer;
}

void cache_list_renew(struct cache *c, uint32_t slot,
		      const struct cache_access *a)
{
	if (c->newest == slot)
		return;
	cache_list_remove(c, slot);
	cache_list_add(c, slot, a);
}

bool cache_list_make_room(struct cache *c, const struct cache_access *a,
			  uint64_t bytes)
{
	(void)a;
	while (!cache_fits(c, 1, bytes))
		cache_evict(c, c->oldest);
	return true;
}

void cache_clock_add(struct cache *c, uint32_t slot,
		     const struct cache_access *a)
{
	c->entries[slot].was_hit = false;
	cache_list_add(c, slot, a);
}

void cache_clock_hit(struct cache *c, uint32_t slot,
		     const struct cache_access *a)
{
	(void)a;
	c->entries[slot].was_hit = true;
}

bool cache_clock_make_room(struct cache *c, const struct cache_access *a,
			   uint64_t bytes)
{
	while (!cache_fits(c, 1, bytes)) {
		uint32_t oldest = c->oldest;

		if (c->entries[oldest].was_hit) {
			c->entries[oldest].was_hit = false;
			cache_list_renew(c, oldest, a);
		} else {
			cache_evict(c, oldest);
		}
	}
	return true;
}
