/* SPDX-License-Identifier: Apache-2.0 */
/* test_manifest_eval.c - files to evaluate with are part of what a dataset was made from. */
#include <errno.h>

#include "manifest_rig.h"
#include "suites.h"

static enum manifest_state state_of_eval(struct dataset *eval, const struct dataset *train)
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
	ck_assert_int_eq(manifest_present(&eval, &files, &bytes, &estimate, NULL), 0);
	ck_assert_uint_eq(files, 0);
	ds.eval_files = 4;
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	ck_assert_int_eq(state_of_eval(&eval, &ds), MANIFEST_INCOMPLETE);
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	ck_assert_int_eq(state_of_eval(&eval, &ds), MANIFEST_COMPLETE);
	ck_assert_int_eq(manifest_present(&eval, &files, &bytes, &estimate, NULL), 0);
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
	ck_assert_msg(strstr(err.text, "eval_files=4, the job says 5"), "%s", err.text);
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
		ck_assert_uint_eq(dataset_file_bytes(&all, i), dataset_file_bytes(&some, i));
		ck_assert_uint_eq(dataset_content(&all, i), dataset_content(&some, i));
	}
	dataset_fini(&all);
	dataset_fini(&some);
	dataset_fini(&whole);
	dataset_fini(&part);
}
END_TEST

Suite *suite_manifest_eval(void)
{
	Suite *s = suite_create("manifest_eval");
	TCase *t = tcase_create("manifest_eval");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, files_to_evaluate_with_are_part_of_it);
	tcase_add_test(t, a_part_of_a_dataset_evaluates_with_the_same_files);
	suite_add_tcase(s, t);
	return s;
}
