/* SPDX-License-Identifier: Apache-2.0 */
/* cache_lists.c - cache policies by age: lru, fifo and clock with one list, lfu with many. */
#include "data/cache/cache_internal.h"

/* Evict the oldest unit. Prefetch what the next eviction needs: the entry of its unit, and the slot
 * after it. */
static void evict_oldest(struct cache *c, const struct cache_list *list)
{
	uint32_t slot = list->oldest, next = c->links[slot].newer;

	if (next != CACHE_NO_SLOT) {
		uint32_t after = c->links[next].newer;

		__builtin_prefetch(&c->slot_of[c->entries[next].unit], 1);
		if (after != CACHE_NO_SLOT) {
			__builtin_prefetch(&c->entries[after], 1);
			__builtin_prefetch(&c->links[after], 1);
		}
	}
	cache_evict(c, slot);
}

static void list_append(struct cache *c, struct cache_list *list, uint32_t slot)
{
	uint32_t older = list->newest;

	c->links[slot] = (struct cache_link){ CACHE_NO_SLOT, older };
	if (older == CACHE_NO_SLOT)
		list->oldest = slot;
	else
		c->links[older].newer = slot;
	list->newest = slot;
}

static void list_remove(struct cache *c, struct cache_list *list, uint32_t slot)
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
	list_append(c, &c->lists[0], slot);
}

void cache_list_remove(struct cache *c, uint32_t slot)
{
	list_remove(c, &c->lists[0], slot);
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

/* ---- lfu: a list for each number of accesses, each ordered by age ---- */

static void lfu_join(struct cache *c, uint32_t slot, uint32_t times)
{
	c->entries[slot].times = times;
	c->filled |= UINT64_C(1) << times;
	list_append(c, &c->lists[times], slot);
}

void cache_lfu_add(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	(void)a;
	lfu_join(c, slot, 0);
}

void cache_lfu_remove(struct cache *c, uint32_t slot)
{
	uint32_t times = c->entries[slot].times;

	list_remove(c, &c->lists[times], slot);
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
	while (!cache_fits(c, 1, bytes))
		evict_oldest(c, &c->lists[__builtin_ctzll(c->filled)]);
	return true;
}
