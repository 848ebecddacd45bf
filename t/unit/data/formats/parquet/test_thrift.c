/* SPDX-License-Identifier: Apache-2.0 */
/* test_thrift.c - the bytes that the compact protocol asks for. */
#include <check.h>
#include <string.h>

#include "data/formats/parquet/parquet_internal.h"
#include "suites.h"

#define ROOM 512

static uint8_t bytes[ROOM];

static struct thrift begin(void)
{
	return (struct thrift){ .to = bytes, .size = ROOM };
}

#define IS(t, ...)                                                                                 \
	do {                                                                                       \
		static const uint8_t want[] = { __VA_ARGS__ };                                     \
		ck_assert_uint_eq((t).len, sizeof(want));                                          \
		ck_assert_mem_eq(bytes, want, sizeof(want));                                       \
	} while (0)

/* clang-format off */
static const struct number_case {
	int64_t v;
	size_t len;
	uint8_t want[10];
} numbers[] = {
	{ 0, 1, { 0x00 } },
	{ -1, 1, { 0x01 } },
	{ 1, 1, { 0x02 } },
	{ 63, 1, { 0x7e } },
	{ -64, 1, { 0x7f } },
	{ 64, 2, { 0x80, 0x01 } },
	{ 8191, 2, { 0xfe, 0x7f } },
	{ 8192, 3, { 0x80, 0x80, 0x01 } },
	{ INT64_MAX, 10, { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			   0xff, 0x01 } },
	{ INT64_MIN, 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			   0xff, 0x01 } },
};
/* clang-format on */
#define NUMBERS ((int)(sizeof(numbers) / sizeof(numbers[0])))

START_TEST(numbers_are_zigzag_of_seven_bits_a_byte)
{
	const struct number_case *c = &numbers[_i];
	struct thrift t = begin();

	thrift_i64(&t, 1, c->v);
	ck_assert_uint_eq(t.len, 1 + c->len);
	ck_assert_uint_eq(bytes[0], 0x16);
	ck_assert_mem_eq(bytes + 1, c->want, c->len);
	ck_assert_uint_eq(thrift_number_bytes(c->v), c->len);
}
END_TEST

START_TEST(a_field_is_its_distance_and_its_type)
{
	struct thrift t = begin();

	thrift_i32(&t, 3, 5);
	thrift_i64(&t, 4, 5);
	thrift_text(&t, 19, "ab");
	thrift_i32(&t, 35, 1); /* 16 further on: the id itself */
	IS(t, 0x35, 10, 0x16, 10, 0xf8, 2, 'a', 'b', 0x05, 70, 2);
}
END_TEST

START_TEST(a_list_has_its_length_in_a_half_byte_or_behind_it)
{
	struct thrift t = begin();

	thrift_list(&t, 1, THRIFT_I32, 2);
	thrift_i32_element(&t, -1);
	thrift_i32_element(&t, 1);
	thrift_list(&t, 2, THRIFT_BINARY, 14);
	thrift_list(&t, 3, THRIFT_STRUCT, 15);
	thrift_list(&t, 4, THRIFT_STRUCT, 300);
	IS(t, 0x19, 0x25, 1, 2, 0x19, 0xe8, 0x19, 0xfc, 15, 0x19, 0xfc, 0xac, 0x02);
}
END_TEST

START_TEST(a_struct_counts_ids_for_itself)
{
	struct thrift t = begin();
	unsigned outer, element;

	t.last = 4; /* goes on behind field 4 */
	outer = thrift_begin(&t, 5);
	thrift_i32(&t, 1, 0);
	thrift_list(&t, 2, THRIFT_STRUCT, 1);
	element = thrift_begin_element(&t);
	thrift_i32(&t, 1, 0);
	thrift_end(&t, element);
	thrift_i32(&t, 3, 0);
	thrift_end(&t, outer);
	thrift_i32(&t, 6, 0);
	IS(t, 0x1c, 0x15, 0, 0x19, 0x1c, 0x15, 0, 0, 0x15, 0, 0, 0x15, 0);
}
END_TEST

START_TEST(a_long_text_has_a_long_length)
{
	char text[201];
	struct thrift t = begin();

	memset(text, 'x', 200);
	text[200] = '\0';
	thrift_text_element(&t, text);
	ck_assert_uint_eq(t.len, 202);
	ck_assert_uint_eq(bytes[0], 0xc8);
	ck_assert_uint_eq(bytes[1], 0x01);
	ck_assert_uint_eq(bytes[201], 'x');
}
END_TEST

Suite *suite_thrift(void)
{
	Suite *s = suite_create("thrift");
	TCase *t = tcase_create("thrift");

	tcase_add_loop_test(t, numbers_are_zigzag_of_seven_bits_a_byte, 0, NUMBERS);
	tcase_add_test(t, a_field_is_its_distance_and_its_type);
	tcase_add_test(t, a_list_has_its_length_in_a_half_byte_or_behind_it);
	tcase_add_test(t, a_struct_counts_ids_for_itself);
	tcase_add_test(t, a_long_text_has_a_long_length);
	suite_add_tcase(s, t);
	return s;
}
