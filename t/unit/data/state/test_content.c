/* SPDX-License-Identifier: Apache-2.0 */
/* test_content.c - the bytes of tensors: never the same twice, and all that follows from them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/mem.h"
#include "base/dist.h"
#include "data/state/state.h"
#include "data/state/state_internal.h"
#include "suites.h"

#define KIB 1024u
#define SEED 42u

static const struct content_of whose = { .rank = 3, .checkpoint = 17, .file = 5, .off = 12345 };

/* A run as its writer has it. */
struct run {
	struct content *c;
	unsigned char *slice;
	struct iovec parts[CONTENT_PARTS];
	unsigned count;
	unsigned char *bytes; /* gathered */
};

static void gather(struct run *r, uint64_t bytes)
{
	unsigned char *at = r->bytes;

	for (unsigned i = 0; i < r->count; i++) {
		memcpy(at, r->parts[i].iov_base, r->parts[i].iov_len);
		at += r->parts[i].iov_len;
	}
	ck_assert_uint_eq((uint64_t)(at - r->bytes), bytes);
}

static void put(struct run *r, const struct content_of *of, uint64_t bytes)
{
	r->count = content_stamp_run(r->c, of, r->slice, bytes, r->parts);
	mem_free(r->bytes);
	r->bytes = mem_zalloc(bytes + 1);
	gather(r, bytes);
}

/* Without a run. */
static void set_up(struct run *r, uint64_t span)
{
	memset(r, 0, sizeof(*r));
	r->c = content_new(span, SEED);
	r->slice = mem_zalloc(span + CONTENT_SLACK);
	content_fill(r->c, r->slice);
}

static void tear_down(struct run *r)
{
	mem_free(r->bytes);
	mem_free(r->slice);
	content_free(r->c);
}

/* A block at most, a few, exactly a span, more, many, as many as can be. */
static const struct length {
	uint64_t span, bytes;
} lengths[] = {
	{ 8 * KIB, 1 },
	{ 8 * KIB, 31 },
	{ 8 * KIB, 4095 },
	{ 8 * KIB, 4096 },
	{ 8 * KIB, 5000 },
	{ 8 * KIB, 8 * KIB },
	{ 8 * KIB, 8 * KIB + 1 },
	{ 8 * KIB, 8 * KIB + 4097 },
	{ 8 * KIB, 100 * 8 * KIB + 777 },
	{ 4 * KIB, 100 * 4 * KIB },
	{ 4 * KIB, CONTENT_PARTS * 4 * KIB },
	{ 64 * KIB, 20 * 64 * KIB - 1 },
	{ 2048 * KIB, 300 * KIB },
};

#define LENGTHS ((int)(sizeof(lengths) / sizeof(lengths[0])))

/* A range within a run, often near its ends and those of blocks and spans. */
struct byte_range {
	uint64_t p, bytes;
};

static uint64_t pick(uint64_t below, uint64_t *index)
{
	return below ? rng_u64(1, RNG_TEST, (*index)++) % below : 0;
}

static struct byte_range range_of(const struct length *l, uint64_t i)
{
	uint64_t index = 10 * i, steps[] = { 1, 4096, l->span };
	uint64_t step = steps[i % 3];
	struct byte_range r = { pick(l->bytes / step + 1, &index) * step, 0 };

	r.p += pick(3, &index);
	if (r.p > l->bytes)
		r.p = l->bytes;
	r.bytes = pick(l->bytes - r.p + 1, &index);
	if (i % 4 == 1)
		r.bytes = l->bytes - r.p;
	if (i % 4 == 2)
		r.bytes = r.bytes / 4096 * 4096;
	return r;
}

#define RANGES 60u

START_TEST(what_is_written_is_what_is_said)
{
	const struct length *l = &lengths[_i];
	unsigned char *copy = mem_zalloc(l->bytes + 2);
	struct run r;

	set_up(&r, l->span);
	put(&r, &whose, l->bytes);
	ck_assert_uint_eq(r.count, (l->bytes + l->span - 1) / l->span);
	for (uint64_t i = 0; i < RANGES; i++) {
		struct byte_range g = range_of(l, i);

		memset(copy, 0xa5, l->bytes + 2);
		content_copy(r.c, &whose, g.p, copy + 1, g.bytes);
		ck_assert_msg(memcmp(copy + 1, r.bytes + g.p, g.bytes) == 0, "%u bytes at %u",
			      (unsigned)g.bytes, (unsigned)g.p);
		ck_assert_uint_eq(copy[0], 0xa5);
		ck_assert_uint_eq(copy[g.bytes + 1], 0xa5);
	}
	tear_down(&r);
	mem_free(copy);
}
END_TEST

START_TEST(a_checksum_is_that_of_zlib)
{
	const struct length *l = &lengths[_i];
	struct run r;

	set_up(&r, l->span);
	put(&r, &whose, l->bytes);
	for (uint64_t i = 0; i < RANGES; i++) {
		struct byte_range g = range_of(l, i);
		uint32_t want = (uint32_t)crc32((uLong)i, r.bytes + g.p, (uInt)g.bytes);

		ck_assert_msg(content_crc32(r.c, &whose, g.p, g.bytes, (uint32_t)i) == want,
			      "%u bytes at %u", (unsigned)g.bytes, (unsigned)g.p);
	}
	tear_down(&r);
}
END_TEST

START_TEST(what_is_right_is_found_right)
{
	const struct length *l = &lengths[_i];
	struct run r;

	set_up(&r, l->span);
	put(&r, &whose, l->bytes);
	for (uint64_t i = 0; i < RANGES; i++) {
		struct byte_range g = range_of(l, i);

		ck_assert_uint_eq(content_check(r.c, &whose, g.p, r.bytes + g.p, g.bytes), g.bytes);
	}
	tear_down(&r);
}
END_TEST

/* One bit at a time: in stamps, behind them, at the ends of blocks and spans. */
START_TEST(the_first_wrong_byte_is_found)
{
	static const uint64_t near[] = { 0, 1, 4, 7, 8, 12, 16, 24, 31, 32, 33, 2000, 4094, 4095 };
	const struct length *l = &lengths[_i];
	struct run r;

	set_up(&r, l->span);
	put(&r, &whose, l->bytes);
	for (uint64_t i = 0; i < 400; i++) {
		struct byte_range g = range_of(l, i % RANGES);
		uint64_t index = 7 * i + 100000, at, bit;

		if (g.bytes == 0)
			continue;
		at = pick(g.bytes, &index);
		if (i % 2)
			at = at / 4096 * 4096 + near[i / 2 % 14];
		if (at >= g.bytes)
			continue;
		bit = 1u << i % 8;
		r.bytes[g.p + at] ^= (unsigned char)bit;
		/* a later one does not hide it */
		r.bytes[g.p + g.bytes - 1] ^= at < g.bytes - 1;
		ck_assert_uint_eq(content_check(r.c, &whose, g.p, r.bytes + g.p, g.bytes), at);
		r.bytes[g.p + g.bytes - 1] ^= at < g.bytes - 1;
		r.bytes[g.p + at] ^= (unsigned char)bit;
	}
	tear_down(&r);
}
END_TEST

/* Right in itself, but another's, or of another place. */
START_TEST(a_block_in_the_wrong_place_is_wrong)
{
	const struct content_of others[] = {
		{ 4, 17, 5, 12345 },
		{ 3, 18, 5, 12345 },
		{ 3, 17, 6, 12345 },
		{ 3, 17, 5, 12345 + 64 * KIB },
		{ 3, 17, 5, 12345 + 4096 },
		{ 3, 17, 5 | 1ull << 40, 12345 },
		{ 3, 17, 5, 12345 + (1ull << 40) },
	};
	unsigned char block[CONTENT_BLOCK];
	struct run r;

	set_up(&r, 64 * KIB);
	put(&r, &whose, 64 * KIB);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		content_copy(r.c, &others[i], 8192, r.bytes + 8192, 4096);
		uint64_t at = content_check(r.c, &whose, 0, r.bytes, 64 * KIB);
		ck_assert_uint_ge(at, 8192);
		ck_assert_uint_lt(at, 8192 + sizeof(struct content_stamp));
		content_copy(r.c, &whose, 8192, r.bytes + 8192, 4096);
	}
	/* two blocks of the same run, one for the other */
	memcpy(block, r.bytes + 4096, 4096);
	memcpy(r.bytes + 4096, r.bytes + 8192, 4096);
	memcpy(r.bytes + 8192, block, 4096);
	ck_assert_uint_lt(content_check(r.c, &whose, 0, r.bytes, 64 * KIB),
			  4096 + sizeof(struct content_stamp));
	tear_down(&r);
}
END_TEST

static uint64_t number(const unsigned char *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes)
		v = v << 8 | at[--bytes];
	return v;
}

START_TEST(a_block_begins_with_its_stamp)
{
	struct content_of of = whose;
	struct crcjoin word;
	struct run r;

	set_up(&r, 64 * KIB);
	of.off = 0x123456789abc;
	of.file = 0xfedcba9876543210;
	put(&r, &of, 3 * 64 * KIB);
	crcjoin_init(&word, CRCJOIN_CRC32C, 4);
	for (uint64_t at = 0; at < 64 * KIB + CONTENT_SLACK; at += 4096) {
		const unsigned char *b = r.slice + at;

		ck_assert_uint_eq(number(b, 4), CONTENT_MAGIC);
		ck_assert_uint_eq(number(b + 4, 4), crcjoin_sum(&word, 0, b + 8, 4088));
		ck_assert_uint_eq(number(b + 8, 4), 3);
		ck_assert_uint_eq(number(b + 12, 4), 17);
		ck_assert_uint_eq(number(b + 16, 8), of.file);
		ck_assert_uint_eq(number(b + 24, 8), of.off + at);
	}
	tear_down(&r);
}
END_TEST

/* Only what a run needs of a slice is stamped, so that a small one is cheap. */
START_TEST(a_put_touches_nothing_but_stamps)
{
	struct run r;

	set_up(&r, 64 * KIB);
	unsigned char *pool = mem_zalloc(64 * KIB + CONTENT_SLACK);
	content_fill(r.c, pool);
	for (unsigned n = 1; n <= 16; n += 5) {
		content_fill(r.c, r.slice);
		put(&r, &whose, n * 4096 - 100);
		for (uint64_t i = 0; i < 64 * KIB + CONTENT_SLACK; i++) {
			bool is_stamp = i / 4096 < n && i % 4096 < 32;

			ck_assert(is_stamp || r.slice[i] == pool[i]);
		}
	}
	mem_free(pool);
	tear_down(&r);
}
END_TEST

START_TEST(what_lay_over_a_slice_is_mended)
{
	struct run r;

	set_up(&r, 8 * KIB);
	unsigned char *want = mem_zalloc(8 * KIB);
	content_copy(r.c, &whose, 0, want, 8 * KIB);
	memset(r.slice + 1000, 0xa5, 5001);
	content_restore(r.c, r.slice, 1000, 5001);
	put(&r, &whose, 8 * KIB);
	ck_assert_int_eq(memcmp(r.bytes, want, 8 * KIB), 0);
	mem_free(want);
	tear_down(&r);
}
END_TEST

static int by_words(const void *a, const void *b)
{
	return memcmp(a, b, 2 * sizeof(uint64_t));
}

struct hashes {
	uint64_t (*of)[2];
	size_t count;
};

/* Two checksums of 32 bits and 64 bits of what is in it: enough to tell. */
static void add_hash(struct hashes *h, const unsigned char *block)
{
	uint64_t fold = 0;

	for (unsigned i = 0; i < 4096; i += 8)
		fold = (fold ^ number(block + i, 8)) * 0x9e3779b97f4a7c15u;
	h->of[h->count][0] = fold;
	h->of[h->count++][1] = crc32(0, block, 4096);
}

static void check_hashes(struct hashes *h)
{
	qsort(h->of, h->count, sizeof(h->of[0]), by_words);
	for (size_t i = 1; i < h->count; i++)
		ck_assert_int_ne(by_words(h->of[i - 1], h->of[i]), 0);
	mem_free(h->of);
}

/* By rank, checkpoint, file and place, each in runs that repeat. */
START_TEST(no_two_blocks_written_are_alike)
{
	const uint64_t bytes = 40 * 16 * KIB;
	struct hashes h = { mem_array(9 * bytes / 4096, 16), 0 };
	struct content_of of[] = {
		{ 0, 1, 0, 0 },     { 1, 1, 0, 0 },          { 0, 2, 0, 0 },
		{ 0, 1, 1, 0 },     { 0, 1, 0, bytes },      { 0, 1, 0, 2 * bytes },
		{ 1, 1, 0, bytes }, { 0, 1, 1ull << 32, 0 }, { 0, 1, 0, 1ull << 40 },
	};
	struct run r;

	set_up(&r, 16 * KIB);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		put(&r, &of[i], bytes);
		for (uint64_t at = 0; at < bytes; at += 4096)
			add_hash(&h, r.bytes + at);
	}
	ck_assert_uint_eq(h.count, 9 * bytes / 4096);
	check_hashes(&h);
	tear_down(&r);
}
END_TEST

/* As many repetitions as there can be, and a run that begins anywhere. */
START_TEST(no_two_blocks_of_a_long_run_are_alike)
{
	const uint64_t bytes = CONTENT_PARTS * 8 * KIB;
	struct hashes h = { mem_array(bytes / 4096, 16), 0 };
	struct run r;

	set_up(&r, 8 * KIB);
	put(&r, &whose, bytes);
	for (uint64_t at = 509 * (unsigned)_i; at + 4096 <= bytes; at += 4096)
		add_hash(&h, r.bytes + at);
	check_hashes(&h);
	tear_down(&r);
}
END_TEST

START_TEST(nothing_can_compress_it)
{
	const uLong bytes = 8 * 256 * KIB;
	uLongf packed = compressBound(bytes);
	unsigned char *to = mem_zalloc(packed);
	struct run r;

	set_up(&r, 256 * KIB);
	put(&r, &whose, bytes);
	ck_assert_int_eq(compress2(to, &packed, r.bytes, 256 * KIB, 9), Z_OK);
	ck_assert_uint_ge(packed, 256 * KIB / 100 * 99);
	packed = compressBound(bytes);
	ck_assert_int_eq(compress2(to, &packed, r.bytes, bytes, 9), Z_OK);
	ck_assert_uint_ge(packed, bytes / 100 * 99);
	mem_free(to);
	tear_down(&r);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_bytes)
{
	struct content *a = content_new(8 * KIB, 1);
	struct content *b = content_new(16 * KIB, 1);
	struct content *c = content_new(8 * KIB, 2);
	unsigned char bytes[3][8 * KIB];

	ck_assert_uint_eq(content_span_bytes(b), 16 * KIB);
	content_copy(a, &whose, 0, bytes[0], 8 * KIB);
	content_copy(b, &whose, 0, bytes[1], 8 * KIB);
	content_copy(c, &whose, 0, bytes[2], 8 * KIB);
	ck_assert_int_eq(memcmp(bytes[0], bytes[1], 8 * KIB), 0);
	ck_assert_int_ne(memcmp(bytes[0] + 32, bytes[2] + 32, 4064), 0);
	content_free(a);
	content_free(b);
	content_free(c);
	content_free(NULL);
}
END_TEST

/* Bytes of files that exist are checked by other builds: never to change. */
START_TEST(the_bytes_are_these_ever_after)
{
	struct content *c = content_new(8 * KIB, SEED);

	ck_assert_uint_eq(content_crc32(c, &whose, 0, 8 * KIB, 0), 0x71c0a62a);
	ck_assert_uint_eq(content_crc32(c, &whose, 0, 5 * 8 * KIB + 3, 0), 0xbc0c2d1e);
	content_free(c);
}
END_TEST

/* The longest run, whose bytes nobody has: from two halves, and from zlib's join of them. */
START_TEST(the_longest_run_has_a_checksum)
{
	struct content *c = content_new(2048 * KIB, SEED);
	const uint64_t bytes = CONTENT_RUN_BYTES, half = bytes / 2 + 12345;
	uint32_t all = content_crc32(c, &whose, 0, bytes, 0);
	uint32_t front = content_crc32(c, &whose, 0, half, 0);
	uint32_t back = content_crc32(c, &whose, half, bytes - half, 0);

	ck_assert_uint_eq(content_crc32(c, &whose, half, bytes - half, front), all);
	ck_assert_uint_eq(crc32_combine(front, back, (z_off_t)(bytes - half)), all);
	content_free(c);
}
END_TEST

Suite *suite_content(void)
{
	Suite *s = suite_create("content");
	TCase *t = tcase_create("content");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, what_is_written_is_what_is_said, 0, LENGTHS);
	tcase_add_loop_test(t, a_checksum_is_that_of_zlib, 0, LENGTHS);
	tcase_add_loop_test(t, what_is_right_is_found_right, 0, LENGTHS);
	tcase_add_loop_test(t, the_first_wrong_byte_is_found, 0, LENGTHS);
	tcase_add_test(t, a_block_in_the_wrong_place_is_wrong);
	tcase_add_test(t, a_block_begins_with_its_stamp);
	tcase_add_test(t, a_put_touches_nothing_but_stamps);
	tcase_add_test(t, what_lay_over_a_slice_is_mended);
	tcase_add_test(t, no_two_blocks_written_are_alike);
	tcase_add_loop_test(t, no_two_blocks_of_a_long_run_are_alike, 0, 9);
	tcase_add_test(t, nothing_can_compress_it);
	tcase_add_test(t, the_same_seed_gives_the_same_bytes);
	tcase_add_test(t, the_bytes_are_these_ever_after);
	tcase_add_test(t, the_longest_run_has_a_checksum);
	suite_add_tcase(s, t);
	return s;
}
