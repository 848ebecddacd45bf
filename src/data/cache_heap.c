/* SPDX-License-Identifier: Apache-2.0 */
/* cache_heap.c - policies by worth: importance and belady, a heap of slots each. */
#include <string.h>

#include "base/util.h"
#include "data/cache_inside.h"

/* The children of a place, side by side: four of them are a cache line, since
 * the heap begins where that of the first ends (cache.c). */
#define WAYS 4

static inline bool is_less(const struct cache_ranked *a,
			   const struct cache_ranked *b)
{
	/* One subtraction, and no branch that nobody can foretell. */
	unsigned __int128 x = (unsigned __int128)a->most << 64 | a->more;
	unsigned __int128 y = (unsigned __int128)b->most << 64 | b->more;

	return x < y;
}

static inline void put(struct cache *c, uint32_t at, struct cache_ranked r)
{
	/* Stores wait for their lines one after the other, this does not. */
	__builtin_prefetch(&c->entries[r.slot], 1);
	c->heap[at] = r;
	c->entries[r.slot].heap_at = at;
}

static void sift_up(struct cache *c, uint32_t at, struct cache_ranked r)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / WAYS;

		if (!is_less(&r, &c->heap[parent]))
			break;
		put(c, at, c->heap[parent]);
		at = parent;
	}
	put(c, at, r);
}

/* The lesser of two places, as arithmetic. */
static inline uint32_t lesser(const struct cache *c, uint32_t a, uint32_t b)
{
	uint32_t is_b = is_less(&c->heap[b], &c->heap[a]);

	return a ^ ((a ^ b) & (0 - is_b));
}

/* The least of a place's children; UINT32_MAX: it has none. */
static inline uint32_t least_child(const struct cache *c, uint32_t at)
{
	uint64_t first = UINT64_C(1) + (uint64_t)at * WAYS;
	uint64_t end = u64_min(first + WAYS, c->heap_count);
	uint32_t least = (uint32_t)first;

	if (first + WAYS <= end)
		return lesser(c, lesser(c, least, least + 1),
			      lesser(c, least + 2, least + 3));
	if (first >= end)
		return UINT32_MAX;
	for (uint32_t i = least + 1; i < end; i++)
		least = lesser(c, least, i);
	return least;
}

/* Of a place's children theirs, which are four lines side by side: whichever of
 * them is gone down to, its line is on the way already. */
static void fetch_ahead(const struct cache *c, uint32_t at)
{
	uint64_t first = UINT64_C(1) + (uint64_t)at * WAYS;

	first = 1 + first * WAYS;
	if (first + WAYS * WAYS > c->heap_count)
		return;
	for (unsigned i = 0; i < WAYS; i++)
		__builtin_prefetch(&c->heap[first + i * WAYS]);
}

static void sift_down(struct cache *c, uint32_t at, struct cache_ranked r)
{
	for (;;) {
		fetch_ahead(c, at);
		uint32_t child = least_child(c, at);

		if (child == UINT32_MAX || !is_less(&c->heap[child], &r))
			break;
		put(c, at, c->heap[child]);
		at = child;
	}
	put(c, at, r);
}

/* What stands there is worth something else now. */
static void replace(struct cache *c, uint32_t at, struct cache_ranked r)
{
	if (is_less(&r, &c->heap[at]))
		sift_up(c, at, r);
	else
		sift_down(c, at, r);
}

void cache_heap_add(struct cache *c, uint32_t slot,
		    const struct cache_access *a)
{
	struct cache_ranked r = c->policy->rank(c, a, NULL);

	r.slot = slot;
	if (!c->is_root_free) {
		sift_up(c, c->heap_count++, r);
		return;
	}
	c->is_root_free = false;
	sift_down(c, 0, r);
}

void cache_heap_hit(struct cache *c, uint32_t slot,
		    const struct cache_access *a)
{
	uint32_t at = c->entries[slot].heap_at;
	struct cache_ranked r = c->policy->rank(c, a, &c->heap[at]);

	r.slot = slot;
	replace(c, at, r);
}

void cache_heap_remove(struct cache *c, uint32_t slot)
{
	uint32_t at = c->entries[slot].heap_at;

	/* What makes room is out of it already. */
	if (at >= c->heap_count)
		return;
	c->heap_count--;
	if (at < c->heap_count)
		replace(c, at, c->heap[c->heap_count]);
}

/* The least goes behind the heap's end; the bytes of it. */
static uint64_t set_aside(struct cache *c)
{
	struct cache_ranked least = c->heap[0];
	struct cache_ranked last = c->heap[--c->heap_count];

	if (c->heap_count)
		sift_down(c, 0, last);
	put(c, c->heap_count, least);
	return c->entries[least.slot].bytes;
}

/* What was set aside, up to `end`, comes back into the heap. */
static void take_back(struct cache *c, uint32_t end)
{
	while (c->heap_count < end) {
		uint32_t at = c->heap_count++;

		sift_up(c, at, c->heap[at]);
	}
}

/* The least is enough: the newcomer takes its place in the heap, too, which saves
 * one way down. */
static void free_root(struct cache *c)
{
	uint32_t slot = c->heap[0].slot;

	c->is_root_free = true;
	c->entries[slot].heap_at = UINT32_MAX;
	cache_evict(c, slot);
}

/*
 * What would have to go is set aside first, the least before others. One that is
 * worth no less than the newcomer saves all of them: so nothing is lost for a
 * newcomer that is not kept in the end, however many it would have taken.
 */
bool cache_heap_make_room(struct cache *c, const struct cache_access *a,
			  uint64_t bytes)
{
	struct cache_ranked r = c->policy->rank(c, a, NULL);
	uint32_t had = c->heap_count;
	uint64_t free_bytes = c->cfg.capacity_bytes - c->used_bytes;

	if (c->policy->can_bypass && !is_less(&c->heap[0], &r))
		return false;
	if (free_bytes + c->entries[c->heap[0].slot].bytes >= bytes) {
		free_root(c);
		return true;
	}
	while (c->heap_count == c->slots || free_bytes < bytes) {
		if (c->policy->can_bypass && !is_less(&c->heap[0], &r)) {
			take_back(c, had);
			return false;
		}
		free_bytes += set_aside(c);
	}
	for (uint32_t at = c->heap_count; at < had; at++)
		cache_evict(c, c->heap[at].slot);
	return true;
}

/* ---- what a unit is worth ---- */

/* Doubles in their order, also negative ones, as integers. */
static uint64_t ordered(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

struct cache_ranked cache_rank_importance(struct cache *c,
					  const struct cache_access *a,
					  const struct cache_ranked *had)
{
	uint32_t times = had ? had->more : 0;

	(void)c;
	times += times < UINT32_MAX;
	return (struct cache_ranked){ ordered(a->weight), times, 0 };
}

struct cache_ranked cache_rank_belady(struct cache *c,
				      const struct cache_access *a,
				      const struct cache_ranked *had)
{
	(void)c;
	(void)had;
	return (struct cache_ranked){ .most = ~a->next_use };
}
