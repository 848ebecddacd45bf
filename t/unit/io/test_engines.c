/* SPDX-License-Identifier: Apache-2.0 */
/* test_engines.c - the list of built engines, their help, and the absent ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/engines.h"
#include "suites.h"

/* What engines_help prints; to be freed. */
static char *help_text(const char *name)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct mlgen_err err = { 0 };

	ck_assert_ptr_nonnull(f);
	ck_assert_msg(engines_help(f, name, &err) == 0, "%s", err.text);
	ck_assert_int_eq(fclose(f), 0);
	return text;
}

START_TEST(each_built_engine_is_complete_and_found_by_its_name)
{
	unsigned count = 0;

	for (const struct mlgen_engine *const *at = engines_built; *at; at++) {
		const struct mlgen_engine *e = *at;

		ck_assert_uint_eq(e->abi, MLGEN_ENGINE_ABI);
		ck_assert_uint_eq(e->size, sizeof(struct mlgen_engine));
		ck_assert_ptr_nonnull(e->submit);
		ck_assert_ptr_nonnull(e->help);
		ck_assert_uint_ne(e->caps & MLGEN_CAP(MLGEN_READ), 0);
		ck_assert((e->opts != NULL) == (e->opts_size > 0));
		ck_assert_ptr_eq(engines_find(e->name), e);
		count++;
	}
	ck_assert_uint_ge(count, 2);
	ck_assert_ptr_nonnull(engines_find("psync"));
	ck_assert_ptr_nonnull(engines_find("null"));
	ck_assert_ptr_null(engines_find("psyn"));
	ck_assert_ptr_null(engines_find(""));
}
END_TEST

START_TEST(no_engine_is_both_built_and_absent)
{
	for (const struct engine_absent *a = engines_absent; a->name; a++) {
		ck_assert_ptr_null(engines_find(a->name));
		ck_assert_uint_gt(strlen(a->why), 0);
	}
}
END_TEST

/* Lines are broken where they are full: make it one line of words. */
static void fill_words(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		bool is_blank = *at == ' ' || *at == '\n';

		if (!is_blank)
			*to++ = *at;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = '\0';
}

START_TEST(help_lists_the_built_ones_and_why_others_are_not)
{
	char *text = help_text("");

	fill_words(text);
	for (const struct mlgen_engine *const *e = engines_built; *e; e++) {
		ck_assert_ptr_nonnull(strstr(text, (*e)->name));
		ck_assert_ptr_nonnull(strstr(text, (*e)->help));
	}
	for (const struct engine_absent *a = engines_absent; a->name; a++)
		ck_assert_ptr_nonnull(strstr(text, a->why));
	free(text);
}
END_TEST

START_TEST(help_of_one_engine_names_no_other)
{
	char *text = help_text("psync");

	ck_assert_ptr_eq(strstr(text, "psync"), text);
	ck_assert_ptr_nonnull(strstr(text, "pread and pwrite"));
	ck_assert_ptr_null(strstr(text, "no I/O at all"));
	free(text);
}
END_TEST

START_TEST(an_unknown_engine_is_refused_with_the_list)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(engines_help(stderr, "warp", &err), -ENOENT);
	ck_assert_int_eq(err.code, -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "ioengine=warp: no such engine; the engines are"));
	ck_assert_ptr_nonnull(strstr(err.text, " psync"));
}
END_TEST

START_TEST(an_absent_engine_is_refused_with_the_reason)
{
	for (const struct engine_absent *a = engines_absent; a->name; a++) {
		struct mlgen_err err = { 0 };

		ck_assert_int_eq(engines_help(stderr, a->name, &err), -ENOENT);
		ck_assert_ptr_nonnull(strstr(err.text, a->why));
	}
}
END_TEST

Suite *suite_engines(void)
{
	Suite *s = suite_create("engines");
	TCase *t = tcase_create("list");

	tcase_add_test(t, each_built_engine_is_complete_and_found_by_its_name);
	tcase_add_test(t, no_engine_is_both_built_and_absent);
	tcase_add_test(t, help_lists_the_built_ones_and_why_others_are_not);
	tcase_add_test(t, help_of_one_engine_names_no_other);
	tcase_add_test(t, an_unknown_engine_is_refused_with_the_list);
	tcase_add_test(t, an_absent_engine_is_refused_with_the_reason);
	suite_add_tcase(s, t);
	return s;
}
