/* SPDX-License-Identifier: Apache-2.0 */
/* test_jpeg.c - images of format=jpeg decode and have their size, and Pillow's calls on them. */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "plan_text.h"
#include "suites.h"
#include "written.h"

#define LEAST 163 /* headers, one block, EOI */

static int make(struct dataset *ds, uint64_t per_file, double bytes, struct mlgen_err *err)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_JPEG,
				 .num_files = 3,
				 .samples_per_file = per_file,
				 .sample_size = { .a = bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	return dataset_init(ds, &job, 0, err);
}

static unsigned big_endian(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/*
 * A decoder of one grey scan with one DC and one AC table, after ITU-T T.81: segments by their
 * lengths (B.1.1.4), codes from their counts (C.2), blocks by F.2.2. It knows nothing of what the
 * writer likes to write.
 */
struct codes {
	uint8_t counts[17]; /* of each length */
	uint8_t symbols[256];
};

struct jpeg {
	const uint8_t *at, *end;
	unsigned width, height;
	struct codes tables[2]; /* DC, AC */
	unsigned bits_left;
	unsigned byte;
};

static void read_tables(struct jpeg *j, const uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		struct codes *c = &j->tables[*at >> 4];
		unsigned n = 0;

		ck_assert_uint_eq(*at & 0xf, 0);
		for (unsigned i = 1; i <= 16; i++)
			n += c->counts[i] = at[i];
		ck_assert_uint_le(n, 256);
		memcpy(c->symbols, at + 17, n);
		at += 17 + n;
	}
	ck_assert_ptr_eq(at, end);
}

/* Up to the scan. */
static void read_headers(struct jpeg *j)
{
	uint8_t marker = 0;

	ck_assert_uint_eq(big_endian(j->at), 0xffd8);
	j->at += 2;
	while (marker != 0xda) {
		unsigned len = big_endian(j->at + 2);

		ck_assert_uint_eq(j->at[0], 0xff);
		marker = j->at[1];
		if (marker == 0xc4)
			read_tables(j, j->at + 4, j->at + 2 + len);
		if (marker == 0xc0) {
			j->height = big_endian(j->at + 5);
			j->width = big_endian(j->at + 7);
			ck_assert_uint_eq(j->at[9], 1);
		}
		j->at += 2 + len;
		ck_assert(j->at < j->end);
	}
}

/* An assertion for each symbol: cheaper than libcheck's. */
static void expect(bool is_true, const char *what)
{
	if (!is_true)
		ck_abort_msg("%s", what);
}

static void next_byte(struct jpeg *j)
{
	expect(j->at < j->end, "the scan goes on behind the file");
	j->byte = *j->at++;
	j->bits_left = 8;
	if (j->byte == 0xff)
		expect(*j->at++ == 0, "a marker within the scan");
}

static unsigned next_bit(struct jpeg *j)
{
	if (j->bits_left == 0)
		next_byte(j);
	return j->byte >> --j->bits_left & 1;
}

static void skip_bits(struct jpeg *j, unsigned bits)
{
	while (bits > j->bits_left) {
		bits -= j->bits_left;
		next_byte(j);
	}
	j->bits_left -= bits;
}

static unsigned next_symbol(struct jpeg *j, const struct codes *c)
{
	unsigned code = 0, first = 0, index = 0;

	for (unsigned len = 1; len <= 16; len++) {
		code = code << 1 | next_bit(j);
		first <<= 1;
		if (code < first + c->counts[len])
			return c->symbols[index + code - first];
		index += c->counts[len];
		first += c->counts[len];
	}
	ck_abort_msg("no code begins like this");
	return 0;
}

static void read_block(struct jpeg *j)
{
	unsigned size = next_symbol(j, &j->tables[0]);

	expect(size <= 11, "no size of a DC value");
	skip_bits(j, size);
	for (unsigned k = 1; k < 64; k++) {
		unsigned rs = next_symbol(j, &j->tables[1]);

		size = rs & 0xf;
		if (rs == 0)
			return;
		k += rs >> 4;
		expect(size <= 10 && k < 64, "no coefficient");
		skip_bits(j, size);
	}
}

/* The scan is what the frame says, and EOI is what follows it. */
static void check_image(const uint8_t *file, uint64_t bytes, struct jpeg *j)
{
	*j = (struct jpeg){ .at = file, .end = file + bytes };
	read_headers(j);
	for (unsigned n = (j->width / 8) * (j->height / 8); n; n--)
		read_block(j);
	ck_assert_uint_eq(j->bits_left, 0);
	ck_assert_ptr_eq(j->at + 2, j->end);
	ck_assert_uint_eq(big_endian(j->at), 0xffd9);
}

static void check_size(uint64_t bytes, struct jpeg *j)
{
	const struct file_shape shape = { .samples = 1, .sides = { 1, bytes } };
	uint8_t *a = whole(&format_jpeg, &shape, 1, LEAST_BUFFER);
	uint8_t *b = whole(&format_jpeg, &shape, 1, LEAST_BUFFER + 4099);
	uint64_t off, len;

	ck_assert_uint_eq(format_jpeg.file_bytes(&shape), bytes);
	format_jpeg.sample_range(&shape, 0, 1, &off, &len);
	ck_assert(off == 0 && len == bytes);
	ck_assert(memcmp(a, b, bytes) == 0);
	ck_assert(memcmp(a, format_jpeg.magic, format_jpeg.magic_bytes) == 0);
	check_image(a, bytes, j);
	mem_free(a);
	mem_free(b);
}

START_TEST(small_files_of_every_size_are_images)
{
	struct jpeg j;

	for (uint64_t bytes = LEAST; bytes < 5000; bytes += bytes < 2500 ? 1 : 7)
		check_size(bytes, &j);
}
END_TEST

START_TEST(files_about_the_size_of_the_buffer_are_images)
{
	struct jpeg j;

	for (uint64_t bytes = LEAST_BUFFER - 40; bytes < LEAST_BUFFER + 40; bytes++)
		check_size(bytes, &j);
}
END_TEST

START_TEST(dimensions_are_those_of_noise)
{
	/* Pillow made 179,254 bytes of 568 x 568 */
	struct jpeg j;

	check_size(179254, &j);
	ck_assert(j.width >= 540 && j.width <= 590);
	ck_assert(j.height >= 540 && j.height <= 600);
	check_size(2 << 20, &j);
	ck_assert_uint_le(j.height - j.width, 16);
}
END_TEST

struct blocks {
	uint64_t whole;
	size_t begun_bytes; /* of the block that the next piece continues */
};

/*
 * Count the blocks in a piece of a scan. The decoder needs 4 s for 85 MB; this walk relies on what
 * decode_first() asserts: a block begins with a zero byte and ends with the only byte that is 0xfe.
 */
static void count_blocks(struct blocks *b, const uint8_t *at, const uint8_t *end)
{
	expect(!memchr(at, 0xff, (size_t)(end - at)), "a marker in the scan");
	while (at < end) {
		const uint8_t *last = memchr(at, 0xfe, (size_t)(end - at));
		size_t bytes = (size_t)(last ? last + 1 - at : end - at);

		expect(b->begun_bytes > 0 || *at == 0, "no DC value of 0");
		b->begun_bytes += bytes;
		expect(b->begun_bytes < 64, "a block of 64 bytes or more");
		if (last) {
			b->whole++;
			b->begun_bytes = 0;
		}
		at += bytes;
	}
}

/* The headers and all whole blocks of the first piece; where the scan begins. */
static const uint8_t *decode_first(struct jpeg *j, const uint8_t *piece, size_t bytes)
{
	const uint8_t *scan;

	*j = (struct jpeg){ .at = piece, .end = piece + bytes };
	read_headers(j);
	scan = j->at;
	while (j->end - j->at >= 64) {
		ck_assert_uint_eq(*j->at, 0);
		read_block(j);
		ck_assert_uint_eq(j->bits_left, 0);
		ck_assert_uint_eq(j->at[-1], 0xfe);
	}
	return scan;
}

/* Pillow warns of 89,478,486 pixels and more. */
START_TEST(large_files_have_fuller_blocks)
{
	static const uint64_t total = 85000000;
	const struct file_shape shape = { .samples = 1, .sides = { 1, total } };
	static uint8_t buf[LEAST_BUFFER];
	struct format_writer w = { .shape = shape };
	struct blocks b = { 0 };
	uint64_t off, end = 0;
	struct jpeg j;
	size_t len;

	while (format_jpeg.write_next(&w, buf, sizeof(buf), &off, &len)) {
		const uint8_t *from = buf;

		ck_assert_uint_eq(off, end);
		end += len;
		if (off == 0)
			from = decode_first(&j, buf, len);
		if (end == total) {
			ck_assert_uint_eq(big_endian(buf + len - 2), 0xffd9);
			len -= 2;
		}
		count_blocks(&b, from, buf + len);
	}
	ck_assert_uint_eq(end, total);
	ck_assert_uint_eq(b.begun_bytes, 0);
	ck_assert_uint_eq(b.whole, (j.width / 8) * (j.height / 8));
	ck_assert_uint_gt((uint64_t)j.width * j.height, 80000000);
	ck_assert_uint_le((uint64_t)j.width * j.height, 89478485);
}
END_TEST

/* Files of 50.4 MB are the first whose blocks are fuller. */
START_TEST(images_of_many_blocks_keep_below_that_warning)
{
	static const uint64_t sizes[] = { 50400000, 60000000, 86600000 };
	static uint8_t buf[LEAST_BUFFER];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct format_writer w = { .shape = { .samples = 1, .sides = { 1, sizes[i] } } };
		uint64_t off;
		struct jpeg j;
		size_t len;

		ck_assert(format_jpeg.write_next(&w, buf, sizeof(buf), &off, &len));
		decode_first(&j, buf, len);
		ck_assert_uint_gt((uint64_t)j.width * j.height, 80000000);
		ck_assert_uint_le((uint64_t)j.width * j.height, 89478485);
	}
}
END_TEST

/* Of the largest file, its headers and the end. */
START_TEST(the_largest_file_has_sides_that_decoders_take)
{
	const struct file_shape shape = { .samples = 1, .sides = { 1, UINT64_C(4) << 30 } };
	uint64_t total = format_jpeg.file_bytes(&shape), off;
	static uint8_t buf[LEAST_BUFFER];
	struct format_writer w = { .shape = shape };
	struct jpeg j = { .at = buf, .end = buf + sizeof(buf) };
	size_t len;

	ck_assert_uint_eq(total, UINT64_C(3) << 30);
	ck_assert(format_jpeg.write_next(&w, buf, sizeof(buf), &off, &len));
	read_headers(&j);
	ck_assert(j.width <= 65500 && j.height <= 65500);
	w.pos = total - 1000;
	ck_assert(format_jpeg.write_next(&w, buf, sizeof(buf), &off, &len));
	ck_assert_uint_eq(off + len, total);
	ck_assert(!format_jpeg.write_next(&w, buf, sizeof(buf), &off, &len));
}
END_TEST

START_TEST(images_do_not_compress_and_differ)
{
	const struct file_shape shape = { .samples = 1, .sides = { 1, 60000 } };
	uint8_t *a = whole(&format_jpeg, &shape, 1, LEAST_BUFFER);
	uint8_t *b = whole(&format_jpeg, &shape, 2, LEAST_BUFFER);
	uint8_t packed[LEAST_BUFFER];

	uLongf bytes = sizeof(packed);

	ck_assert_int_eq(compress2(packed, &bytes, a, 60000, 9), Z_OK);
	ck_assert_uint_gt(bytes, 60000 * 98 / 100);
	ck_assert(memcmp(a + 4096, b + 4096, 4096) != 0);
	mem_free(a);
	mem_free(b);
}
END_TEST

START_TEST(what_is_no_image_is_refused)
{
	static const struct {
		uint64_t per_file;
		double bytes;
		const char *text;
	} cases[] = {
		{ 2, 10000, "samples_per_file: 2 do not fit format=jpeg" },
		{ 1, LEAST - 1, "sample_size: 162 bytes are less than a JPEG file" },
		{ 1, 3221225473.0, "at most 3g" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mlgen_err err = { 0 };
		struct dataset ds;

		ck_assert_int_eq(make(&ds, cases[i].per_file, cases[i].bytes, &err), -EINVAL);
		ck_assert_ptr_nonnull(strstr(err.text, cases[i].text));
	}
}
END_TEST

START_TEST(sizes_that_are_drawn_too_small_become_the_least)
{
	const struct file_shape shape = { .samples = 1, .sides = { 1, 7 } };
	uint8_t *file = whole(&format_jpeg, &shape, 1, LEAST_BUFFER);
	struct jpeg j;

	ck_assert_uint_eq(format_jpeg.file_bytes(&shape), LEAST);
	check_image(file, LEAST, &j);
	mem_free(file);
}
END_TEST

/* clang-format off */
static const struct {
	double bytes;
	const char *text;
} plans[] = {
	/* as traced */
	{ 556074, "open stat 4096@0 61440@4096 65536@65536 65536@131072 65536@196608 65536@262144 65536@327680 65536@393216 65536@458752 65536@524288=31786 32768@556074=0 close" },
	{ 1000, "open stat 4096@0=1000 61440@1000=0 close" },
	{ 4095, "open stat 4096@0=4095 61440@4095=0 close" },
	{ 4096, "open stat 4096@0 61440@4096=0 close" },
	{ 4097, "open stat 4096@0 61440@4096=1 57344@4097=0 close" },
	{ 61440, "open stat 4096@0 61440@4096=57344 4096@61440=0 close" },
	{ 61441, "open stat 4096@0 61440@4096=57345 4096@61441=0 close" },
	{ 65535, "open stat 4096@0 61440@4096=61439 4096@65535=0 close" },
	{ 65536, "open stat 4096@0 61440@4096 close" },
	{ 65537, "open stat 4096@0 61440@4096 65536@65536=1 61440@65537=0 close" },
	{ 131071, "open stat 4096@0 61440@4096 65536@65536=65535 4096@131071=0 close" },
	{ 131072, "open stat 4096@0 61440@4096 65536@65536 close" },
	{ 131073, "open stat 4096@0 61440@4096 65536@65536 65536@131072=1 61440@131073=0 close" },
	{ 262144, "open stat 4096@0 61440@4096 65536@65536 65536@131072 65536@196608 close" },
};
/* clang-format on */
#define PLANS ((int)(sizeof(plans) / sizeof(plans[0])))

START_TEST(pillow_reads_a_file_so)
{
	struct plan_config config = { .access = ACCESS_FRAMEWORK };
	char text[PLAN_TEXT_BYTES];
	struct dataset ds;
	struct extent x;

	ck_assert_int_eq(make(&ds, 1, plans[_i].bytes, NULL), 0);
	config.dataset = &ds;
	dataset_extent(&ds, 1, &x);
	ck_assert_str_eq(plan_text(&config, &x, text), plans[_i].text);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_jpeg(void)
{
	Suite *s = suite_create("jpeg");
	TCase *t = tcase_create("jpeg");

	tcase_add_test(t, small_files_of_every_size_are_images);
	tcase_add_test(t, files_about_the_size_of_the_buffer_are_images);
	tcase_add_test(t, dimensions_are_those_of_noise);
	tcase_add_test(t, large_files_have_fuller_blocks);
	tcase_add_test(t, images_of_many_blocks_keep_below_that_warning);
	tcase_add_test(t, the_largest_file_has_sides_that_decoders_take);
	tcase_add_test(t, images_do_not_compress_and_differ);
	tcase_add_test(t, what_is_no_image_is_refused);
	tcase_add_test(t, sizes_that_are_drawn_too_small_become_the_least);
	tcase_add_loop_test(t, pillow_reads_a_file_so, 0, PLANS);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return s;
}
