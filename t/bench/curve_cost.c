/* SPDX-License-Identifier: Apache-2.0 */
/* curve_cost.c - what hit ratios of ten sizes take, by policy, of shuffled epochs. */

/*
 *	curve_cost UNITS EPOCHS
 *
 * Prints a line for each policy of --miss-curve: its word, and the seconds of
 * CPU that ten sizes take. The first line is of the order and the next uses.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/dist.h"
#include "data/cache/cache.h"
#include "job/job.h"

#define SIZES 10
#define COMING 16 /* as --miss-curve has it */

struct order {
	uint64_t units, count;
	uint32_t *at, *next;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put(const char *what, double start)
{
	printf("%s %.2f\n", what, now_s() - start);
	fflush(stdout);
}

static void make_order(struct order *o, uint64_t epochs)
{
	uint32_t *last = mem_array(o->units, sizeof(*last));

	o->count = o->units * epochs;
	o->at = mem_array(o->count, sizeof(*o->at));
	o->next = mem_array(o->count, sizeof(*o->next));
	for (uint64_t i = 0; i < o->count; i++) {
		struct perm p;

		if (i % o->units == 0)
			perm_init(&p, o->units, 1, i / o->units);
		o->at[i] = (uint32_t)perm_at(&p, i % o->units);
	}
	for (uint64_t i = o->count; i-- > 0;) {
		o->next[i] = last[o->at[i]] - 1;
		last[o->at[i]] = (uint32_t)i + 1;
	}
	mem_free(last);
}

static uint64_t curve(const struct order *o)
{
	uint64_t sizes[SIZES], hits = 0;
	struct misscurve_config cfg = { o->units, sizes, SIZES, NULL };

	for (unsigned s = 0; s < SIZES; s++)
		sizes[s] = o->units * (s + 1) / SIZES;
	struct misscurve *m = misscurve_new(&cfg);
	for (uint64_t i = 0; i < o->count; i++)
		hits += misscurve_touch(m, o->at[i]) < SIZES;
	misscurve_free(m);
	return hits;
}

static void expect(const struct cache *c, const struct order *o, uint64_t first)
{
	uint64_t units[COMING];
	unsigned n = 0;

	for (; n < COMING && first + n < o->count; n++)
		units[n] = o->at[first + n];
	cache_expect(c, units, n);
}

static uint64_t run(const struct order *o, enum job_cache policy, unsigned size)
{
	struct cache_config cfg = { .policy = policy,
				    .units = o->units,
				    .each_bytes = 1,
				    .capacity_bytes = UINT64_MAX,
				    .capacity_units = o->units * (size + 1) / SIZES };
	struct mlgen_err err = { 0 };
	struct cache_answer answer;
	struct cache *c;
	uint64_t hits = 0;

	if (cache_new(&c, &cfg, &err) < 0)
		exit(1);
	for (uint64_t i = 0; i < o->count; i++) {
		const struct cache_access a = { .unit = o->at[i], .next_use = o->next[i] };

		if (i % COMING == 0)
			expect(c, o, i);
		cache_access(c, &a, &answer);
		hits += answer.is_hit;
	}
	cache_free(c);
	return hits;
}

int main(int argc, char **argv)
{
	static const enum job_cache policies[] = { CACHE_FIFO,  CACHE_LFU,   CACHE_RANDOM,
						   CACHE_CLOCK, CACHE_MINIO, CACHE_BELADY };
	struct order o = { .units = argc == 3 ? strtoull(argv[1], NULL, 10) : 0 };
	volatile uint64_t hits = 0;
	double start = now_s();

	if (!o.units)
		return 2;
	make_order(&o, strtoull(argv[2], NULL, 10));
	put("order", start);
	start = now_s();
	hits += curve(&o);
	put("lru", start);
	for (unsigned p = 0; p < sizeof(policies) / sizeof(*policies); p++) {
		start = now_s();
		for (unsigned s = 0; s < SIZES; s++)
			hits += run(&o, policies[p], s);
		put(cache_word((int)policies[p]), start);
	}
	(void)hits;
	mem_free(o.at);
	mem_free(o.next);
	return 0;
}
