/* SPDX-License-Identifier: Apache-2.0 */
/* test_columns.c - columns= and read_columns= are read strictly. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "data/formats/parquet/parquet.h"
#include "suites.h"

/* "NAME KIND BYTES[ list]", a column each. */
static void describe(struct buf *out, const struct columns *c)
{
	static const char *const kinds[] = {
		[COLUMN_INT8] = "int8",       [COLUMN_INT32] = "int32",
		[COLUMN_INT64] = "int64",     [COLUMN_FLOAT16] = "float16",
		[COLUMN_FLOAT32] = "float32", [COLUMN_FLOAT64] = "float64",
		[COLUMN_BYTES] = "bytes",
	};

	for (unsigned i = 0; i < c->count; i++) {
		const struct column *one = &c->list[i];

		buf_addf(out, "%s%s %s %lu%s", i ? ", " : "", one->name, kinds[one->kind],
			 (unsigned long)one->bytes, one->is_list ? " list" : "");
	}
}

/* clang-format off */
static const struct good_case {
	const char *text, *want;
} good[] = {
	{ "x:int8", "x int8 1" },
	{ "a:int8,b:int32,c:int64,d:float16,e:float32,f:float64",
	  "a int8 1, b int32 4, c int64 8, d float16 2, e float32 4, f float64 8" },
	{ "t5:float32[524328], m:int8[3]", "t5 float32 2097312 list, m int8 3 list" },
	{ "one:float64[1]", "one float64 8 list" },
	{ "f_000..002:float16", "f_000 float16 2, f_001 float16 2, f_002 float16 2" },
	{ "f_098..101:int8[2]", "f_098 int8 2 list, f_099 int8 2 list, f_100 int8 2 list, f_101 int8 2 list" },
	{ "f8..11:int8", "f8 int8 1, f9 int8 1, f10 int8 1, f11 int8 1" },
	{ "f0..10:int8", "f0 int8 1, f1 int8 1, f2 int8 1, f3 int8 1, f4 int8 1, f5 int8 1, f6 int8 1, f7 int8 1, f8 int8 1, f9 int8 1, f10 int8 1" },
	{ "7..7:int8", "7 int8 1" },
	{ "  a:int8 ,\tb-2:int8  ", "a int8 1, b-2 int8 1" },
};

static const struct bad_case {
	const char *text, *err;
} bad[] = {
	{ "x", "columns: 'x' has no type; write NAME:TYPE" },
	{ "", "columns: '' has no type" },
	{ "a:int8,", "columns: '' has no type" },
	{ "a:int8,,b:int8", "columns: '' has no type" },
	{ ":int8", "columns: a name is missing" },
	{ "a b:int8", "columns: 'a b': a name may have letters" },
	{ "a.b:int8", "columns: 'a.b': a name may have letters" },
	{ "x:flaot32", "columns: 'x:flaot32': 'flaot32' is not one of int8 int32 int64 float16 float32 float64; did you mean 'float32'?" },
	{ "x:", "columns: 'x:': '' is not one of int8" },
	{ "x:INT8", "columns: 'x:INT8': 'INT8' is not one of" },
	{ "x:int8:int8", "'int8:int8' is not one of" },
	{ "x:int8[", "a list is written NAME:TYPE[N]" },
	{ "x:int8[3", "a list is written NAME:TYPE[N]" },
	{ "x:int8[3]4", "a list is written NAME:TYPE[N]" },
	{ "x:int8[]", "a list is written NAME:TYPE[N]" },
	{ "x:int8[0]", "the number of values in a list must be at least 1" },
	{ "x:int8[-1]", "the number of values in a list must be at least 1" },
	{ "x:int8[three]", "the number of values in a list must be at least 1" },
	{ "x:float32[536870912]", "more than 2147483647 bytes in a row" },
	{ "x:float64[99999999999999999999]", "the number of values in a list must be at least 1" },
	{ "f_026..000:int8", "columns: 'f_026..000' runs backwards" },
	{ "f_10..9:int8", "runs backwards" },
	{ "f_000..26:int8", "'f_000..26' is not a range; write two numbers with the same number of digits" },
	{ "f_00..126:int8", "is not a range" },
	{ "f_..26:int8", "is not a range" },
	{ "f_00..:int8", "is not a range" },
	{ "f_00..f_26:int8", "is not a range" },
	{ "f_00..26x:int8", "is not a range" },
	{ "f_00...26:int8", "is not a range" },
	{ "..26:int8", "a name is missing" },
	{ "f0000000000..0000000001:int8", "is not a range" },
	{ "f0..99999:int8", "has more than 10000 columns" },
	{ "f0..9999:int8,g:int8", "columns: more than 10000 of them" },
	{ "a:int8,b:int8,a:int32", "columns: a appears twice" },
	{ "f0..9:int8,f7:int8", "columns: f7 appears twice" },
};

static const struct select_case {
	const char *text;
	const char *want; /* what is read */
	const char *err;
} selects[] = {
	{ NULL, "a f00 f01 f02 f03 b ", NULL },
	{ "a", "a ", NULL },
	{ "b,a", "a b ", NULL },
	{ "f01..03, b", "f01 f02 f03 b ", NULL },
	{ "f00..04", NULL, "read_columns: there is no column 'f04'; did you mean 'f00'?" },
	{ "nothing", NULL, "read_columns: there is no column 'nothing'; columns= names 6 columns, from 'a' to 'b'" },
	{ "a,,b", NULL, "read_columns: a name is missing" },
	{ "a,", NULL, "read_columns: a name is missing" },
	{ "a:int8", NULL, "read_columns: 'a:int8': a name may have letters" },
	{ "f03..01", NULL, "read_columns: 'f03..01' runs backwards" },
	{ "a,a", NULL, "read_columns: a appears twice" },
	{ "f01,f00..02", NULL, "read_columns: f01 appears twice" },
};
/* clang-format on */
#define LEN(table) ((int)(sizeof(table) / sizeof((table)[0])))

START_TEST(columns_are_named_one_by_one_or_by_ranges)
{
	struct columns c = { 0 };
	struct buf out = { 0 };

	ck_assert_int_eq(columns_parse(&c, good[_i].text, NULL), 0);
	describe(&out, &c);
	ck_assert_str_eq(buf_str(&out), good[_i].want);
	buf_fini(&out);
	columns_fini(&c);
}
END_TEST

START_TEST(what_is_no_column_is_refused_in_words)
{
	struct mlgen_err err = { 0 };
	struct columns c = { 0 };

	ck_assert_msg(columns_parse(&c, bad[_i].text, &err) == -EINVAL, "'%s' was taken",
		      bad[_i].text);
	ck_assert_msg(strstr(err.text, bad[_i].err), "'%s': %s", bad[_i].text, err.text);
	ck_assert_msg(strncmp(err.text, "columns: ", 9) == 0, "%s", err.text);
	columns_fini(&c);
}
END_TEST

START_TEST(only_the_columns_asked_for_are_read)
{
	const struct select_case *s = &selects[_i];
	struct mlgen_err err = { 0 };
	struct columns c = { 0 };
	struct buf out = { 0 };

	ck_assert_int_eq(columns_parse(&c, "a:int8,f00..03:int64,b:float16", NULL), 0);
	ck_assert_int_eq(columns_select(&c, s->text, &err), s->want ? 0 : -EINVAL);
	for (unsigned i = 0; i < c.count; i++)
		if (c.list[i].is_read)
			buf_addf(&out, "%s ", c.list[i].name);
	if (s->want)
		ck_assert_str_eq(buf_str(&out), s->want);
	else
		ck_assert_msg(strstr(err.text, s->err), "%s", err.text);
	buf_fini(&out);
	columns_fini(&c);
}
END_TEST

START_TEST(bytes_of_a_row_are_those_declared)
{
	struct columns c = { 0 };

	ck_assert_int_eq(columns_parse(&c, "a:int8,f0..9:float64,h:float16,t:float32[100]", NULL),
			 0);
	ck_assert_uint_eq(columns_row_bytes(&c), 1 + 80 + 2 + 400);
	ck_assert_uint_eq(columns_read_bytes(&c), 1 + 80 + 2 + 400);
	ck_assert_int_eq(columns_select(&c, "f2..3,a", NULL), 0);
	ck_assert_uint_eq(columns_row_bytes(&c), 1 + 80 + 2 + 400);
	ck_assert_uint_eq(columns_read_bytes(&c), 17);
	columns_fini(&c);
}
END_TEST

START_TEST(without_a_text_there_is_one_column)
{
	struct mlgen_err err = { 0 };
	struct columns c = { 0 };

	ck_assert_int_eq(columns_default(&c, 12345, NULL), 0);
	ck_assert_uint_eq(c.count, 1);
	ck_assert_str_eq(c.list[0].name, "data");
	ck_assert_uint_eq(c.list[0].bytes, 12345);
	ck_assert_int_eq(columns_select(&c, "data", NULL), 0);
	ck_assert_int_eq(columns_select(&c, "date", &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "did you mean 'data'"), "%s", err.text);
	columns_fini(&c);

	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(columns_default(&c, INT32_MAX, NULL), 0);
	columns_fini(&c);
	ck_assert_int_eq(columns_default(&c, INT32_MAX + UINT64_C(1), &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "sample_size: 2147483648 bytes"), "%s", err.text);
	columns_fini(&c);
}
END_TEST

START_TEST(a_name_has_at_most_255_letters)
{
	struct mlgen_err err = { 0 };
	struct columns c = { 0 };
	char text[300];

	snprintf(text, sizeof(text), "%0255d:int8", 1);
	ck_assert_int_eq(columns_parse(&c, text, NULL), 0);
	ck_assert_uint_eq(strlen(c.list[0].name), COLUMN_NAME_MAX);
	columns_fini(&c);
	snprintf(text, sizeof(text), "%0256d:int8", 1);
	ck_assert_int_eq(columns_parse(&c, text, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "at most 255"), "%s", err.text);
	columns_fini(&c);
	/* ... those of the last number, too */
	memset(&err, 0, sizeof(err));
	memset(text, 'x', 254);
	snprintf(text + 254, sizeof(text) - 254, "9..10:int8");
	ck_assert_int_eq(columns_parse(&c, text, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "at most 255"), "%s", err.text);
	columns_fini(&c);
}
END_TEST

Suite *suite_columns(void)
{
	Suite *s = suite_create("columns");
	TCase *t = tcase_create("columns");

	tcase_add_loop_test(t, columns_are_named_one_by_one_or_by_ranges, 0, LEN(good));
	tcase_add_loop_test(t, what_is_no_column_is_refused_in_words, 0, LEN(bad));
	tcase_add_loop_test(t, only_the_columns_asked_for_are_read, 0, LEN(selects));
	tcase_add_test(t, bytes_of_a_row_are_those_declared);
	tcase_add_test(t, without_a_text_there_is_one_column);
	tcase_add_test(t, a_name_has_at_most_255_letters);
	suite_add_tcase(s, t);
	return s;
}
