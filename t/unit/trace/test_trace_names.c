/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_names.c - a name has one id, however many there are and wherever they lie. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "suites.h"
#include "temp.h"
#include "trace/trace.h"

START_TEST(has_one_id)
{
	struct trace_names *n = trace_names_new();
	char name[64];
	bool is_new;

	ck_assert_ptr_null(trace_names_text(n, 0, NULL));
	ck_assert_ptr_null(trace_names_text(n, 1, NULL));
	for (unsigned i = 0; i < 300000; i++) {
		int len = snprintf(name, sizeof(name), "/a/folder/of/%u", i);

		ck_assert_uint_eq(trace_names_find(n, name, (size_t)len), 0);
		ck_assert_uint_eq(trace_names_id(n, name, (size_t)len, &is_new), i + 1);
		ck_assert(is_new);
	}
	for (unsigned i = 0; i < 300000; i += 7) {
		int len = snprintf(name, sizeof(name), "/a/folder/of/%u", i);
		size_t bytes;

		ck_assert_uint_eq(trace_names_id(n, name, (size_t)len, &is_new), i + 1);
		ck_assert(!is_new);
		ck_assert_uint_eq(trace_names_find(n, name, (size_t)len), i + 1);
		ck_assert_str_eq(trace_names_text(n, i + 1, &bytes), name);
		ck_assert_uint_eq(bytes, (size_t)len);
	}
	ck_assert_uint_eq(trace_names_count(n), 300000);
	trace_names_free(n);
}
END_TEST

START_TEST(tells_names_apart)
{
	static const struct {
		const char *name;
		size_t bytes;
	} names[] = { { "", 0 },         { "a", 1 },       { "a\0", 2 },        { "a\0b", 3 },
		      { "abcdefgh", 8 }, { "abcdefg", 7 }, { "abcdefgh\0", 9 }, { "\xff\n", 2 } };
	struct trace_names *n = trace_names_new();

	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
			size_t bytes;
			uint32_t id = trace_names_id(n, names[i].name, names[i].bytes, NULL);

			ck_assert_uint_eq(id, i + 1);
			ck_assert_int_eq(memcmp(trace_names_text(n, id, &bytes), names[i].name,
						names[i].bytes + 1),
					 0);
			ck_assert_uint_eq(bytes, names[i].bytes);
		}
	trace_names_free(n);
}
END_TEST

/* From memory to a file and on: what was there is there, what is new is zero. */
static void fill(struct spill *s)
{
	for (size_t words = 1; words <= 1 << 18; words *= 2) {
		uint64_t *at;

		spill_reserve(s, words * sizeof(*at));
		at = s->at;
		for (size_t i = 0; i < words / 2; i++)
			ck_assert_uint_eq(at[i], i + 1);
		for (size_t i = words / 2; i < words; i++) {
			ck_assert_uint_eq(at[i], 0);
			at[i] = i + 1;
		}
	}
}

START_TEST(spills_into_a_file)
{
	struct spill s = { .most = 128 << 10 };

	fill(&s);
	ck_assert_int_ne(s.fd, 0);
	spill_free(&s);
	ck_assert_uint_eq(s.bytes, 0);
}
END_TEST

START_TEST(stays_in_memory_without_one)
{
	struct spill s = { .most = 128 << 10 };

	temp_pretend("/no/such/folder");
	fill(&s);
	temp_pretend(NULL);
	ck_assert_int_eq(s.fd, 0);
	spill_free(&s);
}
END_TEST

Suite *suite_trace_names(void)
{
	Suite *s = suite_create("trace_names");
	TCase *c = tcase_create("names");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, has_one_id);
	tcase_add_test(c, tells_names_apart);
	tcase_add_test(c, spills_into_a_file);
	tcase_add_test(c, stays_in_memory_without_one);
	suite_add_tcase(s, c);
	return s;
}
