/* SPDX-License-Identifier: Apache-2.0 */
/* cache_lists.c - policies by age: lru, fifo and clock, a list of slots each, and lfu, one for each
 * number of accesses. */
#include "data/cache/cache_internal.h"

static void fetch_slot(const struct cache *c, uint32_t slot)
{
	if (slot == CACHE_NO_SLOT)
		return;
	__builtin_prefetch(&c->entries[slot], 1);
	__builtin_prefetch(&c->links[slot], 1);
}

/* What goes after the one that goes now is fetched, and the slot of the one after that, so that
 * nobody waits for either. */
static void evict_oldest(struct cache *c, const struct cache_list *list)
{
	uint32_t slot = list->oldest, next = c->links[slot].newer;

	if (next != CACHE_NO_SLOT) {
		__builtin_prefetch(&c->slot_of[c->entries[next].unit], 1);
		fetch_slot(c, c->links[next].newer);
	}
	cache_evict(c, slot);
}

static void join(struct cache *c, struct cache_list *list, uint32_t slot)
{
	uint32_t older = list->newest;

	c->links[slot] = (struct cache_link){ CACHE_NO_SLOT, older };
	if (older == CACHE_NO_SLOT)
		list->oldest = slot;
	else
		c->links[older].newer = slot;
	list->newest = slot;
}

static void leave(struct cache *c, struct cache_list *list, uint32_t slot)
{
	struct cache_link l = c->links[slot];

	if (l.newer == CACHE_NO_SLOT)
		list->newest = l.older;
	else
		c->links[l.newer].older = l.older;
	if (l.older == CACHE_NO_SLOT)
		list->oldest = l.newer;
	else
		c->links[l.older].newer = l.newer;
}

void cache_list_add(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	(void)a;
	join(c, &c->lists[0], slot);
}

void cache_list_remove(struct cache *c, uint32_t slot)
{
	leave(c, &c->lists[0], slot);
}

void cache_list_renew(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	if (c->lists[0].newest == slot)
		return;
	cache_list_remove(c, slot);
	cache_list_add(c, slot, a);
}

bool cache_list_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes)
{
	(void)a;
	while (!cache_fits(c, 1, bytes))
		evict_oldest(c, &c->lists[0]);
	return true;
}

void cache_clock_add(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	c->entries[slot].was_hit = false;
	cache_list_add(c, slot, a);
}

void cache_clock_hit(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	(void)a;
	c->entries[slot].was_hit = true;
}

bool cache_clock_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes)
{
	while (!cache_fits(c, 1, bytes)) {
		uint32_t oldest = c->lists[0].oldest;

		if (c->entries[oldest].was_hit) {
			c->entries[oldest].was_hit = false;
			cache_list_renew(c, oldest, a);
		} else {
			evict_oldest(c, &c->lists[0]);
		}
	}
	return true;
}

/* ---- lfu: the lists are in the order of accesses, each by age ---- */

static void lfu_join(struct cache *c, uint32_t slot, uint32_t times)
{
	c->entries[slot].times = times;
	c->filled |= UINT64_C(1) << times;
	join(c, &c->lists[times], slot);
}

void cache_lfu_add(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	(void)a;
	lfu_join(c, slot, 0);
}

void cache_lfu_remove(struct cache *c, uint32_t slot)
{
	uint32_t times = c->entries[slot].times;

	leave(c, &c->lists[times], slot);
	if (c->lists[times].newest == CACHE_NO_SLOT)
		c->filled &= ~(UINT64_C(1) << times);
}

void cache_lfu_hit(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	uint32_t times = c->entries[slot].times;

	(void)a;
	cache_lfu_remove(c, slot);
	lfu_join(c, slot, times + (times < CACHE_LISTS - 1));
}

bool cache_lfu_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes)
{
	(void)a;
	while (!cache_fits(c, 1, bytes)) {
		int least = __builtin_ctzll(c->filled);

		evict_oldest(c, &c->lists[least]);
	}
	return true;
}
