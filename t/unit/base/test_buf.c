/* SPDX-License-Identifier: Apache-2.0 */
/* test_buf.c - a string that grows is always a string. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "suites.h"

START_TEST(a_zeroed_buf_is_an_empty_string)
{
	struct buf b = { 0 };

	ck_assert_str_eq(buf_str(&b), "");
	buf_addn(&b, NULL, 0);
	ck_assert_str_eq(buf_str(&b), "");
	buf_reset(&b);
	buf_fini(&b);
	buf_init(&b);
	char *s = buf_detach(&b);
	ck_assert_str_eq(s, "");
	mem_free(s);
}
END_TEST

START_TEST(pieces_stand_in_order)
{
	struct buf b;

	buf_init(&b);
	buf_add(&b, "read");
	buf_addc(&b, ' ');
	buf_addn(&b, "4096 bytes", 4);
	buf_addf(&b, " at %d: %s", 512, "ok");
	ck_assert_str_eq(buf_str(&b), "read 4096 at 512: ok");
	ck_assert_uint_eq(b.len, strlen(b.s));
	buf_fini(&b);
	ck_assert_ptr_null(b.s);
}
END_TEST

START_TEST(growing_keeps_every_byte)
{
	struct buf b = { 0 };

	for (unsigned i = 0; i < 10000; i++)
		buf_addf(&b, "%04u", i);
	ck_assert_uint_eq(b.len, 40000);
	for (unsigned i = 0; i < 10000; i++) {
		char want[16];

		snprintf(want, sizeof(want), "%04u", i);
		ck_assert(!memcmp(b.s + (size_t)4 * i, want, 4));
	}
	ck_assert_int_eq(b.s[40000], '\0');
	buf_fini(&b);
}
END_TEST

START_TEST(reset_empties_and_keeps_memory)
{
	struct buf b = { 0 };

	buf_add(&b, "something");
	size_t size = b.size;
	buf_reset(&b);
	ck_assert_str_eq(buf_str(&b), "");
	ck_assert_uint_eq(b.size, size);
	buf_add(&b, "new");
	ck_assert_str_eq(buf_str(&b), "new");
	buf_fini(&b);
}
END_TEST

START_TEST(take_hands_the_string_over)
{
	struct buf b = { 0 };

	buf_add(&b, "mine");
	char *s = buf_detach(&b);
	ck_assert_str_eq(buf_str(&b), "");
	buf_add(&b, "other");
	ck_assert_str_eq(s, "mine");
	mem_free(s);
	buf_fini(&b);
}
END_TEST

Suite *suite_buf(void)
{
	Suite *s = suite_create("buf");
	TCase *tc = tcase_create("buf");

	tcase_add_test(tc, a_zeroed_buf_is_an_empty_string);
	tcase_add_test(tc, pieces_stand_in_order);
	tcase_add_test(tc, growing_keeps_every_byte);
	tcase_add_test(tc, reset_empties_and_keeps_memory);
	tcase_add_test(tc, take_hands_the_string_over);
	suite_add_tcase(s, tc);
	return s;
}
