/* SPDX-License-Identifier: Apache-2.0 */
/* test_wrap.c - where lines break. */
#include <check.h>

#include "base/log.h"
#include "suites.h"

typedef void wrapper(struct buf *out, size_t indent, size_t columns, const char *text);

static void expect(wrapper *wrap, const char *label, const char *text, const char *lines)
{
	struct buf out = { 0 };

	buf_add(&out, label);
	wrap(&out, 4, 20, text);
	ck_assert_str_eq(buf_str(&out), lines);
	buf_fini(&out);
}

START_TEST(words_fill_lines_behind_the_label)
{
	expect(wrap_words, "ab  ", "one two three four five", "ab  one two three\n    four five");
	/* Exactly as long as a line, and one letter more. */
	expect(wrap_words, "    ", "0123456789 12345", "    0123456789 12345");
	expect(wrap_words, "    ", "0123456789 123456", "    0123456789\n    123456");
	expect(wrap_words, "", "", "");
}
END_TEST

START_TEST(a_label_beyond_the_indent_is_followed_by_a_blank)
{
	expect(wrap_words, "label", "one two three", "label one two three");
	expect(wrap_words, "a line\nlabel", "one two three four",
	       "a line\nlabel one two three\n    four");
}
END_TEST

START_TEST(a_word_longer_than_a_line_is_left_whole)
{
	expect(wrap_words, "    ", "a /a/path/that/goes/beyond/it b",
	       "    a\n    /a/path/that/goes/beyond/it\n    b");
}
END_TEST

START_TEST(lists_break_behind_whole_items)
{
	expect(wrap_lists, "    ", "one, two 2, three 3 4", "    one, two 2,\n    three 3 4");
	/* Less than half a line is not left empty for it. */
	expect(wrap_lists, "    ", "one, 2 3 4 5 6 7 8 9 0", "    one, 2 3 4 5 6 7\n    8 9 0");
}
END_TEST

START_TEST(two_lines_break_behind_a_clause)
{
	expect(wrap_lists, "    ", "one two 3; 4 five, six 7", "    one two 3;\n    4 five, six 7");
}
END_TEST

START_TEST(a_word_longer_than_a_line_of_a_list_is_left_whole)
{
	expect(wrap_lists, "    ", "0123456789abcdefghij", "    0123456789abcdefghij");
	expect(wrap_lists, "    ", "in /a/path/that/goes/beyond/it; 2 more",
	       "    in\n    /a/path/that/goes/beyond/it;\n    2 more");
}
END_TEST

Suite *suite_wrap(void)
{
	Suite *s = suite_create("wrap");
	TCase *t = tcase_create("wrap");

	tcase_add_test(t, words_fill_lines_behind_the_label);
	tcase_add_test(t, a_label_beyond_the_indent_is_followed_by_a_blank);
	tcase_add_test(t, a_word_longer_than_a_line_is_left_whole);
	tcase_add_test(t, lists_break_behind_whole_items);
	tcase_add_test(t, two_lines_break_behind_a_clause);
	tcase_add_test(t, a_word_longer_than_a_line_of_a_list_is_left_whole);
	suite_add_tcase(s, t);
	return s;
}
