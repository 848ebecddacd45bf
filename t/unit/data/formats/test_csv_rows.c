/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv_rows.c - rows of format=csv, made and found, and pandas' calls on them. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "found_file.h"
#include "plan_text.h"
#include "suites.h"
#include "written.h"

static void look(struct found *f, const char *text, size_t bytes)
{
	char name[64];
	int fd = found_make(text, bytes, name);

	ck_assert_int_ge(fd, 0);
	found_path(f, &format_csv, name, bytes, NULL);
	close(fd);
}

/* What was found of sample i; words are still in the file without a name. */
static void range(struct found *f, uint64_t i, uint64_t *off, uint64_t *len)
{
	struct namefile_map map;

	ck_assert_int_eq(namefile_flush(&f->words, &f->err), 0);
	ck_assert_int_eq(namefile_map(&f->words, 0, &map, &f->err), 0);
	f->shape.words = (const void *)map.bytes;
	format_sample_range(&format_csv, &f->shape, i, 1, off, len);
	namefile_unmap(&map);
}

static const struct made_case {
	uint64_t samples, numbers, bytes;
} made[] = {
	{ 1, 1, 3 },      { 3, 1, 9 },        { 1, 2, 7 },
	{ 2, 256, 1828 }, { 3, 1000, 10710 }, { 2, 100000, 714062 },
};
#define MADE ((int)(sizeof(made) / sizeof(made[0])))

START_TEST(a_row_has_its_numbers_and_always_as_many_bytes)
{
	const struct file_shape shape = { .samples = made[_i].samples,
					  .sides = { 1, made[_i].numbers } };
	uint8_t *file = whole(&format_csv, &shape, 3, LEAST_BUFFER);
	char *at = (char *)file, *end = at + made[_i].bytes;
	uint64_t off, len;

	ck_assert_uint_eq(format_csv.file_bytes(&shape), made[_i].bytes);
	for (uint64_t row = 0; row < shape.samples; row++) {
		format_sample_range(&format_csv, &shape, row, 1, &off, &len);
		ck_assert_ptr_eq(at, (char *)file + off);
		for (uint64_t i = 0; i < shape.sides[1]; i++) {
			char *next;
			long v = strtol(at, &next, 10);

			ck_assert_int_ge(v, 0);
			ck_assert_int_le(v, 255);
			ck_assert_ptr_ne(next, at);
			ck_assert_int_eq(*next, i + 1 == shape.sides[1] ? '\n' : ',');
			at = next + 1;
		}
		ck_assert_uint_eq((uint64_t)(at - (char *)file), off + len);
	}
	ck_assert_ptr_eq(at, end);
	mem_free(file);
}
END_TEST

START_TEST(what_mlgen_makes_is_found_row_by_row)
{
	const struct file_shape shape = { .samples = made[_i].samples,
					  .sides = { 1, made[_i].numbers } };
	uint8_t *file = whole(&format_csv, &shape, 3, LEAST_BUFFER);
	uint64_t off, len, want_off, want_len;
	struct found f;

	look(&f, (char *)file, made[_i].bytes);
	ck_assert_msg(f.result == 0, "%s", f.err.text);
	ck_assert_uint_eq(f.look.samples, shape.samples);
	ck_assert_uint_eq(f.look.sample_bytes, made[_i].bytes);
	for (uint64_t i = 0; i < shape.samples; i++) {
		range(&f, i, &off, &len);
		format_sample_range(&format_csv, &shape, i, 1, &want_off, &want_len);
		ck_assert_uint_eq(off, want_off);
		ck_assert_uint_eq(len, want_len);
	}
	scanned_fini(&f);
	mem_free(file);
}
END_TEST

/* clang-format off */
static const struct text_case {
	const char *text;
	uint64_t samples;
	uint64_t last_off, last_len;	/* of the last row */
	const char *why;
} texts[] = {
	{ "1,2\n3,4\n", 2, 4, 4, NULL },
	{ "1,2\n3,4", 2, 4, 3, NULL },
	{ "1,2\r\n3,4\r\n", 2, 5, 5, NULL },
	{ "1,2\r3,4\r", 2, 4, 4, NULL },
	{ "1\n\n\n2\n", 2, 4, 2, NULL },
	{ "1\n  \t\n2\n\n", 2, 6, 2, NULL },
	{ "\n\n1\n", 1, 2, 2, NULL },
	{ "a,\"b\nc\",d\ne\n", 2, 10, 2, NULL },
	{ "\"a\"\"\n\",b\ne\n", 2, 9, 2, NULL },
	{ "a\"b\nc\"\n", 2, 4, 3, NULL },
	{ ",\n,\n", 2, 2, 2, NULL },
	{ "\"\"\nx\n", 2, 3, 2, NULL },
	{ "\xef\xbb\xbf\"a\nb\",1\nc,2\n", 2, 11, 4, NULL },
	{ "\xef\xbb\xbf" "1,2\n", 1, 3, 4, NULL },
	{ "\xef\xbb\xbf\n", 0, 0, 0, NULL },
	{ "\xef\xbb\xbf", 0, 0, 0, NULL },
	{ "1\n\xef\xbb\xbf\"a\nb\n", 3, 8, 2, NULL },
	{ "", 0, 0, 0, NULL },
	{ "\n \n", 0, 0, 0, NULL },
	{ "a,\"b\nc,d\ne\n", 0, 0, 0, "at byte 2: the quote that opens here" },
};
/* clang-format on */
#define TEXTS ((int)(sizeof(texts) / sizeof(texts[0])))

START_TEST(rows_are_counted_as_pandas_counts_them)
{
	const struct text_case *c = &texts[_i];
	uint64_t off, len;
	struct found f;

	look(&f, c->text, strlen(c->text));
	ck_assert_int_eq(f.result, c->why ? -EINVAL : 0);
	if (c->why) {
		ck_assert_msg(strstr(f.err.text, c->why) != NULL, "%s", f.err.text);
		scanned_fini(&f);
		return;
	}
	ck_assert_uint_eq(f.look.samples, c->samples);
	ck_assert_uint_eq(f.look.word_count, c->samples);
	if (c->samples) {
		range(&f, c->samples - 1, &off, &len);
		ck_assert_uint_eq(off, c->last_off);
		ck_assert_uint_eq(len, c->last_len);
	}
	scanned_fini(&f);
}
END_TEST

START_TEST(what_is_no_text_is_refused)
{
	struct found f;

	look(&f, "1,2\n3,\0004\n", 9);
	ck_assert_int_eq(f.result, -EINVAL);
	ck_assert_ptr_nonnull(strstr(f.err.text, "at byte 6: a zero byte"));
	scanned_fini(&f);
}
END_TEST

START_TEST(pandas_reads_until_nothing_comes)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} plans[] = {
		{ 10, "open stat 262144@0=10 262134@10=0 262144@10=0 close" },
		{ 262144, "open stat 262144@0 262144@262144=0 close" },
		{ 262145,
		  "open stat 262144@0 262144@262144=1 262143@262145=0 262144@262145=0 close" },
	};
	static struct dataset ds = { .format = &format_csv, .parts = 1 };
	const struct plan_config config = { .dataset = &ds };

	for (unsigned i = 0; i < 3; i++) {
		struct found f = { .shape = { .samples = 1,
					      .facts = f.look.facts,
					      .scanned_bytes = plans[i].bytes } };
		struct plan_op op = { 0 };
		struct plan p;
		char text[256] = "";

		found_plan(&f, &format_csv, &config, &p);
		while (p.kind->next(&p, &op)) {
			found_text(&p, &op, text, sizeof(text));
			memset(&op, 0, sizeof(op));
		}
		ck_assert_str_eq(text, plans[i].text);
	}
}
END_TEST

Suite *suite_csv_rows(void)
{
	Suite *s = suite_create("csv_rows");
	TCase *t = tcase_create("csv_rows");

	tcase_add_loop_test(t, a_row_has_its_numbers_and_always_as_many_bytes, 0, MADE);
	tcase_add_loop_test(t, what_mlgen_makes_is_found_row_by_row, 0, MADE);
	tcase_add_loop_test(t, rows_are_counted_as_pandas_counts_them, 0, TEXTS);
	tcase_add_test(t, what_is_no_text_is_refused);
	tcase_add_test(t, pandas_reads_until_nothing_comes);
	suite_add_tcase(s, t);
	return s;
}
