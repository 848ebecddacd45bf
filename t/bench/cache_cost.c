/* SPDX-License-Identifier: Apache-2.0 */
/* cache_cost.c - what an access to a cache takes, by policy, where it holds half of its units. */

/*
 *	cache_cost ENTRIES
 *
 * The policies take turns, round by round, each with a million accesses at a
 * time of its own shuffled epochs; what the next access is stands in memory
 * before. Prints a line for each: its word, and the median of rounds of the CPU
 * time of an access, in ns. The first line is of the loop without a cache.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/dist.h"
#include "data/cache/cache.h"
#include "job/job.h"

#define ROUNDS 9
#define ACCESSES 1000000
#define COMING 16 /* are known at a time, as in a run; divides ACCESSES */
#define POLICIES (CACHE_HOT + 1)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_even(const void *arg, uint64_t unit)
{
	(void)arg;
	return unit % 2 == 0;
}

static struct cache *make_cache(enum job_cache policy, uint64_t entries)
{
	struct cache_config cfg = { .policy = policy,
				    .units = 2 * entries,
				    .each_bytes = 1,
				    .capacity_bytes = UINT64_MAX,
				    .capacity_units = entries,
				    .seed = 1,
				    .is_hot = is_even };
	struct mlgen_err err = { 0 };
	struct cache *c;

	if (policy != CACHE_NONE && cache_new(&c, &cfg, &err) == 0)
		return c;
	return NULL;
}

/* The accesses of an epoch from one on, with their next uses at random: as far as belady is
 * concerned, any are as good. */
static void fill(struct cache_access *a, const struct perm *p, uint64_t first)
{
	for (uint64_t i = 0; i < ACCESSES; i++) {
		uint64_t at = first + i;

		a[i].unit = perm_at(p, at % p->n);
		a[i].weight = 2 + rng_f64(2, RNG_TEST, at);
		a[i].next_use = at + p->n / 2 + rng_u64(3, RNG_TEST, at) % p->n;
	}
}

static void expect(const struct cache *c, const struct cache_access *a)
{
	uint64_t units[COMING];

	for (unsigned i = 0; i < COMING; i++)
		units[i] = a[i].unit;
	cache_expect(c, units, COMING);
}

static double run(struct cache *c, const struct cache_access *a)
{
	uint64_t start = now_ns();
	volatile uint64_t hits = 0;
	struct cache_answer answer = { 0 };

	for (uint64_t i = 0; i < ACCESSES; i++) {
		if (c && i % COMING == 0)
			expect(c, a + i);
		if (c)
			cache_access(c, &a[i], &answer);
		hits += answer.is_hit;
	}
	(void)hits;
	return (double)(now_ns() - start) / ACCESSES;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	static double ns[POLICIES][ROUNDS];
	struct cache *caches[POLICIES];
	struct cache_access *a = mem_array(ACCESSES, sizeof(*a));
	uint64_t entries = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t at = 0;
	struct perm p;

	if (!entries)
		return 2;
	perm_init(&p, 2 * entries, 4, 0);
	for (int i = 0; i < POLICIES; i++)
		caches[i] = make_cache((enum job_cache)i, entries);
	/* Full first: the first round of them counts for none. */
	for (uint64_t full = 0; full < 2 * entries + ACCESSES; full += ACCESSES, at += ACCESSES) {
		fill(a, &p, at);
		for (int i = 0; i < POLICIES; i++)
			run(caches[i], a);
	}
	for (unsigned r = 0; r < ROUNDS; r++, at += ACCESSES) {
		perm_init(&p, 2 * entries, 4, 1 + r / 2);
		fill(a, &p, at);
		for (int i = 0; i < POLICIES; i++)
			ns[i][r] = run(caches[i], a);
	}
	for (int i = 0; i < POLICIES; i++) {
		qsort(ns[i], ROUNDS, sizeof(ns[i][0]), by_size);
		printf("%s %.1f\n", cache_word(i), ns[i][ROUNDS / 2]);
		cache_free(caches[i]);
	}
	mem_free(a);
	return 0;
}
