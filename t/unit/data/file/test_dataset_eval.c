/* SPDX-License-Identifier: Apache-2.0 */
/* test_dataset_eval.c - a dataset to evaluate with lies beside the one to train with. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "data/file/file.h"
#include "dataset_rig.h"
#include "suites.h"

START_TEST(an_evaluation_goes_on_where_the_training_ends)
{
	struct job job = plain_job();
	struct dataset train, eval, more;
	char path[256];

	sized(&job, "dlio:20000:9000");
	job.subfolders = 3;
	job.eval_files = 6;
	ck_assert_int_eq(dataset_init(&train, &job, 0, NULL), 0);
	ck_assert_int_eq(dataset_init_eval(&eval, &train, &job, NULL), -EINVAL);
	job.eval_batch_size = 2;
	ck_assert_int_eq(dataset_init_eval(&eval, &train, &job, NULL), 0);
	ck_assert_int_gt(dataset_path(&eval, 4, path, sizeof(path)), 0);
	ck_assert_str_eq(path, "/data/set/valid/1/img_4_of_6.raw");
	ck_assert_int_gt(dataset_folder(&eval, 0, path, sizeof(path)), 0);
	ck_assert_str_eq(path, "/data/set/valid");
	job.num_files = 34; /* the sizes of 28 and 6 */
	ck_assert_int_eq(dataset_init(&more, &job, 0, NULL), 0);
	for (uint64_t i = 0; i < 6; i++) {
		ck_assert_uint_eq(dataset_file_bytes(&eval, i), dataset_file_bytes(&more, 28 + i));
		ck_assert_uint_eq(dataset_content(&eval, i), 28 + i);
	}
	dataset_fini(&more);
	dataset_fini(&eval);
	dataset_fini(&train);
}
END_TEST

START_TEST(scale_leaves_a_batch_to_evaluate_with)
{
	static const struct {
		double scale;
		uint64_t ranks, batch, want;
	} cases[] = {
		{ 100, 1, 2, 100 }, { 50, 1, 2, 50 }, { 1, 1, 2, 2 },
		{ 1, 4, 3, 12 },    { 1, 1, 0, 7 }, /* batch_size */
	};
	struct job job = plain_job();
	struct dataset train, eval;

	job.eval_files = 100;
	job.scale = cases[_i].scale;
	job.accelerators = cases[_i].ranks;
	job.eval_batch_size = cases[_i].batch;
	job.num_files = 1000;
	ck_assert_int_eq(dataset_init(&train, &job, 0, NULL), 0);
	ck_assert_int_eq(dataset_init_eval(&eval, &train, &job, NULL), 0);
	ck_assert_uint_eq(eval.files, cases[_i].want);
	dataset_fini(&eval);
	dataset_fini(&train);
}
END_TEST

START_TEST(without_an_evaluation_there_is_no_dataset_for_it)
{
	struct job job = plain_job();
	struct dataset train, eval;

	ck_assert_int_eq(dataset_init(&train, &job, 0, NULL), 0);
	ck_assert_int_eq(dataset_init_eval(&eval, &train, &job, NULL), 0);
	ck_assert_uint_eq(eval.files, 0);
	dataset_fini(&eval);
	dataset_fini(&train);
}
END_TEST

START_TEST(parts_are_named_apart)
{
	struct job job = plain_job();
	struct mlgen_err err = { 0 };
	struct dataset ds;
	char a[256], b[256];

	job.format = FORMAT_TFRECORD;
	job.subfolders = 2;
	if (dataset_init(&ds, &job, 0, &err) != 0) {
		ck_assert_msg(strstr(err.text, "is not supported"), "%s", err.text);
		return;
	}
	ck_assert_uint_eq(ds.parts, 2);
	ck_assert_uint_eq(dataset_all_files(&ds), 56);
	dataset_path(&ds, 3, a, sizeof(a));
	dataset_path(&ds, 28 + 3, b, sizeof(b));
	ck_assert_str_eq(a, "/data/set/train/1/img_03_of_28.tfrecord");
	ck_assert_str_eq(b, "/data/set/index/train/1/img_03_of_28.tfrecord.idx");
	ck_assert_int_gt(dataset_folder(&ds, 1, b, sizeof(b)), 0);
	ck_assert_str_eq(b, "/data/set/index/train");
	/* contents of the same number are not the same */
	ck_assert_uint_eq(dataset_content(&ds, 28 + 3), 28 + 3);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_dataset_eval(void)
{
	Suite *s = suite_create("dataset_eval");
	TCase *t = tcase_create("dataset_eval");

	tcase_add_test(t, an_evaluation_goes_on_where_the_training_ends);
	tcase_add_loop_test(t, scale_leaves_a_batch_to_evaluate_with, 0, 5);
	tcase_add_test(t, without_an_evaluation_there_is_no_dataset_for_it);
	tcase_add_test(t, parts_are_named_apart);
	suite_add_tcase(s, t);
	return s;
}
