/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - cache policies, slots and sizes. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "data/cache/cache_internal.h"

/* ---- policies ---- */

static bool is_hot(const struct cache *c, uint64_t unit)
{
	return c->cfg.is_hot && c->cfg.is_hot(c->cfg.arg, unit);
}

/* Most slots are in use unless units were forgotten, so a random slot is free only rarely. After
 * this many draws that hit free slots, the next slot in use is taken. */
#define MAX_DRAWS 32

/* Pick a slot in use; at least one must exist. */
static uint32_t cache_pick(const struct cache *c, uint64_t random)
{
	uint32_t slot = 0;

	for (unsigned i = 0; i < MAX_DRAWS; i++) {
		slot = (uint32_t)(((random >> 32) * c->high) >> 32);
		if (c->entries[slot].unit != CACHE_FREE)
			return slot;
		random = rng_u64(random, RNG_CACHE, i);
	}
	while (c->entries[slot].unit == CACHE_FREE)
		slot = slot + 1 < c->high ? slot + 1 : 0;
	return slot;
}

static bool random_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes)
{
	(void)a;
	while (!cache_fits(c, 1, bytes))
		cache_evict(c, cache_pick(c, rng_u64(c->cfg.seed, RNG_CACHE, c->draws++)));
	return true;
}

/* clang-format off */
#define BY_AGE \
	.slot_bytes = sizeof(struct cache_link), .make_room = cache_list_make_room, \
	.add = cache_list_add, .remove = cache_list_remove
#define BY_WORTH \
	.slot_bytes = sizeof(uint64_t), .make_room = cache_worth_make_room, \
	.hit = cache_worth_hit, .add = cache_worth_add, .remove = cache_worth_remove

/* The names and descriptions of the policies are those of the option cache, in job/options.c. */
static const struct cache_policy policies[] = {
	[CACHE_LRU] = { BY_AGE, .hit = cache_list_renew },
	[CACHE_FIFO] = { BY_AGE },
	[CACHE_LFU] = { .slot_bytes = sizeof(struct cache_link), .has_word = true, .make_room = cache_lfu_make_room,
			.hit = cache_lfu_hit, .add = cache_lfu_add, .remove = cache_lfu_remove },
	[CACHE_RANDOM] = { .make_room = random_make_room },
	[CACHE_CLOCK] = { .slot_bytes = sizeof(struct cache_link), .has_word = true, .make_room = cache_clock_make_room,
			  .hit = cache_clock_hit, .add = cache_clock_add, .remove = cache_list_remove },
	[CACHE_MINIO] = { .admits = NULL },
	[CACHE_IMPORTANCE] = { BY_WORTH, .worth = cache_worth_importance },
	[CACHE_BELADY] = { BY_WORTH, .worth = cache_worth_belady },
	[CACHE_HOT] = { .admits = is_hot },
};
/* clang-format on */

/* ---- size of the bookkeeping ---- */

/* A size class spans 1/32 of a power of two, so sizes of a class differ by at most 3 %. */
#define CLASS_BITS 5
#define CLASSES ((64 - CLASS_BITS + 1) << CLASS_BITS)

static unsigned class_of(uint64_t bytes)
{
	unsigned high = 63 - (unsigned)__builtin_clzll(bytes | 1);

	if (high < CLASS_BITS)
		return (unsigned)bytes;
	return ((high - CLASS_BITS + 1) << CLASS_BITS) +
	       (unsigned)((bytes >> (high - CLASS_BITS)) - (UINT64_C(1) << CLASS_BITS));
}

static uint64_t class_bytes(unsigned class)
{
	unsigned power = class >> CLASS_BITS;
	uint64_t part = class & ((1 << CLASS_BITS) - 1);

	return power == 0 ? part : (part + (1 << CLASS_BITS)) << (power - 1);
}

/* The maximum number of units that fit: the smallest are counted first. */
static uint64_t max_units(const struct cache_config *cfg)
{
	uint64_t *counts = mem_array(CLASSES, sizeof(*counts));
	uint64_t least = UINT64_MAX, units = 0, left = cfg->capacity_bytes;

	for (uint64_t u = 0; u < cfg->units; u++) {
		uint64_t bytes = cfg->unit_bytes(cfg->arg, u);

		least = u64_min(least, bytes);
		counts[class_of(bytes)]++;
	}
	for (unsigned i = 0; i < CLASSES; i++) {
		uint64_t each = u64_max(class_bytes(i), least);
		uint64_t fit = each ? left / each : UINT64_MAX;

		units += u64_min(counts[i], fit);
		if (fit < counts[i])
			break;
		left -= counts[i] * each;
	}
	mem_free(counts);
	return units;
}

uint64_t cache_slots(const struct cache_config *cfg)
{
	uint64_t most = u64_min(cfg->units, cfg->capacity_units);

	if (cfg->capacity_bytes == 0)
		return 0;
	if (cfg->capacity_bytes == UINT64_MAX)
		return most;
	if (!cfg->each_bytes && cfg->unit_bytes)
		return u64_min(most, max_units(cfg));
	return u64_min(most, cfg->capacity_bytes / u64_max(cfg->each_bytes, 1));
}

/* Sizes need an array of their own if the policy uses the word in struct cache_entry. */
static bool has_sizes(const struct cache_config *cfg)
{
	return !cfg->each_bytes && policies[cfg->policy].has_word;
}

/* Number of heap nodes: an eighth of the slots, plus 128 so that a small cache has one for each. */
static uint64_t heap_room(const struct cache_config *cfg, uint64_t slots)
{
	return policies[cfg->policy].worth ? slots / 8 + 128 : 0;
}

/* Offset of the heap that starts its second node (of 16 bytes) at a cache line. */
#define HEAP_SHIFT (64 - sizeof(struct cache_node))

static uint64_t memory_bytes(const struct cache_config *cfg, uint64_t slots)
{
	uint64_t slot_bytes = sizeof(struct cache_entry) + policies[cfg->policy].slot_bytes +
			      (has_sizes(cfg) ? sizeof(uint32_t) : 0);

	return HEAP_SHIFT + heap_room(cfg, slots) * sizeof(struct cache_node) + slots * slot_bytes +
	       cfg->units * sizeof(uint32_t);
}

uint64_t cache_state_bytes(const struct cache_config *cfg)
{
	return sizeof(struct cache) + memory_bytes(cfg, cache_slots(cfg));
}

/* ---- life cycle ---- */

/* Cut the next `bytes` off a block of memory. */
static void *cut(char **at, uint64_t bytes)
{
	void *p = *at;

	*at += bytes;
	return p;
}

int cache_new(struct cache **out, const struct cache_config *cfg, struct mlgen_err *err)
{
	int rc;

	*out = NULL;
	/* Units and slots have 32 bits, and one value of each means none. */
	if (cfg->units >= CACHE_FREE)
		return mlgen_fail(err, -EINVAL,
				  "cache: the %" PRIu64
				  " units of the data set are more than the limit of %" PRIu32
				  "; cache_unit=file has fewer units",
				  cfg->units, CACHE_FREE - 1);
	struct cache *c = mem_zalloc(sizeof(*c));
	c->cfg = *cfg;
	c->policy = &policies[cfg->policy];
	c->slots = (uint32_t)cache_slots(cfg);
	c->free = CACHE_NO_SLOT;
	for (unsigned i = 0; i < CACHE_LISTS; i++)
		c->lists[i] = (struct cache_list){ CACHE_NO_SLOT, CACHE_NO_SLOT };
	uint64_t nodes = heap_room(cfg, c->slots);
	c->memory_bytes = (size_t)memory_bytes(cfg, c->slots);
	char *at = mem_table(c->memory_bytes);
	c->memory = at;
	if (!at) {
		rc = mlgen_fail(err, -ENOMEM,
				"cache: no memory for up to %zu bytes of bookkeeping; use a "
				"smaller cache_size",
				c->memory_bytes);
		mem_free(c);
		return rc;
	}
	cut(&at, HEAP_SHIFT);
	c->heap = cut(&at, nodes * sizeof(*c->heap));
	c->heap_room = (uint32_t)nodes;
	c->links = cut(&at, c->slots * c->policy->slot_bytes);
	c->entries = cut(&at, c->slots * sizeof(*c->entries));
	if (has_sizes(cfg))
		c->sizes = cut(&at, c->slots * sizeof(*c->sizes));
	c->slot_of = cut(&at, cfg->units * sizeof(*c->slot_of));
	*out = c;
	return 0;
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	mem_buffer_free(c->memory, c->memory_bytes, MEM_MMAP);
	mem_free(c);
}

/* ---- slots ---- */

bool cache_fits(const struct cache *c, uint64_t units, uint64_t bytes)
{
	return units <= c->slots - c->count && bytes <= c->cfg.capacity_bytes - c->used_bytes;
}

static uint64_t bytes_of(const struct cache *c, uint64_t unit)
{
	return c->cfg.each_bytes ? c->cfg.each_bytes : c->cfg.unit_bytes(c->cfg.arg, unit);
}

uint64_t cache_slot_bytes(const struct cache *c, uint32_t slot)
{
	if (c->cfg.each_bytes)
		return c->cfg.each_bytes;
	uint32_t bytes = c->sizes ? c->sizes[slot] : c->entries[slot].bytes;
	return bytes < UINT32_MAX ? bytes : bytes_of(c, c->entries[slot].unit);
}

static void set_free(struct cache *c, uint32_t slot)
{
	c->entries[slot].unit = CACHE_FREE;
	c->entries[slot].next_free = c->free;
	c->free = slot;
}

static void free_slot(struct cache *c, uint32_t slot)
{
	if (c->policy->remove)
		c->policy->remove(c, slot);
	c->slot_of[c->entries[slot].unit] = 0;
	c->used_bytes -= cache_slot_bytes(c, slot);
	c->count--;
	set_free(c, slot);
}

void cache_evict(struct cache *c, uint32_t slot)
{
	uint64_t unit = c->entries[slot].unit;

	free_slot(c, slot);
	if (c->cfg.evicted)
		c->cfg.evicted(c->cfg.to, unit, slot);
}

/* ---- accesses ---- */

/* Make room for a newcomer if the policy admits it. */
static bool make_room(struct cache *c, const struct cache_access *a, uint64_t bytes)
{
	if (c->slots == 0 || bytes > c->cfg.capacity_bytes ||
	    (c->policy->admits && !c->policy->admits(c, a->unit)))
		return false;
	return cache_fits(c, 1, bytes) ||
	       (c->policy->make_room && c->policy->make_room(c, a, bytes));
}

/* Put a unit into a free slot. Returns the slot's generation. */
static uint32_t fill_slot(struct cache *c, uint32_t slot, const struct cache_access *a,
			  uint64_t bytes)
{
	struct cache_entry *e = &c->entries[slot];
	uint32_t size = (uint32_t)u64_min(bytes, UINT32_MAX);

	e->unit = (uint32_t)a->unit;
	e->generation++;
	if (c->sizes)
		c->sizes[slot] = size;
	else if (!c->policy->has_word)
		e->bytes = size;
	c->slot_of[a->unit] = slot + 1;
	c->used_bytes += bytes;
	c->count++;
	if (c->policy->add)
		c->policy->add(c, slot, a);
	return e->generation;
}

void cache_access(struct cache *c, const struct cache_access *a, struct cache_answer *answer)
{
	uint32_t slot = cache_find(c, a->unit);

	*answer = (struct cache_answer){ slot != CACHE_NO_SLOT, slot, 0 };
	if (answer->is_hit) {
		answer->generation = c->entries[slot].generation;
		if (c->policy->hit)
			c->policy->hit(c, slot, a);
		return;
	}
	uint64_t bytes = bytes_of(c, a->unit);
	if (!make_room(c, a, bytes))
		return;
	if (c->free == CACHE_NO_SLOT) {
		slot = c->high++;
	} else {
		slot = c->free;
		c->free = c->entries[slot].next_free;
	}
	answer->slot = slot;
	answer->generation = fill_slot(c, slot, a, bytes);
}

uint32_t cache_restore(struct cache *c, const struct cache_access *a, uint32_t slot)
{
	uint64_t bytes = bytes_of(c, a->unit);

	if (slot < c->high || slot >= c->slots || cache_find(c, a->unit) != CACHE_NO_SLOT ||
	    !cache_has_room(c, a->unit))
		return 0;
	for (; c->high < slot; c->high++) {
		set_free(c, c->high);
		if (c->policy->worth)
			c->worth[c->high] = CACHE_WORTH_NONE;
	}
	c->high = slot + 1;
	return fill_slot(c, slot, a, bytes);
}

/* The address of an entry follows from slot_of, so entries are prefetched after slot_of. */
void cache_expect(const struct cache *c, const uint64_t *units, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		__builtin_prefetch(&c->slot_of[units[i]], 1);
	for (unsigned i = 0; i < count; i++) {
		uint32_t slot = cache_find(c, units[i]);

		if (slot == CACHE_NO_SLOT)
			continue;
		__builtin_prefetch(&c->entries[slot], 1);
		if (c->policy->slot_bytes)
			__builtin_prefetch(&c->links[slot], 1);
	}
}

uint32_t cache_find(const struct cache *c, uint64_t unit)
{
	/* 0 - 1 is CACHE_NO_SLOT. */
	return c->slot_of[unit] - 1;
}

bool cache_has_room(const struct cache *c, uint64_t unit)
{
	return c->slots > 0 && !(c->policy->admits && !c->policy->admits(c, unit)) &&
	       cache_fits(c, 1, bytes_of(c, unit));
}

bool cache_any(const struct cache *c, uint64_t random, uint64_t *unit, uint32_t *slot)
{
	if (c->count == 0)
		return false;
	*slot = cache_pick(c, random);
	*unit = c->entries[*slot].unit;
	return true;
}

uint32_t cache_generation(const struct cache *c, uint32_t slot)
{
	return c->entries[slot].generation;
}

bool cache_unit_in(const struct cache *c, uint32_t slot, uint64_t *unit)
{
	*unit = c->entries[slot].unit;
	return slot < c->high && *unit != CACHE_FREE;
}

void cache_forget(struct cache *c, uint64_t unit)
{
	uint32_t slot = cache_find(c, unit);

	if (slot != CACHE_NO_SLOT)
		free_slot(c, slot);
}

uint64_t cache_used_bytes(const struct cache *c)
{
	return c->used_bytes;
}

uint64_t cache_units(const struct cache *c)
{
	return c->count;
}
