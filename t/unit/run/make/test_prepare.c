/* SPDX-License-Identifier: Apache-2.0 */
/* test_prepare.c - what is missing of a dataset is written. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "io/engines.h"
#include "prepare_rig.h"
#include "run/make/make.h"
#include "suites.h"

START_TEST(a_dataset_is_made_whole)
{
	static const struct {
		const char *format, *size;
		uint64_t files, subfolders;
	} cases[] = {
		{ "raw", "100000", 20, 0 },
		{ "npz", "100000", 20, 0 },
		{ "npz", "3m", 3, 0 },
		{ "npz", "dlio:200k:90k", 30, 7 },
		{ "raw", "normal:1k:300", 100, 20 },
		{ "raw", "1", 1, 5 },
	};

	make(cases[_i].format, cases[_i].size, cases[_i].files, cases[_i].subfolders);
	prepare_ok(cases[_i].files, 0);
	ck_assert_uint_eq(progress.files_done, cases[_i].files);
	ck_assert_uint_eq(progress.bytes_done, progress.bytes_total);
	ck_assert_uint_eq(progress.bytes_done, result.bytes_written);
	expect_whole();
}
END_TEST

START_TEST(names_of_a_complete_dataset_are_asked_for)
{
	prepare_ok(20, 0);
	ck_assert_int_eq(truncate(file_path(4), 10), 0);
	prepare_fails(-EINVAL, "has 10 bytes instead of");
	ck_assert_int_eq(unlink(file_path(3)), 0);
	prepare_fails(-ENOENT, "img_03_of_20");
	/* who may fail to read them is told then */
	request.forgiving = true;
	prepare_ok(0, 20);
	request.readonly = true;
	prepare_ok(0, 20);
}
END_TEST

START_TEST(of_many_files_a_thousand_are_asked_for_unless_all_are)
{
	make("raw", "16", 1500, 0);
	prepare_ok(1500, 0);
	/* the first two of three are */
	ck_assert_int_eq(unlink(file_path(2)), 0);
	prepare_ok(0, 1500);
	request.thorough = true;
	prepare_fails(-ENOENT, "img_0002_of_1500");
	ck_assert_int_eq(unlink(file_path(1000)), 0);
	prepare_fails(-ENOENT, "img_0002_of_1500");
	request.thorough = false;
	prepare_fails(-ENOENT, "img_1000_of_1500");
}
END_TEST

START_TEST(what_a_dry_run_asks_is_what_a_preparation_says)
{
	struct mlgen_err told = { 0 };

	ck_assert_int_eq(prepare_ask(&request, &told), 0);
	ck_assert_int_eq(access(directory, F_OK), -1);
	prepare_ok(20, 0);
	ck_assert_int_eq(prepare_ask(&request, &told), 0);
	ck_assert_int_eq(unlink(file_path(3)), 0);
	ck_assert_int_eq(prepare_ask(&request, &told), -ENOENT);
	prepare_fails(-ENOENT, told.text);
}
END_TEST

START_TEST(phase_prepare_mends_a_complete_dataset)
{
	prepare_ok(20, 0);
	ck_assert_int_eq(unlink(file_path(3)), 0);
	ck_assert_int_eq(truncate(file_path(4), 10), 0);
	request.check_all = true;
	prepare_ok(2, 18);
	expect_whole();
	prepare_ok(0, 20);
}
END_TEST

START_TEST(an_incomplete_dataset_is_resumed)
{
	prepare_ok(20, 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	for (uint64_t i = 0; i < 20; i += 2)
		ck_assert_int_eq(unlink(file_path(i)), 0);
	/* what a killed run leaves */
	put_text(path_in("train/.img_02_of_20.raw.part"), "half");
	prepare_ok(10, 10);
	expect_whole();
}
END_TEST

START_TEST(a_subset_is_no_reason_to_call_the_whole_complete)
{
	enum manifest_state state;

	prepare_ok(20, 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	ck_assert_int_eq(unlink(file_path(1)), 0);
	ck_assert_int_eq(unlink(file_path(15)), 0);
	make("raw", "100000", 8, 0);
	prepare_ok(1, 7);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_INCOMPLETE);
	make("raw", "100000", 20, 0);
	prepare_ok(1, 19);
	expect_whole();
}
END_TEST

START_TEST(a_stopped_one_leaves_no_temporary_file_and_is_resumed)
{
	enum manifest_state state;

	progress.stop.is_set = true;
	prepare_fails(POOL_STOPPED, "the next run continues from there");
	ck_assert(result.interrupted);
	ck_assert_int_eq(count_names("*.part"), 0);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_INCOMPLETE);
	progress.stop.is_set = false;
	prepare_ok(20, 0);
	expect_whole();
}
END_TEST

START_TEST(an_engine_without_files_needs_none)
{
	request.engine = engines_find("null");
	prepare_ok(0, 0);
	ck_assert(isnan(result.resident_percent));
	ck_assert_int_eq(access(directory, F_OK), -1);
}
END_TEST

START_TEST(one_line_says_how_much_where_and_how_long)
{
	char path[TEMP_BELOW], text[512], want[256];
	size_t n;
	FILE *f;

	make("npz", "100000", 20, 0);
	prepare_ok(20, 0);
	prepare_ok(0, 20); /* nothing to do, nothing to say */
	snprintf(path, sizeof(path), "%s/stderr", top);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	snprintf(want, sizeof(want), "j: writing 20 npz files, 1.92 MiB to %s (", directory);
	ck_assert_msg(strstr(text, want), "%s", text);
	/* what is written within a second needs no estimate */
	ck_assert(strstr(text, " (in ") || strstr(text, "s, estimate)\n"));
	ck_assert_uint_eq(strcspn(text, "\n") + 1, n);
}
END_TEST

START_TEST(files_do_not_stay_in_the_page_cache)
{
	make("raw", "3m", 8, 0);
	prepare_ok(8, 0);
	/* tmpfs keeps what it has, elsewhere all of it has gone */
	ck_assert(result.resident_percent < 1 || result.resident_percent > 99);
}
END_TEST

START_TEST(writers_of_small_files_have_small_buffers)
{
	ck_assert_uint_eq(pool_writer_bytes(0), 65536);
	ck_assert_uint_eq(pool_writer_bytes(4096), 65536);
	ck_assert_uint_eq(pool_writer_bytes(114 * 1024 + 1), 118784);
	ck_assert_uint_eq(pool_writer_bytes(1 << 20), 1 << 20);
	ck_assert_uint_eq(pool_writer_bytes(UINT64_MAX), 1 << 20);
}
END_TEST

Suite *suite_prepare(void)
{
	Suite *s = suite_create("prepare");
	TCase *t = tcase_create("prepare");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, a_dataset_is_made_whole, 0, 6);
	tcase_add_test(t, names_of_a_complete_dataset_are_asked_for);
	tcase_add_test(t, of_many_files_a_thousand_are_asked_for_unless_all_are);
	tcase_add_test(t, what_a_dry_run_asks_is_what_a_preparation_says);
	tcase_add_test(t, phase_prepare_mends_a_complete_dataset);
	tcase_add_test(t, an_incomplete_dataset_is_resumed);
	tcase_add_test(t, a_subset_is_no_reason_to_call_the_whole_complete);
	tcase_add_test(t, a_stopped_one_leaves_no_temporary_file_and_is_resumed);
	tcase_add_test(t, an_engine_without_files_needs_none);
	tcase_add_test(t, one_line_says_how_much_where_and_how_long);
	tcase_add_test(t, files_do_not_stay_in_the_page_cache);
	tcase_add_test(t, writers_of_small_files_have_small_buffers);
	suite_add_tcase(s, t);
	return s;
}
