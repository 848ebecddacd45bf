/* SPDX-License-Identifier: Apache-2.0 */
/* test_dataset.c - files and samples come out of their index alone. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/file/file.h"
#include "dataset_rig.h"
#include "suites.h"
#include "work/workloads.h"

#define NO_MEMORY_NEEDED 0

static void expect_files(const struct job *job, uint64_t memory_bytes, uint64_t files)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;
	int r = dataset_init(&ds, job, memory_bytes, &err);

	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_uint_eq(ds.files, files);
	ck_assert_uint_eq(ds.files_named, files);
	dataset_fini(&ds);
}

START_TEST(scale_keeps_four_batches_for_every_rank)
{
	static const struct {
		uint64_t files, per_file, ranks, batch;
		double scale;
		uint64_t want;
	} cases[] = {
		{ 168, 1, 1, 7, 2, 28 }, /* unet3d: not ceil(3.36) = 4 */
		{ 168, 1, 1, 7, 50, 84 },   { 168, 1, 1, 7, 50.1, 85 },
		{ 168, 1, 2, 7, 2, 56 },    { 168, 1, 8, 7, 2, 168 }, /* 224, but there are 168 */
		{ 168, 10, 1, 7, 2, 4 }, /* 28 samples lie in 3 files */
		{ 1000, 1, 1, 1, 0.05, 4 }, { 168, 1, 1, 7, 100, 168 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job job = plain_job();

		job.num_files = cases[i].files;
		job.samples_per_file = cases[i].per_file;
		job.accelerators = cases[i].ranks;
		job.batch_size = cases[i].batch;
		job.scale = cases[i].scale;
		expect_files(&job, NO_MEMORY_NEEDED, cases[i].want);
	}
}
END_TEST

START_TEST(dataset_ratio_counts_files_by_memory)
{
	struct job job = plain_job();

	job.dataset_ratio = 5;
	expect_files(&job, 1000000, 5000);
	expect_files(&job, 1000001, 5001);
	job.samples_per_file = 10;
	expect_files(&job, 1000000, 500);
	job.samples_per_file = 1;
	job.format = FORMAT_NPZ; /* 1498 bytes on disk */
	expect_files(&job, 1000000, 3338);
	/* scale is applied to what the ratio gave */
	job.format = FORMAT_RAW;
	job.scale = 10;
	expect_files(&job, 1000000, 500);
}
END_TEST

static void refused(const struct job *job, const char *sentence)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;

	ck_assert_int_eq(dataset_init(&ds, job, 0, &err), -EINVAL);
	ck_assert_str_eq(err.text, sentence);
}

START_TEST(too_many_accelerators_are_refused_with_the_numbers)
{
	struct job job = plain_job();

	job.accelerators = 8;
	refused(&job, "accelerators: 8 need at least 8 x batch_size 7 = 56 samples per step, the "
		      "dataset has 28; more num_files or fewer accelerators");
	job.phase = PHASE_PREPARE;
	expect_files(&job, 0, 28);
}
END_TEST

START_TEST(a_batch_larger_than_the_dataset_is_refused)
{
	struct job job = plain_job();

	job.batch_size = 29;
	refused(&job, "batch_size: 29 is more than the 28 samples of the dataset; more num_files "
		      "or a smaller batch_size");
	job.batch_size = 28;
	expect_files(&job, 0, 28);
}
END_TEST

START_TEST(short_batches_need_no_full_one)
{
	struct job job = plain_job();

	job.drop_last = false;
	job.accelerators = 8;
	expect_files(&job, 0, 28);
	job.accelerators = 29;
	expect_files(&job, 0, 28);
}
END_TEST

START_TEST(more_than_any_filesystem_holds_is_refused)
{
	struct job job = plain_job();
	struct mlgen_err err = { 0 };
	struct dataset ds;

	job.num_files = 10000000000;
	job.samples_per_file = 100000000;
	sized(&job, "1t");
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "num_files"));
}
END_TEST

START_TEST(names_are_those_of_dlio)
{
	static const struct {
		uint64_t files, subfolders, file;
		const char *path;
	} cases[] = {
		{ 168, 0, 7, "/data/set/train/img_007_of_168.npz" },
		{ 168, 1, 167, "/data/set/train/img_167_of_168.npz" },
		{ 28000, 0, 117, "/data/set/train/img_00117_of_28000.npz" },
		{ 168, 4, 7, "/data/set/train/3/img_007_of_168.npz" },
		{ 168, 10, 19, "/data/set/train/9/img_019_of_168.npz" },
		{ 168, 12, 15, "/data/set/train/03/img_015_of_168.npz" },
		{ 7, 0, 0, "/data/set/train/img_0_of_7.npz" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job job = plain_job();
		struct dataset ds;
		char path[256];

		job.format = FORMAT_NPZ;
		job.num_files = cases[i].files;
		job.subfolders = cases[i].subfolders;
		ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
		ck_assert_int_eq(dataset_path(&ds, cases[i].file, path, sizeof(path)),
				 (int)strlen(cases[i].path));
		ck_assert_str_eq(path, cases[i].path);
		ck_assert_int_eq(dataset_path(&ds, cases[i].file, path, 10), -ENAMETOOLONG);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(a_directory_too_long_for_names_is_refused)
{
	struct job job = plain_job();
	struct mlgen_err err = { 0 };
	static char longest[4090];
	struct dataset ds;

	memset(longest, 'd', sizeof(longest) - 1);
	job.directory = longest;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), -ENAMETOOLONG);
	ck_assert_ptr_nonnull(strstr(err.text, "directory"));
}
END_TEST

START_TEST(samples_map_to_files_by_arithmetic)
{
	struct job job = plain_job();
	struct dataset ds;
	struct extent x;

	job.samples_per_file = 10;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_uint_eq(dataset_samples(&ds), 280);
	ck_assert_uint_eq(dataset_extents(&ds), 280);
	dataset_extent(&ds, 279, &x);
	ck_assert_uint_eq(x.id, 279);
	ck_assert_uint_eq(x.file, 27);
	ck_assert_uint_eq(x.first_sample, 9);
	ck_assert_uint_eq(x.samples, 1);
	dataset_extent(&ds, 10, &x);
	ck_assert_uint_eq(x.file, 1);
	ck_assert_uint_eq(x.first_sample, 0);
	dataset_fini(&ds);
}
END_TEST

START_TEST(sizes_do_not_depend_on_how_many_files_or_which_seed)
{
	struct job a = plain_job(), b = plain_job();
	struct dataset da, db;

	sized(&a, "dlio:146600628:68341808");
	b.sample_size = a.sample_size;
	b.num_files = 168;
	b.randseed = 99;
	ck_assert_int_eq(dataset_init(&da, &a, 0, NULL), 0);
	ck_assert_int_eq(dataset_init(&db, &b, 0, NULL), 0);
	for (uint64_t i = 0; i < 28; i++)
		ck_assert_uint_eq(dataset_sample_bytes(&da, i), dataset_sample_bytes(&db, i));
	ck_assert_uint_ne(dataset_sample_bytes(&da, 0), dataset_sample_bytes(&da, 1));
	dataset_fini(&da);
	dataset_fini(&db);
}
END_TEST

START_TEST(totals_are_the_sum_of_the_files)
{
	struct job job = plain_job();
	struct dataset ds;
	struct dataset_totals t;
	uint64_t bytes = 0, payload = 0;
	double squares = 0;

	job.format = FORMAT_NPZ;
	job.num_files = 1000;
	job.samples_per_file = 3;
	sized(&job, "normal:100k:10k");
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	dataset_totals(&ds, &t);
	for (uint64_t i = 0; i < 1000; i++) {
		double d = (double)dataset_file_bytes(&ds, i) - t.mean_file_bytes;

		bytes += dataset_file_bytes(&ds, i);
		payload += 3 * dataset_sample_bytes(&ds, i);
		squares += d * d;
	}
	ck_assert_uint_eq(t.bytes, bytes);
	ck_assert_uint_eq(t.sample_bytes, payload);
	ck_assert_uint_eq(bytes - payload, 1000 * (490 + 24));
	ck_assert_double_eq_tol(t.mean_file_bytes, (double)bytes / 1000, 1e-6);
	ck_assert_double_eq_tol(t.stdev_file_bytes, sqrt(squares / 1000), 1e-6);
	ck_assert_double_eq_tol(t.mean_sample_bytes, (double)payload / 3000, 1e-6);
	ck_assert(!t.estimate);
	dataset_fini(&ds);
}
END_TEST

START_TEST(totals_of_a_billion_samples_cost_nothing)
{
	struct job job = plain_job();
	struct dataset ds;
	struct dataset_totals t;

	job.num_files = 1000000000;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	dataset_totals(&ds, &t);
	ck_assert_uint_eq(t.bytes, 1000000000000);
	ck_assert_double_eq(t.stdev_file_bytes, 0);
	ck_assert(!t.estimate); /* constant sizes: exact all the same */
	dataset_fini(&ds);

	sized(&job, "normal:1000:100");
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	dataset_totals(&ds, &t);
	ck_assert_uint_eq(t.bytes, 1000000000000);
	ck_assert_double_eq(t.stdev_file_bytes, 100);
	ck_assert(t.estimate);
	dataset_fini(&ds);
}
END_TEST

START_TEST(unet3d_has_the_moments_that_dlio_has)
{
	struct job job = plain_job();
	struct dataset ds;
	struct dataset_totals t;

	sized(&job, "dlio:146600628:68341808");
	job.num_files = 100000;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	dataset_totals(&ds, &t);
	/* 7200 of DLIO's own: mean 146.83 MB, stdev 48.90 MB */
	ck_assert_double_eq_tol(t.mean_sample_bytes, 146.6e6, 0.6e6);
	ck_assert_double_eq_tol(t.stdev_file_bytes, 49.0e6, 0.5e6);
	dataset_fini(&ds);
}
END_TEST

START_TEST(fini_takes_a_zeroed_struct)
{
	struct dataset ds = { 0 };

	dataset_fini(&ds);
	ck_assert_ptr_null(ds.directory);
}
END_TEST

START_TEST(a_path_leads_back_to_its_file_and_no_other_does)
{
	static const char *const others[] = {
		"/data/set/train/1/img_04_of_28.tfrecord", /* it is in 0 */
		"/data/set/train/1/img_3_of_28.tfrecord",
		"/data/set/train/1/img_03_of_28.npz",
		"/data/set/train/1/img_03_of_29.tfrecord",
		"/data/set/train/1/.img_03_of_28.tfrecord.part",
		"/data/set/train/1/img_28_of_28.tfrecord",
		"/data/set/valid/1/img_03_of_28.tfrecord",
		"/data/set/train/1/notes",
		"/data/set/train/1/img_",
		"/data/set/img_03_of_28.tfrecord",
		"img_03_of_28.tfrecord",
	};
	static const char *const folders[] = { "train", "train/0",     "train/1",
					       "index", "index/train", "index/train/1" };
	static const char *const no_folders[] = { "",         "/trai",      "/train/2", "/train/01",
						  "/train/x", "/train/1/2", "/valid",   "/inde" };
	struct job job = plain_job();
	struct mlgen_err err = { 0 };
	struct dataset ds;
	char path[256];
	uint64_t file;

	job.format = FORMAT_TFRECORD;
	job.subfolders = 2;
	if (dataset_init(&ds, &job, 0, &err) != 0) {
		ck_assert_msg(strstr(err.text, "is not supported"), "%s", err.text);
		return;
	}
	ck_assert_uint_eq(ds.parts, 2);
	for (uint64_t i = 0; i < dataset_all_files(&ds); i++) {
		dataset_path(&ds, i, path, sizeof(path));
		ck_assert(dataset_find(&ds, path, &file));
		ck_assert_uint_eq(file, i);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(!dataset_find(&ds, others[i], &file), "%s", others[i]);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "/data/set/%s", folders[i]);
		ck_assert_msg(dataset_has_folder(&ds, path), "%s", path);
	}
	for (size_t i = 0; i < sizeof(no_folders) / sizeof(no_folders[0]); i++) {
		snprintf(path, sizeof(path), "/data/set%s", no_folders[i]);
		ck_assert_msg(!dataset_has_folder(&ds, path), "%s", path);
	}
	dataset_fini(&ds);
}
END_TEST

Suite *suite_dataset(void)
{
	Suite *s = suite_create("dataset");
	TCase *t = tcase_create("dataset");

	tcase_add_test(t, scale_keeps_four_batches_for_every_rank);
	tcase_add_test(t, dataset_ratio_counts_files_by_memory);
	tcase_add_test(t, too_many_accelerators_are_refused_with_the_numbers);
	tcase_add_test(t, a_batch_larger_than_the_dataset_is_refused);
	tcase_add_test(t, short_batches_need_no_full_one);
	tcase_add_test(t, more_than_any_filesystem_holds_is_refused);
	tcase_add_test(t, names_are_those_of_dlio);
	tcase_add_test(t, a_directory_too_long_for_names_is_refused);
	tcase_add_test(t, samples_map_to_files_by_arithmetic);
	tcase_add_test(t, sizes_do_not_depend_on_how_many_files_or_which_seed);
	tcase_add_test(t, totals_are_the_sum_of_the_files);
	tcase_add_test(t, totals_of_a_billion_samples_cost_nothing);
	tcase_add_test(t, unet3d_has_the_moments_that_dlio_has);
	tcase_add_test(t, fini_takes_a_zeroed_struct);
	tcase_add_test(t, a_path_leads_back_to_its_file_and_no_other_does);
	suite_add_tcase(s, t);
	return s;
}
