/* SPDX-License-Identifier: Apache-2.0 */
/* test_tar.c - shards are ustar archives of two members a sample. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "suites.h"

#define LEAST_BUFFER 65536u

/* The whole file, written in chunks of at most `chunk` bytes. */
static uint8_t *whole(const struct file_shape *shape, uint64_t index, size_t chunk)
{
	struct format_writer w = { .shape = *shape, .seed_index = index };
	uint64_t total = format_tar.file_bytes(shape), end = 0, off;
	uint8_t *file = mem_zalloc(total), *buf = mem_zalloc(chunk);
	size_t len;

	memset(file, 0xee, total);
	while (format_tar.write_next(&w, buf, chunk, &off, &len)) {
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
	uint64_t file_bytes;
} shapes[] = {
	{ 1, 1, 10240 }, { 1, 512, 10240 }, { 1, 513, 10240 },
	/* the last block that leaves room for the end, and the next */
	{ 1, 9216 - 1536, 10240 }, { 1, 9217 - 1536, 20480 },
	{ 5, 512, 20480 }, { 3, 30000, 102400 }, { 40, 4608, 256000 },
	{ 2, 114244, 235520 }, { 7, 65536, 471040 }, { 1200, 100, 2467840 },
	{ 1, 300001, 307200 },
};
/* clang-format on */
#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

static struct file_shape shape_of(int i)
{
	return (struct file_shape){ .samples = shapes[i].samples, .sides = { 1, shapes[i].bytes } };
}

static uint64_t octal(const uint8_t *at, unsigned digits)
{
	char text[16] = "";

	memcpy(text, at, digits);
	ck_assert_uint_eq(strspn(text, "01234567"), digits);
	ck_assert_uint_eq(at[digits], 0);
	return strtoull(text, NULL, 8);
}

static void expect_zeros(const uint8_t *from, const uint8_t *to)
{
	while (from < to && *from == 0)
		from++;
	ck_assert_ptr_eq(from, to);
}

/* A header; its size. */
static uint64_t expect_header(const uint8_t *at, uint64_t key, const char *suffix)
{
	uint64_t sum = 8 * ' ';
	char name[32];

	snprintf(name, sizeof(name), "%08lu.%s", (unsigned long)key, suffix);
	ck_assert_str_eq((const char *)at, name);
	for (unsigned i = 0; i < 512; i++)
		sum += i / 4 == 37 || i / 4 == 38 ? 0 : at[i];
	ck_assert_uint_eq(octal(at + 148, 6), sum);
	ck_assert_uint_eq(octal(at + 100, 7), 0444);
	ck_assert_uint_eq(octal(at + 108, 7), 0);
	ck_assert_uint_eq(octal(at + 116, 7), 0);
	ck_assert_uint_eq(octal(at + 136, 11), 0);
	ck_assert_uint_eq(at[156], '0');
	ck_assert(memcmp(at + 257, "ustar\00000", 8) == 0);
	ck_assert_str_eq((const char *)at + 265, "bigdata");
	ck_assert_str_eq((const char *)at + 297, "bigdata");
	expect_zeros(at + 157, at + 257);
	expect_zeros(at + 345, at + 512);
	return octal(at + 124, 11);
}

/* Of one sample; gives what follows it. */
static const uint8_t *expect_sample(const uint8_t *at, uint64_t key, const uint8_t *content,
				    uint64_t bytes)
{
	const uint8_t *end = at + 512 + (bytes + 511) / 512 * 512;
	char label[8];
	uint64_t n;

	ck_assert_uint_eq(expect_header(at, key, "bin"), bytes);
	ck_assert(memcmp(at + 512, content, bytes) == 0);
	expect_zeros(at + 512 + bytes, end);
	n = expect_header(end, key, "cls");
	snprintf(label, sizeof(label), "%lu", (unsigned long)key % 1000);
	ck_assert_uint_eq(n, strlen(label));
	ck_assert(memcmp(end + 512, label, n) == 0);
	expect_zeros(end + 512 + n, end + 1024);
	return end + 1024;
}

START_TEST(a_shard_is_two_members_a_sample)
{
	struct file_shape shape = shape_of(_i);
	uint64_t bytes = shapes[_i].bytes;
	uint8_t *file = whole(&shape, 5, LEAST_BUFFER + 1);
	uint8_t *content = mem_zalloc(shape.samples * bytes);
	const uint8_t *at = file;

	ck_assert_uint_eq(format_tar.file_bytes(&shape), shapes[_i].file_bytes);
	format_content(content, shape.samples * bytes, 5, 0);
	for (uint64_t i = 0; i < shape.samples; i++) {
		uint64_t off, len;

		format_tar.sample_range(&shape, i, 1, &off, &len);
		ck_assert_uint_eq(off, (uint64_t)(at - file) + 512);
		ck_assert_uint_eq(len, bytes);
		at = expect_sample(at, 5 * shape.samples + i, content + i * bytes, bytes);
	}
	ck_assert(at + 1024 <= file + shapes[_i].file_bytes);
	expect_zeros(at, file + shapes[_i].file_bytes);
	mem_free(content);
	mem_free(file);
}
END_TEST

START_TEST(content_does_not_depend_on_the_buffer)
{
	static const size_t chunks[] = { 1 << 20, LEAST_BUFFER + 7, 100003 };
	struct file_shape shape = shape_of(_i);
	uint64_t total = format_tar.file_bytes(&shape);
	uint8_t *a = whole(&shape, 3, LEAST_BUFFER);

	for (size_t k = 0; k < 3; k++) {
		uint8_t *b = whole(&shape, 3, chunks[k]);

		ck_assert(memcmp(a, b, total) == 0);
		mem_free(b);
	}
	mem_free(a);
}
END_TEST

START_TEST(several_samples_are_one_range)
{
	const struct file_shape shape = { .samples = 9, .sides = { 50, 50 } };
	uint64_t off, len;

	format_tar.sample_range(&shape, 2, 4, &off, &len);
	ck_assert_uint_eq(off, 2 * (512 + 2560 + 1024) + 512);
	ck_assert_uint_eq(len, 3 * (512 + 2560 + 1024) + 2500);
}
END_TEST

static int init(struct dataset *ds, double bytes, struct mlgen_err *err)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_TAR,
				 .num_files = 30,
				 .samples_per_file = 100,
				 .sample_size = { .a = bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	return dataset_init(ds, &job, 0, err);
}

START_TEST(a_dataset_of_shards)
{
	struct dataset ds;
	char path[100];

	ck_assert_int_eq(init(&ds, 2500, NULL), 0);
	ck_assert_uint_eq(dataset_all_files(&ds), 30);
	ck_assert_uint_eq(ds.extent_samples, 50); /* of 4096 bytes */
	dataset_path(&ds, 7, path, sizeof(path));
	ck_assert_str_eq(path, "d/train/img_07_of_30.tar");
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_member_that_ustar_cannot_hold_is_refused)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;

	ck_assert_int_eq(init(&ds, 8589934591.0, NULL), 0);
	dataset_fini(&ds);
	ck_assert_int_eq(init(&ds, 8589934592.0, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "sample_size: 8 GiB do not"));
}
END_TEST

START_TEST(the_largest_member_has_its_size)
{
	struct format_writer w = { .shape = { .samples = 1, .sides = { 1, 8589934591 } } };
	static uint8_t buf[LEAST_BUFFER];
	uint64_t off;
	size_t len;

	ck_assert(format_tar.write_next(&w, buf, sizeof(buf), &off, &len));
	ck_assert_uint_eq(expect_header(buf, 0, "bin"), 8589934591);
}
END_TEST

Suite *suite_tar(void)
{
	Suite *s = suite_create("tar");
	TCase *t = tcase_create("tar");

	tcase_add_loop_test(t, a_shard_is_two_members_a_sample, 0, SHAPES);
	tcase_add_loop_test(t, content_does_not_depend_on_the_buffer, 0, SHAPES);
	tcase_add_test(t, several_samples_are_one_range);
	tcase_add_test(t, a_dataset_of_shards);
	tcase_add_test(t, a_member_that_ustar_cannot_hold_is_refused);
	tcase_add_test(t, the_largest_member_has_its_size);
	suite_add_tcase(s, t);
	return s;
}
