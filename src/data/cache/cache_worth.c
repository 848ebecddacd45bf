/* SPDX-License-Identifier: Apache-2.0 */
/* cache_worth.c - cache policies by worth: importance, belady; a heap has the units worth least. */
#include "data/cache/cache_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* An epoch with replacement misses 37 % of the units, so after 16 about one of 10^7 is left. */
#define NEXTUSE_EPOCHS 16u

/* ---- time of each unit's next access, which belady needs ---- */

#define NEVER UINT32_MAX /* NEXTUSE_NEVER in tables, which have 32-bit indexes */
#define WALK_UNITS 16    /* units whose table entries are prefetched together */

struct nextuse {
	struct nextuse_config cfg;
	uint32_t *next; /* indexed by access; numbers count from the start of this epoch */
	/* Indexed by unit: its last access, + 1; 0 = no open access. After nextuse_find_first: its
	 * first access, + 1. */
	uint32_t *last;
	uint64_t count, room; /* accesses of this epoch */
	uint64_t before;      /* accesses of all earlier epochs */
	uint64_t epoch;
	uint64_t open; /* units whose next access, or first one, is not yet found */
	bool has_begun;
};

/* Accesses of all ranks in an epoch, rounded up if extents have different numbers of samples. */
static uint64_t max_accesses(const struct nextuse_config *cfg)
{
	return (cfg->end_rank - cfg->first_rank) * cfg->sampler->rank_extents;
}

uint64_t nextuse_state_bytes(const struct nextuse_config *cfg)
{
	return sizeof(struct nextuse) + (max_accesses(cfg) + cfg->units) * sizeof(uint32_t);
}

int nextuse_new(struct nextuse **out, const struct nextuse_config *cfg, struct mlgen_err *err)
{
	*out = NULL;
	if (cfg->sampler->shuffle == SHUFFLE_IMPORTANCE)
		return mlgen_fail(err, -EINVAL,
				  "cache=belady: with shuffle=importance the order of an epoch "
				  "follows from the losses of the previous epoch and is not known "
				  "in advance; use cache=importance");
	if (max_accesses(cfg) >= NEVER / 4)
		return mlgen_fail(err, -EINVAL,
				  "cache=belady: an epoch of %" PRIu64
				  " accesses is more than the limit of %" PRIu32 "; use cache=lru",
				  max_accesses(cfg), NEVER / 4);
	struct nextuse *n = mem_zalloc(sizeof(*n));
	n->cfg = *cfg;
	n->room = max_accesses(cfg);
	n->next = mem_array(n->room, sizeof(*n->next));
	n->last = mem_array(cfg->units, sizeof(*n->last));
	*out = n;
	return 0;
}

void nextuse_free(struct nextuse *n)
{
	if (!n)
		return;
	mem_free(n->next);
	mem_free(n->last);
	mem_free(n);
}

/* Visit access `index`, counted from the start of this epoch; `last` is the entry of its unit. */
typedef void visit_fn(struct nextuse *n, uint32_t *last, uint64_t index);

/*
 * Visit all accesses of an epoch, the first of which is number `index`. Returns the number after
 * the last. Table entries lie anywhere in memory, so they are prefetched in groups as in
 * cache_expect.
 */
static uint64_t walk(struct nextuse *n, uint64_t epoch, uint64_t index, visit_fn *visit)
{
	uint32_t *group[WALK_UNITS];
	unsigned count;
	struct orderwalk w;
	struct orderwalk_at at;

	orderwalk_begin(&w, n->cfg.sampler, n->cfg.first_rank, n->cfg.end_rank, epoch);
	do {
		for (count = 0; count < WALK_UNITS && orderwalk_next(&w, &at); count++) {
			uint64_t unit = at.extent;

			if (n->cfg.unit_of)
				unit = n->cfg.unit_of(n->cfg.arg, unit);
			group[count] = &n->last[unit];
			__builtin_prefetch(group[count], 1);
		}
		for (unsigned i = 0; i < count; i++)
			if (*group[i])
				__builtin_prefetch(&n->next[*group[i] - 1], 1);
		for (unsigned i = 0; i < count; i++)
			visit(n, group[i], index++);
	} while (count == WALK_UNITS);
	orderwalk_end(&w);
	return index;
}

/* Record that the unit's last access is followed by access `index`. */
static void close_last(struct nextuse *n, const uint32_t *last, uint64_t index)
{
	if (*last)
		n->next[*last - 1] = (uint32_t)index;
}

/* An access of this epoch closes the previous access of its unit and is open itself. */
static void visit_this(struct nextuse *n, uint32_t *last, uint64_t index)
{
	size_t room = n->room;

	/* Epochs differ in length if extents have different numbers of samples. */
	n->next = mem_grow(n->next, &room, n->count + 1, sizeof(*n->next));
	n->room = room;
	close_last(n, last, index);
	n->open += !*last;
	n->next[n->count++] = NEVER;
	*last = (uint32_t)n->count;
}

/* The first access of a unit in a following epoch closes its open access. */
static void visit_following(struct nextuse *n, uint32_t *last, uint64_t index)
{
	close_last(n, last, index);
	n->open -= *last != 0;
	*last = 0;
}

/* Keep the number of a unit's first access. */
static void visit_first(struct nextuse *n, uint32_t *last, uint64_t index)
{
	n->open -= !*last;
	if (!*last)
		*last = (uint32_t)index + 1;
}

/* Walk the epochs from `epoch`, which begins at access `index`, as long as units are open. */
static void walk_on(struct nextuse *n, uint64_t epoch, uint64_t index, visit_fn *visit)
{
	uint64_t end = epoch + u64_min(NEXTUSE_EPOCHS, n->cfg.epochs - epoch);

	for (; epoch < end && n->open && index < NEVER - n->room; epoch++)
		index = walk(n, epoch, index, visit);
}

void nextuse_epoch(struct nextuse *n, uint64_t epoch)
{
	if (n->has_begun)
		n->before += n->count;
	n->has_begun = true;
	n->epoch = epoch;
	/* Accesses that were not closed count as never followed. */
	memset(n->last, 0, n->cfg.units * sizeof(*n->last));
	n->count = n->open = 0;
	walk(n, epoch, 0, visit_this);
	walk_on(n, epoch + 1, n->count, visit_following);
}

uint64_t nextuse_accesses(const struct nextuse *n)
{
	return n->count;
}

uint64_t nextuse_at(const struct nextuse *n, uint64_t index)
{
	uint32_t next = n->next[index];

	return next == NEVER ? NEXTUSE_NEVER : n->before + next;
}

void nextuse_find_first(struct nextuse *n)
{
	memset(n->last, 0, n->cfg.units * sizeof(*n->last));
	n->open = n->cfg.units;
	walk_on(n, n->epoch, 0, visit_first);
}

uint64_t nextuse_first(const struct nextuse *n, uint64_t unit)
{
	uint32_t first = n->last[unit];

	return first ? n->before + first - 1 : NEXTUSE_NEVER;
}

/* ---- the heap ---- */

/*
 * The heap has the eighth of the slots that are worth least, so that it stays in the CPU's caches.
 * Slots that have no node are worth `bar` or more. The array `worth` has each slot's current worth.
 * A node with another worth is stale and is dropped when it reaches the top. A hit therefore writes
 * to one place, and no index from slot to node is needed. Once the heap is empty, a pass over all
 * slots fills half of it, which lasts for that many evictions.
 */

/* Children of a heap node. Four siblings fill a cache line, since the heap starts such that the
 * first node ends one (HEAP_SHIFT in cache.c). */
#define WAYS 4

/* Number of slots that are sampled to choose a bar; qsort() allocates nothing for this many. */
#define SAMPLES 120u

static void sift_up(struct cache *c, uint32_t at, struct cache_node n)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / WAYS;

		if (n.worth >= c->heap[parent].worth)
			break;
		c->heap[at] = c->heap[parent];
		at = parent;
	}
	c->heap[at] = n;
}

/* Return the lesser of two nodes without a branch, which the CPU could not predict. */
static inline uint32_t lesser(const struct cache *c, uint32_t a, uint32_t b)
{
	uint32_t is_b = c->heap[b].worth < c->heap[a].worth;

	return a ^ ((a ^ b) & (0 - is_b));
}

/* Return the least child of a node; UINT32_MAX if it has none. */
static inline uint32_t least_child(const struct cache *c, uint32_t at)
{
	uint64_t first = UINT64_C(1) + (uint64_t)at * WAYS;
	uint64_t end = u64_min(first + WAYS, c->heap_count);
	uint32_t least = (uint32_t)first;

	if (first + WAYS <= end)
		return lesser(c, lesser(c, least, least + 1), lesser(c, least + 2, least + 3));
	if (first >= end)
		return UINT32_MAX;
	for (uint32_t i = least + 1; i < end; i++)
		least = lesser(c, least, i);
	return least;
}

static void sift_down(struct cache *c, uint32_t at, struct cache_node n)
{
	for (;;) {
		uint32_t child = least_child(c, at);

		if (child == UINT32_MAX || c->heap[child].worth >= n.worth)
			break;
		c->heap[at] = c->heap[child];
		at = child;
	}
	c->heap[at] = n;
}

static void pop(struct cache *c)
{
	struct cache_node last = c->heap[--c->heap_count];

	if (!c->heap_count)
		return;
	sift_down(c, 0, last);
	/* Prefetch for the next eviction. */
	uint32_t slot = c->heap[0].slot;
	__builtin_prefetch(&c->worth[slot]);
	__builtin_prefetch(&c->entries[slot]);
}

static void order(struct cache *c)
{
	for (uint32_t at = c->heap_count / WAYS + 1; at-- > 0;)
		if (at < c->heap_count)
			sift_down(c, at, c->heap[at]);
}

/* ---- bar ---- */

static bool is_aside(const struct cache *c, uint32_t slot)
{
	uint32_t unit = c->entries[slot].unit;

	return c->aside && unit != CACHE_FREE && c->slot_of[unit] != slot + 1;
}

static bool is_stale(const struct cache *c, const struct cache_node *n)
{
	return c->worth[n->slot] != n->worth || is_aside(c, n->slot);
}

/* Return a worth that about this part of the samples does not exceed. */
static uint64_t part_worth(uint64_t *samples, unsigned count, double part)
{
	qsort(samples, count, sizeof(*samples), u64_compare);
	return samples[(unsigned)(part * (count - 1))];
}

/* Lower the bar to about the median of the heap and drop the nodes above. Nodes worth exactly the
 * bar may be dropped or stay. */
static void lower_bar(struct cache *c)
{
	unsigned count = (unsigned)u64_min(SAMPLES, c->heap_count);
	uint32_t half = c->heap_room / 2, kept = 0;
	uint64_t samples[SAMPLES] = { 0 };

	for (unsigned i = 0; i < count; i++)
		samples[i] = c->heap[(uint64_t)i * c->heap_count / count].worth;
	c->bar = part_worth(samples, count, 0.5);
	for (uint32_t i = 0; i < c->heap_count; i++) {
		struct cache_node n = c->heap[i];

		if (n.worth < c->bar || (n.worth == c->bar && kept < half))
			c->heap[kept++] = n;
	}
	c->heap_count = kept;
}

static void push(struct cache *c, uint64_t worth, uint32_t slot)
{
	if (worth >= c->bar)
		return;
	if (c->heap_count == c->heap_room) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < c->heap_count; i++)
			if (!is_stale(c, &c->heap[i]))
				c->heap[kept++] = c->heap[i];
		c->heap_count = kept;
		while (c->heap_count > c->heap_room / 4 * 3)
			lower_bar(c);
		order(c);
		if (worth >= c->bar)
			return;
	}
	sift_up(c, c->heap_count++, (struct cache_node){ worth, slot });
}

/* Fill the heap with all slots worth less than the bar, and some worth exactly that. */
static void refill(struct cache *c)
{
	unsigned count = (unsigned)u64_min(SAMPLES, c->high);
	uint64_t samples[SAMPLES] = { 0 };

	c->heap_count = 0;
	c->bar = UINT64_MAX;
	if (c->high > c->heap_room / 2) {
		/* Choose a bar such that the slots worth less fill about half of the heap. */
		for (unsigned i = 0; i < count; i++) {
			uint32_t slot = (uint32_t)((uint64_t)i * c->high / count);

			samples[i] = is_aside(c, slot) ? CACHE_WORTH_NONE : c->worth[slot];
		}
		c->bar = part_worth(samples, count, c->heap_room / 2.0 / c->high);
	}
	for (uint32_t slot = 0; slot < c->high; slot++) {
		uint64_t worth = c->worth[slot];

		if (worth > c->bar || worth == CACHE_WORTH_NONE ||
		    (worth == c->bar && c->heap_count >= c->heap_room / 2) || is_aside(c, slot))
			continue;
		while (c->heap_count == c->heap_room)
			lower_bar(c);
		if (worth <= c->bar)
			c->heap[c->heap_count++] = (struct cache_node){ worth, slot };
	}
	order(c);
}

/* Return the slot worth least among those not set aside, of which there must be at least one. */
static uint32_t least(struct cache *c)
{
	for (;;) {
		while (c->heap_count && is_stale(c, &c->heap[0]))
			pop(c);
		if (c->heap_count)
			return c->heap[0].slot;
		refill(c);
	}
}

/* ---- callbacks of the policies ---- */

void cache_worth_add(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	c->worth[slot] = c->policy->worth(a, 0);
	push(c, c->worth[slot], slot);
}

void cache_worth_hit(struct cache *c, uint32_t slot, const struct cache_access *a)
{
	uint64_t worth = c->policy->worth(a, c->worth[slot]);

	if (worth == c->worth[slot])
		return;
	c->worth[slot] = worth;
	push(c, worth, slot);
}

void cache_worth_remove(struct cache *c, uint32_t slot)
{
	c->worth[slot] = CACHE_WORTH_NONE;
}

/*
 * Candidates for eviction are set aside first, in the order of their worth. If one of them is worth
 * at least as much as the newcomer, all are put back: a newcomer that is not admitted evicts
 * nothing, however many units it would have displaced. Slots set aside are chained through slot_of:
 * no caller looks their units up until all of them are back or evicted.
 */
bool cache_worth_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes)
{
	uint64_t newcomer = c->policy->worth(a, 0);
	uint64_t free_bytes = c->cfg.capacity_bytes - c->used_bytes;
	bool has_slot = c->count < c->slots, admitted = true;

	while (!has_slot || free_bytes < bytes) {
		uint32_t slot = least(c);

		admitted = c->worth[slot] < newcomer;
		if (!admitted)
			break;
		c->slot_of[c->entries[slot].unit] = c->aside;
		c->aside = slot + 1;
		pop(c);
		free_bytes += cache_slot_bytes(c, slot);
		has_slot = true;
	}

	/* Evict all slots that were set aside, or put them back. */
	while (c->aside) {
		uint32_t slot = c->aside - 1;
		uint32_t *slot_of = &c->slot_of[c->entries[slot].unit];

		c->aside = *slot_of;
		*slot_of = slot + 1;
		if (admitted)
			cache_evict(c, slot);
		else if (c->worth[slot] <= c->bar)
			push(c, c->worth[slot], slot);
	}

	return admitted;
}

/* ---- worth of a unit ---- */

/* The worth orders units by weight, then by the number of accesses since the unit was added. */
uint64_t cache_worth_importance(const struct cache_access *a, uint64_t had)
{
	uint32_t times = (uint32_t)had, bits;
	float weight = (float)a->weight;

	times += times < UINT32_MAX - 1;
	/* Map floats, negative ones included, to integers that sort alike. */
	memcpy(&bits, &weight, sizeof(bits));
	bits = bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
	return (uint64_t)bits << 32 | times;
}

uint64_t cache_worth_belady(const struct cache_access *a, uint64_t had)
{
	(void)had;
	return u64_min(~a->next_use, CACHE_WORTH_NONE - 1);
}
