/* SPDX-License-Identifier: Apache-2.0 */
/* test_printable.c - no text of others is an order to a terminal. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/log.h"
#include "base/dist.h"
#include "suites.h"

static const struct {
	const char *text, *want;
} texts[] = {
	{ "", "" },
	{ "/data/a b\\c~", "/data/a b\\c~" },
	{ "\x1b[2J\a\x7f", "\\x1b[2J\\x07\\x7f" },
	{ "a\nb\tc\rd", "a\\nb\\tc\\rd" },
	/* Letters of two, three and four bytes. */
	{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
	{ "\xe6\x95\xb0\xe6\x8d\xae", "\xe6\x95\xb0\xe6\x8d\xae" },
	{ "\xf0\x9f\x90\x90", "\xf0\x9f\x90\x90" },
	{ "\xd7\xa9\xd7\x9c", "\xd7\xa9\xd7\x9c" }, /* right to left */
	/* C1: as one byte, and as UTF-8 has it. */
	{ "\x9b"
	  "2J",
	  "\\x9b2J" },
	{ "\xc2\x9b"
	  "2J\xc2\x85",
	  "\\u009b2J\\u0085" },
	{ "\xc2\xa0", "\xc2\xa0" }, /* the first behind them */
	{ "job\xe2\x80\xaegnp.exe", "job\\u202egnp.exe" },
	{ "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\\u200e\\u200f\\u061c" },
	{ "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069" },
	{ "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029" },
	{ "\xe2\x80\x94", "\xe2\x80\x94" }, /* a dash */
	/* No UTF-8: cut short, too long, half a pair, too large, stray. */
	{ "\xc3", "\\xc3" },
	{ "\xe2\x80", "\\xe2\\x80" },
	{ "\xc0\x9b", "\\xc0\\x9b" },
	{ "\xe0\x82\x9b", "\\xe0\\x82\\x9b" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
	{ "\xff\x80", "\\xff\\x80" },
	{ "\xc3(", "\\xc3(" },
};

START_TEST(a_text_is_shown_and_not_obeyed)
{
	struct buf b = { 0 };
	char copy[64];

	printable_add(&b, texts[_i].text);
	ck_assert_str_eq(buf_str(&b), texts[_i].want);
	ck_assert_uint_eq(printable_copy(copy, sizeof(copy), texts[_i].text), b.len);
	ck_assert_str_eq(copy, texts[_i].want);
	ck_assert(printable_is(texts[_i].want));
	ck_assert_int_eq(printable_is(texts[_i].text), !strcmp(texts[_i].text, texts[_i].want));
	buf_fini(&b);
}
END_TEST

START_TEST(lines_and_tabs_of_a_page_stay)
{
	static const char page[] = "a\tb\nc\r\x1b\n";
	struct buf b = { 0 };

	printable_add_lines(&b, page, sizeof(page)); /* the zero byte, too */
	ck_assert_str_eq(buf_str(&b), "a\tb\nc\\r\\x1b\n\\x00");
	buf_fini(&b);
}
END_TEST

START_TEST(what_does_not_fit_is_cut_between_letters)
{
	char out[6];

	ck_assert_uint_eq(printable_copy(out, sizeof(out),
					 "ab\x1b"
					 "c"),
			  2);
	ck_assert_str_eq(out, "ab");
	ck_assert_uint_eq(printable_copy(out, sizeof(out), "abcd\xc3\xbc"), 4);
	ck_assert_uint_eq(printable_copy(out, 1, "abc"), 0);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(letters_are_padded_by_the_columns_they_take)
{
	struct buf b = { 0 };

	printable_pad(&b, "gr\xc3\xbcn", 6);
	ck_assert_str_eq(buf_str(&b), "  gr\xc3\xbcn");
	buf_reset(&b);
	printable_pad(&b, "gr\xc3\xbcn", -6);
	ck_assert_str_eq(buf_str(&b), "gr\xc3\xbcn  ");
	buf_reset(&b);
	printable_pad(&b, "longer", 3);
	ck_assert_str_eq(buf_str(&b), "longer");
	buf_fini(&b);
}
END_TEST

/* Whatever the bytes: one pass is enough, and leaves none that would act. */
START_TEST(any_bytes_become_printable_at_once)
{
	for (uint64_t i = 0; i < 20000; i++) {
		char raw[16], once[128], twice[128];

		for (uint64_t k = 0; k < sizeof(raw) - 1; k++)
			raw[k] = (char)(1 + rng_u64(7, i, k) % 255);
		raw[sizeof(raw) - 1] = '\0';
		printable_copy(once, sizeof(once), raw);
		printable_copy(twice, sizeof(twice), once);
		ck_assert_str_eq(once, twice);
		for (const char *c = once; *c; c++)
			ck_assert((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}
END_TEST

Suite *suite_printable(void)
{
	Suite *s = suite_create("printable");
	TCase *t = tcase_create("printable");

	tcase_add_loop_test(t, a_text_is_shown_and_not_obeyed, 0,
			    (int)(sizeof(texts) / sizeof(*texts)));
	tcase_add_test(t, lines_and_tabs_of_a_page_stay);
	tcase_add_test(t, what_does_not_fit_is_cut_between_letters);
	tcase_add_test(t, letters_are_padded_by_the_columns_they_take);
	tcase_add_test(t, any_bytes_become_printable_at_once);
	suite_add_tcase(s, t);
	return s;
}
