/* SPDX-License-Identifier: Apache-2.0 */
/* cache_internal.h - what the policies share. */
#pragma once

#include "data/cache/cache.h"

/* Of each slot, whatever the policy. */
struct cache_entry {
	uint32_t unit; /* CACHE_FREE: of nobody */
	uint32_t generation;
	union {
		uint32_t next_free; /* slot, where it is free */
		uint32_t was_hit;   /* CACHE_CLOCK: since its last turn */
		uint32_t times;     /* CACHE_LFU: its list, from 0 */
		uint32_t bytes;     /* else, where they differ: as sizes */
	};
};

#define CACHE_FREE UINT32_MAX

/* Of policies with a list: the neighbours of a slot, CACHE_NO_SLOT = none. */
struct cache_link {
	uint32_t newer, older;
};

/* Its ends; CACHE_NO_SLOT = nothing is in it. */
struct cache_list {
	uint32_t newest, oldest;
};

/* CACHE_LFU: one of each number of accesses; of more all count as the most. */
#define CACHE_LISTS 64

/* Of policies by worth: what a slot was worth when this was written. */
struct cache_node {
	uint64_t worth;
	uint32_t slot;
};

/* Of a slot that is free; nothing is worth as much. */
#define CACHE_WORTH_NONE UINT64_MAX

struct cache {
	const struct cache_policy *policy;
	struct cache_config cfg;
	uint32_t *slot_of;           /* by unit, + 1; 0 = not there */
	struct cache_entry *entries; /* by slot */
	/* By slot, UINT32_MAX = that or more; NULL = they are alike, or entries have them. */
	uint32_t *sizes;
	union {
		struct cache_link *links; /* by slot */
		uint64_t *worth;          /* by slot */
	};
	struct cache_node *heap; /* by worth, the least first */
	/* Slots that there are, that were ever used, that are in use. */
	uint32_t slots, high, count;
	uint32_t free;                        /* of those that were; CACHE_NO_SLOT */
	struct cache_list lists[CACHE_LISTS]; /* the first, but of lfu */
	uint64_t filled;                      /* bits of those of lfu */
	uint32_t heap_count, heap_room;
	uint64_t bar; /* what is not in the heap is worth it, or more */
	/* By worth: the first slot that is set aside, + 1; 0 = none. What slot_of has of its unit
	 * is the next one then. */
	uint32_t aside;
	uint64_t used_bytes;
	uint64_t tick; /* what was drawn, or accessed, so far */
	void *memory;
	size_t memory_bytes;
};

/*
 * A policy. `make_room` evicts until so many bytes fit in, or gives false and has evicted nothing;
 * it is only asked of what fits into the cache alone. NULL: nothing ever makes room.
 */
struct cache_policy {
	size_t slot_bytes; /* of its own, beside struct cache_entry */
	bool has_word;     /* ... and a word in there */
	/* Is the unit one to be kept? NULL = each is. */
	bool (*takes)(const struct cache *c, uint64_t unit);
	bool (*make_room)(struct cache *c, const struct cache_access *a, uint64_t bytes);
	/* What is in a slot was accessed, came, or goes; NULL = no matter. */
	void (*hit)(struct cache *c, uint32_t slot, const struct cache_access *a);
	void (*add)(struct cache *c, uint32_t slot, const struct cache_access *a);
	void (*remove)(struct cache *c, uint32_t slot);
	/* By worth: of the unit now; `had` is what it was until then, 0 where it comes. One that is
	 * worth no more than others is not kept. */
	uint64_t (*worth)(const struct cache_access *a, uint64_t had);
};

/* Would so many units of so many bytes fit in? */
bool cache_fits(const struct cache *c, uint64_t units, uint64_t bytes);
/* Of what is in the slot. */
uint64_t cache_slot_bytes(const struct cache *c, uint32_t slot);
/* What is in the slot goes, and its owner hears of it. */
void cache_evict(struct cache *c, uint32_t slot);

/* cache_lists.c: the oldest goes. */
bool cache_list_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes);
bool cache_clock_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes);
void cache_list_add(struct cache *c, uint32_t slot, const struct cache_access *a);
void cache_list_remove(struct cache *c, uint32_t slot);
void cache_list_renew(struct cache *c, uint32_t slot, const struct cache_access *a);
void cache_clock_add(struct cache *c, uint32_t slot, const struct cache_access *a);
void cache_clock_hit(struct cache *c, uint32_t slot, const struct cache_access *a);

void cache_lfu_add(struct cache *c, uint32_t slot, const struct cache_access *a);
void cache_lfu_hit(struct cache *c, uint32_t slot, const struct cache_access *a);
void cache_lfu_remove(struct cache *c, uint32_t slot);
bool cache_lfu_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes);

/* cache_worth.c: what is worth least goes. */
bool cache_worth_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes);
void cache_worth_add(struct cache *c, uint32_t slot, const struct cache_access *a);
void cache_worth_remove(struct cache *c, uint32_t slot);
void cache_worth_hit(struct cache *c, uint32_t slot, const struct cache_access *a);
uint64_t cache_worth_importance(const struct cache_access *a, uint64_t had);
uint64_t cache_worth_belady(const struct cache_access *a, uint64_t had);
