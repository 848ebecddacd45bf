/* SPDX-License-Identifier: Apache-2.0 */
/* test_diag.c - faults are told once, in order, and not without end. */
#include "suites.h"

#include <string.h>

#include "base/mem.h"
#include "job/job.h"

static const struct diag_place nowhere;

static struct diag_place at(const char *file, unsigned line)
{
	return (struct diag_place){ file, line };
}

/* What diag_print writes; mem_free it. */
static char *printed(const struct diag *d)
{
	char text[16384] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");

	ck_assert_ptr_nonnull(to);
	diag_print(d, to);
	fclose(to);
	return mem_strdup(text);
}

static void assert_printed(const struct diag *d, const char *want)
{
	char *text = printed(d);

	ck_assert_str_eq(text, want);
	mem_free(text);
}

START_TEST(faults_stand_in_order_of_file_and_line)
{
	struct diag d;

	diag_init(&d);
	diag_add(&d, DIAG_ERROR, at("b.job", 9), "nine");
	diag_add(&d, DIAG_WARNING, at("b.job", 2), "two");
	diag_add(&d, DIAG_ERROR, at("a.job", 0), "of the file");
	diag_add(&d, DIAG_NOTE, nowhere, "of the command line");
	diag_add(&d, DIAG_ERROR, at("b.job", 9), "nine again");
	assert_printed(&d, "mlgen: note: of the command line\n"
			   "b.job:2: warning: two\n"
			   "b.job:9: nine\n"
			   "b.job:9: nine again\n"
			   "a.job: of the file\n");
	ck_assert_uint_eq(d.errors, 3);
	diag_fini(&d);
}
END_TEST

START_TEST(the_same_fault_is_told_once)
{
	struct diag d;

	diag_init(&d);
	for (int i = 0; i < 3; i++)
		diag_add(&d, DIAG_ERROR, at("a.job", 1), "%s: 0", "bs");
	diag_add(&d, DIAG_ERROR, at("a.job", 2), "bs: 0");
	diag_add(&d, DIAG_ERROR, nowhere, "bs: 0");
	ck_assert_uint_eq(d.errors, 3);
	assert_printed(&d, "mlgen: bs: 0\na.job:1: bs: 0\na.job:2: bs: 0\n");
	diag_fini(&d);
}
END_TEST

START_TEST(after_twenty_errors_of_a_file_the_rest_is_counted)
{
	struct diag d;
	char *text = NULL;
	unsigned lines = 0;

	diag_init(&d);
	diag_add(&d, DIAG_WARNING, at("b.job", 1), "left out");
	for (unsigned i = 0; i < 1234; i++)
		diag_add(&d, DIAG_ERROR, at("a.job", i + 1), "x");
	for (unsigned i = 0; i < 21; i++)
		diag_add(&d, DIAG_ERROR, at("b.job", i + 1), "y");
	diag_add(&d, DIAG_ERROR, nowhere, "z");
	ck_assert_uint_eq(d.errors, 1256);
	text = printed(&d);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	ck_assert_uint_eq(lines, 43);
	ck_assert_ptr_nonnull(strstr(text, "a.job:20: x\n"
					   "a.job: 1214 more errors\n"));
	ck_assert_ptr_nonnull(strstr(text, "b.job:20: y\n"
					   "b.job: 1 more error\n"));
	ck_assert_ptr_null(strstr(text, "left out"));
	mem_free(text);
	diag_fini(&d);
}
END_TEST

START_TEST(twenty_errors_of_a_file_are_told_with_its_warnings)
{
	struct diag d;
	char *text = NULL;

	diag_init(&d);
	for (unsigned i = 0; i < 20; i++)
		diag_add(&d, DIAG_ERROR, at("a.job", i + 1), "x");
	diag_add(&d, DIAG_WARNING, at("a.job", 30), "w");
	text = printed(&d);
	ck_assert_ptr_null(strstr(text, "more"));
	ck_assert_ptr_nonnull(strstr(text, "a.job:30: warning: w\n"));
	mem_free(text);
	diag_fini(&d);
}
END_TEST

START_TEST(control_characters_do_not_reach_the_terminal)
{
	struct diag d;

	diag_init(&d);
	diag_add(&d, DIAG_ERROR, nowhere, "\x1b[2J\n\x7f");
	assert_printed(&d, "mlgen: \\x1b[2J\\n\\x7f\n");
	diag_fini(&d);
	ck_assert_uint_eq(d.count, 0);
}
END_TEST

Suite *suite_diag(void)
{
	Suite *s = suite_create("diag");
	TCase *t = tcase_create("diag");

	tcase_add_test(t, faults_stand_in_order_of_file_and_line);
	tcase_add_test(t, the_same_fault_is_told_once);
	tcase_add_test(t, after_twenty_errors_of_a_file_the_rest_is_counted);
	tcase_add_test(t, twenty_errors_of_a_file_are_told_with_its_warnings);
	tcase_add_test(t, control_characters_do_not_reach_the_terminal);
	suite_add_tcase(s, t);
	return s;
}
