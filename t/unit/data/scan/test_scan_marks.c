/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan_marks.c - of a scan a few files, evenly spread, are seen to have changed. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/scan/scan.h"
#include "suites.h"
#include "temp.h"

static char directory[TEMP_BYTES];

static void set_up(void)
{
	temp_folder(directory);
}

static void tear_down(void)
{
	temp_remove(directory);
}

static void set_size(unsigned number, unsigned bytes)
{
	char path[TEMP_BELOW];
	int fd;

	snprintf(path, sizeof(path), "%s/%06u", directory, number);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

static struct scan *scan_of(unsigned files)
{
	const struct scan_request req = { .directory = directory };
	struct mlgen_err err = { 0 };
	struct scan *s = NULL;

	for (unsigned i = 0; i < files; i++)
		set_size(i, 1 + i);
	ck_assert_int_eq(scan_new(&s, &req, &err), 0);
	return s;
}

START_TEST(few_files_are_all_looked_at)
{
	struct scan *s = scan_of(10);
	struct scan_changed c;
	char path[TEMP_BELOW];

	scan_recheck(s, 10, &c);
	ck_assert_uint_eq(c.looked_at, 10);
	ck_assert_uint_eq(c.changed, 0);
	set_size(7, 3);
	snprintf(path, sizeof(path), "%s/000008", directory);
	ck_assert_int_eq(unlink(path), 0);
	scan_recheck(s, 10, &c);
	ck_assert_uint_eq(c.changed, 2);
	ck_assert_ptr_nonnull(strstr(c.path, "/000007"));
	scan_recheck(s, 7, &c);
	ck_assert_uint_eq(c.looked_at, 7);
	ck_assert_uint_eq(c.changed, 0);
	scan_free(s);
}
END_TEST

START_TEST(of_many_some_are_evenly_spread)
{
	const unsigned files = 5 * SCAN_MARKS + 7;
	struct scan *s = scan_of(files);
	struct scan_changed c;

	scan_recheck(s, files, &c);
	ck_assert_uint_gt(c.looked_at, SCAN_MARKS / 2);
	ck_assert_uint_le(c.looked_at, SCAN_MARKS);
	ck_assert_uint_eq(c.changed, 0);
	for (unsigned i = 0; i < files; i++)
		set_size(i, 2 + i);
	scan_recheck(s, files, &c);
	ck_assert_uint_eq(c.changed, c.looked_at);
	/* In whatever order they were listed. */
	scan_recheck(s, files / 2, &c);
	ck_assert_uint_gt(c.looked_at, SCAN_MARKS / 6);
	ck_assert_uint_lt(c.looked_at, SCAN_MARKS * 2 / 3);
	scan_free(s);
}
END_TEST

Suite *suite_scan_marks(void)
{
	Suite *s = suite_create("scan_marks");
	TCase *t = tcase_create("scan_marks");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, few_files_are_all_looked_at);
	tcase_add_test(t, of_many_some_are_evenly_spread);
	suite_add_tcase(s, t);
	return s;
}
