/* SPDX-License-Identifier: Apache-2.0 */
/* test_shellword.c - arguments are written so that a shell takes them back. */
#include <check.h>

#include "base/log.h"
#include "base/util.h"
#include "suites.h"

static const struct {
	const char *arg, *word;
} words[] = {
	{ "plain-1_=+./,:@%^", "plain-1_=+./,:@%^" },
	{ "", "''" },
	{ "a b", "'a b'" },
	{ "it's", "'it'\\''s'" },
	{ "$HOME", "'$HOME'" },
	{ "*", "'*'" },
	{ "new\nline", "'new\nline'" },
	{ "\xff", "'\xff'" },
};

START_TEST(an_argument_is_quoted_where_a_shell_would_change_it)
{
	struct buf out = { 0 };

	shellword_add(&out, words[_i].arg);
	ck_assert_str_eq(buf_str(&out), words[_i].word);
	buf_fini(&out);
}
END_TEST

START_TEST(arguments_have_a_blank_between_them)
{
	struct buf out = { 0 };

	shellword_add(&out, "a");
	shellword_add(&out, "");
	shellword_add(&out, "b c");
	ck_assert_str_eq(buf_str(&out), "a '' 'b c'");
	buf_fini(&out);
}
END_TEST

Suite *suite_shellword(void)
{
	Suite *s = suite_create("shellword");
	TCase *t = tcase_create("shellword");

	tcase_add_loop_test(t, an_argument_is_quoted_where_a_shell_would_change_it, 0,
			    (int)ARRAY_LEN(words));
	tcase_add_test(t, arguments_have_a_blank_between_them);
	suite_add_tcase(s, t);
	return s;
}
