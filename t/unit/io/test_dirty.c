/* SPDX-License-Identifier: Apache-2.0 */
/* test_dirty.c - what memory holds that storage does not have, and emptying it. */
#include "suites.h"

#include <errno.h>
#include <string.h>

#include "io/host.h"
#include "tree.h"

static char root[TREE_BYTES];

static void set_up(void)
{
	tree_make(root);
}

static void tear_down(void)
{
	tree_remove(root);
}

START_TEST(all_that_is_not_written_yet_is_summed)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t bytes;
	} cases[] = {
		{ "MemFree: 9 kB\nDirty: 3 kB\nWriteback: 2 kB\n"
		  "WritebackTmp: 100 kB\nNFS_Unstable: 1 kB\n",
		  0, 6 * 1024 },
		{ "Dirty:           0 kB\nWriteback:       8 kB\n", 0, 8 * 1024 },
		{ "MemFree: 9 kB\n", -ENODATA, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t bytes = 1;

		tree_file(root, "/proc/meminfo", cases[i].text);
		ck_assert_int_eq(dirty_bytes(&bytes, root), cases[i].rc);
		ck_assert_uint_eq(bytes, cases[i].bytes);
	}
}
END_TEST

START_TEST(a_host_that_does_not_tell_is_an_error)
{
	uint64_t bytes = 1;

	ck_assert_int_eq(dirty_bytes(&bytes, root), -ENOENT);
}
END_TEST

START_TEST(this_host_tells)
{
	uint64_t bytes;

	ck_assert_int_eq(dirty_bytes(&bytes, ""), 0);
}
END_TEST

START_TEST(caches_are_dropped_by_what_is_written_there)
{
	char name[TREE_BYTES + 32], text[16] = "";
	FILE *f;

	tree_file(root, "/proc/sys/vm/drop_caches", "0\n");
	ck_assert_int_eq(dropcaches_check(root, NULL), 0);
	tree_name(name, sizeof(name), root, "/proc/sys/vm/drop_caches");
	f = fopen(name, "r");
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	fclose(f);
	ck_assert_str_eq(text, "0\n");
	ck_assert_int_eq(dropcaches_run(root, NULL), 0);
	f = fopen(name, "r");
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	fclose(f);
	ck_assert_str_eq(text, "3\n");
}
END_TEST

START_TEST(where_they_cannot_be_the_way_out_is_named)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(dropcaches_check(root, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "--drop_caches=no"));
	err.code = 0;
	ck_assert_int_eq(dropcaches_run(root, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/proc/sys/vm/drop_caches: "));
}
END_TEST

Suite *suite_dirty(void)
{
	Suite *s = suite_create("dirty");
	TCase *t = tcase_create("tree");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, all_that_is_not_written_yet_is_summed);
	tcase_add_test(t, a_host_that_does_not_tell_is_an_error);
	tcase_add_test(t, this_host_tells);
	tcase_add_test(t, caches_are_dropped_by_what_is_written_there);
	tcase_add_test(t, where_they_cannot_be_the_way_out_is_named);
	suite_add_tcase(s, t);
	return s;
}
