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
#include "work/workloads.h"

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

/* One job of a format with options. */
static int make_with(struct dataset *ds, int format, uint64_t label,
		     uint64_t rows, const char *columns, struct mlgen_err *err)
{
	double bytes = !columns                         ? 1000
		       : strcmp(columns, "a:int8") == 0 ? 1
							: 17;
	char text[64];
	struct job job = { .directory = directory,
			   .format = format,
			   .phase = PHASE_PREPARE,
			   .num_files = 10,
			   .samples_per_file =
				   format == FORMAT_PARQUET ? 2048 : 1,
			   .sample_size = { .kind = DIST_CONST, .a = bytes },
			   .label_size_bytes = label,
			   .row_group_size = rows,
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };

	snprintf(text, sizeof(text), "%s", columns ? columns : "");
	job.columns = columns ? text : NULL;
	return dataset_init(ds, &job, 0, err);
}

START_TEST(options_of_a_format_are_kept_where_they_are_no_default)
{
	static const struct {
		int format;
		uint64_t label, rows;
		const char *columns;
		bool label_written, rows_written;
	} cases[] = {
		{ FORMAT_NPY, 0, 1024, NULL, false, false },
		{ FORMAT_NPY, 77, 1024, NULL, true, false },
		{ FORMAT_PARQUET, 0, 1024, NULL, false, false },
		{ FORMAT_RAW, 0, 1024, NULL, false, false },
		{ FORMAT_PARQUET, 0, 512, "a:int8,b:int32[4]", false, true },
	};
	struct mlgen_err err = { 0 };
	struct dataset ds, back;
	char text[1024] = "";
	FILE *f;

	if (make_with(&ds, cases[_i].format, cases[_i].label, cases[_i].rows,
		      cases[_i].columns, &err) != 0) {
		ck_assert_msg(strstr(err.text, "was left out"), "%s", err.text);
		return;
	}
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	f = fopen(manifest_path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	ck_assert_int_eq(strstr(text, "label_size") != NULL,
			 cases[_i].label_written);
	ck_assert_int_eq(strstr(text, "row_group_size") != NULL,
			 cases[_i].rows_written);
	ck_assert_int_eq(strstr(text, "columns") != NULL,
			 cases[_i].columns != NULL);
	ck_assert_ptr_null(strstr(text, "eval_files"));
	expect_state(&ds, MANIFEST_COMPLETE);
	ck_assert_int_eq(manifest_describe(directory, &back, NULL), 0);
	ck_assert_uint_eq(back.parts, ds.parts);
	ck_assert_uint_eq(back.options.label_size_bytes, cases[_i].label);
	ck_assert_uint_eq(back.options.row_group_size, cases[_i].rows);
	for (uint64_t i = 0; i < dataset_all_files(&ds); i++)
		ck_assert_uint_eq(dataset_file_bytes(&back, i),
				  dataset_file_bytes(&ds, i));
	dataset_fini(&back);
	dataset_fini(&ds);
}
END_TEST

START_TEST(other_options_of_a_format_are_a_mismatch)
{
	static const struct {
		int format;
		uint64_t label, rows;
		const char *columns, *words;
	} cases[] = {
		{ FORMAT_NPY, 78, 1024, NULL,
		  "label_size=77, the job says 78" },
		{ FORMAT_NPY, 0, 1024, NULL, "label_size=77, the job says 0" },
		{ FORMAT_PARQUET, 0, 1024, "a:int8",
		  "row_group_size=512, the job says 1024" },
		{ FORMAT_PARQUET, 0, 512, "a:int16",
		  "columns=a:int8, the job says a:int16" },
		{ FORMAT_PARQUET, 0, 512, NULL,
		  "columns=a:int8, the job says (none)" },
	};
	bool is_npy = cases[_i].format == FORMAT_NPY;
	struct mlgen_err err = { 0 };
	enum manifest_state state;
	struct dataset ds;

	if (make_with(&ds, cases[_i].format, is_npy ? 77 : 0, is_npy ? 0 : 512,
		      is_npy ? NULL : "a:int8", &err) != 0) {
		ck_assert_msg(strstr(err.text, "was left out"), "%s", err.text);
		return;
	}
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	ds.options.label_size_bytes = cases[_i].label;
	ds.options.row_group_size = cases[_i].rows;
	free(ds.options.columns);
	ds.options.columns =
		cases[_i].columns ? strdup(cases[_i].columns) : NULL;
	ck_assert_int_eq(manifest_read(&ds, &state, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, cases[_i].words), "%s", err.text);
	ck_assert_ptr_nonnull(strstr(err.text, "--phase=prepare --replace"));
	dataset_fini(&ds);
}
END_TEST

START_TEST(options_of_other_formats_are_none)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;
	int r = make_with(&ds, FORMAT_RAW, 0, 512, "a:int8", &err);

	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	dataset_fini(&ds);
	ck_assert_int_eq(make_with(&ds, FORMAT_RAW, 0, 1024, NULL, NULL), 0);
	ds.sample_size.a = 1;
	expect_state(&ds, MANIFEST_COMPLETE);
	dataset_fini(&ds);
}
END_TEST

static enum manifest_state state_of_eval(struct dataset *eval,
					 const struct dataset *train)
{
	struct mlgen_err err = { 0 };
	enum manifest_state state;
	int r = manifest_read_eval(eval, train, &state, &err);

	ck_assert_msg(r == 0, "%s", err.text);
	return state;
}

START_TEST(files_to_evaluate_with_are_part_of_it)
{
	struct mlgen_err err = { 0 };
	struct dataset ds, eval, back;
	enum manifest_state state;
	uint64_t files, bytes;
	bool estimate;

	make(&ds, "dlio:20000:5000", 10);
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 4, NULL), 0);
	ck_assert_int_eq(state_of_eval(&eval, &ds), MANIFEST_ABSENT);
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	ck_assert_int_eq(state_of_eval(&eval, &ds), MANIFEST_ABSENT);
	ck_assert_int_eq(
		manifest_present(&eval, &files, &bytes, &estimate, NULL), 0);
	ck_assert_uint_eq(files, 0);
	ds.eval_files = 4;
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	ck_assert_int_eq(state_of_eval(&eval, &ds), MANIFEST_INCOMPLETE);
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	ck_assert_int_eq(state_of_eval(&eval, &ds), MANIFEST_COMPLETE);
	ck_assert_int_eq(
		manifest_present(&eval, &files, &bytes, &estimate, NULL), 0);
	ck_assert_uint_eq(files, 4);
	ck_assert_int_eq(manifest_describe(directory, &back, NULL), 0);
	ck_assert_uint_eq(back.eval_files, 4);
	dataset_fini(&back);
	/* who does not evaluate leaves them there */
	dataset_fini(&ds);
	make(&ds, "dlio:20000:5000", 10);
	expect_state(&ds, MANIFEST_COMPLETE);
	ck_assert_uint_eq(ds.eval_files, 4);
	dataset_fini(&eval);
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	ck_assert_int_eq(manifest_read_eval(&eval, &ds, &state, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "eval_files=4, the job says 5"), "%s",
		      err.text);
	dataset_fini(&eval);
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_part_of_a_dataset_evaluates_with_the_same_files)
{
	struct dataset whole, part, all, some;
	char a[256], b[256];

	make(&whole, "dlio:20000:5000", 20);
	ck_assert_int_eq(dataset_init_split(&all, &whole, 12, NULL), 0);
	whole.eval_files = 12;
	ck_assert_int_eq(manifest_write(&whole, true, NULL), 0);
	make(&part, "dlio:20000:5000", 5);
	ck_assert_int_eq(dataset_init_split(&some, &part, 3, NULL), 0);
	expect_state(&part, MANIFEST_COMPLETE);
	ck_assert_int_eq(state_of_eval(&some, &part), MANIFEST_COMPLETE);
	for (uint64_t i = 0; i < 3; i++) {
		dataset_path(&all, i, a, sizeof(a));
		dataset_path(&some, i, b, sizeof(b));
		ck_assert_str_eq(a, b);
		ck_assert_uint_eq(dataset_file_bytes(&all, i),
				  dataset_file_bytes(&some, i));
		ck_assert_uint_eq(dataset_content(&all, i),
				  dataset_content(&some, i));
	}
	dataset_fini(&all);
	dataset_fini(&some);
	dataset_fini(&whole);
	dataset_fini(&part);
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
	tcase_add_loop_test(
		t, options_of_a_format_are_kept_where_they_are_no_default, 0,
		5);
	tcase_add_loop_test(t, other_options_of_a_format_are_a_mismatch, 0, 5);
	tcase_add_test(t, options_of_other_formats_are_none);
	tcase_add_test(t, files_to_evaluate_with_are_part_of_it);
	tcase_add_test(t, a_part_of_a_dataset_evaluates_with_the_same_files);
	suite_add_tcase(s, t);
	return s;
}
