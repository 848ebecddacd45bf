/* SPDX-License-Identifier: Apache-2.0 */
/* test_score_again.c - figures of rounds, of reuse and of the course of a run, from profiles filled
 * by hand. */
#include <check.h>
#include <math.h>

#include "base/util.h"
#include "score_parts_rig.h"
#include "suites.h"

/* ---- again ---- */

START_TEST(rounds_are_those_of_samples_where_both_number_them)
{
	check_unknown("coverage", "nothing was read in rounds");
	check_unknown("visits an epoch", "nothing was read in rounds");
	a.rounds = (struct rounds_sums){ .items = 100, .visits = 200 };
	b.rounds = (struct rounds_sums){ .rounds = 4, .items = 50, .visits = 300 };
	a.file_rounds = (struct rounds_sums){ .rounds = 1, .items = 3, .visits = 3 };
	b.file_rounds = (struct rounds_sums){ .rounds = 1, .items = 4, .visits = 4 };
	a.has_samples = true;
	check_is("coverage", .25);
	check_is("visits an epoch", 0);
	a.has_samples = false;
	b.has_samples = true;
	check_is("coverage", .25);
	a.has_samples = true;
	check_is("coverage", .5);
	/* Epochs that one of them marks count for both. */
	real.epochs = 2;
	check_is("visits an epoch", 2);
	candidate.epochs = 3;
	check_is("visits an epoch", 1);
}
END_TEST

START_TEST(orders_of_few_items_are_apart_by_chance)
{
	const char *two = "one trace has fewer than two rounds";
	const char *numbers = "one trace does not number its samples";

	a.file_rounds = (struct rounds_sums){ .items = 200, .order = NONE, .places = NONE };
	b.file_rounds = (struct rounds_sums){ .items = 50, .order = .5, .places = 1 };
	check_unknown("order of two rounds", two);
	check_unknown("order of the first", numbers);
	a.file_rounds.order = -.25;
	a.file_rounds.places = .25;
	check_is("order of two rounds", .75);
	check_is("order of the first", .75);
	ck_assert_double_eq_tol(look("order of the first").at_least, .6, EXACT);
	b.file_rounds.items = 1;
	ck_assert_double_eq_tol(look("order of the first").at_least, 3 * sqrt(2), EXACT);
	b.file_rounds.items = 0;
	ck_assert(look("order of the first").at_least == 0);
}
END_TEST

START_TEST(caches_of_ten_sizes_miss_what_was_touched_too_long_ago)
{
	const char *none = "nothing was read at a known offset";

	real.blocks = 100;
	candidate.blocks = 50;
	check_unknown("miss ratios", none);
	a.accesses = a.cold = 1;
	check_unknown("miss ratios", none);
	b.accesses = b.cold = 1;
	check_is("miss ratios", 0);
	a.accesses = 0;
	check_unknown("miss ratios", none);
	a.accesses = b.accesses = 10;
	a.cold = 4;
	spread_add(&a.reuse, 5, 1);
	spread_add(&a.reuse, 20, 5);
	b.cold = 5;
	spread_add(&b.reuse, 55, 5);
	/* .1 twice, .6 three times, .1 five times. */
	check_is("miss ratios", .25);
	ck_assert_double_eq_tol(look("miss ratios").at_least, .1, EXACT);
}
END_TEST

/* ---- the course of a run ---- */

static double fast[60], slow[60];

/* Alternately 8 and 12: it varies by a fifth, which just counts. */
static void fill_series(size_t a_count, size_t b_count)
{
	for (size_t i = 0; i < ARRAY_LEN(fast); i++) {
		fast[i] = i % 2 ? 12 : 8;
		slow[i] = i % 2 ? 8 : 12;
	}
	a.series = fast;
	b.series = slow;
	a.series_count = a_count;
	b.series_count = b_count;
	a.series_step_ns = b.series_step_ns = 1000000000;
}

static const char few[] =
	"below 30 seconds, or nearly constant in all traces; the means are compared";

START_TEST(a_course_takes_half_a_minute)
{
	fill_series(30, 60);
	check_is("bandwidth: 1 - r", 2);
	check_is("bandwidth: ln of CoVs", 0);
	check_unknown("bandwidth: mean", "its course is compared instead");
	fill_series(60, 30);
	check_is("bandwidth: 1 - r", 2);
	fill_series(29, 60);
	check_unknown("bandwidth: 1 - r", few);
	check_unknown("bandwidth: ln of CoVs", few);
	fill_series(60, 29);
	check_unknown("bandwidth: 1 - r", few);
	fill_series(60, 60);
	b.series_step_ns = 2000000000;
	check_unknown("bandwidth: 1 - r", few);
}
END_TEST

START_TEST(a_course_varies)
{
	const char *flat = "the bandwidth does not vary in the candidate";

	fill_series(60, 60);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		slow[i] = i % 2 ? 14 : 6;
	check_is("bandwidth: 1 - r", 0);
	check_is("bandwidth: ln of CoVs", log(2));
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		slow[i] = 9;
	check_unknown("bandwidth: 1 - r", flat);
	check_unknown("bandwidth: ln of CoVs", flat);
	for (size_t i = 0; i < ARRAY_LEN(fast); i++)
		fast[i] = i % 2 ? 11 : 9;
	check_unknown("bandwidth: 1 - r", few);
}
END_TEST

Suite *suite_score_again(void)
{
	Suite *s = suite_create("score_again");
	TCase *t = tcase_create("score_again");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, rounds_are_those_of_samples_where_both_number_them);
	tcase_add_test(t, orders_of_few_items_are_apart_by_chance);
	tcase_add_test(t, caches_of_ten_sizes_miss_what_was_touched_too_long_ago);
	tcase_add_test(t, a_course_takes_half_a_minute);
	tcase_add_test(t, a_course_varies);
	suite_add_tcase(s, t);
	return s;
}
