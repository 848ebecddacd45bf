/* SPDX-License-Identifier: Apache-2.0 */
/* test_tfrecord.c - records, checksums and index lines of TFRecord files. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "suites.h"

#define LEAST_BUFFER 65536u

/* Little endian. */
static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | at[bytes];
	return v;
}

/* By bytes, each of which is taken bit by bit once, as RFC 3720 has it. */
static uint32_t crc32c(const uint8_t *data, size_t bytes)
{
	static uint32_t of_byte[256];
	uint32_t crc = ~0u;

	for (uint32_t i = 0; !of_byte[255] && i < 256; i++) {
		uint32_t bits = i;

		for (int bit = 0; bit < 8; bit++)
			bits = bits >> 1 ^ (bits & 1 ? 0x82f63b78 : 0);
		of_byte[i] = bits;
	}
	while (bytes--)
		crc = crc >> 8 ^ of_byte[(crc ^ *data++) & 0xff];
	return ~crc;
}

static uint32_t masked(const uint8_t *data, size_t bytes)
{
	uint32_t crc = crc32c(data, bytes);

	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

START_TEST(the_checksums_here_are_the_known_ones)
{
	static const uint8_t nine[8] = { 9 };
	const uint8_t *digits = (const uint8_t *)"123456789";

	ck_assert_uint_eq(crc32c(digits, 9), 0xe3069283);
	ck_assert_uint_eq(masked(digits, 9), 0xc78ab0e5);
	ck_assert_uint_eq(masked(nine, 8), 0x3971f937);
}
END_TEST

/* The whole file, written in chunks of at most `chunk` bytes. */
static uint8_t *whole(const struct file_shape *shape, uint64_t index, size_t chunk)
{
	struct format_writer w = { .shape = *shape, .seed_index = index };
	uint64_t total = format_tfrecord.file_bytes(shape), end = 0, off;
	uint8_t *file = mem_zalloc(total + 1), *buf = mem_zalloc(chunk);
	size_t len;

	while (format_tfrecord.write_next(&w, buf, chunk, &off, &len)) {
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

/* clang-format off */
static const struct shape_case {
	uint64_t samples, bytes;
	uint64_t overhead;	/* of a record; 0 = not known */
} shapes[] = {
	{ 1, 1, 48 }, { 1, 114244, 60 }, { 7, 114244, 60 }, { 3, 2500, 54 },
	{ 1, 2825761, 66 }, { 1000, 100, 0 }, { 2000, 131, 0 }, { 50, 65536, 0 },
	/* where lengths take a byte more */
	{ 3, 90, 0 }, { 3, 110, 0 }, { 3, 127, 0 }, { 3, 128, 0 },
	{ 3, 16383, 0 }, { 3, 16384, 0 }, { 2, 2097151, 0 }, { 2, 2097152, 0 },
	/* chunks that end within a head or a checksum */
	{ 9, 65536 - 30, 0 }, { 9, 65536 - 58, 0 }, { 9, 65536 - 60, 0 },
	{ 9, 65536 - 63, 0 },
};
/* clang-format on */
#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

static struct file_shape shape_of(int i)
{
	return (struct file_shape){ .samples = shapes[i].samples, .sides = { 1, shapes[i].bytes } };
}

/* A protobuf varint. */
static uint64_t varint(const uint8_t **at)
{
	uint64_t v = 0;
	unsigned shift = 0;

	do
		v |= (uint64_t)(**at & 0x7f) << shift;
	while (shift += 7, *(*at)++ & 0x80);
	return v;
}

/* A length-delimited field; what is in it ends at the same byte as `end`, if that is given. */
static uint64_t field(const uint8_t **at, uint8_t tag, const uint8_t *end)
{
	uint64_t length;

	ck_assert_uint_eq(*(*at)++, tag);
	length = varint(at);
	if (end)
		ck_assert_ptr_eq(*at + length, end);
	return length;
}

static void expect_name(const uint8_t **at, const char *name)
{
	ck_assert_uint_eq(field(at, 0x0a, NULL), strlen(name));
	ck_assert(memcmp(*at, name, strlen(name)) == 0);
	*at += strlen(name);
}

/* An Example of `size` and `image`; gives the payload. */
static const uint8_t *expect_example(const uint8_t *at, const uint8_t *end, uint64_t bytes)
{
	const uint8_t *entry_end;
	uint64_t n;

	field(&at, 0x0a, end); /* features */
	n = field(&at, 0x0a, NULL);
	entry_end = at + n;
	expect_name(&at, "size");
	field(&at, 0x12, entry_end);
	field(&at, 0x1a, entry_end); /* int64_list */
	field(&at, 0x0a, entry_end);
	ck_assert_uint_eq(varint(&at), bytes);
	ck_assert_ptr_eq(at, entry_end);
	field(&at, 0x0a, end);
	expect_name(&at, "image");
	field(&at, 0x12, end);
	field(&at, 0x0a, end); /* bytes_list */
	ck_assert_uint_eq(field(&at, 0x0a, end), bytes);
	return at;
}

START_TEST(records_are_examples_with_right_checksums)
{
	struct file_shape shape = shape_of(_i);
	uint64_t total = format_tfrecord.file_bytes(&shape);
	uint64_t record = total / shape.samples, bytes = shapes[_i].bytes;
	uint8_t *file = whole(&shape, 5, LEAST_BUFFER + 1);
	uint8_t *content = mem_zalloc(shape.samples * bytes);

	if (shapes[_i].overhead)
		ck_assert_uint_eq(record - bytes, shapes[_i].overhead);
	format_content(content, shape.samples * bytes, 5, 0);
	for (uint64_t i = 0; i < shape.samples; i++) {
		const uint8_t *at = file + i * record, *end = at + record - 4;
		uint64_t off, len;

		ck_assert_uint_eq(number(at, 8), record - 16);
		ck_assert_uint_eq(number(at + 8, 4), masked(at, 8));
		ck_assert_uint_eq(number(end, 4), masked(at + 12, record - 16));
		at = expect_example(at + 12, end, bytes);
		ck_assert(memcmp(at, content + i * bytes, bytes) == 0);
		format_tfrecord.sample_range(&shape, i, 1, &off, &len);
		ck_assert_uint_eq(off, (uint64_t)(at - file));
		ck_assert_uint_eq(len, bytes);
	}
	mem_free(content);
	mem_free(file);
}
END_TEST

START_TEST(content_does_not_depend_on_the_buffer)
{
	static const size_t chunks[] = { 1 << 20, LEAST_BUFFER + 7, 100003 };
	struct file_shape shape = shape_of(_i);

	for (shape.part = 0; shape.part < 2; shape.part++) {
		uint64_t total = format_tfrecord.file_bytes(&shape);
		uint8_t *a = whole(&shape, 3, LEAST_BUFFER);

		for (size_t k = 0; k < 3; k++) {
			uint8_t *b = whole(&shape, 3, chunks[k]);

			ck_assert(memcmp(a, b, total) == 0);
			mem_free(b);
		}
		if (shape.part == 0 && shapes[_i].bytes > 8) {
			uint8_t *b = whole(&shape, 4, LEAST_BUFFER);

			ck_assert(memcmp(a, b, total) != 0);
			mem_free(b);
		}
		mem_free(a);
	}
}
END_TEST

START_TEST(the_index_tells_where_records_lie)
{
	struct file_shape shape = shape_of(_i);
	uint64_t record = format_tfrecord.file_bytes(&shape) / shape.samples;
	char *at, *index;

	shape.part = 1;
	at = index = (char *)whole(&shape, 0, LEAST_BUFFER);
	for (uint64_t i = 0; i < shape.samples; i++) {
		char line[48];
		int n = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 "\n", i * record,
				 record);

		ck_assert(strncmp(at, line, (size_t)n) == 0);
		at += n;
	}
	ck_assert_ptr_eq(at, index + format_tfrecord.file_bytes(&shape));
	mem_free(index);
}
END_TEST

START_TEST(the_size_of_an_index_is_known_without_its_lines)
{
	static const uint64_t sizes[] = { 1, 54, 946, 2500, 99946, 114244 };
	static const uint64_t counts[] = { 1, 2, 9, 10, 11, 185, 1251, 313532 };

	for (size_t i = 0; i < 6; i++) {
		for (size_t k = 0; k < 8; k++) {
			struct file_shape shape = { .samples = counts[k],
						    .sides = { 1, sizes[i] } };
			uint64_t bytes = 0, record;

			record = format_tfrecord.file_bytes(&shape) / counts[k];
			for (uint64_t n = 0; n < counts[k]; n++)
				bytes += (uint64_t)snprintf(NULL, 0, "%" PRIu64 " %" PRIu64 "\n",
							    n * record, record);
			shape.part = 1;
			ck_assert_uint_eq(format_tfrecord.file_bytes(&shape), bytes);
		}
	}
}
END_TEST

START_TEST(files_are_as_large_as_tensorflow_makes_them)
{
	/* and where a count would never come to its end */
	static const struct {
		uint64_t samples, bytes, part, want;
	} cases[] = {
		{ 1251, 114244, 0, 142994304 },
		{ 313532, 2500, 0, 800760728 },
		{ UINT64_C(1) << 40, 52, 0, (UINT64_C(1) << 40) * 100 },
		{ UINT64_C(100000000000), 52, 1,
		  /* records of 100 bytes: offsets of 1, 3, 4 .. 13 digits */
		  UINT64_C(100000000000) * 5 + 1 +
			  9 * (3 + 4 * UINT64_C(10) + 5 * UINT64_C(100) + 6 * UINT64_C(1000) +
			       7 * UINT64_C(10000) + 8 * UINT64_C(100000) + 9 * UINT64_C(1000000) +
			       10 * UINT64_C(10000000) + 11 * UINT64_C(100000000) +
			       12 * UINT64_C(1000000000) + 13 * UINT64_C(10000000000)) },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct file_shape shape = { .samples = cases[i].samples,
					    .sides = { 1, cases[i].bytes },
					    .part = (unsigned)cases[i].part };

		ck_assert_uint_eq(format_tfrecord.file_bytes(&shape), cases[i].want);
	}
}
END_TEST

START_TEST(several_samples_are_one_range)
{
	const struct file_shape shape = { .samples = 9, .sides = { 50, 50 } };
	uint64_t off, len;

	format_tfrecord.sample_range(&shape, 2, 4, &off, &len);
	ck_assert_uint_eq(off, 2 * 2554 + 50);
	ck_assert_uint_eq(len, 3 * 2554 + 2500);
}
END_TEST

static int init(struct dataset *ds, double bytes, struct mlgen_err *err)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_TFRECORD,
				 .num_files = 30,
				 .subfolders = 4,
				 .samples_per_file = 100,
				 .sample_size = { .a = bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	return dataset_init(ds, &job, 0, err);
}

START_TEST(an_index_lies_beside_every_file)
{
	struct dataset ds;
	char path[100];

	ck_assert_int_eq(init(&ds, 2500, NULL), 0);
	ck_assert_uint_eq(dataset_all_files(&ds), 60);
	ck_assert_uint_eq(ds.extent_samples, 100);
	dataset_path(&ds, 7, path, sizeof(path));
	ck_assert_str_eq(path, "d/train/3/img_07_of_30.tfrecord");
	dataset_path(&ds, 37, path, sizeof(path));
	ck_assert_str_eq(path, "d/index/train/3/img_07_of_30.tfrecord.idx");
	ck_assert_uint_eq(dataset_file_bytes(&ds, 7), 255400);
	/* 1, 3 x 4, 36 x 5, 60 x 6 digits; " 2554\n" */
	ck_assert_uint_eq(dataset_file_bytes(&ds, 37), 1 + 3 * 4 + 36 * 5 + 60 * 6 + 100 * 6);
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_sample_that_protobuf_cannot_hold_is_refused)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;

	ck_assert_int_eq(init(&ds, 0x7fffff00, NULL), 0);
	dataset_fini(&ds);
	ck_assert_int_eq(init(&ds, 0x80000000, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "sample_size: 2 GiB do not"));
}
END_TEST

Suite *suite_tfrecord(void)
{
	Suite *s = suite_create("tfrecord");
	TCase *t = tcase_create("tfrecord");

	tcase_add_test(t, the_checksums_here_are_the_known_ones);
	tcase_add_test(t, the_size_of_an_index_is_known_without_its_lines);
	tcase_add_test(t, files_are_as_large_as_tensorflow_makes_them);
	tcase_add_test(t, several_samples_are_one_range);
	suite_add_tcase(s, t);
	if (format_tfrecord.needs)
		return s;
	tcase_add_loop_test(t, records_are_examples_with_right_checksums, 0, SHAPES);
	tcase_add_loop_test(t, content_does_not_depend_on_the_buffer, 0, SHAPES);
	tcase_add_loop_test(t, the_index_tells_where_records_lie, 0, SHAPES);
	tcase_add_test(t, an_index_lies_beside_every_file);
	tcase_add_test(t, a_sample_that_protobuf_cannot_hold_is_refused);
	return s;
}
