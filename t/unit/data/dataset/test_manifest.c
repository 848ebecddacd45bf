/* SPDX-License-Identifier: Apache-2.0 */
/* test_manifest.c - a dataset directory says what it was made from. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest_rig.h"
#include "suites.h"

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
	static const char *const sizes[] = { "1000", "16m", "dlio:146600628:68341808",
					     "normal:1m:10k", "dlio:114660.07:136.6" };

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
			ck_assert_uint_eq(dataset_file_bytes(&back, f), dataset_file_bytes(&ds, f));
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
		{ "format", "\"format\": \"npz\"", "format=npz, the job says raw" },
		{ "sample_size", "\"sample_size\": \"16m\"", "sample_size=16m, the job says 1000" },
		{ "samples_per_file", "\"samples_per_file\": 5",
		  "samples_per_file=5, the job says 2" },
		{ "subfolders", "\"subfolders\": 1", "subfolders=1, the job says 3" },
		{ "num_files", "\"num_files\": 7", "num_files=7, the job says 10" },
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
			buf_addf(&text, ", %s", k == i ? cases[i].made : right[k]);
		buf_addc(&text, '}');
		put_text(manifest_path, buf_str(&text));
		buf_fini(&text);
		make(&ds, "1000", 10);
		ck_assert_int_eq(manifest_read(&ds, &state, &err), -EINVAL);
		ck_assert_msg(strstr(err.text, cases[i].job), "%s", err.text);
		ck_assert_ptr_nonnull(strstr(err.text, directory));
		ck_assert_ptr_nonnull(strstr(err.text, "--replace"));
		ck_assert_ptr_nonnull(strstr(err.text, i == 4 ? "7 files" : "10 files"));
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
		"{\"version\": 1, \"format\": \"raw\", \"num_files\": -1, \"samples_per_file\": 2, "
		"\"subfolders\": 3, \"sample_size\": \"1000\", \"complete\": true}",
		"{\"version\": 1, \"format\": \"raw\", \"num_files\": 10, \"samples_per_file\": 2, "
		"\"subfolders\": 3, \"sample_size\": \"1000\", \"complete\": true",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct mlgen_err err = { 0 };
		enum manifest_state state;
		struct dataset ds, back;

		put_text(manifest_path, texts[i]);
		make(&ds, "1000", 10);
		ck_assert_int_eq(manifest_read(&ds, &state, &err), -EINVAL);
		ck_assert_msg(strstr(err.text, manifest_path), "%s", err.text);
		ck_assert_int_eq(manifest_describe(directory, &back, NULL), -EINVAL);
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
		 "{\"version\": 1, \"format\": \"zarr\", \"num_files\": 1, \"samples_per_file\": "
		 "2, \"subfolders\": 3, \"sample_size\": \"1000\", \"complete\": true}");
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
	suite_add_tcase(s, t);
	return s;
}
