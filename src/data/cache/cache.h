/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - what a cache of some policy holds: lookups in their order, and no bytes of anything. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "job/job.h"

/*
 * A cache holds units (samples, files or pages of them), which have numbers from 0 to units - 1 and
 * sizes. It is told of each access in the order of accesses, says whether the unit is there, and
 * decides what goes and what comes. Where the bytes are is its caller's: each unit that is held has
 * a slot, a small number that nothing else has as long.
 *
 * As many go as a newcomer needs. Where its policy can turn a newcomer away (importance, belady),
 * it does so unless each of those is worth less, and then none of them goes. One that is larger
 * than the cache is never kept.
 *
 * At most 22 bytes for each unit that it can hold, or 24 where they differ in size, and 4 for each
 * that there is; nothing is allocated after cache_new. One thread at a time. What policies are
 * called stands in job/cache_words.h: cache_policies are the choices of options.
 */
struct cache;

#define CACHE_NO_SLOT UINT32_MAX

struct cache_config {
	enum job_cache policy; /* not CACHE_NONE */
	uint64_t units;
	/* Whichever comes first; UINT64_MAX = no limit. */
	uint64_t capacity_bytes, capacity_units;
	uint64_t seed; /* of CACHE_RANDOM */
	/* Of each unit; 0 = they differ, and unit_bytes tells of one. */
	uint64_t each_bytes;
	uint64_t (*unit_bytes)(const void *arg, uint64_t unit);
	/* CACHE_HOT: is it one of those that are ever kept? */
	bool (*is_hot)(const void *arg, uint64_t unit);
	/* A unit has left the slot; called by cache_access. NULL = nobody asks. */
	void (*evicted)(void *to, uint64_t unit, uint32_t slot);
	const void *arg;
	void *to;
};

struct cache_access {
	uint64_t unit;
	double weight; /* CACHE_IMPORTANCE: of the unit, at this time */
	/* CACHE_BELADY: when it is accessed next, in any unit of time that goes up; UINT64_MAX =
	 * never. */
	uint64_t next_use;
};

struct cache_answer {
	bool is_hit;
	/* Where it is, or from now on will be; CACHE_NO_SLOT: a miss that is not kept. */
	uint32_t slot;
	uint32_t generation; /* of that slot; 0 where there is none */
};

/* 0, or -ENOMEM, -EINVAL with err. */
int cache_new(struct cache **out, const struct cache_config *cfg, struct mlgen_err *err);
void cache_free(struct cache *c); /* NULL is fine */

/* One access. An access to a unit that is larger than the cache is a miss. */
void cache_access(struct cache *c, const struct cache_access *a, struct cache_answer *answer);

/* Before any access: a unit comes into the slot that it had in an earlier cache of as many slots.
 * Slots go up from one call to the next. Its generation; 0: it is not kept. */
uint32_t cache_restore(struct cache *c, const struct cache_access *a, uint32_t slot);

/* These units are accessed next: what is known of them comes to where the CPU has it at hand.
 * Nothing else changes. */
void cache_expect(const struct cache *c, const uint64_t *units, unsigned count);

/* Is it there, and where? CACHE_NO_SLOT = it is not. No access. */
uint32_t cache_find(const struct cache *c, uint64_t unit);

/* Would a unit that is not there be kept with nothing going for it? */
bool cache_has_room(const struct cache *c, uint64_t unit);

/* A unit in it, whichever; by a random number. False: it is empty. */
bool cache_any(const struct cache *c, uint64_t random, uint64_t *unit, uint32_t *slot);

/* How many units a slot has had, with the one that is in it. */
uint32_t cache_generation(const struct cache *c, uint32_t slot);

/* Whose the slot is; false: nobody's. */
bool cache_unit_in(const struct cache *c, uint32_t slot, uint64_t *unit);

/* It is taken out, and nobody is told: its bytes are not there. */
void cache_forget(struct cache *c, uint64_t unit);

uint64_t cache_used_bytes(const struct cache *c);
uint64_t cache_units(const struct cache *c);
/* Most slots that it can have at a time, and the memory that all of it takes, of such a
 * configuration. Of units that differ, with nobody to tell their sizes, it is more than that. */
uint64_t cache_slots(const struct cache_config *cfg);
uint64_t cache_state_bytes(const struct cache_config *cfg);
