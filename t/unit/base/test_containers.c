/* SPDX-License-Identifier: Apache-2.0 */
/* test_containers.c - arrays that grow, maps, searches in what is ordered, and orders for qsort. */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/util.h"
#include "base/vec.h"

struct item {
	uint32_t group;
	uint64_t at_ns;
	double share;
	const char *name;
};

COMPARE_BY(by_group, struct item, group)
COMPARE_BY2(by_group_and_time, struct item, group, at_ns)
COMPARE_BY3(by_all, struct item, group, at_ns, share)
COMPARE_BY_TEXT(by_name, struct item, name)

START_TEST(an_array_grows_and_keeps_what_it_has)
{
	VEC(struct item) items = { 0 };

	for (uint32_t i = 0; i < 1000; i++) {
		*vec_add(&items) = (struct item){ .group = i };
		ck_assert_uint_eq(vec_last(&items)->group, i);
	}
	ck_assert_uint_eq(items.count, 1000);
	ck_assert_uint_ge(items.room, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(items.at[i].group, i);
	vec_fini(&items);
	ck_assert_ptr_null(items.at);
	ck_assert_uint_eq(items.count + items.room, 0);
}
END_TEST

START_TEST(room_that_was_made_does_not_move)
{
	VEC(uint64_t) list = { 0 };

	vec_push(&list, 7);
	vec_room(&list, 100);
	uint64_t *before = list.at;
	for (uint64_t i = 0; i < 100; i++)
		vec_push(&list, i);
	ck_assert_ptr_eq(list.at, before);
	ck_assert_uint_eq(list.at[0], 7);
	ck_assert_uint_eq(list.at[100], 99);
	vec_fini(&list);
}
END_TEST

START_TEST(a_search_finds_the_first_place)
{
	static const uint64_t list[] = { 2, 3, 3, 5, 8, 8, 8, 9 };
	static const struct {
		uint64_t value, at_least, above;
	} want[] = { { 0, 0, 0 }, { 2, 0, 1 }, { 3, 1, 3 }, { 4, 3, 3 },
		     { 8, 4, 7 }, { 9, 7, 8 }, { 10, 8, 8 } };

	for (size_t w = 0; w < ARRAY_LEN(want); w++) {
		uint64_t v = want[w].value;

		ck_assert_uint_eq(BISECT(i, 0, ARRAY_LEN(list), list[i] >= v), want[w].at_least);
		ck_assert_uint_eq(BISECT(i, 0, ARRAY_LEN(list), list[i] > v), want[w].above);
	}
	ck_assert_uint_eq(BISECT(i, 4, 4, i > 0), 4);
	ck_assert_uint_eq(BISECT(i, 5, UINT64_MAX, i >= UINT64_MAX - 1), UINT64_MAX - 1);
	ck_assert_uint_eq(BISECT(i, 5, UINT64_MAX, false), UINT64_MAX);
}
END_TEST

START_TEST(a_search_asks_as_often_as_it_must)
{
	unsigned asked = 0;
	uint64_t at = BISECT(i, 0, UINT64_C(1) << 40, (asked++, i >= 12345));

	ck_assert_uint_eq(at, 12345);
	ck_assert_uint_le(asked, 41);
}
END_TEST

START_TEST(numbers_and_text_are_ordered)
{
	uint32_t small[] = { 3, UINT32_MAX, 0, 3 };
	uint64_t large[] = { UINT64_MAX, 1, UINT64_C(1) << 63 };
	double real[] = { 0.5, -1, 1e300 };
	const char *text[] = { "b", "a", "" };

	qsort(small, ARRAY_LEN(small), sizeof(*small), u32_compare);
	qsort(large, ARRAY_LEN(large), sizeof(*large), u64_compare);
	qsort(real, ARRAY_LEN(real), sizeof(*real), f64_compare);
	qsort(text, ARRAY_LEN(text), sizeof(*text), text_compare);
	ck_assert(small[0] == 0 && small[1] == 3 && small[2] == 3 && small[3] == UINT32_MAX);
	ck_assert(large[0] == 1 && large[1] == UINT64_C(1) << 63 && large[2] == UINT64_MAX);
	ck_assert(real[0] < 0 && real[2] > 1);
	ck_assert_str_eq(text[0], "");
	ck_assert_str_eq(text[2], "b");
}
END_TEST

START_TEST(structs_are_ordered_by_their_members)
{
	const struct item a = { 1, 5, 0.5, "x" }, b = { 1, 6, 0.5, "a" }, c = { 1, 5, 0.7, "x" };

	ck_assert_int_eq(by_group(&a, &b), 0);
	ck_assert_int_eq(by_group_and_time(&a, &b), -1);
	ck_assert_int_eq(by_group_and_time(&b, &a), 1);
	ck_assert_int_eq(by_group_and_time(&a, &c), 0);
	ck_assert_int_eq(by_all(&a, &c), -1);
	ck_assert_int_eq(by_all(&c, &a), 1);
	ck_assert_int_eq(by_all(&a, &a), 0);
	ck_assert_int_gt(by_name(&a, &b), 0);
	ck_assert_int_eq(by_name(&a, &c), 0);
}
END_TEST

START_TEST(keys_have_numbers_in_the_order_in_which_they_came)
{
	struct map m = { 0 };
	uint32_t number;
	bool is_new;

	for (uint64_t i = 0; i < 100000; i++) {
		ck_assert_uint_eq(map_number(&m, i * i, &is_new), i);
		ck_assert(is_new);
	}
	for (uint64_t i = 0; i < 100000; i++) {
		ck_assert_uint_eq(map_number(&m, i * i, &is_new), i);
		ck_assert(!is_new);
	}
	ck_assert_uint_eq(m.count, 100000);
	ck_assert(map_find(&m, 81, &number));
	ck_assert_uint_eq(number, 9);
	ck_assert(!map_find(&m, 82, &number));
	map_fini(&m);
	ck_assert(!map_find(&m, 81, &number));
}
END_TEST

START_TEST(byte_strings_have_numbers_too)
{
	struct map_text m = { 0 };
	char text[24];
	uint32_t number;
	size_t bytes;
	bool is_new;

	ck_assert(!map_text_find(&m, "", 0, &number));
	ck_assert_ptr_null(map_text_at(&m, 0, NULL));
	for (uint32_t i = 0; i < 100000; i++) {
		size_t n =
			(size_t)snprintf(text, sizeof(text), "%u%s", i, i % 3 ? "" : ", a third");

		ck_assert_uint_eq(map_text_number(&m, text, n, &is_new), i);
		ck_assert(is_new);
		ck_assert_uint_eq(map_text_number(&m, text, n, &is_new), i);
		ck_assert(!is_new);
	}
	ck_assert(map_text_find(&m, "99999, a third", 14, &number));
	ck_assert_uint_eq(number, 99999);
	ck_assert_str_eq(map_text_at(&m, 99999, &bytes), "99999, a third");
	ck_assert_uint_eq(bytes, 14);
	ck_assert_str_eq(map_text_at(&m, 1, NULL), "1");
	ck_assert_ptr_null(map_text_at(&m, 100000, NULL));
	/* A byte of 0 is one like others. */
	ck_assert(!map_text_find(&m, "1", 2, &number));
	ck_assert_uint_eq(map_text_number(&m, "1", 2, &is_new), 100000);
	map_text_fini(&m);
	ck_assert(!map_text_find(&m, "1", 1, &number));
}
END_TEST

START_TEST(one_hash_of_two_strings_is_no_matter)
{
	struct map_text m = { 0 };
	uint32_t number;
	bool is_new;

	/* Whatever the hash of "b" is, it is taken. */
	map_text_number(&m, "b", 1, &is_new);
	memcpy(m.text.at, "c", 1);
	ck_assert(!map_text_find(&m, "b", 1, &number));
	ck_assert_uint_eq(map_text_number(&m, "b", 1, &is_new), 1);
	ck_assert(is_new);
	ck_assert(map_text_find(&m, "b", 1, &number));
	ck_assert_uint_eq(number, 1);
	map_text_fini(&m);
}
END_TEST

Suite *suite_containers(void)
{
	Suite *suite = suite_create("containers");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, an_array_grows_and_keeps_what_it_has);
	tcase_add_test(tc, room_that_was_made_does_not_move);
	tcase_add_test(tc, keys_have_numbers_in_the_order_in_which_they_came);
	tcase_add_test(tc, byte_strings_have_numbers_too);
	tcase_add_test(tc, one_hash_of_two_strings_is_no_matter);
	tcase_add_test(tc, a_search_finds_the_first_place);
	tcase_add_test(tc, a_search_asks_as_often_as_it_must);
	tcase_add_test(tc, numbers_and_text_are_ordered);
	tcase_add_test(tc, structs_are_ordered_by_their_members);
	suite_add_tcase(suite, tc);
	return suite;
}
