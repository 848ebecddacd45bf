/* SPDX-License-Identifier: Apache-2.0 */
/* test_filemaker.c - the time that writing takes is told when it is known, and room is half of what
 * is free. */
#include "run/make/make.h"

#include <errno.h>

#include "suites.h"

#define MS UINT64_C(1000000)
#define GB UINT64_C(1000000000)

static const struct {
	uint64_t seen_ns, synced, all;
	const char *text;
} times[] = {
	{ 1000 * MS, GB, 4 * GB, "about 4 s, estimate" },
	{ 1000 * MS, GB, 400 * GB, "about 6m40s, estimate" },
	{ 3000 * MS, GB, 4 * GB, "about 12 s, estimate" },
	/* all of it: no estimate */
	{ 12 * MS, GB, GB, "in 12 ms" },
	{ 2000 * MS, GB, GB, "in 2 s" },
	/* within the first second caches are fast; a pool that failed or was stopped says nothing
	 * of the speed */
	{ 999 * MS, GB, 4 * GB, "time unknown" },
	/* what is only in the page cache is no measure */
	{ 5000 * MS, 0, 4 * GB, "time unknown" },
};

START_TEST(a_time_is_told_when_it_is_known)
{
	char text[FILEMAKER_TIME_BYTES];

	filemaker_time(text, times[_i].seen_ns, times[_i].synced, times[_i].all);
	ck_assert_str_eq(text, times[_i].text);
}
END_TEST

static const struct {
	uint64_t missing_bytes;
	bool allow_fill;
	const char *text; /* NULL: there is room */
} rooms[] = {
	{ 2048, false, NULL },
	{ 2049, false,
	  "d: 2.00 KiB to write, 4 KiB free, of which half may be used; less, or all" },
	{ 4096, true, NULL },
	{ 4097, true, "d: 4.00 KiB to write, 4 KiB free; less" },
	/* what would not help is not offered */
	{ 8192, false, "d: 8 KiB to write, 4 KiB free, of which half may be used; less" },
};

START_TEST(half_of_what_is_free_may_be_used)
{
	const struct filemaker_room room = {
		.path = "d",
		.purpose = "to write",
		.missing_bytes = rooms[_i].missing_bytes,
		.free_bytes = 4096,
		.allow_fill = rooms[_i].allow_fill,
		.way_out = "less",
		.or_fill = ", or all",
	};
	struct mlgen_err err = { 0 };
	int r = filemaker_check_room(&room, &err);

	ck_assert_int_eq(r, rooms[_i].text ? -ENOSPC : 0);
	ck_assert_str_eq(err.text, rooms[_i].text ? rooms[_i].text : "");
}
END_TEST

Suite *suite_filemaker(void)
{
	Suite *s = suite_create("filemaker");
	TCase *t = tcase_create("filemaker");

	tcase_add_loop_test(t, a_time_is_told_when_it_is_known, 0, sizeof(times) / sizeof(*times));
	tcase_add_loop_test(t, half_of_what_is_free_may_be_used, 0, sizeof(rooms) / sizeof(*rooms));
	suite_add_tcase(s, t);
	return s;
}
