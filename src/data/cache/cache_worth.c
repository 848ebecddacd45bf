/* SPDX-License-Identifier: Apache-2.0 */
/* cache_worth.c - policies by worth: importance and belady, with a heap of what is worth least. */
#include "data/cache/cache_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* An epoch with replacement leaves out 37 % of the units, so many of 10^7 about one. */
#define NEXTUSE_EPOCHS 16u

/* ---- when what is accessed now is accessed next: what belady has to know ---- */

#define NEVER UINT32_MAX /* in memory, where indexes have 32 bits */
#define COMING 16        /* units that are looked at together */

struct nextuse {
	struct nextuse_config cfg;
	uint32_t *next; /* by access: index from this epoch's first on */
	/* By unit: its last access, + 1; 0 = none open. Between epochs its first one, where that
	 * was looked for. */
	uint32_t *last;
	uint64_t count, room, before, epoch;
	uint64_t open; /* units that have not come again, or not yet at all */
	bool has_begun;
};

/* Of the ranks' epoch, rounded up where extents have different samples. */
static uint64_t most_accesses(const struct nextuse_config *cfg)
{
	uint64_t ranks = cfg->end_rank - cfg->first_rank;

	return ranks * cfg->sampler->rank_extents;
}

uint64_t nextuse_state_bytes(const struct nextuse_config *cfg)
{
	return sizeof(struct nextuse) + (most_accesses(cfg) + cfg->units) * sizeof(uint32_t);
}

int nextuse_new(struct nextuse **out, const struct nextuse_config *cfg, struct mlgen_err *err)
{
	struct nextuse *n;

	*out = NULL;
	if (cfg->sampler->shuffle == SHUFFLE_IMPORTANCE)
		return mlgen_fail(err, -EINVAL,
				  "cache=belady: with shuffle=importance the order of an epoch "
				  "follows from the losses of the one before, and nobody knows it "
				  "ahead; cache=importance");
	if (most_accesses(cfg) >= NEVER / 4)
		return mlgen_fail(err, -EINVAL,
				  "cache=belady: an epoch of %" PRIu64
				  " accesses is more than the %" PRIu32
				  " that can be told apart; cache=lru",
				  most_accesses(cfg), NEVER / 4);
	n = mem_zalloc(sizeof(*n));
	n->cfg = *cfg;
	n->room = most_accesses(cfg);
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

static uint64_t unit_of(const struct nextuse *n, uint64_t extent)
{
	return n->cfg.unit_of ? n->cfg.unit_of(n->cfg.arg, extent) : extent;
}

/* Where extents differ, epochs are not all as long. */
static void make_room(struct nextuse *n)
{
	size_t room = n->room;

	n->next = mem_grow(n->next, &room, n->count + 1, sizeof(*n->next));
	n->room = room;
}

/* An access of index `index` from this epoch's first on; `last` of its unit. */
typedef void visit_fn(struct nextuse *n, uint32_t *last, uint64_t index);

/*
 * All accesses of an epoch, from this index on; the end. Units lie anywhere in memory: some are
 * looked at side by side, as in cache_expect.
 */
static uint64_t walk(struct nextuse *n, uint64_t epoch, uint64_t index, visit_fn *visit)
{
	uint32_t *coming[COMING];
	unsigned count;
	struct orderwalk w;
	struct orderwalk_at at;

	orderwalk_begin(&w, n->cfg.sampler, n->cfg.first_rank, n->cfg.end_rank, epoch);
	do {
		for (count = 0; count < COMING && orderwalk_next(&w, &at); count++) {
			coming[count] = &n->last[unit_of(n, at.extent)];
			__builtin_prefetch(coming[count], 1);
		}
		for (unsigned i = 0; i < count; i++)
			if (*coming[i])
				__builtin_prefetch(&n->next[*coming[i] - 1], 1);
		for (unsigned i = 0; i < count; i++)
			visit(n, coming[i], index++);
	} while (count == COMING);
	orderwalk_end(&w);
	return index;
}

/* What was accessed last is so again here. */
static void close_last(struct nextuse *n, const uint32_t *last, uint64_t index)
{
	if (*last)
		n->next[*last - 1] = (uint32_t)index;
}

/* In this epoch: one closes the one before of its unit, and is open. */
static void visit_this(struct nextuse *n, uint32_t *last, uint64_t index)
{
	make_room(n);
	close_last(n, last, index);
	n->open += !*last;
	n->next[n->count++] = NEVER;
	*last = (uint32_t)n->count;
}

/* The first access of a unit in a following epoch closes what is open. */
static void visit_following(struct nextuse *n, uint32_t *last, uint64_t index)
{
	close_last(n, last, index);
	n->open -= *last != 0;
	*last = 0;
}

static void visit_first(struct nextuse *n, uint32_t *last, uint64_t index)
{
	n->open -= !*last;
	if (!*last)
		*last = (uint32_t)index + 1;
}

/* Walk the epochs from `epoch` on, which begins at `index`, while there are open units. */
static void walk_on(struct nextuse *n, uint64_t epoch, uint64_t index, visit_fn *visit)
{
	uint64_t end = epoch + u64_min(NEXTUSE_EPOCHS, n->cfg.epochs - epoch);

	for (; epoch < end && n->open && index < NEVER - n->room; epoch++)
		index = walk(n, epoch, index, visit);
}

static void forget_last(struct nextuse *n)
{
	memset(n->last, 0, n->cfg.units * sizeof(*n->last));
}

void nextuse_epoch(struct nextuse *n, uint64_t epoch)
{
	if (n->has_begun)
		n->before += n->count;
	n->has_begun = true;
	n->epoch = epoch;
	/* What was not closed is open no more. */
	forget_last(n);
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

void nextuse_look_first(struct nextuse *n)
{
	forget_last(n);
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
 * The heap has an eighth of the slots, those worth least, so that it stays in the CPU's caches;
 * whatever is in no node of it is worth `bar` or more. What a slot is worth stands in `worth`, and
 * a node that says something else is an old one, which is left out when it comes to the top: so a
 * hit writes to one place, and nobody has to know where in the heap a slot is. Once the heap is
 * empty, a walk over all slots fills half of it, for so many evictions.
 */

/* The children of a place, side by side: four of them are a cache line, since the heap begins where
 * that of the first ends (cache.c). */
#define WAYS 4

/* Of these is known where a bar has to be; qsort() allocates nothing for them. */
#define SAMPLES 120u

static inline void fetch_slot(const struct cache *c, uint32_t slot)
{
	__builtin_prefetch(&c->worth[slot]);
	__builtin_prefetch(&c->entries[slot]);
}

/* ---- the heap ---- */

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

/* The lesser of two places, as arithmetic: no branch could foretell it. */
static inline uint32_t lesser(const struct cache *c, uint32_t a, uint32_t b)
{
	uint32_t is_b = c->heap[b].worth < c->heap[a].worth;

	return a ^ ((a ^ b) & (0 - is_b));
}

/* The least of a place's children; UINT32_MAX: it has none. */
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
	/* Who evicts next finds it there. */
	fetch_slot(c, c->heap[0].slot);
}

static void order(struct cache *c)
{
	for (uint32_t at = c->heap_count / WAYS + 1; at-- > 0;)
		if (at < c->heap_count)
			sift_down(c, at, c->heap[at]);
}

/* ---- the bar ---- */

static bool is_aside(const struct cache *c, uint32_t slot)
{
	uint32_t unit = c->entries[slot].unit;

	return c->aside && unit != CACHE_FREE && c->slot_of[unit] != slot + 1;
}

static bool is_old(const struct cache *c, const struct cache_node *n)
{
	return c->worth[n->slot] != n->worth || is_aside(c, n->slot);
}

/* What about `part` of them are worth at most; one of them is. */
static uint64_t part_worth(uint64_t *samples, unsigned count, double part)
{
	qsort(samples, count, sizeof(*samples), u64_compare);
	return samples[(unsigned)(part * (count - 1))];
}

/* Those of the heap that are worth most are in it no longer. What is worth as much as the bar may
 * be left out or not. */
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

static void leave_out_old(struct cache *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->heap_count; i++)
		if (!is_old(c, &c->heap[i]))
			c->heap[kept++] = c->heap[i];
	c->heap_count = kept;
}

static void push(struct cache *c, uint64_t worth, uint32_t slot)
{
	if (worth >= c->bar)
		return;
	if (c->heap_count == c->heap_room) {
		leave_out_old(c);
		while (c->heap_count > c->heap_room / 4 * 3)
			lower_bar(c);
		order(c);
		if (worth >= c->bar)
			return;
	}
	sift_up(c, c->heap_count++, (struct cache_node){ worth, slot });
}

/* Of the heap's size such that half of it is full then. */
static uint64_t bar_of_slots(const struct cache *c)
{
	unsigned count = (unsigned)u64_min(SAMPLES, c->high);
	uint64_t samples[SAMPLES] = { 0 };

	if (c->high <= c->heap_room / 2)
		return UINT64_MAX;
	for (unsigned i = 0; i < count; i++) {
		uint32_t slot = (uint32_t)((uint64_t)i * c->high / count);

		samples[i] = is_aside(c, slot) ? CACHE_WORTH_NONE : c->worth[slot];
	}
	return part_worth(samples, count, c->heap_room / 2.0 / c->high);
}

/* All that is worth less than the bar, and of what is worth as much something. */
static void refill(struct cache *c)
{
	c->heap_count = 0;
	c->bar = bar_of_slots(c);
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

/* The slot that is worth least of those that are not set aside; there is one. */
static uint32_t least(struct cache *c)
{
	for (;;) {
		while (c->heap_count && is_old(c, &c->heap[0]))
			pop(c);
		if (c->heap_count)
			return c->heap[0].slot;
		refill(c);
	}
}

/* ---- a policy's part ---- */

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

/* A chain of slots: what is known of a unit is not where it is but which comes next. Nobody looks
 * for it until all of them are back, or gone. */
static void set_aside(struct cache *c, uint32_t slot)
{
	c->slot_of[c->entries[slot].unit] = c->aside;
	c->aside = slot + 1;
	pop(c);
}

/* All that was set aside goes, or comes back. */
static void end_aside(struct cache *c, bool goes)
{
	while (c->aside) {
		uint32_t slot = c->aside - 1;
		uint32_t *slot_of = &c->slot_of[c->entries[slot].unit];

		c->aside = *slot_of;
		*slot_of = slot + 1;
		if (goes)
			cache_evict(c, slot);
		else if (c->worth[slot] <= c->bar)
			push(c, c->worth[slot], slot);
	}
}

/*
 * What would have to go is set aside first, the least before others. One that is worth no less than
 * the newcomer saves all of them: so nothing is lost for a newcomer that is not kept in the end,
 * however many it would have taken.
 */
bool cache_worth_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes)
{
	uint64_t newcomer = c->policy->worth(a, 0);
	uint64_t free_bytes = c->cfg.capacity_bytes - c->used_bytes;
	bool has_slot = c->count < c->slots, is_worth_it = true;

	while (!has_slot || free_bytes < bytes) {
		uint32_t slot = least(c);

		is_worth_it = c->worth[slot] < newcomer;
		if (!is_worth_it)
			break;
		set_aside(c, slot);
		free_bytes += cache_slot_bytes(c, slot);
		has_slot = true;
	}
	end_aside(c, is_worth_it);
	return is_worth_it;
}

/* ---- what a unit is worth ---- */

/* Numbers in their order, also negative ones, as integers. */
static uint32_t ordered(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

/* By weight, then by how often it was read since it came. */
uint64_t cache_worth_importance(const struct cache_access *a, uint64_t had)
{
	uint32_t times = (uint32_t)had;

	times += times < UINT32_MAX - 1;
	return (uint64_t)ordered((float)a->weight) << 32 | times;
}

uint64_t cache_worth_belady(const struct cache_access *a, uint64_t had)
{
	(void)had;
	return u64_min(~a->next_use, CACHE_WORTH_NONE - 1);
}
