/* SPDX-License-Identifier: Apache-2.0 */
/* test_parquet_look.c - footers of Parquet files that somebody else wrote: whole, damaged and
 * hostile. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "data/formats/parquet/parquet.h"
#include "data/formats/parquet/parquet_internal.h"
#include "found_file.h"
#include "suites.h"

#define ROOM 4096u
#define MAGIC 4u

/* A file of `data` bytes, and a footer of what is in `footer`. */
static uint8_t file[ROOM];
static uint8_t footer[ROOM / 2];

static size_t make(size_t data, size_t footer_bytes)
{
	size_t end = MAGIC + data;

	memset(file, 0, sizeof(file));
	memcpy(file, "PAR1", MAGIC);
	memcpy(file + end, footer, footer_bytes);
	end += footer_bytes;
	file[end] = (uint8_t)footer_bytes;
	file[end + 1] = (uint8_t)(footer_bytes >> 8);
	memcpy(file + end + 4, "PAR1", MAGIC);
	return end + 8;
}

static void look(struct found *f, size_t bytes, const char *columns)
{
	char text[64], name[64];
	struct format_options options = { .read_columns = NULL };
	int fd = found_make(file, bytes, name);

	ck_assert_int_ge(fd, 0);
	if (columns) {
		snprintf(text, sizeof(text), "%s", columns);
		options.read_columns = text;
	}
	found_path(f, &format_parquet, name, bytes, &options);
	close(fd);
}

struct group {
	int64_t rows, page, dictionary, bytes;
};

/* One column, "a.b", in each of the row groups. */
static size_t put_footer(const struct group *groups, unsigned n, int64_t rows)
{
	struct thrift t = { .to = footer, .size = sizeof(footer) };

	thrift_i32(&t, 1, 1);
	thrift_i64(&t, 3, rows);
	thrift_list(&t, 4, THRIFT_STRUCT, n);
	for (unsigned i = 0; i < n; i++) {
		unsigned group = thrift_begin_element(&t), chunk, meta;

		thrift_list(&t, 1, THRIFT_STRUCT, 1);
		chunk = thrift_begin_element(&t);
		thrift_i64(&t, 2, 0);
		meta = thrift_begin(&t, 3);
		thrift_list(&t, 3, THRIFT_BINARY, 2);
		thrift_text_element(&t, "a");
		thrift_text_element(&t, "b");
		thrift_i64(&t, 7, groups[i].bytes);
		thrift_i64(&t, 9, groups[i].page);
		if (groups[i].dictionary)
			thrift_i64(&t, 11, groups[i].dictionary);
		thrift_end(&t, meta);
		thrift_end(&t, chunk);
		thrift_i64(&t, 3, groups[i].rows);
		thrift_end(&t, group);
	}
	thrift_end(&t, 0);
	return t.len;
}

#define ROWS_MOST ((int64_t)UINT32_MAX)

static const struct footer_case {
	struct group groups[2];
	unsigned count;
	int64_t rows;
	const char *columns, *words; /* NULL = it is right */
} footers[] = {
	{ { { 5, 4, 0, 100 }, { 5, 104, 0, 100 } }, 2, 10, NULL, NULL },
	{ { { 5, 24, 4, 100 }, { 5, 104, 200, 100 } }, 2, 10, "a", NULL },
	{ { { 5, 4, 0, 100 }, { 0, 104, 0, 100 } }, 2, 5, "a.b", NULL },
	{ { { 0, 0, 0, 0 } }, 0, 0, NULL, NULL },
	{ { { 5, 4, 0, 100 } }, 1, 5, "b", "read_columns: the file has no column 'b'" },
	{ { { 5, 4, 0, 100 } }, 1, 5, "a,,b", "read_columns: a name is missing" },
	{ { { 5, 4, 0, 100 } }, 1, 6, NULL, "the footer says 6 rows, but its row groups have 5" },
	{ { { 5, 4, 0, 201 } }, 1, 5, NULL, "column 'a.b' of row group 0 has 201 bytes at 4" },
	{ { { 5, 3, 0, 1 } }, 1, 5, NULL, "column 'a.b' of row group 0 has 1 bytes at 3" },
	{ { { 5, INT64_MAX, 0, INT64_MAX } }, 1, 5, NULL, "column 'a.b' of row group 0 has " },
	{ { { 5, 4, INT64_MIN, -1 } }, 1, 5, NULL, "column 'a.b' of row group 0 has -1 bytes" },
	{ { { -5, 4, 0, 1 } }, 1, -5, NULL, "row group 0 has -5 rows" },
	{ { { ROWS_MOST + 1, 4, 0, 1 } }, 1, ROWS_MOST + 1, NULL, "too many rows" },
	{ { { 5, 4, 0, 150 }, { 5, 54, 0, 150 } },
	  2,
	  10,
	  NULL,
	  "the columns together have 300 bytes" },
};
#define FOOTERS ((int)(sizeof(footers) / sizeof(footers[0])))

START_TEST(footers_are_held_against_their_file)
{
	const struct footer_case *c = &footers[_i];
	struct found f;

	look(&f, make(200, put_footer(c->groups, c->count, c->rows)), c->columns);
	if (c->words) {
		ck_assert_int_eq(f.result, -EINVAL);
		ck_assert_msg(strstr(f.err.text, c->words), "%s", f.err.text);
	} else {
		ck_assert_msg(f.result == 0, "%s", f.err.text);
		ck_assert_uint_eq(f.look.samples, (uint64_t)c->rows);
		ck_assert_uint_eq(f.look.sample_bytes, (uint64_t)c->rows / 5 * 100);
		ck_assert_uint_eq(f.look.word_count, (uint64_t)c->rows / 5 * 3);
	}
	scanned_fini(&f);
}
END_TEST

START_TEST(a_footer_that_is_cut_off_anywhere_is_an_error)
{
	size_t bytes = put_footer(footers[0].groups, 2, 10);

	for (size_t n = 0; n < bytes; n++) {
		struct found f;

		look(&f, make(200, n), NULL);
		ck_assert_int_eq(f.result, -EINVAL);
		scanned_fini(&f);
	}
}
END_TEST

/* Lengths and depths that no file has. */
static const struct hostile {
	uint8_t bytes[12];
	size_t count;
	bool repeats; /* the last one to the end */
	const char *words;
} hostiles[] = {
	{ { 0x1c }, 1, true, "nested too deeply" },
	{ { 0x19 }, 1, true, "" },
	{ { 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f }, 7, false, "a list is longer" },
	{ { 0x1b, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xcc }, 7, false, "a map is longer" },
	{ { 0x18, 0xff, 0xff, 0xff, 0xff, 0x0f }, 6, false, "a string is longer" },
	{ { 0x16, 0xff }, 2, true, "a number of the footer has more than 64 bits" },
	{ { 0x1f }, 1, true, "has no type of Thrift" },
	{ { 0x49, 0x1c, 0x19, 0x18, 0x00 }, 5, false, "expected a struct" },
	{ { 0x48, 0x00 }, 2, false, "expected a list" },
	{ { 0x38, 0x00 }, 2, false, "expected a number" },
};
#define HOSTILES ((int)(sizeof(hostiles) / sizeof(hostiles[0])))

START_TEST(lengths_that_lie_are_errors)
{
	const struct hostile *h = &hostiles[_i];
	struct found f;

	memset(footer, h->repeats ? h->bytes[h->count - 1] : 0, 1000);
	memcpy(footer, h->bytes, h->count);
	look(&f, make(200, 1000), NULL);
	ck_assert_int_eq(f.result, -EINVAL);
	ck_assert_msg(strstr(f.err.text, h->words), "%s", f.err.text);
	scanned_fini(&f);
}
END_TEST

static const struct name_case {
	const char *text, *column;
	bool has;
} names[] = {
	{ NULL, "anything", true },      { "a", "a", true },
	{ "a", "a.list.element", true }, { "a", "ab", false },
	{ "a.b", "a", false },           { "a, b c ,d", "b c", true },
	{ "f_00..12", "f_00", true },    { "f_00..12", "f_12", true },
	{ "f_00..12", "f_13", false },   { "f_00..12", "f_5", false },
	{ "f_00..12", "f_005", false },  { "f_00..12", "f_05.x", true },
	{ "f_00..12", "f_05x", false },  { "f8..12", "f10", true },
	{ "f8..12", "f08", false },      { "a..b", "a..b", true },
};
#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

START_TEST(columns_are_named_alone_by_range_or_by_what_they_are_in)
{
	const struct name_case *c = &names[_i];
	struct parquet_names n;
	struct mlgen_err err = { 0 };
	struct look l = { .path = "p", .err = &err };

	ck_assert_int_eq(parquet_names_init(&n, c->text, &l), 0);
	ck_assert_int_eq(parquet_names_has(&n, c->column), c->has);
	parquet_names_fini(&n);
}
END_TEST

static const uint64_t two_groups[] = { 5, 4, 10, 14, 6, 8, 20, 1, 21, 9 };

START_TEST(a_row_group_is_where_its_chunks_are)
{
	const uint64_t facts[LOOK_FACTS] = {
		[PARQUET_CHUNKS] = 2,
		[PARQUET_GROUPS] = 2,
	};
	const struct file_shape shape = {
		.samples = 8, .facts = facts, .words = two_groups, .scanned_bytes = 50
	};
	uint64_t off, len;

	parquet_index_range(&shape, 0, 5, &off, &len);
	ck_assert_uint_eq(off, 4);
	ck_assert_uint_eq(len, 16);
	parquet_index_range(&shape, 5, 3, &off, &len);
	ck_assert_uint_eq(off, 20);
	ck_assert_uint_eq(len, 10);
	parquet_index_range(&shape, 0, 8, &off, &len);
	ck_assert_uint_eq(len, 26);
	for (uint64_t row = 0; row < 8; row++)
		ck_assert_uint_eq(parquet_index_group(&shape, row), row >= 5);
	parquet_index_extent(&shape, 1, &off, &len);
	ck_assert_uint_eq(off, 5);
	ck_assert_uint_eq(len, 3);
}
END_TEST

/* Facts and words of a file whose row groups differ, as put down by a scan. */
START_TEST(row_groups_that_differ_are_counted)
{
	const struct group groups[] = {
		{ 5, 4, 0, 10 }, { 0, 14, 0, 1 }, { 3, 24, 0, 30 }, { 5, 60, 0, 7 }
	};
	const uint64_t want[] = { 5, 4, 10, 8, 24, 30, 13, 60, 7 };
	uint64_t words[ARRAY_LEN(want)];
	struct found f;

	look(&f, make(200, put_footer(groups, 4, 13)), NULL);
	ck_assert_msg(f.result == 0, "%s", f.err.text);
	ck_assert_uint_eq(f.look.samples, 13);
	ck_assert_uint_eq(f.look.facts[PARQUET_GROUP_ROWS], 0);
	ck_assert_uint_eq(f.look.facts[PARQUET_GROUPS], 3);
	ck_assert_uint_eq(f.look.facts[PARQUET_CHUNKS], 1);
	ck_assert_uint_eq(f.look.word_count, ARRAY_LEN(want));
	ck_assert_int_eq(namefile_flush(&f.words, &f.err), 0);
	ck_assert_int_eq(pread(f.words.fd, words, sizeof(words), 0), sizeof(words));
	ck_assert_mem_eq(words, want, sizeof(want));
	scanned_fini(&f);
}
END_TEST

Suite *suite_parquet_look(void)
{
	Suite *s = suite_create("parquet_look");
	TCase *t = tcase_create("parquet_look");

	tcase_add_loop_test(t, footers_are_held_against_their_file, 0, FOOTERS);
	tcase_add_test(t, a_footer_that_is_cut_off_anywhere_is_an_error);
	tcase_add_loop_test(t, lengths_that_lie_are_errors, 0, HOSTILES);
	tcase_add_loop_test(t, columns_are_named_alone_by_range_or_by_what_they_are_in, 0, NAMES);
	tcase_add_test(t, a_row_group_is_where_its_chunks_are);
	tcase_add_test(t, row_groups_that_differ_are_counted);
	suite_add_tcase(s, t);
	return s;
}
