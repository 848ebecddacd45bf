/* SPDX-License-Identifier: Apache-2.0 */
/* cache_internal.h - state that the cache policies share. */
#pragma once

#include "data/cache/cache.h"

/* State of a slot, for all policies. */
struct cache_entry {
	uint32_t unit; /* CACHE_FREE = the slot is free */
	uint32_t generation;
	union {
		uint32_t next_free; /* next slot of the free list */
		uint32_t was_hit;   /* CACHE_CLOCK: hit since the hand passed */
		uint32_t times;     /* CACHE_LFU: index of the slot's list */
		uint32_t bytes;     /* other policies, if sizes differ; as in `sizes` */
	};
};

#define CACHE_FREE UINT32_MAX

/* List policies: the neighbours of a slot; CACHE_NO_SLOT = none. */
struct cache_link {
	uint32_t newer, older;
};

/* The ends of a list; CACHE_NO_SLOT = the list is empty. */
struct cache_list {
	uint32_t newest, oldest;
};

/* CACHE_LFU: number of lists, one for each number of accesses; the last has all higher numbers. */
#define CACHE_LISTS 64

/* Worth policies: a node of the heap, with the slot's worth at the time it was pushed. */
struct cache_node {
	uint64_t worth;
	uint32_t slot;
};

/* Worth of a free slot; no unit is worth as much. */
#define CACHE_WORTH_NONE UINT64_MAX

struct cache {
	const struct cache_policy *policy;
	struct cache_config cfg;
	uint32_t *slot_of;           /* indexed by unit: slot + 1; 0 = not cached */
	struct cache_entry *entries; /* indexed by slot */
	/* Indexed by slot; UINT32_MAX = that size or more. NULL = all units have the same size, or
	 * `entries` has the sizes. */
	uint32_t *sizes;
	union {
		struct cache_link *links; /* indexed by slot */
		uint64_t *worth;          /* indexed by slot */
	};
	struct cache_node *heap;              /* ordered by worth, the least first */
	uint32_t slots;                       /* number of slots */
	uint32_t high;                        /* slots below this index have been used */
	uint32_t count;                       /* slots in use */
	uint32_t free;                        /* head of the free list; CACHE_NO_SLOT = empty */
	struct cache_list lists[CACHE_LISTS]; /* lfu uses all, other list policies the first */
	uint64_t filled;                      /* lfu: a bit for each list that is not empty */
	uint32_t heap_count, heap_room;
	uint64_t bar; /* slots that are not in the heap are worth at least this */
	/* Worth policies: first slot that is set aside, + 1; 0 = none. For the unit of a slot set
	 * aside, slot_of has the next such slot in the same form. */
	uint32_t aside;
	uint64_t used_bytes;
	uint64_t draws; /* random numbers drawn so far */
	void *memory;
	size_t memory_bytes;
};

/*
 * A policy. `make_room` evicts until a unit of `bytes` fits, or returns false and evicts nothing.
 * make_room NULL = the policy never evicts; otherwise it is only called for units that fit into the
 * empty cache.
 */
struct cache_policy {
	size_t slot_bytes; /* per slot, in addition to struct cache_entry */
	bool has_word;     /* uses the union in struct cache_entry */
	/* May the unit be admitted? NULL = every unit. */
	bool (*admits)(const struct cache *c, uint64_t unit);
	bool (*make_room)(struct cache *c, const struct cache_access *a, uint64_t bytes);
	/* Called when the unit in a slot was accessed, was added, or is about to be removed; NULL =
	 * no action. */
	void (*hit)(struct cache *c, uint32_t slot, const struct cache_access *a);
	void (*add)(struct cache *c, uint32_t slot, const struct cache_access *a);
	void (*remove)(struct cache *c, uint32_t slot);
	/* Worth policies: the unit's worth now; `had` is its worth until now, 0 for a newcomer. A
	 * newcomer must be worth more than the units that it evicts. */
	uint64_t (*worth)(const struct cache_access *a, uint64_t had);
};

bool cache_fits(const struct cache *c, uint64_t units, uint64_t bytes);
/* Size of the unit in the slot. */
uint64_t cache_slot_bytes(const struct cache *c, uint32_t slot);
/* Free the slot and call cfg.evicted. */
void cache_evict(struct cache *c, uint32_t slot);

/* cache_lists.c: evict the oldest unit. */
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

/* cache_worth.c: evict the unit that is worth least. */
bool cache_worth_make_room(struct cache *c, const struct cache_access *a, uint64_t bytes);
void cache_worth_add(struct cache *c, uint32_t slot, const struct cache_access *a);
void cache_worth_remove(struct cache *c, uint32_t slot);
void cache_worth_hit(struct cache *c, uint32_t slot, const struct cache_access *a);
uint64_t cache_worth_importance(const struct cache_access *a, uint64_t had);
uint64_t cache_worth_belady(const struct cache_access *a, uint64_t had);
