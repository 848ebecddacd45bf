/* SPDX-License-Identifier: Apache-2.0 */
/* cache_inside.h - what the policies of a cache share; for src/data/cache*.c alone. */
#pragma once

#include "data/cache.h"

/* Of each slot, whatever the policy. */
struct cache_entry {
	uint64_t bytes;
	uint32_t unit; /* CACHE_FREE: of nobody */
	union {
		uint32_t next_free; /* slot, where it is free */
		uint32_t heap_at;   /* of policies with a heap */
		uint32_t was_hit;   /* CACHE_CLOCK: since its last turn */
		uint32_t times;     /* CACHE_LFU: its list, from 0 */
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

/* Of policies with a heap: what a slot is worth, `more` where `most` is equal. */
struct cache_ranked {
	uint64_t most;
	uint32_t more;
	uint32_t slot;
};

struct cache {
	const struct cache_policy *policy;
	struct cache_config cfg;
	uint32_t *slot_of;           /* by unit, + 1; 0 = not there */
	struct cache_entry *entries; /* by slot */
	union {
		struct cache_link *links;  /* by slot */
		struct cache_ranked *heap; /* the least first */
	};
	/* Slots that there are, that were ever used, that are in use. */
	uint32_t slots, high, count;
	uint32_t free; /* of those that were; CACHE_NO_SLOT */
	struct cache_list lists[CACHE_LISTS]; /* the first, but of lfu */
	uint64_t filled;                      /* bits of those of lfu */
	uint32_t heap_count;
	bool is_root_free; /* of the heap, between make_room and add */
	uint64_t used_bytes;
	uint64_t tick; /* what was drawn, or accessed, so far */
	void *memory;
	size_t memory_bytes;
};

/*
 * A policy. `make_room` evicts until so many bytes fit in, or gives false and has
 * evicted nothing; it is only asked of what fits into the cache alone. NULL:
 * nothing ever makes room.
 */
struct cache_policy {
	size_t slot_bytes; /* of its own, beside struct cache_entry */
	/* Is the unit one to be kept? NULL = each is. */
	bool (*takes)(const struct cache *c, uint64_t unit);
	bool (*make_room)(struct cache *c, const struct cache_access *a,
			  uint64_t bytes);
	/* What is in a slot was accessed, came, or goes; NULL = no matter. */
	void (*hit)(struct cache *c, uint32_t slot,
		    const struct cache_access *a);
	void (*add)(struct cache *c, uint32_t slot,
		    const struct cache_access *a);
	void (*remove)(struct cache *c, uint32_t slot);
	/* Of policies with a heap: what the unit is worth now; `had` is what it
	 * was until then, NULL where it comes. */
	struct cache_ranked (*rank)(struct cache *c,
				    const struct cache_access *a,
				    const struct cache_ranked *had);
	bool can_bypass; /* a newcomer that is worth no more is not kept */
};

/* Would so many units of so many bytes fit in? */
bool cache_fits(const struct cache *c, uint64_t units, uint64_t bytes);
/* What is in the slot goes, and its owner hears of it. */
void cache_evict(struct cache *c, uint32_t slot);
/* A slot in use, by a random number; there is one. */
uint32_t cache_pick(const struct cache *c, uint64_t random);

/* cache_lists.c: the oldest goes. */
bool cache_list_make_room(struct cache *c, const struct cache_access *a,
			  uint64_t bytes);
bool cache_clock_make_room(struct cache *c, const struct cache_access *a,
			   uint64_t bytes);
void cache_list_add(struct cache *c, uint32_t slot,
		    const struct cache_access *a);
void cache_list_remove(struct cache *c, uint32_t slot);
void cache_list_renew(struct cache *c, uint32_t slot,
		      const struct cache_access *a);
void cache_clock_add(struct cache *c, uint32_t slot,
		     const struct cache_access *a);
void cache_clock_hit(struct cache *c, uint32_t slot,
		     const struct cache_access *a);

void cache_lfu_add(struct cache *c, uint32_t slot,
		   const struct cache_access *a);
void cache_lfu_hit(struct cache *c, uint32_t slot,
		   const struct cache_access *a);
void cache_lfu_remove(struct cache *c, uint32_t slot);
bool cache_lfu_make_room(struct cache *c, const struct cache_access *a,
			 uint64_t bytes);

/* cache_heap.c: what is worth least goes. */
bool cache_heap_make_room(struct cache *c, const struct cache_access *a,
			  uint64_t bytes);
void cache_heap_add(struct cache *c, uint32_t slot,
		    const struct cache_access *a);
void cache_heap_remove(struct cache *c, uint32_t slot);
void cache_heap_hit(struct cache *c, uint32_t slot,
		    const struct cache_access *a);
struct cache_ranked cache_rank_importance(struct cache *c,
					  const struct cache_access *a,
					  const struct cache_ranked *had);
struct cache_ranked cache_rank_belady(struct cache *c,
				      const struct cache_access *a,
				      const struct cache_ranked *had);
