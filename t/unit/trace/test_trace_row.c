/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_row.c - rows of comma-separated values are read as RFC 4180 has them, and names
 * written so that they come back. */
#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "suites.h"
#include "trace/trace_internal.h"

static struct mlgen_err err;

static void begin(struct trace_input *in, const char *text, size_t bytes)
{
	int fd = memfd_create("rows", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	memset(&err, 0, sizeof(err));
	trace_input_init(in, fd, "f");
	in->owns_fd = true;
}

/* Cells with '|' between them, rows with a newline at their end; or what is wrong. */
static void read_rows(struct buf *out, const char *text, size_t bytes)
{
	struct trace_row row = { 0 };
	struct trace_input in;
	int rc;

	begin(&in, text, bytes);
	while ((rc = trace_row_next(&row, &in, &err)) > 0) {
		for (size_t i = 0; i < row.count; i++) {
			size_t n;
			const char *cell = trace_row_cell(&row, i, &n);

			ck_assert_int_eq(cell[n], 0);
			buf_add(out, i ? "|" : "");
			buf_addn(out, cell, n);
		}
		buf_addc(out, '\n');
	}
	if (rc < 0)
		buf_add(out, err.text);
	trace_row_fini(&row);
	trace_input_close(&in);
}

static const struct {
	const char *text, *rows;
} texts[] = {
	{ "a,b\n1,2\n", "a|b\n1|2\n" },
	{ "a,b\r\n1,2\r\n", "a|b\n1|2\n" },
	{ "a,b\n1,2", "a|b\n1|2\n" },
	{ "\xef\xbb\xbf"
	  "a,b\n",
	  "a|b\n" },
	{ "", "" },
	{ "\n\na\n\r\n", "a\n" },
	{ ",\n,,\n", "|\n||\n" },
	{ "\"a,b\",\"c\"\"d\",\"\"\n", "a,b|c\"d|\n" },
	{ "\"a\nb\",c\nd,e\n", "a\nb|c\nd|e\n" },
	{ "\"a\r\nb\"\r\nc\n", "a\r\nb\nc\n" },
	{ "a\rb,c\n", "a\rb|c\n" },
	{ "\"a\"", "a\n" },
	{ "a\nb\"c\n", "a\nf:2: a quote in the middle of a cell; put the whole cell in quotes, and "
		       "double the quote" },
	{ "a\n\"b\"c\n",
	  "a\nf:2: text after the quote that ends a cell; double each quote within a cell" },
	{ "a\nb,\"c\nd\n",
	  "a\nf:2: the quote opened here is not closed before the end of the file" },
	{ "\"a\nb\"\n\"c\n\nd\"e\n",
	  "a\nb\nf:5: text after the quote that ends a cell; double each quote within a cell" },
};

START_TEST(rows_are_read_as_they_are_written)
{
	struct buf out = { 0 };

	read_rows(&out, texts[_i].text, strlen(texts[_i].text));
	ck_assert_str_eq(buf_str(&out), texts[_i].rows);
	buf_fini(&out);
}
END_TEST

START_TEST(a_byte_of_zero_is_refused_with_its_line)
{
	struct buf out = { 0 };

	read_rows(&out, "a\nb\0c\n", 6);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "f:2: a NUL byte"));
	buf_fini(&out);
}
END_TEST

START_TEST(a_row_without_an_end_is_refused_and_not_kept)
{
	static char text[TRACE_INPUT_LINE_MAX + 4096];
	struct buf out = { 0 };

	memset(text, 'x', sizeof(text));
	memcpy(text, "a\n\"", 3);
	read_rows(&out, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "f:2: a row of more than 1 MiB"));
	buf_fini(&out);
}
END_TEST

/* ---- cells ---- */

static const struct {
	const char *name;
	size_t bytes;
	const char *text;
} names[] = {
	{ "/data/a b.npz", 13, "/data/a b.npz" },
	{ "a\nb", 3, "a\\x0Ab" },
	{ "a\\b", 3, "a\\\\b" },
	{ "a\\x0A", 5, "a\\\\x0A" },
	{ "\x7f\x01", 2, "\\x7F\\x01" },
	{ "\xc3\xa4\xe2\x82\xac", 5, "\xc3\xa4\xe2\x82\xac" },
	{ "\xc3", 1, "\\xC3" },
	{ "\xff"
	  "a\xc3(",
	  4,
	  "\\xFF"
	  "a\\xC3(" },
	{ "\xc2\x85", 2, "\\xC2\\x85" },
	{ "\xed\xa0\x80", 3, "\\xED\\xA0\\x80" },
	{ "\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80" },
	{ "\xf4\x90\x80\x80", 4, "\\xF4\\x90\\x80\\x80" },
	{ "\xc0\xaf", 2, "\\xC0\\xAF" },
};

START_TEST(a_name_of_any_bytes_is_text_and_comes_back)
{
	struct buf text = { 0 };

	trace_text_append(&text, names[_i].name, names[_i].bytes);
	ck_assert_str_eq(buf_str(&text), names[_i].text);
	size_t bytes = text.len;

	ck_assert_ptr_null(trace_text_unescape(text.s, &bytes));
	ck_assert_uint_eq(bytes, names[_i].bytes);
	ck_assert_mem_eq(text.s, names[_i].name, bytes);
	buf_fini(&text);
}
END_TEST

START_TEST(what_is_no_escape_is_pointed_at)
{
	static const char *const wrong[] = { "a\\", "a\\n", "a\\x", "a\\x1", "a\\x1g" };

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char text[8];
		size_t bytes = strlen(wrong[i]);

		memcpy(text, wrong[i], bytes + 1);
		ck_assert_ptr_eq(trace_text_unescape(text, &bytes), text + 1);
	}
}
END_TEST

START_TEST(a_cell_is_quoted_where_it_must_be)
{
	static const char *const cells[][2] = {
		{ "a b", "a b" },       { "a,b", "\"a,b\"" }, { "a\"b", "\"a\"\"b\"" },
		{ "a\nb", "\"a\nb\"" }, { "", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		struct buf out = { 0 };

		trace_row_append(&out, cells[i][0], strlen(cells[i][0]));
		ck_assert_str_eq(buf_str(&out), cells[i][1]);
		buf_fini(&out);
	}
}
END_TEST

/* ---- numbers ---- */

static const struct {
	const char *text, *wrong;
	int64_t value;
} numbers[] = {
	{ "0", NULL, 0 },
	{ "-5", NULL, -5 },
	{ "9223372036854775807", NULL, INT64_MAX },
	{ "-9223372036854775808", NULL, INT64_MIN },
	{ "9223372036854775808", "is too large", 0 },
	{ "-9223372036854775809", "is too large", 0 },
	{ "99999999999999999999999", "is too large", 0 },
	{ "", "is empty", 0 },
	{ "-", "is negative", 0 },
	{ "--5", "is not a whole number", 0 },
	{ "1.5", "is not a whole number", 0 },
	{ " 1", "is not a whole number", 0 },
	{ "+1", "is not a whole number", 0 },
	{ "0x10", "is not a whole number", 0 },
};

START_TEST(a_number_is_all_of_its_text)
{
	struct buf out = { 0 };
	const char *text = numbers[_i].text;
	int64_t v = 0;

	ck_assert_pstr_eq(trace_number_parse_signed(text, strlen(text), &v), numbers[_i].wrong);
	if (numbers[_i].wrong)
		return;
	ck_assert_int_eq(v, numbers[_i].value);
	trace_number_append_signed(&out, v);
	ck_assert_str_eq(buf_str(&out), text);
	buf_fini(&out);
}
END_TEST

START_TEST(numbers_without_a_sign_have_a_limit)
{
	uint64_t v = 0;

	ck_assert_ptr_null(trace_number_parse("18446744073709551615", 20, UINT64_MAX, &v));
	ck_assert_uint_eq(v, UINT64_MAX);
	ck_assert_str_eq(trace_number_parse("18446744073709551616", 20, UINT64_MAX, &v),
			 "is too large");
	ck_assert_str_eq(trace_number_parse("11", 2, 10, &v), "is too large");
	ck_assert_str_eq(trace_number_parse("-1", 2, 10, &v), "is negative");
}
END_TEST

Suite *suite_trace_row(void)
{
	Suite *s = suite_create("trace_row");
	TCase *t = tcase_create("trace_row");

	tcase_add_loop_test(t, rows_are_read_as_they_are_written, 0, (int)ARRAY_LEN(texts));
	tcase_add_test(t, a_byte_of_zero_is_refused_with_its_line);
	tcase_add_test(t, a_row_without_an_end_is_refused_and_not_kept);
	tcase_add_loop_test(t, a_name_of_any_bytes_is_text_and_comes_back, 0,
			    (int)ARRAY_LEN(names));
	tcase_add_test(t, what_is_no_escape_is_pointed_at);
	tcase_add_test(t, a_cell_is_quoted_where_it_must_be);
	tcase_add_loop_test(t, a_number_is_all_of_its_text, 0, (int)ARRAY_LEN(numbers));
	tcase_add_test(t, numbers_without_a_sign_have_a_limit);
	suite_add_tcase(s, t);
	return s;
}
