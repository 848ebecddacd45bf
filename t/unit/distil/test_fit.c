/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit.c - values that were drawn from a distribution are found to be of it. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/dist.h"
#include "base/mem.h"
#include "tracing/distil/data/data_internal.h"
#include "suites.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define VALUES 20000

static int values_ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t *draw(const char *text, enum dist_unit unit)
{
	uint64_t *values = mem_array(VALUES, sizeof(*values));
	struct mlgen_err err = { 0 };
	struct dist d;

	ck_assert_msg(dist_parse(&d, text, unit, "s", 1024, &err) == 0, "%s", err.text);
	for (uint64_t i = 0; i < VALUES; i++)
		values[i] = dist_draw(&d, 11, RNG_TEST, i);
	qsort(values, VALUES, sizeof(*values), values_ascending);
	return values;
}

static const struct {
	const char *text;
	enum dist_unit unit;
	enum dist_kind kind;
	double a, b, within; /* of them, as a part */
} drawn[] = {
	{ "114660", DIST_BYTES, DIST_CONST, 114660, 0, 0 },
	{ "uniform:1000:9000", DIST_BYTES, DIST_UNIFORM, 1000, 9000, 0.01 },
	{ "uniform:1:6", DIST_BYTES, DIST_UNIFORM, 1, 6, 0 },
	{ "normal:5m:1m", DIST_BYTES, DIST_NORMAL, 5242880, 1048576, 0.02 },
	{ "normal:323ms:5ms", DIST_NS, DIST_NORMAL, 323e6, 5e6, 0.02 },
	{ "lognormal:100k:150k", DIST_BYTES, DIST_LOGNORMAL, 102400, 153600, 0.05 },
	{ "exponential:20ms", DIST_NS, DIST_EXPONENTIAL, 20e6, 0, 0.02 },
};

START_TEST(what_was_drawn_is_found)
{
	uint64_t *values = draw(drawn[_i].text, drawn[_i].unit);
	struct fit f;

	fit_values(&f, values, VALUES, drawn[_i].unit);
	ck_assert_int_eq(f.dist.kind, drawn[_i].kind);
	ck_assert_double_le(fabs(f.dist.a - drawn[_i].a), drawn[_i].a * drawn[_i].within);
	ck_assert_double_le(fabs(f.dist.b - drawn[_i].b), drawn[_i].b * drawn[_i].within);
	/* By chance alone it is more than that once in a thousand times. */
	ck_assert_double_le(f.ks, 1.95 / sqrt(VALUES));
	mem_free(values);
}
END_TEST

START_TEST(sizes_are_not_taken_for_exponential)
{
	uint64_t *values = draw("exponential:20k", DIST_BYTES);
	struct fit f;

	fit_values(&f, values, VALUES, DIST_BYTES);
	ck_assert_int_ne(f.dist.kind, DIST_EXPONENTIAL);
	ck_assert_double_gt(f.ks, 0.03);
	mem_free(values);
}
END_TEST

START_TEST(two_values_fit_nothing_and_D_says_so)
{
	uint64_t values[10] = { 1, 1, 1, 1, 1, 900, 900, 900, 900, 900 };
	struct dist one = { .kind = DIST_CONST, .a = 1 };
	struct fit f;

	fit_values(&f, values, 10, DIST_BYTES);
	ck_assert_double_ge(f.ks, 0.25);
	ck_assert_double_eq(fit_distance(&one, values, 10), 0.5);
}
END_TEST

START_TEST(D_is_that_of_the_book)
{
	/* 1 to 4 once each, and uniform:1:8: 4/8 are missing at 4. */
	uint64_t values[4] = { 1, 2, 3, 4 };
	struct dist d = { .kind = DIST_UNIFORM, .a = 1, .b = 8 };
	struct dist same = { .kind = DIST_UNIFORM, .a = 1, .b = 4 };
	struct dist none = { .kind = DIST_GAMMA, .a = 1, .b = 4 };

	ck_assert_double_eq(fit_distance(&d, values, 4), 0.5);
	ck_assert_double_eq(fit_distance(&same, values, 4), 0);
	ck_assert_double_nan(fit_distance(&none, values, 4));
}
END_TEST

START_TEST(zeros_are_taken_too)
{
	uint64_t zeros[3] = { 0, 0, 0 }, some[4] = { 0, 0, 5, 7 };
	struct fit f;

	fit_values(&f, zeros, 3, DIST_NS);
	ck_assert_int_eq(f.dist.kind, DIST_CONST);
	ck_assert_double_eq(f.dist.a, 0);
	fit_values(&f, some, 4, DIST_NS);
	ck_assert_double_ge(f.ks, 0);
	ck_assert_double_le(f.ks, 1);
}
END_TEST

Suite *suite_fit(void)
{
	Suite *s = suite_create("fit");
	TCase *tc = tcase_create("kinds");

	tcase_add_loop_test(tc, what_was_drawn_is_found, 0, COUNT(drawn));
	tcase_add_test(tc, sizes_are_not_taken_for_exponential);
	tcase_add_test(tc, two_values_fit_nothing_and_D_says_so);
	tcase_add_test(tc, D_is_that_of_the_book);
	tcase_add_test(tc, zeros_are_taken_too);
	suite_add_tcase(s, tc);
	return s;
}
