/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranges.c - lists of numbers such as 0-7,64 are read strictly, and asked fast. */
#include "suites.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"

#define END 100

static const struct {
	const char *text, *want;
} good[] = {
	{ "0", "0" },
	{ "99", "99" },
	{ "0-2", "0 1 2" },
	{ "64,0-1", "0 1 64" },
	{ " 5 - 6 ,\t2 ", "2 5 6" },
	{ "3-4,0-2,5", "0 1 2 3 4 5" },
	{ "7-7", "7" },
	{ "9,7,5,3,1", "1 3 5 7 9" },
};

static const struct {
	const char *text;
	int rc;
	const char *err;
} bad[] = {
	{ "", -EINVAL, "'' is not a list of things" },
	{ ",", -EINVAL, "',' is not a list of things" },
	{ "1,", -EINVAL, "'1,' is not a list of things" },
	{ "1,,2", -EINVAL, "'1,,2' is not a list of things" },
	{ "1-", -EINVAL, "'1-' is not a list of things" },
	{ "-1", -EINVAL, "'-1' is not a list of things" },
	{ "1-2-3", -EINVAL, "'1-2-3' is not a list of things" },
	{ "1 2", -EINVAL, "'1 2' is not a list of things" },
	{ "0x1", -EINVAL, "'0x1' is not a list of things" },
	{ "all", -EINVAL, "'all' is not a list of things" },
	{ "3-2", -EINVAL, "'3-2' is reversed" },
	{ "100", -ERANGE, "100 is not among the 100 things" },
	{ "0-100", -ERANGE, "100 is not among the 100 things" },
	{ "18446744073709551617", -ERANGE, "18446744073709551615 is not" },
	{ "5,5", -EINVAL, "5 is in the list twice" },
	{ "0-9,3", -EINVAL, "3 is in the list twice" },
	{ "3,0-9", -EINVAL, "3 is in the list twice" },
};

static void describe(struct buf *out, const struct ranges *r)
{
	for (uint64_t i = 0; i < r->numbers; i++)
		buf_addf(out, "%s%" PRIu64, i ? " " : "", ranges_at(r, i));
}

START_TEST(a_list_is_its_numbers_in_order)
{
	struct buf text = { 0 };
	struct ranges r;

	ck_assert_int_eq(ranges_parse(&r, good[_i].text, END, "things", NULL), 0);
	describe(&text, &r);
	ck_assert_str_eq(buf_str(&text), good[_i].want);
	buf_fini(&text);
	ranges_fini(&r);
}
END_TEST

START_TEST(what_is_no_list_is_refused)
{
	struct mlgen_err err = { 0 };
	struct ranges r;

	ck_assert_int_eq(ranges_parse(&r, bad[_i].text, END, "things", &err), bad[_i].rc);
	ck_assert_msg(strncmp(err.text, bad[_i].err, strlen(bad[_i].err)) == 0, "%s", err.text);
	ck_assert_uint_eq(r.numbers, 0);
	ck_assert_ptr_null(r.items);
}
END_TEST

/* Cut at each place, it is what a plain array of flags says. */
START_TEST(a_list_is_cut_and_asked)
{
	static const char list[] = "1,3-5,9-12,20,22-40,99";

	for (uint64_t end = 0; end <= END; end++) {
		struct ranges r;
		uint64_t n = 0;

		ck_assert_int_eq(ranges_parse(&r, list, END, "things", NULL), 0);
		ranges_cut(&r, end);
		for (uint64_t i = 0; i < END; i++) {
			bool is_in = i == 1 || (i >= 3 && i <= 5) || (i >= 9 && i <= 12) ||
				     i == 20 || (i >= 22 && i <= 40) || i == 99;

			is_in = is_in && i < end;
			ck_assert_int_eq(ranges_has(&r, i), is_in);
			if (is_in)
				ck_assert_uint_eq(ranges_at(&r, n++), i);
		}
		ck_assert_uint_eq(r.numbers, n);
		ranges_fini(&r);
	}
}
END_TEST

/* Of each part of a list: what lies in it. */
START_TEST(a_list_is_parted)
{
	static const char list[] = "1,3-5,9-12,20,22-40,99";
	struct ranges all, r;

	ck_assert_int_eq(ranges_parse(&all, list, END, "things", NULL), 0);
	for (uint64_t from = 0; from <= all.numbers + 1; from++) {
		for (uint64_t end = 0; end <= all.numbers + 2; end++) {
			uint64_t n = end < all.numbers ? end : all.numbers;

			n = n > from ? n - from : 0;
			ranges_parse(&r, list, END, "things", NULL);
			ranges_keep(&r, from, end);
			ck_assert_uint_eq(r.numbers, n);
			for (uint64_t i = 0; i < n; i++)
				ck_assert_uint_eq(ranges_at(&r, i), ranges_at(&all, from + i));
			ranges_fini(&r);
		}
	}
	for (uint64_t first = 0; first < END; first++) {
		ranges_parse(&r, list, END, "things", NULL);
		ranges_cut_below(&r, first);
		for (uint64_t i = 0; i < END; i++)
			ck_assert_int_eq(ranges_has(&r, i), i >= first && ranges_has(&all, i));
		ranges_fini(&r);
	}
	ranges_fini(&all);
}
END_TEST

START_TEST(all_is_one_range)
{
	struct ranges r;

	ranges_all(&r, UINT64_MAX);
	ck_assert_uint_eq(r.numbers, UINT64_MAX);
	ck_assert_uint_eq(ranges_at(&r, UINT64_MAX - 1), UINT64_MAX - 1);
	ck_assert(!ranges_has(&r, UINT64_MAX));
	ranges_fini(&r);
	ranges_all(&r, 0);
	ck_assert_uint_eq(r.numbers, 0);
	ck_assert(!ranges_has(&r, 0));
	ranges_fini(&r);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_ranges(void)
{
	Suite *s = suite_create("ranges");
	TCase *t = tcase_create("ranges");

	tcase_add_loop_test(t, a_list_is_its_numbers_in_order, 0, ROWS(good));
	tcase_add_loop_test(t, what_is_no_list_is_refused, 0, ROWS(bad));
	tcase_add_test(t, a_list_is_cut_and_asked);
	tcase_add_test(t, a_list_is_parted);
	tcase_add_test(t, all_is_one_range);
	suite_add_tcase(s, t);
	return s;
}
