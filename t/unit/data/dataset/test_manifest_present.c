/* SPDX-License-Identifier: Apache-2.0 */
/* test_manifest_present.c - how many files of a dataset are there. */
#include <sys/stat.h>
#include <unistd.h>

#include "manifest_rig.h"
#include "suites.h"

static void expect_present(const struct dataset *ds, uint64_t files, uint64_t bytes)
{
	uint64_t f, b;
	bool estimate;

	ck_assert_int_eq(manifest_present(ds, &f, &b, &estimate, NULL), 0);
	ck_assert_uint_eq(f, files);
	ck_assert_uint_eq(b, bytes);
	ck_assert(!estimate);
}

static void put_file(const struct dataset *ds, uint64_t i, off_t bytes)
{
	char path[256];

	dataset_path(ds, i, path, sizeof(path));
	put_text(path, "x");
	ck_assert_int_eq(truncate(path, bytes), 0);
}

START_TEST(present_counts_whole_files_only)
{
	struct dataset ds;
	char path[256];

	make(&ds, "1000", 10);
	expect_present(&ds, 0, 0);
	snprintf(path, sizeof(path), "%s/train", directory);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/train/1", directory);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	put_file(&ds, 1, 2000);
	put_file(&ds, 4, 1999);
	put_file(&ds, 7, 2000);
	expect_present(&ds, 0, 0); /* without a manifest: not ours */
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	expect_present(&ds, 2, 4000);
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	expect_present(&ds, 10, 20000);
	dataset_fini(&ds);
}
END_TEST

START_TEST(present_of_millions_is_an_estimate)
{
	struct dataset ds;
	char path[256];
	uint64_t files, bytes;
	bool estimate;

	make(&ds, "1000", 2000000);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	snprintf(path, sizeof(path), "%s/train", directory);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(manifest_present(&ds, &files, &bytes, &estimate, NULL), 0);
	ck_assert_uint_eq(files, 0);
	ck_assert(estimate);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_manifest_present(void)
{
	Suite *s = suite_create("manifest_present");
	TCase *t = tcase_create("manifest_present");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, present_counts_whole_files_only);
	tcase_add_test(t, present_of_millions_is_an_estimate);
	suite_add_tcase(s, t);
	return s;
}
