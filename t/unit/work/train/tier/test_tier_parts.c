/* SPDX-License-Identifier: Apache-2.0 */
/* test_tier_parts.c - one cache of several processes: what each of them decides and counts adds up
 * to one. */
#include "base/mem.h"
#include "tier_part_rig.h"

/* All that each of its ranks asks, side by side with the others of it. */
static void decide_all(struct part *p)
{
	struct tier_loader *loaders[4];
	struct sampler_epoch order;
	uint64_t n = p->job.accelerators;
	uint64_t steps = p->pass.sampler.steps;

	for (uint64_t i = 0; i < n; i++)
		loaders[i] = tier_loader_new(p->tier, p->job.accelerators_before + i, i, NULL, NULL,
					     &p->err);
	for (uint64_t k = 0; k < EPOCHS * steps * BATCH; k++)
		for (uint64_t i = 0; i < n; i++) {
			sampler_epoch(&order, &p->pass.sampler, k / (steps * BATCH));
			tier_decide(loaders[i], k / (steps * BATCH), &order, k % (steps * BATCH));
		}
	for (uint64_t i = 0; i < n; i++) {
		tier_loader_close(loaders[i]);
		tier_loader_free(loaders[i]);
	}
	ck_assert_int_eq(tier_end(p->tier, &p->err), 0);
}

struct summed {
	struct cache_counts epochs[EPOCHS];
	uint64_t units, used_bytes, caches;
};

static void add_result(struct summed *to, const struct part *p)
{
	struct cache_result r = { 0 };
	const struct cache_epoch *e;

	tier_result(p->tier, &r);
	ck_assert_uint_eq(r.epochs.count, EPOCHS);
	e = r.epochs.items;
	for (unsigned i = 0; i < EPOCHS; i++) {
		struct cache_counts *c = &to->epochs[i];

		c->accesses += e[i].counts.accesses;
		c->hits += e[i].counts.hits;
		c->misses += e[i].counts.misses;
		c->substitutions += e[i].counts.substitutions;
		c->evictions += e[i].counts.evictions;
		c->unique_samples += e[i].counts.unique_samples;
		c->footprint_bytes += e[i].counts.footprint_bytes;
		c->prefetches += e[i].counts.prefetches;
		c->rank_correlation = e[i].counts.rank_correlation;
		c->sequential_ratio = e[i].counts.sequential_ratio;
	}
	to->units += r.units;
	to->used_bytes += r.used_bytes;
	to->caches += r.caches;
	mem_free(r.ranks.items);
	mem_free(r.epochs.items);
}

static void run_parts(struct summed *out, uint64_t parts, uint64_t each, int policy, int substitute)
{
	static struct part p;

	for (unsigned rank = 0; rank < parts; rank++) {
		memset(&p, 0, sizeof(p));
		p.rank = rank;
		part_make(&p, parts, each);
		p.job.cache = policy;
		p.job.cache_substitute = substitute;
		p.job.cache_latency = (struct dist){ .a = 1000 };
		part_make_pass(&p);
		part_open_tier(&p);
		decide_all(&p);
		add_result(out, &p);
		part_free(&p);
	}
}

START_TEST(what_parts_count_adds_up_to_what_one_process_does)
{
	int policy = _i / 2 + CACHE_LRU, substitute = _i % 2;
	struct summed one = { 0 }, two = { 0 }, four = { 0 };

	/* Each of them takes misses or evicts; none has all samples. */
	run_parts(&one, 1, 4, policy, substitute);
	run_parts(&two, 2, 2, policy, substitute);
	run_parts(&four, 4, 1, policy, substitute);
	ck_assert_uint_gt(one.epochs[1].misses + one.epochs[1].substitutions, 0);
	one.epochs[0].rank_correlation = two.epochs[0].rank_correlation =
		four.epochs[0].rank_correlation = 0;
	ck_assert_mem_eq(&two, &one, sizeof(one));
	ck_assert_mem_eq(&four, &one, sizeof(one));
}
END_TEST

static uint64_t place_here(uint64_t slots, uint64_t parts, uint64_t part)
{
	return tier_local_slots(slots, parts, part);
}

START_TEST(slots_are_dealt_out_to_the_last)
{
	for (uint64_t slots = 0; slots < 20; slots++)
		for (uint64_t parts = 1; parts < 7; parts++) {
			uint64_t all = 0;

			for (uint64_t i = 0; i < parts; i++) {
				uint64_t n = place_here(slots, parts, i);

				ck_assert_uint_le(n, slots / parts + 1);
				ck_assert_uint_ge(n, slots / parts);
				all += n;
			}
			ck_assert_uint_eq(all, slots);
		}
}
END_TEST

Suite *suite_tier_parts(void)
{
	Suite *s = suite_create("tier_parts");
	TCase *tc = tcase_create("tier_parts");

	tcase_add_loop_test(tc, what_parts_count_adds_up_to_what_one_process_does, 0,
			    2 * (CACHE_HOT - CACHE_LRU + 1));
	tcase_add_test(tc, slots_are_dealt_out_to_the_last);
	suite_add_tcase(s, tc);
	return s;
}
