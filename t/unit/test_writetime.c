/* SPDX-License-Identifier: Apache-2.0 */
/* test_writetime.c - the time that writing takes is told when it is known, and not before. */
#include "run/writetime.h"

#include "suites.h"

#define MS UINT64_C(1000000)
#define GB UINT64_C(1000000000)

static const struct {
	uint64_t seen_ns, synced, all;
	const char *text;
} rows[] = {
	{ 1000 * MS, GB, 4 * GB, "about 4 s, estimate" },
	{ 1000 * MS, GB, 400 * GB, "about 6m40s, estimate" },
	{ 3000 * MS, GB, 4 * GB, "about 12 s, estimate" },
	/* all of it: no estimate */
	{ 12 * MS, GB, GB, "in 12 ms" },
	{ 2000 * MS, GB, GB, "in 2 s" },
	/* within the first second caches are fast; a crew that failed or was
	 * stopped says nothing of the speed */
	{ 999 * MS, GB, 4 * GB, "time unknown" },
	/* what is only in the page cache is no measure */
	{ 5000 * MS, 0, 4 * GB, "time unknown" },
};

START_TEST(a_time_is_told_when_it_is_known)
{
	char text[WRITETIME_BYTES];

	writetime_text(text, rows[_i].seen_ns, rows[_i].synced, rows[_i].all);
	ck_assert_str_eq(text, rows[_i].text);
}
END_TEST

Suite *suite_writetime(void)
{
	Suite *s = suite_create("writetime");
	TCase *t = tcase_create("writetime");

	tcase_add_loop_test(t, a_time_is_told_when_it_is_known, 0,
			    sizeof(rows) / sizeof(*rows));
	suite_add_tcase(s, t);
	return s;
}
