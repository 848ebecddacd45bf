/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache.c - what policies hit of orders whose hit ratios are known, and what caches promise of
 * all. */
#include <errno.h>

#include "base/util.h"
#include "cache_rig.h"
#include "job/job.h"

#define UNITS 20000
#define EPOCHS 12
#define COLD 4 /* until it is as it stays */

static bool is_below(const void *arg, uint64_t unit)
{
	return unit < *(const uint64_t *)arg;
}

/* ---- hit ratios that are known ---- */

static double share_of(enum job_cache policy, const struct cache_order *o, double share,
		       uint64_t cold)
{
	uint64_t most = (uint64_t)(share * (double)o->units);
	struct cache_config cfg = {
		.policy = policy,
		.units = o->units,
		.each_bytes = 1,
		.capacity_bytes = UINT64_MAX,
		.capacity_units = most,
		.seed = 5,
		.is_hot = is_below,
		.arg = &most,
	};
	uint64_t from = cold * o->units;

	return (double)cache_order_hits(o, &cfg, from) / (double)(o->count - from);
}

/* h = ((1 - e^-s) / s)^2 with s = (1 - h) / c, by halving. */
static double of_random(double c)
{
	double low = 0, high = c;

	for (unsigned i = 0; i < 60; i++) {
		double h = (low + high) / 2, s = (1 - h) / c;

		*(pow((1 - exp(-s)) / s, 2) > h ? &low : &high) = h;
	}
	return low;
}

/* FIFO's and random's as a simulation of 20,000 units had them. */
static const struct {
	double share, fifo, random;
} table[] = {
	{ .10, .0055, .0102 }, { .20, .0228, .0429 }, { .25, .037, .0686 },
	{ .50, .193, .2814 },  { .75, .569, .6025 },
};

START_TEST(shuffled_epochs_hit_what_arithmetic_says)
{
	double c = table[_i].share, lru = c + (1 - c) * log(1 - c);
	struct cache_order o = cache_order_shuffled(UNITS, EPOCHS, 11);

	ck_assert_double_eq_tol(share_of(CACHE_MINIO, &o, c, 1), c, 1e-9);
	ck_assert_double_eq_tol(share_of(CACHE_HOT, &o, c, 1), c, 1e-9);
	ck_assert_double_eq_tol(share_of(CACHE_LRU, &o, c, COLD), lru, .01);
	ck_assert_double_eq_tol(share_of(CACHE_FIFO, &o, c, COLD), table[_i].fifo, .01);
	ck_assert_double_eq_tol(share_of(CACHE_RANDOM, &o, c, COLD), table[_i].random, .01);
	ck_assert_double_eq_tol(share_of(CACHE_RANDOM, &o, c, COLD), of_random(c), .01);
	cache_order_fini(&o);
}
END_TEST

START_TEST(the_same_order_each_epoch_hits_nothing_by_age)
{
	struct cache_order o = { UNITS, 4 * UNITS, NULL, NULL };

	o.at = mem_array(o.count, sizeof(*o.at));
	for (uint64_t i = 0; i < o.count; i++)
		o.at[i] = i % UNITS;
	cache_order_know(&o);
	ck_assert_double_eq(share_of(CACHE_LRU, &o, .9, 1), 0);
	ck_assert_double_eq(share_of(CACHE_FIFO, &o, .9, 1), 0);
	ck_assert_double_eq_tol(share_of(CACHE_MINIO, &o, .9, 1), .9, 1e-9);
	ck_assert_double_eq(share_of(CACHE_LRU, &o, 1, 1), 1);
	ck_assert_double_eq(share_of(CACHE_LRU, &o, 0, 0), 0);
	cache_order_fini(&o);
}
END_TEST

/* Drawn alike: what is in a cache is a share of all, whatever the policy. */
START_TEST(draws_with_replacement_hit_what_is_there)
{
	struct cache_order o = cache_order_drawn(UNITS, (uint64_t)UNITS * EPOCHS, 1, 13);
	double unseen = pow(1 - 1.0 / UNITS, UNITS);

	ck_assert_double_eq_tol(share_of(CACHE_LRU, &o, .3, 3), .3, .01);
	ck_assert_double_eq_tol(share_of(CACHE_FIFO, &o, .3, 3), .3, .01);
	ck_assert_double_eq_tol(share_of(CACHE_RANDOM, &o, .3, 3), .3, .01);
	ck_assert_double_eq_tol(share_of(CACHE_MINIO, &o, .3, 3), .3, .01);
	/* An epoch of it has 1 - (1 - 1/N)^N of them. */
	o.count = UNITS;
	ck_assert_double_eq_tol(1 - share_of(CACHE_LRU, &o, 1, 0), 1 - unseen, .01);
	o.count = (uint64_t)UNITS * EPOCHS;
	cache_order_fini(&o);
}
END_TEST

START_TEST(none_hits_more_than_belady)
{
	uint64_t seed = (uint64_t)_i;
	uint64_t units = 20 + rng_u64(seed, RNG_TEST, 0) % 300;
	double skew = 1 + 3 * rng_f64(seed, RNG_TEST, 1);
	struct cache_order o = _i % 2 ? cache_order_drawn(units, units * 7, skew, seed)
				      : cache_order_shuffled(units, 7, seed);

	for (unsigned tenth = 1; tenth <= 10; tenth++) {
		double c = tenth / 10.0;
		double best = share_of(CACHE_BELADY, &o, c, 0);

		for (int p = CACHE_NONE + 1; p <= CACHE_HOT; p++)
			ck_assert_double_le(share_of((enum job_cache)p, &o, c, 0), best);
	}
	cache_order_fini(&o);
}
END_TEST

/* ---- what is promised of all policies ---- */

/* Who is in which slot, as its owner has it. */
struct owner {
	uint64_t units, bytes, count;
	uint32_t *slot_of; /* by unit */
	uint64_t *unit_of; /* by slot, + 1; 0 = free */
	uint64_t slots;
};

static uint64_t size_of(const void *arg, uint64_t unit)
{
	(void)arg;
	return 1 + rng_u64(9, RNG_TEST, unit) % 40;
}

static void drop(struct owner *o, uint64_t unit, uint32_t slot)
{
	ck_assert_uint_eq(o->slot_of[unit], slot);
	ck_assert_uint_eq(o->unit_of[slot], unit + 1);
	o->slot_of[unit] = CACHE_NO_SLOT;
	o->unit_of[slot] = 0;
	o->bytes -= size_of(NULL, unit);
	o->count--;
}

static void on_evicted(void *to, uint64_t unit, uint32_t slot)
{
	drop(to, unit, slot);
}

static void keep(struct owner *o, uint64_t unit, uint32_t slot)
{
	ck_assert_uint_lt(slot, o->slots);
	ck_assert_uint_eq(o->unit_of[slot], 0);
	o->slot_of[unit] = slot;
	o->unit_of[slot] = unit + 1;
	o->bytes += size_of(NULL, unit);
	o->count++;
}

static void owner_init(struct owner *o, uint64_t units, uint64_t slots)
{
	*o = (struct owner){ .units = units, .slots = slots };
	o->slot_of = mem_array(units, sizeof(*o->slot_of));
	o->unit_of = mem_array(slots, sizeof(*o->unit_of));
	for (uint64_t u = 0; u < units; u++)
		o->slot_of[u] = CACHE_NO_SLOT;
}

static void owner_fini(struct owner *o)
{
	mem_free(o->slot_of);
	mem_free(o->unit_of);
}

static void check_any(const struct cache *c, const struct owner *o, uint64_t i)
{
	uint64_t unit;
	uint32_t slot;

	if (!cache_any(c, rng_u64(4, RNG_TEST, i), &unit, &slot)) {
		ck_assert_uint_eq(o->count, 0);
		return;
	}
	ck_assert_uint_eq(o->slot_of[unit], slot);
}

static void step(struct cache *c, struct owner *o, const struct cache_access *a)
{
	uint32_t before = o->slot_of[a->unit];
	struct cache_answer answer;

	ck_assert_uint_eq(cache_find(c, a->unit), before);
	cache_access(c, a, &answer);
	ck_assert_int_eq(answer.is_hit, before != CACHE_NO_SLOT);
	if (answer.is_hit)
		ck_assert_uint_eq(answer.slot, before);
	else if (answer.slot != CACHE_NO_SLOT)
		keep(o, a->unit, answer.slot);
	ck_assert_uint_eq(cache_used_bytes(c), o->bytes);
	ck_assert_uint_eq(cache_units(c), o->count);
}

static void forget_one(struct cache *c, struct owner *o, uint64_t unit)
{
	uint32_t slot = o->slot_of[unit];

	cache_forget(c, unit);
	if (slot != CACHE_NO_SLOT)
		drop(o, unit, slot);
	ck_assert_uint_eq(cache_find(c, unit), CACHE_NO_SLOT);
}

START_TEST(slots_sizes_and_evictions_are_kept_account_of)
{
	uint64_t hot = 60, units = 200;
	struct cache_order order = cache_order_drawn(units, 5000, 1.5, 21);

	for (uint64_t bytes = 0; bytes < 5000; bytes += 1 + bytes * 2) {
		struct owner o;
		struct cache_config cfg = {
			.policy = (enum job_cache)_i,
			.units = units,
			.capacity_bytes = bytes,
			.capacity_units = 100,
			.unit_bytes = size_of,
			.is_hot = is_below,
			.evicted = on_evicted,
			.arg = &hot,
			.to = &o,
		};
		struct cache *c = cache_rig_new(&cfg);

		owner_init(&o, units, cache_slots(&cfg));
		for (uint64_t i = 0; i < order.count; i++) {
			struct cache_access a = cache_order_access(&order, i);

			step(c, &o, &a);
			ck_assert_uint_le(o.bytes, bytes);
			ck_assert_uint_le(o.count, 100);
			check_any(c, &o, i);
			if (i % 7 == 0)
				forget_one(c, &o, order.at[i / 2]);
		}
		cache_free(c);
		owner_fini(&o);
	}
	cache_order_fini(&order);
}
END_TEST

START_TEST(one_that_is_larger_than_the_cache_costs_no_other)
{
	uint64_t hot = UINT64_MAX;
	struct cache_config cfg = {
		.policy = (enum job_cache)_i,
		.units = 200,
		.capacity_bytes = 20,
		.capacity_units = UINT64_MAX,
		.unit_bytes = size_of,
		.is_hot = is_below,
		.arg = &hot,
	};
	struct cache *c = cache_rig_new(&cfg);
	uint64_t had = 0;

	for (uint64_t u = 0; u < cfg.units; u++) {
		struct cache_access a = { u, (double)u, 1000 - u };
		struct cache_answer answer;

		cache_access(c, &a, &answer);
		if (size_of(NULL, u) > 20) {
			ck_assert_uint_eq(answer.slot, CACHE_NO_SLOT);
			ck_assert_uint_eq(cache_units(c), had);
		}
		had = cache_units(c);
	}
	ck_assert_uint_gt(had, 0);
	cache_free(c);
}
END_TEST

static uint64_t big_then_small(const void *arg, uint64_t unit)
{
	(void)arg;
	return unit == 9 ? 3 : 1;
}

/* Of 1, 2 and 5 both 1 and 2 would have to go for one of 3 bytes. */
START_TEST(nothing_goes_for_a_newcomer_that_is_worth_less_than_some_of_it)
{
	struct cache_config cfg = {
		.policy = CACHE_IMPORTANCE,
		.units = 10,
		.capacity_bytes = 4,
		.capacity_units = UINT64_MAX,
		.unit_bytes = big_then_small,
	};
	struct cache *c = cache_rig_new(&cfg);
	struct cache_answer answer;

	for (uint64_t u = 1; u <= 4; u++)
		cache_access(c, &(struct cache_access){ u, (double)u, 0 }, &answer);
	cache_access(c, &(struct cache_access){ 9, 3, 0 }, &answer);
	ck_assert_uint_eq(answer.slot, CACHE_NO_SLOT);
	ck_assert_uint_eq(cache_units(c), 4);
	cache_access(c, &(struct cache_access){ 9, 3.5, 0 }, &answer);
	ck_assert_uint_ne(answer.slot, CACHE_NO_SLOT);
	ck_assert_uint_eq(cache_units(c), 2);
	ck_assert_uint_ne(cache_find(c, 4), CACHE_NO_SLOT);
	cache_free(c);
}
END_TEST

START_TEST(lfu_keeps_what_is_read_often)
{
	static const uint64_t order[] = { 1, 1, 2, 2, 3, 4, 1, 2, 5, 4 };
	struct cache_config cfg = { .policy = CACHE_LFU,
				    .units = 6,
				    .each_bytes = 1,
				    .capacity_bytes = UINT64_MAX,
				    .capacity_units = 3 };
	struct cache *c = cache_rig_new(&cfg);
	struct cache_answer answer;

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		cache_access(c, &(struct cache_access){ order[i], 0, 0 }, &answer);
	ck_assert(!answer.is_hit);
	ck_assert_uint_eq(cache_find(c, 5), CACHE_NO_SLOT);
	ck_assert_uint_ne(cache_find(c, 1), CACHE_NO_SLOT);
	ck_assert_uint_ne(cache_find(c, 2), CACHE_NO_SLOT);
	cache_free(c);
}
END_TEST

/* Every third slot of an earlier one is taken up; those between them are free. */
START_TEST(what_was_kept_comes_into_the_slot_that_it_had)
{
	uint64_t hot = 1000;
	struct cache_config cfg = { .policy = (enum job_cache)_i,
				    .units = 200,
				    .each_bytes = 1,
				    .capacity_bytes = UINT64_MAX,
				    .capacity_units = 100,
				    .is_hot = is_below,
				    .arg = &hot };
	struct cache *c = cache_rig_new(&cfg);
	struct cache_access a = { .unit = 5, .weight = 1 };
	struct cache_answer answer;
	uint64_t unit;

	for (uint32_t slot = 1; slot < 100; slot += 3) {
		a.unit = 199 - slot;
		ck_assert_uint_eq(cache_restore(c, &a, slot), 1);
		ck_assert_uint_eq(cache_find(c, a.unit), slot);
		ck_assert_uint_eq(cache_restore(c, &a, slot + 1), 0);
	}
	a.unit = 151;
	ck_assert_uint_eq(cache_restore(c, &a, 99), 1);
	ck_assert_uint_eq(cache_restore(c, &a, 100), 0);
	ck_assert(!cache_unit_in(c, 2, &unit));
	ck_assert_uint_eq(cache_units(c), 34);
	/* The free ones first, and then some go. */
	for (uint64_t i = 0; i < 400; i++) {
		a = (struct cache_access){ i % 150, 2, i };
		cache_access(c, &a, &answer);
		ck_assert_uint_eq(cache_find(c, a.unit), answer.slot);
		ck_assert(answer.slot == CACHE_NO_SLOT ||
			  (cache_unit_in(c, answer.slot, &unit) && unit == a.unit));
	}
	ck_assert_uint_eq(cache_units(c), 100);
	cache_free(c);
}
END_TEST

START_TEST(memory_is_24_bytes_a_slot_and_4_a_unit_at_most)
{
	struct cache_config cfg = { .policy = (enum job_cache)_i,
				    .units = 1000000,
				    .each_bytes = 1,
				    .capacity_bytes = UINT64_MAX,
				    .capacity_units = 500000 };

	ck_assert_uint_eq(cache_slots(&cfg), 500000);
	ck_assert_uint_le(cache_state_bytes(&cfg), 500000 * 22 + 1000000 * 4 + 4096);
	cfg.each_bytes = 0;
	ck_assert_uint_le(cache_state_bytes(&cfg), 500000 * 24 + 1000000 * 4 + 4096);
}
END_TEST

START_TEST(more_units_than_have_numbers_are_refused)
{
	struct cache_config cfg = { .policy = CACHE_LRU, .units = UINT64_C(1) << 32 };
	struct mlgen_err err = { 0 };
	struct cache *c;

	ck_assert_int_eq(cache_new(&c, &cfg, &err), -EINVAL);
	ck_assert_ptr_null(c);
}
END_TEST

START_TEST(each_policy_has_a_word)
{
	ck_assert_ptr_nonnull(cache_word(_i));
}
END_TEST

Suite *suite_cache(void)
{
	Suite *s = suite_create("cache");
	TCase *tc = tcase_create("cache");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, shuffled_epochs_hit_what_arithmetic_says, 0, ARRAY_LEN(table));
	tcase_add_test(tc, the_same_order_each_epoch_hits_nothing_by_age);
	tcase_add_test(tc, draws_with_replacement_hit_what_is_there);
	tcase_add_loop_test(tc, none_hits_more_than_belady, 0, 16);
	tcase_add_loop_test(tc, slots_sizes_and_evictions_are_kept_account_of, CACHE_LRU,
			    CACHE_HOT + 1);
	tcase_add_loop_test(tc, one_that_is_larger_than_the_cache_costs_no_other, CACHE_LRU,
			    CACHE_HOT + 1);
	tcase_add_test(tc, nothing_goes_for_a_newcomer_that_is_worth_less_than_some_of_it);
	tcase_add_test(tc, lfu_keeps_what_is_read_often);
	tcase_add_loop_test(tc, what_was_kept_comes_into_the_slot_that_it_had, CACHE_LRU,
			    CACHE_HOT + 1);
	tcase_add_loop_test(tc, memory_is_24_bytes_a_slot_and_4_a_unit_at_most, CACHE_LRU,
			    CACHE_HOT + 1);
	tcase_add_test(tc, more_units_than_have_numbers_are_refused);
	tcase_add_loop_test(tc, each_policy_has_a_word, CACHE_NONE, CACHE_HOT + 1);
	suite_add_tcase(s, tc);
	return s;
}
