/* SPDX-License-Identifier: Apache-2.0 */
/* cache_rig.h - accesses in orders of all kinds, to a cache of any policy. */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/dist.h"
#include "data/cache/cache.h"
#include "suites.h"

/* Accesses of some epochs, with what comes next of each. */
struct cache_order {
	uint64_t units, count;
	uint64_t *at, *next;
};

static inline void cache_order_know(struct cache_order *o)
{
	uint64_t *last = mem_array(o->units, sizeof(*last));

	o->next = mem_array(o->count, sizeof(*o->next));
	for (uint64_t i = o->count; i-- > 0;) {
		uint64_t *l = &last[o->at[i]];

		o->next[i] = *l ? *l - 1 : UINT64_MAX;
		*l = i + 1;
	}
	mem_free(last);
}

/* A new permutation each epoch. */
static inline struct cache_order cache_order_shuffled(uint64_t units, uint64_t epochs,
						      uint64_t seed)
{
	struct cache_order o = { units, units * epochs, NULL, NULL };
	struct perm p;

	o.at = mem_array(o.count, sizeof(*o.at));
	for (uint64_t e = 0; e < epochs; e++) {
		perm_init(&p, units, seed, e);
		for (uint64_t i = 0; i < units; i++)
			o.at[e * units + i] = perm_at(&p, i);
	}
	cache_order_know(&o);
	return o;
}

/* Drawn, where `skew` is 1 alike, else the first more often. */
static inline struct cache_order cache_order_drawn(uint64_t units, uint64_t count, double skew,
						   uint64_t seed)
{
	struct cache_order o = { units, count, NULL, NULL };

	o.at = mem_array(count, sizeof(*o.at));
	for (uint64_t i = 0; i < count; i++)
		o.at[i] = (uint64_t)((double)units * pow(rng_f64(seed, RNG_TEST, i), skew));
	cache_order_know(&o);
	return o;
}

static inline void cache_order_fini(struct cache_order *o)
{
	mem_free(o->at);
	mem_free(o->next);
}

static inline struct cache *cache_rig_new(const struct cache_config *cfg)
{
	struct mlgen_err err = { 0 };
	struct cache *c;

	ck_assert_int_eq(cache_new(&c, cfg, &err), 0);
	return c;
}

static inline struct cache_access cache_order_access(const struct cache_order *o, uint64_t i)
{
	/* Weights of their own, that change a little from epoch to epoch. */
	return (struct cache_access){
		.unit = o->at[i],
		.weight = rng_f64(3, RNG_TEST, o->at[i]) + 0.1 * (double)(i / o->units),
		.next_use = o->next[i],
	};
}

/* Hits among the accesses from `from` on. */
static inline uint64_t cache_order_hits(const struct cache_order *o, const struct cache_config *cfg,
					uint64_t from)
{
	struct cache *c = cache_rig_new(cfg);
	uint64_t hits = 0;

	for (uint64_t i = 0; i < o->count; i++) {
		struct cache_access a = cache_order_access(o, i);
		struct cache_answer answer;

		cache_access(c, &a, &answer);
		hits += i >= from && answer.is_hit;
	}
	cache_free(c);
	return hits;
}
