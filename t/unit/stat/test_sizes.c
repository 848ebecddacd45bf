/* SPDX-License-Identifier: Apache-2.0 */
/* test_sizes.c - request sizes by class, and the most frequent of them. */
#include <check.h>

#include "stat/opstat.h"
#include "suites.h"

/* clang-format off */
static const struct {
	uint64_t bytes;
	unsigned in;
} classes[] = {
	{ 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 3 }, { 23, 5 },
	{ 4095, 12 }, { 4096, 12 }, { 4097, 13 }, { 258048, 18 },
	{ 262144, 18 }, { 262145, 19 }, { UINT64_C(1) << 63, 63 },
	{ UINT64_MAX, 64 },
};
/* clang-format on */

START_TEST(a_class_ends_with_a_power_of_two)
{
	struct sizes s = { 0 };
	unsigned in = classes[_i].in;

	sizes_add(&s, classes[_i].bytes, 3);
	for (unsigned i = 0; i < SIZES_CLASSES; i++)
		ck_assert_uint_eq(s.count[i], i == in ? 3 : 0);
	ck_assert_uint_eq(s.largest[in], classes[_i].bytes);
}
END_TEST

START_TEST(merging_is_counting_together)
{
	struct sizes all = { 0 }, a = { 0 }, b = { 0 };

	for (uint64_t i = 1; i < 10000; i += 7) {
		sizes_add(&all, i, i % 5);
		sizes_add(i % 2 ? &a : &b, i, i % 5);
	}
	sizes_merge(&a, &b);
	for (unsigned i = 0; i < SIZES_CLASSES; i++) {
		ck_assert_uint_eq(a.count[i], all.count[i]);
		ck_assert_uint_eq(a.largest[i], all.largest[i]);
	}
}
END_TEST

START_TEST(the_most_frequent_come_first_and_rare_ones_not_at_all)
{
	struct sizes s = { 0 };
	struct sizes_share share[3];

	ck_assert_uint_eq(sizes_shares(&s, share, 3), 0);
	sizes_add(&s, 23, 9);
	sizes_add(&s, 4096, 500);
	sizes_add(&s, 253952, 1);
	sizes_add(&s, 258048, 480);
	sizes_add(&s, 1, 10);
	ck_assert_uint_eq(sizes_shares(&s, share, 3), 3);
	ck_assert_uint_eq(share[0].bytes, 4096);
	ck_assert_double_eq_tol(share[0].percent, 50, 1e-9);
	ck_assert_uint_eq(share[1].bytes, 258048);
	ck_assert_double_eq_tol(share[1].percent, 48.1, 1e-9);
	ck_assert_uint_eq(share[2].bytes, 1);
	ck_assert_double_eq_tol(share[2].percent, 1, 1e-9);
	ck_assert_uint_eq(sizes_shares(&s, share, 2), 2);
	ck_assert_uint_eq(share[1].bytes, 258048);
	/* a class more than there is room for, ahead of all */
	sizes_add(&s, 1 << 20, 2000);
	ck_assert_uint_eq(sizes_shares(&s, share, 2), 2);
	ck_assert_uint_eq(share[0].bytes, 1 << 20);
	ck_assert_uint_eq(share[1].bytes, 4096);
}
END_TEST

Suite *suite_sizes(void)
{
	Suite *s = suite_create("sizes");
	TCase *t = tcase_create("sizes");
	int n = (int)(sizeof(classes) / sizeof(classes[0]));

	tcase_add_loop_test(t, a_class_ends_with_a_power_of_two, 0, n);
	tcase_add_test(t, merging_is_counting_together);
	tcase_add_test(t, the_most_frequent_come_first_and_rare_ones_not_at_all);
	suite_add_tcase(s, t);
	return s;
}
