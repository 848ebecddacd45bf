/* SPDX-License-Identifier: Apache-2.0 */
/* test_manifest.c - a dataset directory says what it was made from. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dist.h"
#include "data/format.h"
#include "data/manifest.h"
#include "suites.h"

static char directory[64], manifest_path[128];

static void set_up(void)
{
	snprintf(directory, sizeof(directory), "/tmp/mlgen-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(manifest_path, sizeof(manifest_path), "%s/%s", directory,
		 MANIFEST_NAME);
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	ck_assert_int_eq(system(command), 0);
}

static void make(struct dataset *ds, const char *size, uint64_t files)
{
	struct job job = { .directory = directory,
			   .format = FORMAT_RAW,
			   .phase = PHASE_PREPARE,
			   .num_files = files,
			   .samples_per_file = 2,
			   .subfolders = 3,
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };

	ck_assert_int_eq(dist_parse(&job.sample_size, size, DIST_BYTES, NULL,
				    1024, NULL),
			 0);
	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
}

static void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void expect_state(struct dataset *ds, enum manifest_state want)
{
	struct mlgen_err err = { 0 };
	enum manifest_state state;
	int r = manifest_read(ds, &state, &err);

	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_int_eq(state, want);
}

START_TEST(a_directory_without_one_is_absent)
{
	struct dataset ds;

	make(&ds, "1000", 10);
	expect_state(&ds, MANIFEST_ABSENT);
	dataset_fini(&ds);
}
END_TEST

START_TEST(what_is_written_reads_back)
{
	static const char *const sizes[] = { "1000", "16m",
					     "dlio:146600628:68341808",
					     "normal:1m:10k",
					     "dlio:114660.07:136.6" };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct dataset ds, back;

		make(&ds, sizes[i], 10);
		ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
		expect_state(&ds, MANIFEST_INCOMPLETE);
		ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
		expect_state(&ds, MANIFEST_COMPLETE);
		ck_assert_int_eq(manifest_describe(directory, &back, NULL), 0);
		ck_assert_str_eq(back.directory, directory);
		ck_assert_ptr_eq(back.format, &format_raw);
		ck_assert_uint_eq(back.files, 10);
		ck_assert_uint_eq(back.files_named, 10);
		ck_assert_uint_eq(back.samples_per_file, 2);
		ck_assert_uint_eq(back.subfolders, 3);
		for (uint64_t f = 0; f < 10; f++)
			ck_assert_uint_eq(dataset_file_bytes(&back, f),
					  dataset_file_bytes(&ds, f));
		dataset_fini(&back);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(fewer_files_are_a_subset_with_the_names_of_the_whole)
{
	struct dataset whole, part;
	char a[256], b[256];

	make(&whole, "1000", 100);
	make(&part, "1000", 8);
	ck_assert_int_eq(manifest_write(&whole, true, NULL), 0);
	expect_state(&part, MANIFEST_COMPLETE);
	ck_assert_uint_eq(part.files, 8);
	ck_assert_uint_eq(part.files_named, 100);
	dataset_path(&whole, 7, a, sizeof(a));
	dataset_path(&part, 7, b, sizeof(b));
	ck_assert_str_eq(a, b);
	dataset_fini(&whole);
	dataset_fini(&part);
}
END_TEST

START_TEST(a_mismatch_names_both_values_and_the_way_out)
{
	static const struct {
		const char *option, *made, *job;
	} cases[] = {
		{ "format", "\"format\": \"npz\"",
		  "format=npz, the job says raw" },
		{ "sample_size", "\"sample_size\": \"16m\"",
		  "sample_size=16m, the job says 1000" },
		{ "samples_per_file", "\"samples_per_file\": 5",
		  "samples_per_file=5, the job says 2" },
		{ "subfolders", "\"subfolders\": 1",
		  "subfolders=1, the job says 3" },
		{ "num_files", "\"num_files\": 7",
		  "num_files=7, the job says 10" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const char *const right[] = {
			"\"format\": \"raw\"",     "\"sample_size\": \"1000\"",
			"\"samples_per_file\": 2", "\"subfolders\": 3",
			"\"num_files\": 10",
		};
		struct mlgen_err err = { 0 };
		enum manifest_state state;
		struct dataset ds;
		struct buf text = { 0 };

		buf_add(&text, "{\"version\": 1, \"complete\": true");
		for (size_t k = 0; k < 5; k++)
			buf_addf(&text, ", %s",
				 k == i ? cases[i].made : right[k]);
		buf_addc(&text, '}');
		put_text(manifest_path, buf_str(&text));
		buf_fini(&text);
		make(&ds, "1000", 10);
		ck_assert_int_eq(manifest_read(&ds, &state, &err), -EINVAL);
		ck_assert_msg(strstr(err.text, cases[i].job), "%s", err.text);
		ck_assert_ptr_nonnull(strstr(err.text, directory));
		ck_assert_ptr_nonnull(strstr(err.text, "--replace"));
		ck_assert_ptr_nonnull(
			strstr(err.text, i == 4 ? "7 files" : "10 files"));
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(a_damaged_manifest_is_an_error_with_its_path)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{}",
		"null",
		"{\"version\": 1}",
		"{\"version\": 2, \"complete\": true}",
		"{\"version\": 1, \"format\": \"raw\", \"num_files\": -1, "
		"\"samples_per_file\": 2, \"subfolders\": 3, "
		"\"sample_size\": \"1000\", \"complete\": true}",
		"{\"version\": 1, \"format\": \"raw\", \"num_files\": 10, "
		"\"samples_per_file\": 2, \"subfolders\": 3, "
		"\"sample_size\": \"1000\", \"complete\": true",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct mlgen_err err = { 0 };
		enum manifest_state state;
		struct dataset ds, back;

		put_text(manifest_path, texts[i]);
		make(&ds, "1000", 10);
		ck_assert_int_eq(manifest_read(&ds, &state, &err), -EINVAL);
		ck_assert_msg(strstr(err.text, manifest_path), "%s", err.text);
		ck_assert_int_eq(manifest_describe(directory, &back, NULL),
				 -EINVAL);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(describe_knows_formats_and_absence)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;

	ck_assert_int_eq(manifest_describe(directory, &ds, &err), -ENOENT);
	put_text(manifest_path,
		 "{\"version\": 1, \"format\": \"zarr\", \"num_files\": 1, "
		 "\"samples_per_file\": 2, \"subfolders\": 3, "
		 "\"sample_size\": \"1000\", \"complete\": true}");
	ck_assert_int_eq(manifest_describe(directory, &ds, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "zarr"));
}
END_TEST

START_TEST(a_directory_that_cannot_be_written_is_an_error)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;

	make(&ds, "1000", 10);
	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert_int_eq(manifest_write(&ds, true, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, manifest_path));
	ck_assert_int_eq(mkdir(directory, 0700), 0);
	dataset_fini(&ds);
}
END_TEST

static void expect_present(const struct dataset *ds, uint64_t files,
			   uint64_t bytes)
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
	ck_assert_int_eq(manifest_present(&ds, &files, &bytes, &estimate, NULL),
			 0);
	ck_assert_uint_eq(files, 0);
	ck_assert(estimate);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_manifest(void)
{
	Suite *s = suite_create("manifest");
	TCase *t = tcase_create("manifest");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_directory_without_one_is_absent);
	tcase_add_test(t, what_is_written_reads_back);
	tcase_add_test(t, fewer_files_are_a_subset_with_the_names_of_the_whole);
	tcase_add_test(t, a_mismatch_names_both_values_and_the_way_out);
	tcase_add_test(t, a_damaged_manifest_is_an_error_with_its_path);
	tcase_add_test(t, describe_knows_formats_and_absence);
	tcase_add_test(t, a_directory_that_cannot_be_written_is_an_error);
	tcase_add_test(t, present_counts_whole_files_only);
	tcase_add_test(t, present_of_millions_is_an_estimate);
	suite_add_tcase(s, t);
	return s;
}
