/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan_dataset.c - datasets of files that a scan has found. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "data/file/file.h"
#include "scan_rig.h"
#include "suites.h"
#include "work/workloads.h"

static struct job scan_job(void)
{
	return (struct job){ .directory = directory,
			     .dataset = DATASET_SCAN,
			     .format = FORMAT_RAW,
			     .num_files = 256,
			     .samples_per_file = 1,
			     .sample_size = { .kind = DIST_CONST, .a = 1000 },
			     .scale = 100,
			     .accelerators = 1,
			     .batch_size = 1,
			     .drop_last = true };
}

START_TEST(a_dataset_has_names_and_sizes_of_a_scan)
{
	struct job job = scan_job();
	struct dataset_totals t;
	struct file_shape shape;
	struct dataset ds;
	char path[256], want[256];

	put("a", 1000);
	put("b", 3000);
	put("c", 8001);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(dataset_samples(&ds), 3);
	ck_assert_uint_eq(dataset_all_files(&ds), 3);
	dataset_totals(&ds, &t);
	ck_assert_uint_eq(t.bytes, 12001);
	ck_assert_uint_eq(t.sample_bytes, 12001);
	ck_assert_double_eq(t.mean_sample_bytes, 12001.0 / 3);
	ck_assert_double_eq(dist_mean(&ds.sample_size), 12001.0 / 3);
	ck_assert(!t.estimate);
	ck_assert_uint_eq(dataset_file_bytes(&ds, 2), 8001);
	ck_assert_uint_eq(dataset_sample_bytes(&ds, 1), 3000);
	format_shape(&ds, 1, &shape);
	ck_assert_uint_eq(shape.sides[0], 1);
	ck_assert_uint_eq(shape.sides[1], 3000);
	ck_assert_uint_eq(shape.samples, 1);
	snprintf(want, sizeof(want), "%s/b", directory);
	ck_assert_int_eq(dataset_path(&ds, 1, path, sizeof(path)), (int)strlen(want));
	ck_assert_str_eq(path, want);
	ck_assert_int_eq(dataset_path(&ds, 1, path, strlen(want)), -ENAMETOOLONG);
	dataset_fini(&ds);
}
END_TEST

/* mlgen writes no image of fewer than 163 bytes, nor of more than 3 GiB. */
START_TEST(images_of_others_have_any_size)
{
	static const uint64_t sizes[] = { 142, (UINT64_C(3) << 30) + 1 };
	struct job job = scan_job();
	struct file_shape shape;
	struct dataset ds;
	uint64_t off, len;

	put("a", sizes[_i]);
	job.format = FORMAT_JPEG;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(dataset_file_bytes(&ds, 0), sizes[_i]);
	format_shape(&ds, 0, &shape);
	ck_assert_uint_eq(format_file_bytes(ds.format, &shape), sizes[_i]);
	format_sample_range(ds.format, &shape, 0, 1, &off, &len);
	ck_assert_uint_eq(off, 0);
	ck_assert_uint_eq(len, sizes[_i]);
	dataset_fini(&ds);
}
END_TEST

START_TEST(scale_takes_the_first_files_of_a_scan)
{
	struct job job = scan_job();
	struct dataset ds;

	for (unsigned i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%02u", i);
		put(name, i + 1);
	}
	job.scale = 50;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 10);
	ck_assert_double_eq(dist_mean(&ds.sample_size), 5.5);
	dataset_fini(&ds);
	job.scale = 1; /* four batches */
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 4);
	dataset_fini(&ds);
}
END_TEST

START_TEST(what_only_made_files_have_is_refused)
{
	static const struct {
		int format, phase;
		uint64_t per_file, eval_files, batch;
		double ratio;
		const char *words;
	} cases[] = {
		{ FORMAT_RAW, PHASE_PREPARE, 1, 0, 1, 0, "phase: prepare" },
		{ FORMAT_RAW, PHASE_TRAIN, 2, 0, 1, 0, "samples_per_file: " },
		{ FORMAT_RAW, PHASE_TRAIN, 1, 0, 1, 5, "dataset_ratio: 5 x" },
		{ FORMAT_RAW, PHASE_TRAIN, 1, 0, 2, 0, "batch_size: 2 is " },
	};
	struct job job = scan_job();
	struct dataset ds;

	put("a", 10);
	job.format = cases[_i].format;
	job.phase = cases[_i].phase;
	job.samples_per_file = cases[_i].per_file;
	job.eval_files = cases[_i].eval_files;
	job.batch_size = cases[_i].batch;
	job.dataset_ratio = cases[_i].ratio;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, cases[_i].words) == err.text, "%s", err.text);
}
END_TEST

START_TEST(files_to_evaluate_with_lie_in_valid)
{
	struct job job = scan_job();
	struct dataset ds, eval;
	char path[256], want[256];

	folder("train");
	put("train/b", 1);
	put("train/a", 10);
	put("labels", 1000);
	job.eval_files = 2;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 2);
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "eval_files: "));
	ck_assert_ptr_nonnull(strstr(err.text, "no folders train and valid"));
	folder("valid");
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), -ENOENT);
	put("valid/c", 100);
	put("valid/d", 300);
	put("valid/e", 500);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), 0);
	ck_assert_uint_eq(eval.files, 3);
	ck_assert_double_eq(dist_mean(&eval.sample_size), 300);
	snprintf(want, sizeof(want), "%s/valid/d", directory);
	ck_assert_int_eq(dataset_path(&eval, 1, path, sizeof(path)), (int)strlen(want));
	ck_assert_str_eq(path, want);
	dataset_fini(&eval);
	job.scale = 50;
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), 0);
	ck_assert_uint_eq(eval.files, 2);
	dataset_fini(&eval);
	job.eval_files = 0;
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), 0);
	ck_assert_uint_eq(eval.files, 0);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_scan_dataset(void)
{
	Suite *s = suite_create("scan_dataset");
	TCase *t = tcase_create("scan_dataset");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_dataset_has_names_and_sizes_of_a_scan);
	tcase_add_loop_test(t, images_of_others_have_any_size, 0, 2);
	tcase_add_test(t, scale_takes_the_first_files_of_a_scan);
	tcase_add_loop_test(t, what_only_made_files_have_is_refused, 0, 4);
	tcase_add_test(t, files_to_evaluate_with_lie_in_valid);
	suite_add_tcase(s, t);
	return s;
}
