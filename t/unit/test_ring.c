/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring.c - tokens come out in order, whole, and split exactly. */
#include <check.h>

#include "run/ring.h"

START_TEST(first_in_first_out)
{
	struct ring *r = ring_new(5);
	struct token t;
	ck_assert(!ring_pop(r, &t));
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 5; i++)
			ring_push(r, &(struct token){ .samples = i });
		for (uint64_t i = 0; i < 5; i++) {
			ck_assert(ring_pop(r, &t));
			ck_assert_uint_eq(t.samples, i);
		}
		ck_assert(!ring_pop(r, &t));
	}
	ring_free(r);
	ring_free(NULL);
}
END_TEST

START_TEST(taking_splits_samples_and_bytes)
{
	struct token have = {
		.samples = 10, .sample_bytes = 1000, .id_sum = 45, .extents = 2
	};
	struct token out;
	token_take(&have, 4, &out);
	ck_assert_uint_eq(out.samples, 4);
	ck_assert_uint_eq(out.sample_bytes, 400);
	ck_assert_uint_eq(out.id_sum, 45);
	ck_assert_uint_eq(out.extents, 2);
	ck_assert_uint_eq(have.samples, 6);
	ck_assert_uint_eq(have.sample_bytes, 600);
	ck_assert_uint_eq(have.extents, 0);
	token_take(&have, 6, &out);
	ck_assert_uint_eq(out.samples, 6);
	ck_assert_uint_eq(have.samples, 0);
	ck_assert_uint_eq(have.sample_bytes, 0);
}
END_TEST

Suite *suite_ring(void);
Suite *suite_ring(void)
{
	Suite *s = suite_create("ring");
	TCase *tc = tcase_create("ring");
	tcase_add_test(tc, first_in_first_out);
	tcase_add_test(tc, taking_splits_samples_and_bytes);
	suite_add_tcase(s, tc);
	return s;
}
