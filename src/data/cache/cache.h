/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - cache policies, shares of a cache, and miss curves. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/util.h"
#include "data/file/file.h"
#include "data/order/order.h"
#include "job/job.h"

/*
 * What a cache in front of the storage holds: policies (which unit leaves when another comes),
 * the share of accesses that hit, and the curve of hits over all sizes of a cache. No bytes are
 * here: units are numbers, and a cache says in which slot each lies. A cache belongs to whoever
 * locks it; nothing here does.
 */

/* ---- What a cache of some policy holds: lookups in their order, and no bytes of anything ---- */

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
 * called is a choice of the option cache (job/options.c).
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

/* ---- How much of a data set a cache holds, and how often that is a hit ---- */

/* cache_size of each cache, of this data set, as samples are kept: stored_bytes of it before they
 * are decoded (tier_stored_bytes). */
struct cacheshare {
	uint64_t bytes;    /* UINT64_MAX = it is counted in samples */
	uint64_t samples;  /* UINT64_MAX = by bytes */
	double held_bytes; /* of kept samples when it is full; never more than
			      the data set has of them */
	double share;      /* of the data set's samples, 0 to 1 */
	double asked;      /* the same, and above 1 where it is larger */
};
void cacheshare_of(struct cacheshare *c, const struct job *j, const struct dataset *ds,
		   uint64_t stored_bytes);

/*
 * Hit ratio from the second epoch on of a cache that holds this share of the samples, where each
 * epoch is a fresh permutation: the share itself for what never goes (minio, hot), and for lru and
 * random what DESIGN.md derives. NaN = the policy has no closed form, or the share is not between 0
 * and 1.
 */
double cacheshare_hits(enum job_cache policy, double share);

/* The other way round: the share that has this hit ratio. NaN likewise. */
double cacheshare_for(enum job_cache policy, double hit_ratio);

/* Is the job's tier one of which these speak: a fresh permutation each epoch, of whole samples, one
 * at a time, and nothing that changes what is a hit? */
bool cacheshare_holds_for(const struct job *j);

/* ---- What lru caches of several sizes would hit, in one pass ---- */

/*
 * Mattson's stack (IBM Systems Journal 9/2, 1970): a unit is in an lru cache as long as it fits
 * together with all that was touched since, so that one pass says it of caches of all sizes. What
 * it says is what cache.h's lru does, exactly, provided that each size holds the largest unit: one
 * that a cache never keeps would push nothing out of it.
 *
 * About 29 bytes a unit. One thread at a time. Units are numbers from 0 here; score/reuse.h has the
 * same stack for blocks that nobody has counted, and leaves some out where they are too many.
 */
struct misscurve;

struct misscurve_config {
	uint64_t units;        /* less than 2^31 */
	const uint64_t *sizes; /* of the caches, ascending; borrowed */
	unsigned count;
	const uint64_t *unit_bytes; /* NULL = 1 each; borrowed */
};

struct misscurve *misscurve_new(const struct misscurve_config *cfg);
void misscurve_free(struct misscurve *m); /* NULL is fine */

/* A unit is touched: it is a hit in caches from this one of the sizes on; `count` = in none of
 * them. */
unsigned misscurve_touch(struct misscurve *m, uint64_t unit);

/* ---- When what is accessed now is accessed next: what belady has to know ---- */

/*
 * Accesses are counted in the order of the plan (order.h), from 0 on over all epochs. What an
 * access of one epoch is told is found in this epoch and those that follow, until each unit has
 * come again: of permutations that is one, and where samples are drawn with replacement, or by
 * weights, a few more. A unit that NEXTUSE_EPOCHS have not is as far away as one that never comes
 * again.
 *
 * 4 bytes an access of an epoch and 4 a unit. Written by nextuse_epoch and nextuse_look_first,
 * which one thread calls; then any may read.
 */
struct nextuse;

#define NEXTUSE_NEVER UINT64_MAX

struct nextuse_config {
	const struct sampler *sampler; /* borrowed */
	uint64_t first_rank, end_rank; /* whose accesses they are */
	uint64_t epochs;               /* that there will be */
	uint64_t units;
	/* Of an extent; NULL = each is one. */
	uint64_t (*unit_of)(const void *arg, uint64_t extent);
	const void *arg;
};

/* 0; -EINVAL with err where the order of the next epoch is not known before it begins, or has more
 * accesses than can be counted. */
int nextuse_new(struct nextuse **out, const struct nextuse_config *cfg, struct mlgen_err *err);
void nextuse_free(struct nextuse *n); /* NULL is fine */

/* To an epoch (from 0); the first, or the one behind the last that was. */
void nextuse_epoch(struct nextuse *n, uint64_t epoch);

/* The accesses of this epoch. */
uint64_t nextuse_accesses(const struct nextuse *n);

/* When the unit of the epoch's access `index` (from 0) is accessed next, of all accesses of all
 * epochs; NEXTUSE_NEVER. */
uint64_t nextuse_at(const struct nextuse *n, uint64_t index);

/* The first access of a unit from the beginning of this epoch on, likewise. To be asked between
 * nextuse_look_first and the next nextuse_epoch. */
void nextuse_look_first(struct nextuse *n);
uint64_t nextuse_first(const struct nextuse *n, uint64_t unit);

uint64_t nextuse_state_bytes(const struct nextuse_config *cfg);

/* ---- Neighbours of a file that are kept together: cache_unit=page ---- */

/*
 * A page is so many extents of a file, one behind the other, as many as SIZE has room for on the
 * mean and one at least; the last page of a file may have fewer. SIZE is that of an extent at
 * least, and of a file at most (pages_check).
 * A sample lies in one page: they begin and end with samples, as those of shuffle=pages do. All
 * files have as many extents.
 */
struct pages {
	uint64_t extents;      /* of a page */
	uint64_t file_extents; /* of a file */
	uint64_t per_file, count;
};

/* Can pages be of this size? 0, or -EINVAL with err: what would be right. */
int pages_check(const struct dataset *ds, uint64_t size_bytes, struct mlgen_err *err);

static inline struct pages pages_of(const struct dataset *ds, uint64_t size_bytes)
{
	uint64_t each = dataset_first_extent(ds, 1);
	double mean = dataset_mean_file_bytes(ds) / (double)each;
	double fit = (double)size_bytes / (mean > 1 ? mean : 1);
	struct pages p = { .file_extents = each, .extents = 1 };

	if (fit > 1)
		p.extents = fit < (double)each ? (uint64_t)fit : each;
	p.per_file = divide_up(each, p.extents);
	p.count = p.per_file * ds->files;
	return p;
}

static inline uint64_t pages_unit(const struct pages *p, const struct extent *x)
{
	return x->file * p->per_file + x->id % p->file_extents / p->extents;
}

/* The first extent of a page, and how many it has. */
static inline uint64_t pages_first(const struct pages *p, uint64_t page)
{
	assert(p->per_file > 0);
	return page / p->per_file * p->file_extents + page % p->per_file * p->extents;
}

static inline uint64_t pages_extents(const struct pages *p, uint64_t page)
{
	assert(p->per_file > 0);
	return u64_min(p->extents, p->file_extents - page % p->per_file * p->extents);
}
