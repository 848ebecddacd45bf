/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring.c - tokens come out in order, whole, and split exactly. */
#include <check.h>

#include "run/ring.h"

START_TEST(first_in_first_out)
{
	struct ring *r = ring_new(5);
	struct token t;
	ck_assert(!ring_pop(r, 0, &t));
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 5; i++)
			ring_push(r, &(struct token){ .samples = i });
		for (uint64_t i = 0; i < 5; i++) {
			ck_assert(ring_pop(r, 0, &t));
			ck_assert_uint_eq(t.samples, i);
		}
		ck_assert(!ring_pop(r, 0, &t));
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

static void push(struct ring *r, uint64_t stage, uint64_t samples)
{
	ring_push(r, &(struct token){ .samples = samples, .stage = stage });
}

START_TEST(what_was_left_of_stages_before_is_dropped)
{
	struct ring *r = ring_new(6);
	struct token t;

	push(r, 0, 1);
	push(r, 0, 2);
	push(r, 2, 3);
	push(r, 2, 4);
	ck_assert(ring_pop(r, 0, &t));
	ck_assert_uint_eq(t.samples, 1);
	/* of stage 1 there is none, and the second of stage 0 is gone */
	ck_assert(!ring_pop(r, 1, &t));
	ck_assert(!ring_pop(r, 0, &t));
	ck_assert(ring_pop(r, 2, &t));
	ck_assert_uint_eq(t.samples, 3);
	push(r, 3, 5);
	ck_assert(ring_pop(r, 3, &t));
	ck_assert_uint_eq(t.samples, 5);
	ring_free(r);
}
END_TEST

START_TEST(those_of_later_stages_wait)
{
	struct ring *r = ring_new(2);
	struct token t;

	push(r, 5, 1);
	push(r, 6, 2);
	for (uint64_t stage = 0; stage < 5; stage++)
		ck_assert(!ring_pop(r, stage, &t));
	ck_assert(ring_pop(r, 5, &t));
	ck_assert(!ring_pop(r, 5, &t));
	ck_assert(ring_pop(r, 6, &t));
	ck_assert_uint_eq(t.samples, 2);
	ring_free(r);
}
END_TEST

/* Dropped ones give their room back: a ring of two takes any number. */
START_TEST(what_is_dropped_leaves_its_room)
{
	struct ring *r = ring_new(2);
	struct token t;

	for (uint64_t stage = 0; stage < 20; stage += 2) {
		push(r, stage, 1);
		push(r, stage, 1);
		ck_assert(!ring_pop(r, stage + 1, &t));
	}
	ring_free(r);
}
END_TEST

START_TEST(what_is_added_is_ready_with_its_last)
{
	struct token sum = { 0 }, out;

	token_add(&sum, &(struct token){ 3, 30, 7, 1, 500, 4 });
	token_add(&sum, &(struct token){ 2, 20, 1, 2, 400, 4 });
	ck_assert_uint_eq(sum.samples, 5);
	ck_assert_uint_eq(sum.sample_bytes, 50);
	ck_assert_uint_eq(sum.id_sum, 8);
	ck_assert_uint_eq(sum.extents, 3);
	ck_assert_uint_eq(sum.ready_ns, 500);
	token_take(&sum, 4, &out);
	ck_assert_uint_eq(out.ready_ns, 500);
	ck_assert_uint_eq(sum.ready_ns, 500);
	ck_assert_uint_eq(out.sample_bytes + sum.sample_bytes, 50);
}
END_TEST

Suite *suite_ring(void);
Suite *suite_ring(void)
{
	Suite *s = suite_create("ring");
	TCase *tc = tcase_create("ring");
	tcase_add_test(tc, first_in_first_out);
	tcase_add_test(tc, taking_splits_samples_and_bytes);
	tcase_add_test(tc, what_was_left_of_stages_before_is_dropped);
	tcase_add_test(tc, those_of_later_stages_wait);
	tcase_add_test(tc, what_is_dropped_leaves_its_room);
	tcase_add_test(tc, what_is_added_is_ready_with_its_last);
	suite_add_tcase(s, tc);
	return s;
}
