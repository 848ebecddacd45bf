/* SPDX-License-Identifier: Apache-2.0 */
/* test_distance.c - distances against values computed in another way, and what holds of every
 * distance. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "suites.h"
#include "trace/model/model.h"
#include "tracing/score/score_internal.h"
#include "tracing/score/score_internal.h"

#define EXACT 1e-9

/* In ascending order; 2 and 3 were seen twice. */
static const struct weighted some[] = { { 1, 1 }, { 2, 2 },   { 5, 1 },
					{ 9, 1 }, { 9.5, 1 }, { 11, 1 } };
static const struct weighted others[] = { { .5, 1 }, { 2, 1 }, { 3, 2 }, { 8, 1 }, { 20, 1 } };

/* By the definitions, of lists of values: statistics.correlation and sums over all quantiles of
 * Python 3.11 gave these. */
START_TEST(distances_are_those_of_their_definitions)
{
	static const double x[] = { 1, 3, 2, 8, 9, 4, 7 };
	static const double y[] = { 2, 1, 4, 7, 9, 5, 5 };
	static const double a[] = { 1, 2, 7 }, b[] = { 4, 4, 2 };
	size_t n = ARRAY_LEN(some), m = ARRAY_LEN(others);

	ck_assert_double_eq_tol(distance_ks(some, n, others, m), 0.261904761904762, EXACT);
	ck_assert_double_eq_tol(distance_w1(some, n, others, m), 2.8214285714285716, EXACT);
	ck_assert_double_eq_tol(distance_pearson(x, y, 7), 0.8647332721266243, EXACT);
	ck_assert_double_eq_tol(distance_variability(x, 7), 0.596993621476013, EXACT);
	/* .1 .2 .7 and .4 .4 .2 */
	ck_assert_double_eq_tol(distance_variation(a, b, 3), .5, EXACT);
	ck_assert_double_eq_tol(distance_relative(4, 5), .25, EXACT);
	ck_assert_double_eq_tol(distance_ratio(4, 5), log(1.25), EXACT);
	ck_assert_double_eq_tol(weighted_mean(some, n), 39.5 / 7, EXACT);
	ck_assert_double_eq_tol(weighted_quantile(some, n, .5), 5, EXACT);
	ck_assert_double_eq_tol(weighted_quantile(some, n, .95), 11, EXACT);
}
END_TEST

START_TEST(a_distance_is_nothing_of_equals_and_the_same_either_way)
{
	static const double a[] = { 1, 2, 7 }, b[] = { 4, 4, 2 };
	size_t n = ARRAY_LEN(some), m = ARRAY_LEN(others);

	ck_assert(distance_ks(some, n, some, n) == 0);
	ck_assert(distance_w1(some, n, some, n) == 0);
	ck_assert(distance_variation(a, a, 3) == 0);
	ck_assert(distance_relative(3, 3) == 0);
	ck_assert(distance_relative(0, 0) == 0);
	ck_assert(distance_ratio(3, 3) == 0);
	ck_assert_double_eq_tol(distance_pearson(a, a, 3), 1, EXACT);
	ck_assert(distance_ks(some, n, others, m) == distance_ks(others, m, some, n));
	ck_assert(distance_w1(some, n, others, m) == distance_w1(others, m, some, n));
	ck_assert(distance_variation(a, b, 3) == distance_variation(b, a, 3));
	ck_assert(distance_ratio(2, 8) == distance_ratio(8, 2));
}
END_TEST

/* More of the same change is farther away. */
START_TEST(a_distance_grows_with_the_change)
{
	double d = 0, w = 0, v = 0;

	for (int i = 1; i <= 10; i++) {
		struct weighted moved[ARRAY_LEN(some)];
		const double half[] = { 10, 10 };
		const double mix[] = { 10 - i, 10 + i };

		memcpy(moved, some, sizeof(some));
		for (size_t k = 0; k < ARRAY_LEN(some); k++)
			moved[k].value += i;
		double moved_w = distance_w1(some, 6, moved, 6);
		double moved_d = distance_ks(some, 6, moved, 6);
		ck_assert_double_eq_tol(moved_w, i, EXACT);
		ck_assert_double_gt(moved_w, w);
		ck_assert_double_ge(moved_d, d);
		ck_assert_double_gt(distance_variation(half, mix, 2), v);
		v = distance_variation(half, mix, 2);
		w = moved_w;
		d = moved_d;
	}
	ck_assert_double_eq_tol(d, 6. / 7, EXACT);
}
END_TEST

START_TEST(what_has_no_distance_is_no_number)
{
	const double zeros[] = { 0, 0 }, ones[] = { 1, 1 };

	ck_assert(isnan(distance_ks(some, 6, others, 0)));
	ck_assert(isnan(distance_w1(some, 0, others, 5)));
	ck_assert(isnan(distance_variation(zeros, ones, 2)));
	ck_assert(isnan(distance_pearson(ones, zeros, 2)));
	ck_assert(isnan(distance_variability(zeros, 2)));
	ck_assert(isnan(distance_ratio(0, 1)));
	ck_assert(isinf(distance_relative(0, 1)));
	ck_assert(isnan(weighted_mean(some, 0)));
	ck_assert(isnan(weighted_quantile(some, 0, .5)));
}
END_TEST

/* ---- spreads ---- */

START_TEST(few_values_are_kept_as_they_are)
{
	struct spread s = { 0 };
	struct weighted *w;
	size_t n;

	spread_add(&s, 4000000001, 2);
	spread_add(&s, 7, 1);
	spread_add(&s, 0, 1);
	spread_add(&s, 7, 3);
	spread_add(&s, 8, 0);
	ck_assert(spread_is_exact(&s));
	ck_assert_uint_eq(s.count, 4);
	w = spread_points(&s, false, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert(w[0].value == 0 && w[0].weight == 1);
	ck_assert(w[1].value == 7 && w[1].weight == 4);
	ck_assert(w[2].value == 4000000001 && w[2].weight == 2);
	mem_free(w);
	spread_fini(&s);
}
END_TEST

START_TEST(many_values_are_in_classes_of_less_than_a_percent)
{
	struct spread s = { 0 }, few = { 0 };
	struct weighted *w, *v;
	size_t n, m;
	double sum = 0;

	for (uint64_t i = 0; i < 100000; i++)
		spread_add(&s, 1000 + 17 * i, 1);
	ck_assert(!spread_is_exact(&s));
	w = spread_points(&s, false, &n);
	for (size_t i = 0; i < n; i++)
		sum += w[i].weight;
	ck_assert_double_eq_tol(sum, 100000, EXACT);
	ck_assert_double_eq_tol(weighted_mean(w, n), 1000 + 17 * 99999 / 2., 850000 * .004);
	/* The greatest value of 64 bits has a class, too. */
	spread_add(&few, UINT64_MAX, 1);
	v = spread_points(&few, true, &m);
	ck_assert_uint_eq(m, 1);
	ck_assert_double_eq_tol(v[0].value / 0x1p64, 1, .004);
	mem_free(w);
	mem_free(v);
	spread_fini(&s);
	spread_fini(&few);
}
END_TEST

/* ---- reuse ---- */

/* The place of `key` in a list of all, the last touched first. */
static uint64_t place_in_stack(uint64_t *stack, size_t *count, uint64_t key)
{
	size_t i = 0;
	uint64_t place;

	while (i < *count && stack[i] != key)
		i++;
	place = i < *count ? i : REUSE_COLD;
	if (i == *count)
		(*count)++;
	memmove(stack + 1, stack, i * sizeof(*stack));
	stack[0] = key;
	return place;
}

START_TEST(a_reuse_distance_is_the_place_in_a_stack)
{
	struct reuse *r = reuse_new(64);
	uint64_t stack[64], distance, x = 1;
	size_t count = 0;

	for (int i = 0; i < 5000; i++) {
		/* Small numbers more often than large ones. */
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		uint64_t key = (x >> 33) % (1 + (x >> 50) % 60);

		ck_assert_uint_eq(reuse_access(r, key, &distance), 1);
		ck_assert_uint_eq(distance, place_in_stack(stack, &count, key));
	}
	ck_assert_uint_eq(reuse_blocks(r), count);
	reuse_free(r);
}
END_TEST

/* Of blocks that are touched in turn, an LRU cache has none of them until it has room for all. */
START_TEST(more_blocks_than_there_is_memory_for_are_sampled)
{
	enum { BLOCKS = 100000 };
	struct reuse *r = reuse_new(4096);
	uint64_t distance = 0;
	double seen = 0, far = 0;

	for (int round = 0; round < 4; round++)
		for (uint64_t i = 0; i < BLOCKS; i++) {
			uint64_t w = reuse_access(r, i, &distance);

			if (round < 2 || !w)
				continue;
			seen += (double)w;
			if (distance > BLOCKS / 10 * 9 && distance < BLOCKS / 10 * 11)
				far += (double)w;
		}
	ck_assert_double_eq_tol((double)reuse_blocks(r), BLOCKS, BLOCKS * .1);
	ck_assert_double_eq_tol(seen, 2. * BLOCKS, .2 * BLOCKS);
	ck_assert(far == seen);
	reuse_free(r);
}
END_TEST

/* The curve of caching.md's oracle: of shuffled rounds an LRU cache of a part c hits c + (1 - c)
 * ln(1 - c). */
START_TEST(shuffled_rounds_miss_as_their_formula_says)
{
	enum { BLOCKS = 20000, ROUNDS = 6 };
	static uint64_t order[BLOCKS];
	struct reuse *r = reuse_new(1u << 15);
	struct spread s = { 0 };
	struct weighted *w;
	uint64_t distance, x = 7;
	size_t n;

	for (uint64_t i = 0; i < BLOCKS; i++)
		order[i] = i;
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = BLOCKS - 1; i > 0; i--) {
			x = x * UINT64_C(6364136223846793005) + 1;
			size_t k = (size_t)((x >> 33) % (i + 1));
			uint64_t had = order[i];

			order[i] = order[k];
			order[k] = had;
		}
		for (size_t i = 0; i < BLOCKS; i++) {
			reuse_access(r, order[i], &distance);
			if (distance != REUSE_COLD)
				spread_add(&s, distance, 1);
		}
	}
	w = spread_points(&s, false, &n);
	for (double c = .1; c < .95; c += .1) {
		double hits = 0;

		for (size_t i = 0; i < n; i++)
			if (w[i].value < c * BLOCKS)
				hits += w[i].weight;
		ck_assert_double_eq_tol(hits / ((ROUNDS - 1.) * BLOCKS), c + (1 - c) * log(1 - c),
					.01);
	}
	mem_free(w);
	spread_fini(&s);
	reuse_free(r);
}
END_TEST

/* ---- rounds, and what is under way ---- */

START_TEST(the_nth_visit_is_of_round_n)
{
	static const uint64_t visits[] = { 5, 6, 7, 5, 6, 7, 7, 6, 5 };
	struct rounds *r = mem_zalloc(sizeof(*r));
	struct rounds_sums s;

	ck_assert(!rounds_has(r, 5));
	for (size_t i = 0; i < ARRAY_LEN(visits); i++)
		rounds_visit(r, visits[i]);
	ck_assert(rounds_has(r, 5));
	s = rounds_finish(r);
	ck_assert_uint_eq(s.rounds, 3);
	ck_assert_uint_eq(s.visits, 9);
	ck_assert_uint_eq(s.items, 3);
	ck_assert_double_eq_tol(s.order, 0, EXACT); /* 1 and -1 */
	ck_assert_double_eq_tol(s.places, 1, EXACT);
	rounds_fini(r);
	mem_free(r);
}
END_TEST

/* The second round begins before the first is over. */
START_TEST(rounds_may_overlap)
{
	static const uint64_t visits[] = { 3, 1, 0, 3, 1, 2, 0, 2 };
	struct rounds *r = mem_zalloc(sizeof(*r));
	struct rounds_sums s;

	for (size_t i = 0; i < ARRAY_LEN(visits); i++)
		rounds_visit(r, visits[i]);
	s = rounds_finish(r);
	ck_assert_uint_eq(s.rounds, 2);
	ck_assert_double_eq_tol(s.order, 1, EXACT);
	/* Ranks of 3 1 0 2 by place: -.4. */
	ck_assert_double_eq_tol(s.places, -.4, EXACT);
	rounds_fini(r);
	mem_free(r);
}
END_TEST

START_TEST(depth_is_weighed_by_time)
{
	struct inflight f = { 0 };
	struct profile_inflight seen = { 0 };
	struct inflight_piece piece;
	const uint64_t ms = 1000000;
	struct weighted *w;
	size_t n;

	inflight_advance(&f, 10 * ms);
	inflight_begin(&f, 14 * ms);
	while (inflight_next(&f, 11 * ms, &piece))
		profile_inflight_add(&seen, &piece, UINT64_MAX);
	inflight_begin(&f, 12 * ms);
	/* It is idle from 14 on, but the time after 19 belongs to another phase. */
	while (inflight_next(&f, 30 * ms, &piece))
		profile_inflight_add(&seen, &piece, 19 * ms);
	w = spread_points(&seen.depth, false, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert(w[0].value == 0 && w[0].weight == 5e6);
	ck_assert(w[1].value == 1 && w[1].weight == 3e6);
	ck_assert(w[2].value == 2 && w[2].weight == 1e6);
	ck_assert_uint_eq(seen.idle_count, 1);
	ck_assert_uint_eq(seen.idle_ns, 5 * ms);
	mem_free(w);
	spread_fini(&seen.depth);
	inflight_fini(&f);
}
END_TEST

START_TEST(no_more_is_remembered_than_there_is_room_for)
{
	struct inflight f = { 0 };

	for (uint64_t i = 0; i < 3 * INFLIGHT_MAX; i++)
		inflight_begin(&f, 1000000 - i);
	ck_assert_uint_eq(f.count, INFLIGHT_MAX);
	inflight_advance(&f, 2000000);
	ck_assert_uint_eq(f.count, 0);
	inflight_fini(&f);
}
END_TEST

Suite *suite_distance(void)
{
	Suite *s = suite_create("distance");
	TCase *t = tcase_create("distance");

	tcase_add_test(t, distances_are_those_of_their_definitions);
	tcase_add_test(t, a_distance_is_nothing_of_equals_and_the_same_either_way);
	tcase_add_test(t, a_distance_grows_with_the_change);
	tcase_add_test(t, what_has_no_distance_is_no_number);
	tcase_add_test(t, few_values_are_kept_as_they_are);
	tcase_add_test(t, many_values_are_in_classes_of_less_than_a_percent);
	tcase_add_test(t, a_reuse_distance_is_the_place_in_a_stack);
	tcase_add_test(t, more_blocks_than_there_is_memory_for_are_sampled);
	tcase_add_test(t, shuffled_rounds_miss_as_their_formula_says);
	tcase_add_test(t, the_nth_visit_is_of_round_n);
	tcase_add_test(t, rounds_may_overlap);
	tcase_add_test(t, depth_is_weighed_by_time);
	tcase_add_test(t, no_more_is_remembered_than_there_is_room_for);
	suite_add_tcase(s, t);
	return s;
}
