/* SPDX-License-Identifier: Apache-2.0 */
/* test_manifest_options.c - options of a format are part of what a dataset was made from. */
#include <errno.h>

#include "manifest_rig.h"
#include "suites.h"

/* One job of a format with options. */
static int make_with(struct dataset *ds, int format, uint64_t label, uint64_t rows,
		     const char *columns, struct mlgen_err *err)
{
	double bytes = !columns ? 1000 : strcmp(columns, "a:int8") == 0 ? 1 : 17;
	char text[64];
	struct job job = { .directory = directory,
			   .format = format,
			   .phase = PHASE_PREPARE,
			   .num_files = 10,
			   .samples_per_file = format == FORMAT_PARQUET ? 2048 : 1,
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

	if (make_with(&ds, cases[_i].format, cases[_i].label, cases[_i].rows, cases[_i].columns,
		      &err) != 0) {
		ck_assert_msg(strstr(err.text, "is not supported"), "%s", err.text);
		return;
	}
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	f = fopen(manifest_path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	ck_assert_int_eq(strstr(text, "label_size") != NULL, cases[_i].label_written);
	ck_assert_int_eq(strstr(text, "row_group_size") != NULL, cases[_i].rows_written);
	ck_assert_int_eq(strstr(text, "columns") != NULL, cases[_i].columns != NULL);
	ck_assert_ptr_null(strstr(text, "eval_files"));
	expect_state(&ds, MANIFEST_COMPLETE);
	ck_assert_int_eq(manifest_describe(directory, &back, NULL), 0);
	ck_assert_uint_eq(back.parts, ds.parts);
	ck_assert_uint_eq(back.options.label_size_bytes, cases[_i].label);
	ck_assert_uint_eq(back.options.row_group_size, cases[_i].rows);
	for (uint64_t i = 0; i < dataset_all_files(&ds); i++)
		ck_assert_uint_eq(dataset_file_bytes(&back, i), dataset_file_bytes(&ds, i));
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
		{ FORMAT_NPY, 78, 1024, NULL, "label_size=77, the job says 78" },
		{ FORMAT_NPY, 0, 1024, NULL, "label_size=77, the job says 0" },
		{ FORMAT_PARQUET, 0, 1024, "a:int8", "row_group_size=512, the job says 1024" },
		{ FORMAT_PARQUET, 0, 512, "a:int16", "columns=a:int8, the job says a:int16" },
		{ FORMAT_PARQUET, 0, 512, NULL, "columns=a:int8, the job says (none)" },
	};
	bool is_npy = cases[_i].format == FORMAT_NPY;
	struct mlgen_err err = { 0 };
	enum manifest_state state;
	struct dataset ds;

	if (make_with(&ds, cases[_i].format, is_npy ? 77 : 0, is_npy ? 0 : 512,
		      is_npy ? NULL : "a:int8", &err) != 0) {
		ck_assert_msg(strstr(err.text, "is not supported"), "%s", err.text);
		return;
	}
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	ds.options.label_size_bytes = cases[_i].label;
	ds.options.row_group_size = cases[_i].rows;
	free(ds.options.columns);
	ds.options.columns = cases[_i].columns ? strdup(cases[_i].columns) : NULL;
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

Suite *suite_manifest_options(void)
{
	Suite *s = suite_create("manifest_options");
	TCase *t = tcase_create("manifest_options");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, options_of_a_format_are_kept_where_they_are_no_default, 0, 5);
	tcase_add_loop_test(t, other_options_of_a_format_are_a_mismatch, 0, 5);
	tcase_add_test(t, options_of_other_formats_are_none);
	suite_add_tcase(s, t);
	return s;
}
