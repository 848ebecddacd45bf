/* SPDX-License-Identifier: Apache-2.0 */
/* test_png.c - images of format=png have their size and inflate, and those of others are found. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "data/formats/formats.h"
#include "found_file.h"
#include "plan_text.h"
#include "suites.h"
#include "written.h"

#define LEAST 90

static uint64_t big(const uint8_t *at)
{
	return look_be(at, 4);
}

/* A reader that knows chunks, and nothing of what the writer likes to write. */
struct image {
	uint64_t width, height;
	uint8_t *stream;
	uint64_t stream_bytes;
	unsigned chunks;
	bool has_end;
};

static void read_image(struct image *m, const uint8_t *file, uint64_t bytes)
{
	uint64_t off = 8;

	memset(m, 0, sizeof(*m));
	m->stream = mem_zalloc(bytes);
	ck_assert(memcmp(file, "\x89PNG\r\n\x1a\n", 8) == 0);
	while (off < bytes) {
		uint64_t n = big(file + off);
		const uint8_t *at = file + off + 8;

		ck_assert_uint_le(off + 12 + n, bytes);
		ck_assert_uint_eq(big(at + n), crc32(0, at - 4, (uInt)n + 4));
		if (memcmp(at - 4, "IHDR", 4) == 0) {
			m->width = big(at);
			m->height = big(at + 4);
			ck_assert(memcmp(at + 8, "\10\0\0\0\0", 5) == 0);
		} else if (memcmp(at - 4, "IDAT", 4) == 0) {
			memcpy(m->stream + m->stream_bytes, at, n);
			m->stream_bytes += n;
			m->chunks++;
			ck_assert_uint_le(n, 65536);
		}
		m->has_end = memcmp(at - 4, "IEND", 4) == 0;
		off += 12 + n;
	}
	ck_assert_uint_eq(off, bytes);
	ck_assert(m->has_end);
}

static const uint64_t sizes[] = { LEAST,  LEAST + 1, LEAST + 2, 100,    150,   1000,
				  4096,   65535,     65536,     65600,  65640, 131072,
				  131200, 196800,    300001,    1000003 };
#define SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

START_TEST(an_image_has_its_size_and_inflates_to_its_rows)
{
	const struct file_shape shape = { .samples = 1, .sides = { 1, sizes[_i] } };
	uint8_t *file = whole(&format_png, &shape, 7, LEAST_BUFFER);
	uLongf raw;
	uint8_t *rows;
	struct image m;

	ck_assert_uint_eq(format_png.file_bytes(&shape), sizes[_i]);
	read_image(&m, file, sizes[_i]);
	raw = (m.width + 1) * m.height;
	rows = mem_zalloc(raw);
	ck_assert_int_eq(uncompress(rows, &raw, m.stream, (uLong)m.stream_bytes), Z_OK);
	ck_assert_uint_eq(raw, (m.width + 1) * m.height);
	for (uint64_t y = 0; y < m.height; y++)
		ck_assert_uint_eq(rows[y * (m.width + 1)], 0);
	/* Nearly all of it is image. */
	if (sizes[_i] > 10000)
		ck_assert_uint_gt(raw, sizes[_i] * 97 / 100);
	mem_free(rows);
	mem_free(m.stream);
	mem_free(file);
}
END_TEST

START_TEST(what_is_drawn_too_small_or_too_large_is_the_least_or_the_most)
{
	struct file_shape shape = { .samples = 1, .sides = { 1, 1 } };

	ck_assert_uint_eq(format_png.file_bytes(&shape), LEAST);
	shape.sides[1] = UINT64_C(1) << 33;
	ck_assert_uint_eq(format_png.file_bytes(&shape), UINT64_C(85) << 20);
}
END_TEST

static void look(struct found *f, const void *data, size_t bytes)
{
	char name[64];
	int fd = found_make(data, bytes, name);

	ck_assert_int_ge(fd, 0);
	found_path(f, &format_png, name, bytes, NULL);
	close(fd);
}

START_TEST(what_mlgen_makes_is_found_as_it_was_made)
{
	const struct file_shape made = { .samples = 1, .sides = { 1, sizes[_i] } };
	uint8_t *file = whole(&format_png, &made, 7, LEAST_BUFFER);
	struct png_layout a, b;
	struct found f;

	look(&f, file, sizes[_i]);
	ck_assert_msg(f.result == 0, "%s", f.err.text);
	ck_assert_uint_eq(f.look.samples, 1);
	ck_assert_uint_eq(f.look.sample_bytes, sizes[_i]);
	png_layout(&made, &a);
	png_layout(&f.shape, &b);
	ck_assert(memcmp(&a, &b, sizeof(a)) == 0);
	scanned_fini(&f);
	mem_free(file);
}
END_TEST

/* clang-format off */
static const struct damage {
	size_t off, n;
	const char *bytes;
	size_t length;
	const char *why;
} damages[] = {
	{ 0, 1, "P", 1000, "no PNG file begins here" },
	{ 12, 4, "IDAT", 1000, "needs a header (IHDR) of 13 bytes" },
	{ 11, 1, "\16", 1000, "needs a header (IHDR) of 13 bytes" },
	{ 33, 4, "\xff\xff\xff\xff", 1000, "is longer than the rest of the file" },
	{ 992, 4, "IENX", 1000, "does not end with IEND" },
	{ 0, 0, NULL, 999, "is longer than the rest of the file" },
	{ 0, 0, NULL, 60, "incomplete" },
	{ 0, 0, NULL, 33, "incomplete" },
	{ 0, 0, NULL, 8, "the file ends here" },
	{ 0, 0, NULL, 4, "the file ends here" },
	{ 0, 0, NULL, 0, "the file ends here" },
};
/* clang-format on */
#define DAMAGES ((int)(sizeof(damages) / sizeof(damages[0])))

START_TEST(an_image_that_is_damaged_is_refused)
{
	const struct file_shape shape = { .samples = 1, .sides = { 1, 1000 } };
	const struct damage *d = &damages[_i];
	uint8_t *file = whole(&format_png, &shape, 7, LEAST_BUFFER);
	struct found f;

	memcpy(file + d->off, d->n ? d->bytes : "", d->n);
	look(&f, file, d->length);
	ck_assert_int_eq(f.result, -EINVAL);
	ck_assert_msg(strstr(f.err.text, d->why) != NULL, "%s", f.err.text);
	scanned_fini(&f);
	mem_free(file);
}
END_TEST

/* CgBI of Apple's tools before the header, and something behind the end. */
START_TEST(what_others_add_to_an_image_is_no_damage)
{
	static const char first[] = "\0\0\0\4CgBI\x50\0\x20\6\x2c\xb8\x77\x66";
	const struct file_shape shape = { .samples = 1, .sides = { 1, 1000 } };
	uint8_t *made = whole(&format_png, &shape, 7, LEAST_BUFFER);
	uint8_t *file = mem_zalloc(1116);
	struct png_layout a, b;
	struct found f;

	memcpy(file, made, 8);
	memcpy(file + 8, first, 16);
	memcpy(file + 24, made + 8, 992);
	for (size_t bytes = 1016; bytes <= 1116; bytes += 50) {
		look(&f, file, bytes);
		ck_assert_msg(f.result == 0, "%s", f.err.text);
		ck_assert_uint_eq(f.look.sample_bytes, bytes);
		png_layout(&shape, &a);
		png_layout(&f.shape, &b);
		ck_assert_uint_eq(b.data_off, a.data_off + 16);
		ck_assert_uint_eq(b.end_off, 1016);
		scanned_fini(&f);
	}
	mem_free(made);
	mem_free(file);
}
END_TEST

START_TEST(chunks_without_an_image_come_to_an_end)
{
	size_t bytes = 33 + 12 * 10000;
	const struct file_shape shape = { .samples = 1, .sides = { 1, 100 } };
	uint8_t *file = mem_zalloc(bytes);
	uint8_t *made = whole(&format_png, &shape, 7, LEAST_BUFFER);
	struct found f;

	memcpy(file, made, 33);
	look(&f, file, bytes);
	ck_assert_int_eq(f.result, -EINVAL);
	ck_assert_ptr_nonnull(strstr(f.err.text, "no image (IDAT)"));
	scanned_fini(&f);
	mem_free(made);
	mem_free(file);
}
END_TEST

START_TEST(pillow_goes_through_an_image_chunk_by_chunk)
{
	static const struct {
		double bytes;
		const char *text;
	} plans[] = {
		{ 1000, "open stat 4096@0=1000 close" },
		{ 10000, "open stat 4096@0 4096@4096 4096@8192=1808 close" },
		{ 70000, "open stat 4096@0 61440@4096 4096@65536 4096@69632=368 close" },
	};
	static char directory[] = "d";

	for (unsigned i = 0; i < 3; i++) {
		const struct job job = { .directory = directory,
					 .format = FORMAT_PNG,
					 .num_files = 3,
					 .samples_per_file = 1,
					 .sample_size = { .a = plans[i].bytes },
					 .scale = 100,
					 .accelerators = 1,
					 .batch_size = 1 };
		struct plan_config config = { .access = ACCESS_FRAMEWORK };
		char text[PLAN_TEXT_BYTES];
		struct dataset ds;
		struct extent x;

		ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
		config.dataset = &ds;
		dataset_extent(&ds, 1, &x);
		ck_assert_str_eq(plan_text(&config, &x, text), plans[i].text);
		dataset_fini(&ds);
	}
}
END_TEST

Suite *suite_png(void)
{
	Suite *s = suite_create("png");
	TCase *t = tcase_create("png");

	tcase_add_loop_test(t, an_image_has_its_size_and_inflates_to_its_rows, 0, SIZES);
	tcase_add_test(t, what_is_drawn_too_small_or_too_large_is_the_least_or_the_most);
	tcase_add_loop_test(t, what_mlgen_makes_is_found_as_it_was_made, 0, SIZES);
	tcase_add_loop_test(t, an_image_that_is_damaged_is_refused, 0, DAMAGES);
	tcase_add_test(t, what_others_add_to_an_image_is_no_damage);
	tcase_add_test(t, chunks_without_an_image_come_to_an_end);
	tcase_add_test(t, pillow_goes_through_an_image_chunk_by_chunk);
	suite_add_tcase(s, t);
	return s;
}
