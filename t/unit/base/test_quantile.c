/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantile.c - own exp, log and inverse distributions agree with known values. */
#include <check.h>
#include <math.h>

#include "base/dist.h"
#include "suites.h"

START_TEST(exp_and_log_agree_with_the_library)
{
	for (uint64_t i = 0; i < 20000; i++) {
		double x = (rng_f64(1, RNG_TEST, i) - 0.5) * 1400;
		double y = exp(x);

		ck_assert_double_eq_tol(quantile_exp(x) / y, 1, 4e-16);
		ck_assert_double_eq_tol(quantile_log(y), log(y), fabs(x) * 4e-16 + 1e-18);
		double near_1 = 1 + x / 1e5;
		ck_assert_double_eq_tol(quantile_log(near_1) / log(near_1), 1, 1e-15);
	}
	ck_assert_double_eq(quantile_exp(0), 1);
	ck_assert_double_eq(quantile_log(1), 0);
	ck_assert_double_eq(quantile_exp(-1000), 0);
	ck_assert(isfinite(quantile_exp(1000)));
}
END_TEST

/* Shape 1 is the exponential, shape 1/2 half the square of a normal. */
START_TEST(gamma_has_its_closed_forms)
{
	for (uint64_t i = 0; i < 2000; i++) {
		double p = rng_f64(2, RNG_TEST, i);
		double e = quantile_exponential(p);
		double z = quantile_normal((1 + p) / 2);

		ck_assert_double_eq_tol(quantile_gamma(p, 1) / e, 1, 1e-10);
		/* (1 + p) / 2 has lost bits where p is small. */
		if (p > 1e-3)
			ck_assert_double_eq_tol(quantile_gamma(p, 0.5) / (z * z / 2), 1, 1e-10);
	}
}
END_TEST

START_TEST(gamma_agrees_with_tables)
{
	/* Abramowitz & Stegun table 26.8: chi square of nu, Q; x/2. */
	static const struct {
		double nu, p, chi_square;
	} rows[] = {
		{ 2, 0.005, 0.0100251 }, { 4, 0.05, 0.710721 }, { 10, 0.1, 4.86518 },
		{ 10, 0.995, 25.1882 },  { 30, 0.5, 29.336 },   { 100, 0.001, 61.9179 },
		{ 100, 0.999, 149.449 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_double_eq_tol(2 * quantile_gamma(rows[i].p, rows[i].nu / 2) /
						rows[i].chi_square,
					1, 1e-5);
}
END_TEST

START_TEST(gamma_grows_with_p_and_shape)
{
	static const double shapes[] = { 0.001, 0.01, 0.3, 1, 7, 300, 9999, 10001, 1e5, 1e7, 1e9 };

	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
		double last = -1;

		for (int i = 1; i < 1000; i++) {
			double x = quantile_gamma(i / 1000.0, shapes[k]);

			ck_assert(isfinite(x) && x >= last);
			last = x;
			if (k > 0)
				ck_assert_double_gt(x + 1e-300,
						    quantile_gamma(i / 1000.0, shapes[k - 1]));
		}
	}
}
END_TEST

START_TEST(both_ways_of_gamma_meet)
{
	for (int i = 1; i < 1000; i++) {
		double p = i / 1000.0;
		double below = quantile_gamma(p, 10000);
		double above = quantile_gamma(p, 10000.0001);

		ck_assert_double_eq_tol(above / below, 1, 3e-7);
	}
}
END_TEST

Suite *suite_quantile(void)
{
	Suite *s = suite_create("quantile");
	TCase *tc = tcase_create("quantile");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, exp_and_log_agree_with_the_library);
	tcase_add_test(tc, gamma_has_its_closed_forms);
	tcase_add_test(tc, gamma_agrees_with_tables);
	tcase_add_test(tc, gamma_grows_with_p_and_shape);
	tcase_add_test(tc, both_ways_of_gamma_meet);
	suite_add_tcase(s, tc);
	return s;
}
