/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_operations.c - Gini coefficients and correlations against their definitions, and
 * requests in flight. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "suites.h"
#include "trace/model/model.h"

/* Half of the mean difference of all pairs, by the mean. */
static double gini_of_pairs(const double *shares, size_t n)
{
	double sum = 0, differences = 0;

	for (size_t i = 0; i < n; i++) {
		sum += shares[i];
		for (size_t k = 0; k < n; k++)
			differences += fabs(shares[i] - shares[k]);
	}
	return differences / (2 * (double)n * sum);
}

START_TEST(gini_is_that_of_all_pairs)
{
	double shares[] = { 3, 0, 10, 1, 1, 5.5, 100, 7 };
	double want = gini_of_pairs(shares, ARRAY_LEN(shares));
	struct fairness f = fairness_of(shares, ARRAY_LEN(shares));

	ck_assert_double_eq_tol(f.gini, want, 1e-12);
	ck_assert_double_eq_tol(f.most_over_mean, 100 * 8 / 127.5, 1e-12);
}
END_TEST

START_TEST(equal_shares_are_fair_and_one_of_n_is_not)
{
	double equal[] = { 4, 4, 4, 4 }, one[] = { 0, 0, 8, 0 };
	double none[] = { 0, 0 };
	struct fairness f = fairness_of(equal, 4);

	ck_assert_double_eq(f.gini, 0);
	ck_assert_double_eq(f.most_over_mean, 1);
	f = fairness_of(one, 4);
	ck_assert_double_eq_tol(f.gini, 0.75, 1e-12);
	ck_assert_double_eq(f.most_over_mean, 4);
	f = fairness_of(none, 2);
	ck_assert_double_nan(f.gini);
	ck_assert_double_nan(f.most_over_mean);
	f = fairness_of(none, 0);
	ck_assert_double_nan(f.gini);
}
END_TEST

/* 1 - 6 sum(d^2) / (n (n^2 - 1)). */
static double spearman(const uint64_t *y, uint64_t n)
{
	double squares = 0;

	for (uint64_t i = 0; i < n; i++) {
		double d = (double)i - (double)y[i];

		squares += d * d;
	}
	return 1 - 6 * squares / ((double)n * ((double)n * (double)n - 1));
}

START_TEST(the_correlation_of_ranks_is_spearman_s)
{
	static const uint64_t orders[][6] = {
		{ 0, 1, 2, 3, 4, 5 },
		{ 5, 4, 3, 2, 1, 0 },
		{ 2, 0, 1, 5, 3, 4 },
		{ 3, 1, 5, 0, 4, 2 },
	};
	const uint64_t *y = orders[_i];
	struct order o = { 0 };

	for (uint64_t i = 0; i < 6; i++)
		order_add(&o, i, y[i]);
	ck_assert_double_eq_tol(order_correlation(&o), spearman(y, 6), 1e-12);
}
END_TEST

START_TEST(one_thing_has_no_order)
{
	struct order o = { 0 };

	ck_assert_double_nan(order_correlation(&o));
	order_add(&o, 3, 3);
	ck_assert_double_nan(order_correlation(&o));
	order_add(&o, 3, 4);
	ck_assert_double_nan(order_correlation(&o));
}
END_TEST

START_TEST(ten_million_ranks_keep_their_digits)
{
	struct order o = { 0 };

	for (uint64_t i = 0; i < 10000000; i++)
		order_add(&o, i, 9999999 - i);
	ck_assert_double_eq_tol(order_correlation(&o), -1, 1e-9);
}
END_TEST

START_TEST(requests_under_way_are_counted)
{
	struct pairing p;
	uint64_t began;

	pairing_init(&p);
	pairing_begin(&p, pairing_key(1, 0), 5);
	pairing_begin(&p, pairing_key(1, 8), 6);
	pairing_begin(&p, pairing_key(2, 8), 7);
	ck_assert_uint_eq(p.depth, 3);
	ck_assert(pairing_end(&p, pairing_key(1, 8), &began));
	ck_assert_uint_eq(began, 6);
	ck_assert(!pairing_end(&p, pairing_key(1, 8), &began));
	ck_assert_uint_eq(p.depth, 2);
	ck_assert_uint_eq(p.depth_most, 3);
	pairing_fini(&p);
}
END_TEST

/* Requests whose ends are lost do not take memory, nor add to the depth for ever. */
START_TEST(requests_without_an_end_are_given_up)
{
	struct pairing p;

	pairing_init(&p);
	for (uint64_t i = 0; i < 1000000; i++)
		pairing_begin(&p, pairing_key(1, i), i);
	ck_assert_uint_le(p.depth_most, 65536);
	pairing_fini(&p);
}
END_TEST

Suite *suite_model_operations(void)
{
	Suite *s = suite_create("model_operations");
	TCase *t = tcase_create("model_operations");

	tcase_add_test(t, gini_is_that_of_all_pairs);
	tcase_add_test(t, equal_shares_are_fair_and_one_of_n_is_not);
	tcase_add_loop_test(t, the_correlation_of_ranks_is_spearman_s, 0, 4);
	tcase_add_test(t, one_thing_has_no_order);
	tcase_add_test(t, ten_million_ranks_keep_their_digits);
	tcase_add_test(t, requests_under_way_are_counted);
	tcase_add_test(t, requests_without_an_end_are_given_up);
	suite_add_tcase(s, t);
	return s;
}
