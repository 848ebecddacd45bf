/* SPDX-License-Identifier: Apache-2.0 */
/* test_namepair.c - which files are twins, by parts of their names. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "data/scan/scan.h"
#include "suites.h"

static const struct {
	const char *pair, *first, *twin;
} pairs[] = {
	{ "_x.npy:_y.npy", "case_00000_x.npy", "case_00000_y.npy" },
	{ "_x.npy:_y.npy", "a_x.npy/b_x.npy", "a_x.npy/b_y.npy" },
	{ "_x:_y", "set_y/case_x.npy", "set_y/case_y.npy" },
	{ "_x:_y", "set_x/case_x.npy", "set_x/case_y.npy" },
	{ "images/:labels/", "images/a.npy", "labels/a.npy" },
	{ "images/:labels/", "d/images/e/a.npy", "d/labels/e/a.npy" },
	{ "imaging.npy:segmentation.npy", "case_0/imaging.npy", "case_0/segmentation.npy" },
	{ ".npy:_label.npy", "a.npy", "a_label.npy" },
	{ "_data.npy:.npy", "a_data.npy", "a.npy" },
	{ "image:image_seg", "image_1.npy", "image_seg_1.npy" },
	{ "a:b", "a", "b" },
};

START_TEST(a_twin_has_to_in_place_of_the_last_from)
{
	char out[64];
	struct namepair p;

	ck_assert(namepair_parse(&p, pairs[_i].pair));
	ck_assert_int_eq(namepair_role(&p, pairs[_i].first), NAMEPAIR_FIRST);
	ck_assert_int_eq(namepair_role(&p, pairs[_i].twin), NAMEPAIR_TWIN);
	ck_assert_int_eq(namepair_twin(&p, pairs[_i].first, out, sizeof(out)),
			 (int)strlen(pairs[_i].twin));
	ck_assert_str_eq(out, pairs[_i].twin);
}
END_TEST

START_TEST(a_name_with_neither_is_of_no_pair)
{
	struct namepair p;
	char out[64];

	ck_assert(namepair_parse(&p, "_x.npy:_y.npy"));
	ck_assert_int_eq(namepair_role(&p, "x.npy"), NAMEPAIR_NEITHER);
	ck_assert_int_eq(namepair_role(&p, ""), NAMEPAIR_NEITHER);
	ck_assert_int_eq(namepair_role(&p, "a_x.np"), NAMEPAIR_NEITHER);
	ck_assert_int_eq(namepair_twin(&p, "x.npy", out, sizeof(out)), -EINVAL);
}
END_TEST

START_TEST(a_twin_that_does_not_fit_is_refused)
{
	struct namepair p;
	char out[7];

	ck_assert(namepair_parse(&p, "a:bcd"));
	ck_assert_int_eq(namepair_twin(&p, "xxxa", out, sizeof(out)), 6);
	ck_assert_int_eq(namepair_twin(&p, "xxxxa", out, sizeof(out)), -ENAMETOOLONG);
}
END_TEST

START_TEST(what_is_no_pair_is_refused)
{
	static const char *const texts[] = { "", "a", ":", "a:", ":a", "a:b:c", "a:a", "a::" };
	struct namepair p;

	ck_assert(!namepair_parse(&p, texts[_i]));
}
END_TEST

Suite *suite_namepair(void)
{
	Suite *s = suite_create("namepair");
	TCase *t = tcase_create("namepair");

	tcase_add_loop_test(t, a_twin_has_to_in_place_of_the_last_from, 0, (int)ARRAY_LEN(pairs));
	tcase_add_test(t, a_name_with_neither_is_of_no_pair);
	tcase_add_test(t, a_twin_that_does_not_fit_is_refused);
	tcase_add_loop_test(t, what_is_no_pair_is_refused, 0, 8);
	suite_add_tcase(s, t);
	return s;
}
