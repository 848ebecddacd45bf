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
 * Models of a cache in front of the storage: the replacement policies, the share of accesses that
 * hit, and the hit curve over all cache sizes. No data is stored here: units are numbers, and a
 * cache says in which slot each unit lies. Nothing here locks: the caller must make sure that only
 * one thread uses a cache at a time.
 */

/* ---- Replacement policies ---- */

/*
 * A cache holds units (samples, files or pages of files), which are numbered from 0 to units - 1
 * and have sizes. The caller reports accesses in order. For each access, the cache answers whether
 * the unit is cached, and decides which units are admitted and evicted. The caller stores the
 * bytes: each cached unit has a slot, a small number that no other unit has at the same time.
 *
 * A newcomer evicts units until it fits. Policies that can refuse a newcomer (importance, belady)
 * admit it only if it is worth more than each unit that it would evict. Otherwise they evict
 * nothing. A unit that is larger than the cache is never admitted.
 *
 * Memory: at most 22 bytes for each unit that the cache can hold, or 24 if units differ in size,
 * and 4 for each unit that exists. Nothing is allocated after cache_new. One thread at a time. The
 * names of the policies are the choices of the option cache (job/options.c).
 */
struct cache;

#define CACHE_NO_SLOT UINT32_MAX

struct cache_config {
	enum job_cache policy; /* any but CACHE_NONE */
	uint64_t units;
	/* The limit that is reached first applies; UINT64_MAX = no limit. */
	uint64_t capacity_bytes, capacity_units;
	uint64_t seed; /* used by CACHE_RANDOM */
	/* Size of every unit; 0 = sizes differ, and unit_bytes returns each. */
	uint64_t each_bytes;
	uint64_t (*unit_bytes)(const void *arg, uint64_t unit);
	/* CACHE_HOT: is this unit ever admitted? */
	bool (*is_hot)(const void *arg, uint64_t unit);
	/* Called by cache_access when a unit has left its slot. NULL = no callback. */
	void (*evicted)(void *to, uint64_t unit, uint32_t slot);
	const void *arg; /* passed to unit_bytes and is_hot */
	void *to;        /* passed to evicted */
};

struct cache_access {
	uint64_t unit;
	double weight; /* CACHE_IMPORTANCE: current weight of the unit */
	/* CACHE_BELADY: time of the unit's next access, on any scale that increases; UINT64_MAX =
	 * never accessed again. */
	uint64_t next_use;
};

struct cache_answer {
	bool is_hit;
	/* The slot that now holds the unit; CACHE_NO_SLOT = a miss that was not admitted. */
	uint32_t slot;
	uint32_t generation; /* generation of the slot; 0 = no slot */
};

/* Return 0, or -ENOMEM or -EINVAL with err. */
int cache_new(struct cache **out, const struct cache_config *cfg, struct mlgen_err *err);
void cache_free(struct cache *c); /* NULL is fine */

/* Record one access. An access to a unit that is larger than the cache is a miss. */
void cache_access(struct cache *c, const struct cache_access *a, struct cache_answer *answer);

/* Put a unit into the slot that it had in an earlier cache with the same number of slots. Call
 * before any access, with slots in ascending order. Returns the slot's generation, or 0 if the unit
 * is not admitted. */
uint32_t cache_restore(struct cache *c, const struct cache_access *a, uint32_t slot);

/* Prefetch the bookkeeping of units that are accessed next into the CPU's caches. The state of the
 * cache does not change. */
void cache_expect(const struct cache *c, const uint64_t *units, unsigned count);

/* Return the slot of a unit, or CACHE_NO_SLOT if it is not cached. Does not count as an access. */
uint32_t cache_find(const struct cache *c, uint64_t unit);

/* Would this unit, which is not cached, be admitted without an eviction? */
bool cache_has_room(const struct cache *c, uint64_t unit);

/* Pick a cached unit by a random number. False if the cache is empty. */
bool cache_any(const struct cache *c, uint64_t random, uint64_t *unit, uint32_t *slot);

/* Return how many units a slot has held so far, the current one included. */
uint32_t cache_generation(const struct cache *c, uint32_t slot);

/* Get the unit in a slot. False if the slot is free. */
bool cache_unit_in(const struct cache *c, uint32_t slot, uint64_t *unit);

/* Remove a unit whose bytes are lost. Does not call `evicted`. */
void cache_forget(struct cache *c, uint64_t unit);

uint64_t cache_used_bytes(const struct cache *c);
uint64_t cache_units(const struct cache *c);
/* For a cache with this configuration, cache_slots returns the maximum number of slots, and
 * cache_state_bytes the memory in bytes. Both are upper bounds if sizes differ and unit_bytes is
 * NULL. */
uint64_t cache_slots(const struct cache_config *cfg);
uint64_t cache_state_bytes(const struct cache_config *cfg);

/* ---- Share of a data set that a cache holds, and the hit ratio that follows ---- */

/* The part of the data set that one cache of cache_size holds. Sizes are those of the cached form.
 * stored_bytes is the size of the data set before decoding (tier_stored_bytes). */
struct cacheshare {
	uint64_t bytes;    /* UINT64_MAX = the size is given in samples */
	uint64_t samples;  /* UINT64_MAX = the size is given in bytes */
	double held_bytes; /* cached bytes when full; at most those of the data set */
	double share;      /* part of the data set's samples, 0 to 1 */
	double asked;      /* share before it is capped at 1 */
};
void cacheshare_of(struct cacheshare *c, const struct job *j, const struct dataset *ds,
		   uint64_t stored_bytes);

/*
 * Return the hit ratio of a cache that holds this share of the samples, if each epoch is a fresh
 * permutation. The ratio is that of the second and later epochs. For policies that never evict
 * (minio, hot) it is the share itself; DESIGN.md derives lru and random. NaN if the policy has no
 * closed form or the share is not between 0 and 1.
 */
double cacheshare_hits(enum job_cache policy, double share);

/* Return the share that yields this hit ratio, the inverse of cacheshare_hits. NaN as for
 * cacheshare_hits. */
double cacheshare_for(enum job_cache policy, double hit_ratio);

/* Do the formulas apply to the job's cache: a fresh permutation each epoch, whole samples read one
 * at a time, and no option that changes which accesses hit? */
bool cacheshare_applies(const struct job *j);

/* ---- Hit curve of lru over several cache sizes, in one pass ---- */

/*
 * Mattson's stack (IBM Systems Journal 9/2, 1970): a unit is in an lru cache as long as it fits
 * together with everything touched since, so one pass covers caches of all sizes. The result
 * matches CACHE_LRU above exactly, provided that each size holds the largest unit: a real cache
 * does not admit a unit larger than itself, and so evicts nothing for it.
 *
 * Memory: about 29 bytes a unit. One thread at a time. Units are numbered from 0; score/reuse.h has
 * the same stack for the case where the count of blocks is not known in advance; it tracks only a
 * sample of them if there are too many.
 */
struct misscurve;

struct misscurve_config {
	uint64_t units;        /* less than 2^31 */
	const uint64_t *sizes; /* cache sizes, ascending; borrowed */
	unsigned count;
	const uint64_t *unit_bytes; /* NULL = 1 each; borrowed */
};

struct misscurve *misscurve_new(const struct misscurve_config *cfg);
void misscurve_free(struct misscurve *m); /* NULL is fine */

/* Touch a unit. Returns the index of the smallest size that hits, or `count` if no size does. */
unsigned misscurve_touch(struct misscurve *m, uint64_t unit);

/* ---- Time of each unit's next access, which belady needs ---- */

/*
 * Accesses are numbered consecutively in the order of the plan (order.h). Access 0 is the first
 * access of the epoch of the first nextuse_epoch call. The search for next accesses begins in the
 * epoch of the last nextuse_epoch call and goes on in later epochs until every unit has been
 * accessed again. One further epoch is enough for permutations; sampling with replacement or by
 * weights takes a few more. A unit that is not accessed again within NEXTUSE_EPOCHS counts as never
 * accessed again.
 *
 * Memory: 4 bytes per access of an epoch and 4 per unit. One thread calls nextuse_epoch and
 * nextuse_find_first, which write; afterwards any thread may read.
 */
struct nextuse;

#define NEXTUSE_NEVER UINT64_MAX

struct nextuse_config {
	const struct sampler *sampler; /* borrowed */
	uint64_t first_rank, end_rank; /* the ranks whose accesses are counted */
	uint64_t epochs;               /* number of epochs in the run */
	uint64_t units;
	/* Maps an extent to its unit; NULL = each extent is a unit. */
	uint64_t (*unit_of)(const void *arg, uint64_t extent);
	const void *arg;
};

/* Return 0, or -EINVAL with err: the order of the next epoch is not known in advance, or an epoch
 * has more accesses than can be counted. */
int nextuse_new(struct nextuse **out, const struct nextuse_config *cfg, struct mlgen_err *err);
void nextuse_free(struct nextuse *n); /* NULL is fine */

/* Go to an epoch (from 0): the first call may name any epoch, each later call
 * must name the next one. */
void nextuse_epoch(struct nextuse *n, uint64_t epoch);

/* Return the number of accesses in this epoch. */
uint64_t nextuse_accesses(const struct nextuse *n);

/* Access `index` of this epoch (from 0) reads some unit. Return the number of that unit's next
 * access, or NEXTUSE_NEVER. */
uint64_t nextuse_at(const struct nextuse *n, uint64_t index);

/* nextuse_first returns the number of a unit's first access in this epoch or a later one, or
 * NEXTUSE_NEVER. Call it between nextuse_find_first and the next nextuse_epoch. */
void nextuse_find_first(struct nextuse *n);
uint64_t nextuse_first(const struct nextuse *n, uint64_t unit);

uint64_t nextuse_state_bytes(const struct nextuse_config *cfg);

/* ---- Pages: neighbouring extents of a file that are cached together (cache_unit=page) ---- */

/*
 * A page is a run of consecutive extents of a file: as many as fit into the page size on average,
 * and at least one. The last page of a file may have fewer. A page is at least as large as an
 * extent and at most as large as a file (pages_check). Pages begin and end on sample boundaries, as
 * those of shuffle=pages do, so each sample lies in a single page. All files have the same number
 * of extents.
 */
struct pages {
	uint64_t extents;      /* extents per page */
	uint64_t file_extents; /* extents per file */
	uint64_t per_file, count;
};

/* Can pages have this size? Returns 0, or -EINVAL with err, which names a size that works. */
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

/* Return the first extent of a page; pages_extents returns the number of its extents. */
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
