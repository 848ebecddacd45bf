/* SPDX-License-Identifier: Apache-2.0 */
/* test_format.c - files are byte for byte what their readers expect. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "suites.h"
#include "written.h"

#define SHAPE(n, d1, d2, two)                                                                      \
	{                                                                                          \
		.samples = (n), .sides = { (d1), (d2) }, .two_sides = (two)                        \
	}

static const struct shape_case {
	struct file_shape shape;
	uint64_t npz_bytes;
} shapes[] = {
	{ SHAPE(1, 1, 1, false), 499 },
	{ SHAPE(1, 1, 100, false), 598 },
	{ SHAPE(1, 338, 338, true), 114742 }, /* as measured of DLIO */
	{ SHAPE(4, 1, 30000, false), 120000 + 490 + 32 },
	{ SHAPE(1, 1, 65536 - 183, false), 65353 + 498 },
	{ SHAPE(1, 1, 65536 - 183 - 10, false), 65343 + 498 },
	{ SHAPE(3, 1000, 700, true), 2100000 + 490 + 24 },
	{ SHAPE(50000, 1, 3, false), 150000 + 490 + 400000 },
};
#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

START_TEST(npz_has_the_size_numpy_gives_it)
{
	const struct shape_case *c = &shapes[_i];

	ck_assert_uint_eq(format_npz.file_bytes(&c->shape), c->npz_bytes);
}
END_TEST

START_TEST(content_does_not_depend_on_the_buffer)
{
	static const struct format *const formats[] = { &format_npz, &format_raw, &format_npy,
							&format_indexed_binary };
	const struct file_shape *shape = &shapes[_i].shape;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const struct format *f = formats[i];
		uint8_t *a = whole(f, shape, 3, LEAST_BUFFER);
		uint8_t *b = whole(f, shape, 3, 1 << 20);
		uint8_t *c = whole(f, shape, 3, LEAST_BUFFER + 13);
		uint8_t *d = whole(f, shape, 4, 1 << 20);
		size_t bytes = f->file_bytes(shape);

		ck_assert(memcmp(a, b, bytes) == 0);
		ck_assert(memcmp(a, c, bytes) == 0);
		if (bytes > 600)
			ck_assert(memcmp(a, d, bytes) != 0);
		mem_free(a);
		mem_free(b);
		mem_free(c);
		mem_free(d);
	}
}
END_TEST

/* A member whose local header is at `off`, against its central entry. */
static void check_member(const uint8_t *file, const uint8_t *central, const char *name)
{
	uint64_t off = number(central + 42, 4);
	uint64_t size = number(central + 24, 4);
	const uint8_t *local = file + off;

	ck_assert(memcmp(central, "PK\1\2", 4) == 0);
	ck_assert(memcmp(local, "PK\3\4", 4) == 0);
	ck_assert(memcmp(local + 30, name, 5) == 0);
	ck_assert(memcmp(central + 46, name, 5) == 0);
	/* crc and both sizes stand alike in both, and in the extra field */
	ck_assert(memcmp(local + 14, central + 16, 12) == 0);
	ck_assert_uint_eq(number(local + 28, 2), 20);
	ck_assert_uint_eq(number(local + 39, 8), size);
	ck_assert_uint_eq(number(local + 47, 8), size);
	ck_assert_uint_eq(number(central + 16, 4), crc32_z(0, local + 55, size));
	ck_assert(memcmp(local + 55, "\x93NUMPY\1\0\x76\0", 10) == 0);
	ck_assert_uint_eq(local[55 + 127], '\n');
}

START_TEST(npz_is_a_zip_of_two_arrays_with_right_checksums)
{
	static const size_t buffers[] = { LEAST_BUFFER, 1 << 20, 4 << 20 };
	const struct file_shape *shape = &shapes[_i].shape;

	for (size_t i = 0; i < 3; i++) {
		uint8_t *file = whole(&format_npz, shape, 1, buffers[i]);
		uint64_t bytes = format_npz.file_bytes(shape);
		const uint8_t *end = file + bytes - 22;
		uint64_t dir = number(end + 16, 4);

		ck_assert(memcmp(end, "PK\5\6", 4) == 0);
		ck_assert_uint_eq(number(end + 10, 2), 2);
		ck_assert_uint_eq(number(end + 12, 4), 102);
		ck_assert_uint_eq(dir + 102 + 22, bytes);
		check_member(file, file + dir, "x.npy");
		check_member(file, file + dir + 51, "y.npy");
		mem_free(file);
	}
}
END_TEST

START_TEST(npz_samples_lie_where_sample_range_says)
{
	static const struct file_shape shape = SHAPE(4, 1, 30000, false);
	uint8_t *file = whole(&format_npz, &shape, 7, 1 << 20);
	uint8_t *content = mem_zalloc(120000);
	uint64_t off, len;

	format_content(content, 120000, 7, 0);
	for (uint64_t i = 0; i < 4; i++) {
		format_npz.sample_range(&shape, i, 1, &off, &len);
		ck_assert_uint_eq(len, 30000);
		ck_assert(memcmp(file + off, content + i * 30000, len) == 0);
	}
	format_npz.sample_range(&shape, 1, 3, &off, &len);
	ck_assert_uint_eq(off, 183 + 30000);
	ck_assert_uint_eq(len, 90000);
	mem_free(content);
	mem_free(file);
}
END_TEST

START_TEST(npz_headers_tell_the_shape)
{
	static const struct {
		struct file_shape shape;
		const char *x;
	} cases[] = {
		{ SHAPE(4, 1, 300, false),
		  "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 300), } " },
		{ SHAPE(1, 15865, 14125, true),
		  "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 15865, 14125), } " },
	};

	for (size_t i = 0; i < 2; i++) {
		uint8_t buf[LEAST_BUFFER];
		struct format_writer w = { .shape = cases[i].shape };
		uint64_t off;
		size_t len;

		ck_assert(format_npz.write_next(&w, buf, sizeof(buf), &off, &len));
		ck_assert(memcmp(buf + 65, cases[i].x, strlen(cases[i].x)) == 0);
	}
}
END_TEST

/* Everything behind the payload, without writing it. */
static size_t tail_of(const struct file_shape *shape, uint8_t *buf, uint64_t *off,
		      struct format_writer *w)
{
	size_t len;

	memset(w, 0, sizeof(*w));
	w->shape = *shape;
	w->pos = 183 + shape->samples * shape->sides[0] * shape->sides[1];
	w->crc[0] = 0x12345678;
	ck_assert(format_npz.write_next(w, buf, LEAST_BUFFER, off, &len));
	ck_assert_uint_eq(*off + len, format_npz.file_bytes(shape));
	return len;
}

START_TEST(npz_beyond_4_gib_is_zip64)
{
	static const struct file_shape shape = SHAPE(1, 1, UINT64_C(5) << 30, false);
	uint64_t member = (UINT64_C(5) << 30) + 128, off;
	struct format_writer w;
	uint8_t buf[LEAST_BUFFER];
	size_t len = tail_of(&shape, buf, &off, &w);
	const uint8_t *x = buf + 55 + 136, *y = x + 51 + 20;
	const uint8_t *end64 = y + 51 + 12, *locator = end64 + 56;
	const uint8_t *end = locator + 20;

	ck_assert_ptr_eq(end + 22, buf + len);
	/* x: both sizes in the extra field, offset 0 outside it */
	ck_assert(memcmp(x, "PK\1\2", 4) == 0);
	ck_assert_uint_eq(number(x + 6, 2), 45);
	ck_assert_uint_eq(number(x + 20, 4), 0xffffffff);
	ck_assert_uint_eq(number(x + 24, 4), 0xffffffff);
	ck_assert_uint_eq(number(x + 30, 2), 20);
	ck_assert_uint_eq(number(x + 42, 4), 0);
	ck_assert_uint_eq(number(x + 51, 4), 0x00100001);
	ck_assert_uint_eq(number(x + 55, 8), member);
	ck_assert_uint_eq(number(x + 63, 8), member);
	/* y: only its offset */
	ck_assert_uint_eq(number(y + 24, 4), 136);
	ck_assert_uint_eq(number(y + 30, 2), 12);
	ck_assert_uint_eq(number(y + 42, 4), 0xffffffff);
	ck_assert_uint_eq(number(y + 51, 4), 0x00080001);
	ck_assert_uint_eq(number(y + 55, 8), member + 55);
	/* the zip64 end record, its locator, the old end record */
	ck_assert(memcmp(end64, "PK\6\6", 4) == 0);
	ck_assert_uint_eq(number(end64 + 4, 8), 44);
	ck_assert_uint_eq(number(end64 + 40, 8), 71 + 63);
	ck_assert_uint_eq(number(end64 + 48, 8), off + 191);
	ck_assert(memcmp(locator, "PK\6\7", 4) == 0);
	ck_assert_uint_eq(number(locator + 8, 8), off + 191 + 71 + 63);
	ck_assert(memcmp(end, "PK\5\6", 4) == 0);
	ck_assert_uint_eq(number(end + 16, 4), 0xffffffff);
}
END_TEST

START_TEST(npz_writes_the_first_header_again_with_the_checksum)
{
	static const struct file_shape shape = SHAPE(1, 1, UINT64_C(5) << 30, false);
	struct format_writer w;
	uint8_t buf[LEAST_BUFFER];
	uint64_t off;
	size_t len;

	tail_of(&shape, buf, &off, &w);
	ck_assert(format_npz.write_next(&w, buf, sizeof(buf), &off, &len));
	ck_assert_uint_eq(off, 0);
	ck_assert_uint_eq(len, 55);
	ck_assert_uint_eq(number(buf + 4, 2), 45);
	ck_assert_uint_eq(number(buf + 14, 4), 0x12345678);
	ck_assert_uint_eq(number(buf + 18, 4), 0xffffffff);
	ck_assert_uint_eq(number(buf + 39, 8), (UINT64_C(5) << 30) + 128);
	ck_assert(!format_npz.write_next(&w, buf, sizeof(buf), &off, &len));
}
END_TEST

START_TEST(npz_grows_by_zip64_fields_where_numbers_need_them)
{
	/* member = payload + 128; directory = member + 55 + 191 */
	static const struct {
		uint64_t payload, extra;
	} cases[] = {
		{ 0xffffffff - 128 - 246 - 1, 0 },
		{ 0xffffffff - 128 - 246, 76 },     /* end record */
		{ 0xffffffff - 128 - 55, 76 + 12 }, /* and y's offset */
		{ 0xffffffff - 128, 76 + 12 + 20 }, /* and x's size */
	};

	for (size_t i = 0; i < 4; i++) {
		struct file_shape shape = SHAPE(1, 1, cases[i].payload, false);

		ck_assert_uint_eq(format_npz.file_bytes(&shape),
				  cases[i].payload + 498 + cases[i].extra);
	}
}
END_TEST

START_TEST(raw_is_nothing_but_samples)
{
	static const struct file_shape shape = SHAPE(5, 1, 77777, false);
	uint8_t *file = whole(&format_raw, &shape, 9, LEAST_BUFFER);
	uint8_t *content = mem_zalloc(5 * 77777);
	uint64_t off, len;

	ck_assert_uint_eq(format_raw.file_bytes(&shape), 5 * 77777);
	format_content(content, 5 * 77777, 9, 0);
	ck_assert(memcmp(file, content, 5 * 77777) == 0);
	format_raw.sample_range(&shape, 3, 2, &off, &len);
	ck_assert_uint_eq(off, 3 * 77777);
	ck_assert_uint_eq(len, 2 * 77777);
	mem_free(content);
	mem_free(file);
}
END_TEST

START_TEST(content_does_not_compress)
{
	uint8_t content[LEAST_BUFFER], packed[2 * LEAST_BUFFER];

	uLongf bytes = sizeof(packed);

	format_content(content, sizeof(content), 1, 0);
	ck_assert_int_eq(compress2(packed, &bytes, content, sizeof(content), 9), Z_OK);
	ck_assert_uint_ge(bytes, sizeof(content));
}
END_TEST

START_TEST(formats_are_found_by_name)
{
	ck_assert_ptr_eq(format_find("npz"), &format_npz);
	ck_assert_ptr_eq(format_find("raw"), &format_raw);
	ck_assert_ptr_eq(format_find("hdf5"), &format_hdf5);
	ck_assert_ptr_eq(format_find("indexed_binary"), &format_indexed_binary);
	ck_assert_ptr_null(format_find("mat"));
	ck_assert_ptr_eq(format_of(FORMAT_RAW), &format_raw);
	for (int f = FORMAT_NPZ; f <= FORMAT_CSV; f++)
		ck_assert_ptr_eq(format_find(format_of((enum job_format)f)->name),
				 format_of((enum job_format)f));
}
END_TEST

Suite *suite_format(void)
{
	Suite *s = suite_create("format");
	TCase *t = tcase_create("format");

	tcase_add_loop_test(t, npz_has_the_size_numpy_gives_it, 0, SHAPES);
	tcase_add_loop_test(t, content_does_not_depend_on_the_buffer, 0, SHAPES);
	tcase_add_loop_test(t, npz_is_a_zip_of_two_arrays_with_right_checksums, 0, SHAPES);
	tcase_add_test(t, npz_samples_lie_where_sample_range_says);
	tcase_add_test(t, npz_headers_tell_the_shape);
	tcase_add_test(t, npz_beyond_4_gib_is_zip64);
	tcase_add_test(t, npz_writes_the_first_header_again_with_the_checksum);
	tcase_add_test(t, npz_grows_by_zip64_fields_where_numbers_need_them);
	tcase_add_test(t, raw_is_nothing_but_samples);
	tcase_add_test(t, content_does_not_compress);
	tcase_add_test(t, formats_are_found_by_name);
	suite_add_tcase(s, t);
	return s;
}
