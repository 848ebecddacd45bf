/* SPDX-License-Identifier: Apache-2.0 */
/* test_parquet.c - layout and content of Parquet files, and which cannot be. */
#include <errno.h>

#include "parquet_rig.h"
#include "suites.h"

static uint32_t number32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* A whole file, written in chunks of at most `chunk` bytes. */
static uint8_t *whole(const struct dataset *ds, uint64_t index, size_t chunk)
{
	struct format_writer w = { .seed_index = index };
	uint64_t total = dataset_file_bytes(ds, index), end = 0, off;
	uint8_t *file = mem_zalloc(total), *buf = mem_zalloc(chunk);
	size_t len;

	format_shape(ds, index, &w.shape);
	while (format_parquet.write_next(&w, buf, chunk, &off, &len)) {
		ck_assert_uint_gt(len, 0);
		ck_assert_uint_le(len, chunk);
		ck_assert_uint_eq(off, end);
		ck_assert_uint_le(off + len, total);
		memcpy(file + off, buf, len);
		end += len;
	}
	ck_assert_uint_eq(end, total);
	mem_free(buf);
	return file;
}

START_TEST(a_file_is_as_long_as_it_says_whatever_the_buffer)
{
	struct dataset ds;
	const struct parquet *p = make(&ds, &tables[_i]);
	uint8_t *a = whole(&ds, 3, LEAST_BUFFER);
	uint8_t *b = whole(&ds, 3, LEAST_BUFFER + 13);
	uint8_t *c = whole(&ds, 3, 1 << 20);
	uint64_t n = p->file_bytes;

	ck_assert(memcmp(a, b, n) == 0);
	ck_assert(memcmp(a, c, n) == 0);
	ck_assert(memcmp(a, "PAR1", 4) == 0);
	ck_assert(memcmp(a + n - 4, "PAR1", 4) == 0);
	ck_assert_uint_eq(number32(a + n - 8), p->footer_bytes);
	ck_assert_uint_eq(p->footer_off + p->footer_bytes + 8, n);
	mem_free(a);
	mem_free(b);
	mem_free(c);
	dataset_fini(&ds);
}
END_TEST

/* Half of the bits are set in what is random. */
static void looks_random(const uint8_t *at, uint64_t bytes)
{
	uint64_t set = 0;

	for (uint64_t i = 0; i < bytes; i++)
		set += (unsigned)__builtin_popcount(at[i]);
	if (bytes > 1000) {
		ck_assert_uint_gt(set, 4 * bytes - bytes / 4);
		ck_assert_uint_lt(set, 4 * bytes + bytes / 4);
	}
}

/* Page by page: the header is the one that is said, int8 are small numbers. */
static void check_chunk(const uint8_t *at, const struct parquet_chunk *c,
			const struct column *column)
{
	const uint8_t *end = at + c->bytes;
	uint8_t head[PARQUET_PIECE_MAX];

	for (uint64_t page = 0; page < c->pages; page++) {
		size_t n = parquet_page_header(c, page, head);
		uint64_t values = page < c->pages - 1 ? c->page_values : c->last_values;

		ck_assert(memcmp(at, head, n) == 0);
		at += n;
		ck_assert(values == 1 || values * c->value_bytes <= 1 << 20);
		for (uint64_t i = 0;
		     i < values && c->value_bytes == 4 && column->kind == COLUMN_INT8; i++) {
			int32_t v = (int32_t)number32(at + 4 * i);

			ck_assert_msg(v >= -128 && v <= 127, "%d", v);
		}
		if (column->kind != COLUMN_INT8 || column->is_list)
			looks_random(at, values * c->value_bytes);
		at += values * c->value_bytes;
	}
	ck_assert(at == end);
}

START_TEST(chunks_are_pages_of_values)
{
	struct dataset ds;
	const struct parquet *p = make(&ds, &tables[_i]);
	uint8_t *file = whole(&ds, 0, 1 << 20);

	for (uint64_t g = 0; g < p->groups; g++) {
		for (unsigned i = 0; i < p->columns.count; i++)
			check_chunk(file + 4 + g * p->group_bytes + p->chunks[i].off, &p->chunks[i],
				    &p->columns.list[i]);
	}
	mem_free(file);
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_page_header_has_the_bytes_of_its_specification)
{
	/* type 0, twice 2400 bytes, then 600 values, PLAIN, RLE, RLE */
	static const uint8_t want[] = { 0x15, 0,    0x15, 0xc0, 0x25, 0x15, 0xc0, 0x25, 0x2c, 0x15,
					0xb0, 0x09, 0x15, 0,    0x15, 6,    0x15, 6,    0,    0 };
	const struct parquet_chunk c = { .value_bytes = 4, .last_values = 600, .pages = 1 };
	uint8_t got[PARQUET_PIECE_MAX];

	ck_assert_uint_eq(parquet_page_header(&c, 0, got), sizeof(want));
	ck_assert_mem_eq(got, want, sizeof(want));
}
END_TEST

START_TEST(files_differ_in_all_but_their_frame)
{
	struct dataset ds;
	const struct parquet *p = make(&ds, &tables[1]);
	uint8_t *a = whole(&ds, 0, 1 << 20), *b = whole(&ds, 1, 1 << 20);

	ck_assert(memcmp(a + 64, b + 64, 4096) != 0);
	ck_assert(memcmp(a + p->footer_off, b + p->footer_off, p->footer_bytes) == 0);
	mem_free(a);
	mem_free(b);
	dataset_fini(&ds);
}
END_TEST

/* The data would be 4 GB: the footer alone, as if all before was written. */
START_TEST(dlrm_has_a_footer_of_megabytes_of_the_length_computed)
{
	struct dataset ds;
	const struct parquet *p = make(&ds, &dlrm);
	struct format_writer w = { .pos = p->footer_off };
	struct dataset_totals totals;
	uint8_t *buf = mem_zalloc(LEAST_BUFFER), tail[8];
	uint64_t off, end = p->footer_off;
	size_t len;

	ck_assert_uint_eq(p->columns.count, 200);
	ck_assert_uint_eq(p->read_count, 40);
	ck_assert_uint_eq(p->groups, 768);
	ck_assert_uint_eq(parquet_read_bytes(&ds), 160);
	ck_assert_uint_eq(dataset_sample_bytes(&ds, 0), 160);
	ck_assert_uint_eq(dataset_row_bytes(&ds, 0), 761);
	dataset_totals(&ds, &totals);
	ck_assert_uint_eq(totals.sample_bytes, dataset_samples(&ds) * 160);
	ck_assert_uint_eq(totals.row_bytes, dataset_samples(&ds) * 761);
	ck_assert_double_eq(totals.mean_sample_bytes, 160);
	ck_assert_uint_eq(ds.extent_samples, 6144);
	ck_assert_uint_eq(dataset_extents(&ds), 7680);
	ck_assert_uint_eq(p->chunks[0].pages, 1);
	ck_assert_uint_eq(p->chunks[0].bytes - p->chunks[0].last_head_bytes, 24576);
	/* more than 32 bits of offset, and chunks by the thousand */
	ck_assert_uint_gt(p->footer_off, UINT64_C(1) << 31);
	ck_assert_uint_gt(p->footer_bytes, 768 * 200 * 40);
	format_shape(&ds, 0, &w.shape);
	while (format_parquet.write_next(&w, buf, LEAST_BUFFER, &off, &len)) {
		ck_assert_uint_eq(off, end);
		end += len;
		memcpy(tail, buf + len - 8, 8);
	}
	ck_assert_uint_eq(end, p->file_bytes);
	ck_assert_uint_eq(number32(tail), p->footer_bytes);
	mem_free(buf);
	dataset_fini(&ds);
}
END_TEST

/* clang-format off */
static const struct refused_case {
	struct table table;
	const char *err;
} refused[] = {
	{ { 10, 10, 760, DLRM_COLUMNS, NULL },
	  "sample_size: 761 bytes is the sum of the columns, not 760" },
	{ { 10, 10, 4, "x:int3", NULL }, "columns: 'x:int3'" },
	{ { 10, 10, 4, "x:int32", "y" }, "read_columns: there is no column 'y'" },
	{ { 10, 10, 4, NULL, "y" }, "read_columns: there is no column 'y'" },
	{ { 10000, 4096, 4, NULL, NULL },
	  "row_group_size: 4096 does not divide samples_per_file, which is 10000; use a divisor, or samples_per_file=8192 or 12288" },
	{ { 1000001, 1, 4, NULL, NULL }, "row_group_size: 1 makes 1000001 row groups" },
	{ { 1000000, 1, 8000, "x0..999:float64", NULL }, "make a footer of" },
	{ { 100000000, 1024, 3e9, NULL, NULL }, "sample_size: 3000000000 bytes" },
	{ { 100000000, 100000000, 2e9 * 40, "x0..39:int8[2000000000]", NULL },
	  "samples_per_file: 100000000 rows would be" },
};
/* clang-format on */

START_TEST(what_no_file_can_hold_is_refused_in_words)
{
	const struct refused_case *c = &refused[_i];
	struct mlgen_err err = { 0 };
	struct dataset ds;

	ck_assert_int_eq(try_table(&ds, &c->table, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, c->err), "%s", err.text);
}
END_TEST

START_TEST(sizes_that_differ_are_refused)
{
	struct mlgen_err err = { 0 };
	struct dataset ds = { .format = &format_parquet,
			      .samples_per_file = 1,
			      .sample_size = { .kind = DIST_NORMAL, .a = 1000, .b = 10 } };

	ck_assert_int_eq(dataset_init_format(&ds, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "sample_size: all rows"), "%s", err.text);
	format_parquet.fini(&ds);
	format_parquet.fini(&ds);
}
END_TEST

Suite *suite_parquet(void)
{
	Suite *s = suite_create("parquet");
	TCase *t = tcase_create("parquet");

	tcase_add_loop_test(t, a_file_is_as_long_as_it_says_whatever_the_buffer, 0, TABLES);
	tcase_add_loop_test(t, chunks_are_pages_of_values, 0, TABLES);
	tcase_add_test(t, a_page_header_has_the_bytes_of_its_specification);
	tcase_add_test(t, files_differ_in_all_but_their_frame);
	tcase_add_test(t, dlrm_has_a_footer_of_megabytes_of_the_length_computed);
	tcase_add_loop_test(t, what_no_file_can_hold_is_refused_in_words, 0,
			    (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(t, sizes_that_differ_are_refused);
	suite_add_tcase(s, t);
	return s;
}
