/* SPDX-License-Identifier: Apache-2.0 */
/* test_prepare_parts.c - formats of several files, and files to evaluate with. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "prepare_rig.h"
#include "run/make/make.h"
#include "suites.h"

/* Formats that this build has, with what other libraries they need. */
static bool make_of_parts(const char *format, uint64_t files)
{
	if (format_find(format)->needs)
		return false;
	make(format, "30000", files, 3);
	return true;
}

START_TEST(all_parts_of_a_format_are_made_mended_and_replaced)
{
	static const char *const formats[] = { "tfrecord", "indexed_binary",
					       "mmap_indexed_binary" };
	uint64_t all;

	if (!make_of_parts(formats[_i], 7))
		return;
	all = dataset_all_files(&ds);
	ck_assert_uint_ge(all, 14);
	prepare_ok(all, 0);
	expect_whole();
	ck_assert_uint_eq(progress.bytes_done, progress.bytes_total);
	/* the last part's last file */
	ck_assert_int_eq(unlink(file_path(all - 1)), 0);
	ck_assert_int_eq(truncate(file_path(7), 1), 0);
	request.check_all = true;
	prepare_ok(2, all - 2);
	expect_whole();
	/* a part of it */
	make(formats[_i], "30000", 3, 3);
	prepare_ok(0, dataset_all_files(&ds));
	make("raw", "5000", 4, 0);
	request.replace = true;
	prepare_ok(4, 0);
	expect_whole();
	ck_assert_int_eq(access(path_in("index"), F_OK), -1);
	ck_assert_int_eq(access(path_in("train/1"), F_OK), -1);
}
END_TEST

START_TEST(what_others_have_in_its_folders_stays)
{
	if (!make_of_parts("tfrecord", 7))
		return;
	prepare_ok(14, 0);
	put_text(path_in("index/mine"), "mine");
	put_text(path_in("index/train/1/mine"), "mine");
	make("raw", "5000", 4, 0);
	request.replace = request.check_all = true;
	prepare_ok(4, 0);
	ck_assert_uint_eq(size_of(path_in("index/mine")), 4);
	ck_assert_uint_eq(size_of(path_in("index/train/1/mine")), 4);
	ck_assert_int_eq(access(path_in("index/train/0"), F_OK), -1);
}
END_TEST

START_TEST(a_folder_of_any_part_may_be_of_others)
{
	if (!make_of_parts("tfrecord", 7))
		return;
	make_folder("index/train/2");
	put_text(file_path(7 + 2), "mine");
	prepare_fails(-EEXIST, "/index/train/2/img_2_of_7");
	ck_assert(!started);
}
END_TEST

START_TEST(files_to_evaluate_with_are_made_too)
{
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	request.eval = &eval;
	prepare_ok(25, 0);
	expect_whole();
	ck_assert_uint_eq(size_of(path_in("valid/img_4_of_5.raw")), 100000);
	ck_assert_int_eq(unlink(path_in("valid/img_4_of_5.raw")), 0);
	prepare_fails(-ENOENT, "valid/img_4_of_5.raw");
	request.check_all = true;
	prepare_ok(1, 24);
	ck_assert_uint_eq(size_of(path_in("valid/img_4_of_5.raw")), 100000);
	ck_assert_int_eq(count_names("img_*"), 25);
	make("raw", "5000", 4, 0);
	request.replace = true;
	dataset_fini(&eval);
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 2, NULL), 0);
	prepare_ok(6, 0);
	expect_whole();
	request.eval = NULL;
	make("raw", "4000", 4, 0);
	prepare_ok(4, 0);
	ck_assert_int_eq(access(path_in("valid"), F_OK), -1);
	expect_whole();
}
END_TEST

START_TEST(an_evaluation_is_added_to_a_dataset)
{
	enum manifest_state state;

	prepare_ok(20, 0);
	ck_assert_int_eq(unlink(file_path(3)), 0);
	request.forgiving = true; /* trusted all the same */
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	request.eval = &eval;
	prepare_ok(5, 20);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_COMPLETE);
	ck_assert_uint_eq(ds.eval_files, 5);
	prepare_ok(0, 25);
	/* who does not evaluate does not forget it, nor calls it complete */
	request.eval = NULL;
	make("raw", "100000", 20, 0);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	prepare_ok(1, 19);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_INCOMPLETE);
	ck_assert_uint_eq(ds.eval_files, 5);
}
END_TEST

START_TEST(files_to_evaluate_with_of_others_are_not_touched)
{
	prepare_ok(20, 0);
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	request.eval = &eval;
	make_folder("valid");
	put_text(path_in("valid/img_3_of_5.raw"), "mine");
	prepare_fails(-EEXIST, "valid/img_3_of_5.raw: is in the way");
	ck_assert_uint_eq(size_of(path_in("valid/img_3_of_5.raw")), 4);
}
END_TEST

Suite *suite_prepare_parts(void)
{
	Suite *s = suite_create("prepare_parts");
	TCase *t = tcase_create("prepare_parts");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, all_parts_of_a_format_are_made_mended_and_replaced, 0, 3);
	tcase_add_test(t, what_others_have_in_its_folders_stays);
	tcase_add_test(t, a_folder_of_any_part_may_be_of_others);
	tcase_add_test(t, files_to_evaluate_with_are_made_too);
	tcase_add_test(t, an_evaluation_is_added_to_a_dataset);
	tcase_add_test(t, files_to_evaluate_with_of_others_are_not_touched);
	suite_add_tcase(s, t);
	return s;
}
