/* SPDX-License-Identifier: Apache-2.0 */
/* test_unpack.c - streams, chunks and pages of deflate, whole and damaged; and the time that
 * decompressing takes. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/dist.h"
#include "base/util.h"
#include "data/formats/parquet/parquet.h"
#include "data/formats/parquet/parquet_internal.h"
#include "run/read/read.h"
#include "suites.h"
#include "temp.h"
#include "train_rig.h"

#define RAW 700000u
#define ROOM (RAW + RAW / 100 + 4096)

static unsigned char raw[RAW], packed[2 * ROOM];
static struct unpack *u;

static void set_up(void)
{
	for (size_t i = 0; i < RAW; i++)
		raw[i] = (unsigned char)('a' + rng_u64(1, 2, i) % 13);
	u = unpack_new(ROOM);
	ck_assert_ptr_nonnull(u);
}

static void tear_down(void)
{
	unpack_free(u);
}

/* 15 = zlib's format, 31 = gzip's. */
static size_t deflate_to(unsigned char *to, size_t bytes, int window)
{
	z_stream z = { 0 };

	ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = raw;
	z.avail_in = (uInt)bytes;
	z.next_out = to;
	z.avail_out = ROOM;
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	bytes = z.total_out;
	deflateEnd(&z);
	return bytes;
}

/* Two members, cut anywhere; after each of two files it begins anew. */
START_TEST(a_stream_is_gone_on_with_from_read_to_read)
{
	size_t n = deflate_to(packed, RAW, 31);

	n += deflate_to(packed + n, 1000, 31);
	for (size_t piece = 1000; piece < n + 1000; piece = 3 * piece + 1)
		for (size_t at = 0; at < n; at += piece) {
			size_t bytes = at + piece < n ? piece : n - at;
			uint64_t off;

			if (at == 0)
				unpack_begin(u);
			ck_assert_ptr_null(unpack_read(u, PLAN_STREAM, packed + at, bytes, &off));
			ck_assert_uint_eq(off, bytes);
		}
}
END_TEST

/* At or shortly behind the byte, but for what only the checksum tells. */
START_TEST(a_wrong_byte_is_found)
{
	size_t n = deflate_to(packed, RAW, 15);
	uint64_t off;

	for (unsigned i = 0; i < 40; i++) {
		size_t at = 2 + rng_u64(3, 1, i) % (n - 2);

		packed[at] ^= 0x55;
		ck_assert_msg(unpack_read(u, PLAN_DEFLATE, packed, n, &off), "at %zu", at);
		ck_assert_uint_gt(off + 300000, at);
		ck_assert_uint_le(off, n);
		packed[at] ^= 0x55;
	}
	ck_assert_ptr_null(unpack_read(u, PLAN_DEFLATE, packed, n, &off));
	for (size_t cut = 0; cut < n; cut += 1 + n / 7)
		ck_assert_str_eq(unpack_read(u, PLAN_DEFLATE, packed, cut, &off),
				 "the data is cut off");
}
END_TEST

static size_t zstd_to(unsigned char *to, size_t bytes)
{
	size_t n = ZSTD_compress(to, ROOM, raw, bytes, 3);

	ck_assert(!ZSTD_isError(n));
	return n;
}

/* A page of either version: `levels` of the second are not compressed. */
static size_t put_page_of(enum plan_packed codec, uint8_t *to, size_t bytes, unsigned levels,
			  bool is_raw)
{
	size_t stored = is_raw                     ? bytes
			: codec == PLAN_ZSTD_PAGES ? zstd_to(packed, bytes)
						   : deflate_to(packed, bytes, 31);
	struct thrift t = { .to = to, .size = 100 };
	unsigned outer;

	thrift_i32(&t, 1, levels ? 3 : 0);
	thrift_i32(&t, 2, (int32_t)(bytes + levels));
	thrift_i32(&t, 3, (int32_t)(stored + levels));
	if (levels) {
		outer = thrift_begin(&t, 8);
		thrift_i32(&t, 1, 5);
		thrift_i32(&t, 5, (int32_t)levels - 1);
		thrift_i32(&t, 6, 1);
		if (is_raw) /* is_compressed = false */
			t.to[t.len++] = 0x12;
		thrift_end(&t, outer);
	}
	thrift_end(&t, 0);
	memset(to + t.len, 0xee, levels);
	memcpy(to + t.len + levels, is_raw ? raw : packed, stored);
	return t.len + levels + stored;
}

static size_t put_page(uint8_t *to, size_t bytes, unsigned levels, bool is_raw)
{
	return put_page_of(PLAN_PAGES, to, bytes, levels, is_raw);
}

static uint8_t chunk[2 * ROOM];

/* The first is more than what comes out at a time. */
START_TEST(so_are_those_of_zstd)
{
	size_t ends[3], n = 0;
	uint64_t off;

	ends[0] = n += put_page_of(PLAN_ZSTD_PAGES, chunk, RAW, 0, false);
	ends[1] = n += put_page_of(PLAN_ZSTD_PAGES, chunk + n, 300, 7, true);
	ends[2] = n += put_page_of(PLAN_ZSTD_PAGES, chunk + n, 5000, 9, false);
	ck_assert_ptr_null(unpack_read(u, PLAN_ZSTD_PAGES, chunk, n, &off));
	ck_assert_uint_eq(off, n);
	ck_assert_ptr_nonnull(unpack_read(u, PLAN_PAGES, chunk, n, &off));
	for (size_t cut = 1; cut < n; cut += 1 + cut % 977) {
		bool is_end = cut == ends[0] || cut == ends[1];
		bool is_right = !unpack_read(u, PLAN_ZSTD_PAGES, chunk, cut, &off);

		ck_assert_uint_le(off, cut);
		if (is_right != is_end)
			ck_abort_msg("cut at %zu", cut);
	}
	/* The magic number of the last one's frame. */
	chunk[ends[1] + 40] ^= 0x55;
	memset(chunk + ends[1] + 25, 0x55, 20);
	ck_assert_ptr_nonnull(unpack_read(u, PLAN_ZSTD_PAGES, chunk, n, &off));
	ck_assert_uint_ge(off, ends[1]);
}
END_TEST

START_TEST(pages_are_decompressed_one_by_one)
{
	size_t ends[4], n = 0;
	uint64_t off;

	ends[0] = n += put_page(chunk, 5000, 0, false);
	ends[1] = n += put_page(chunk + n, 20000, 9, false);
	ends[2] = n += put_page(chunk + n, 300, 7, true);
	ends[3] = n += put_page(chunk + n, 30, 0, false);
	ck_assert_ptr_null(unpack_read(u, PLAN_PAGES, chunk, n, &off));
	ck_assert_uint_eq(off, n);
	/* Of the third no byte counts, of the others each. */
	chunk[ends[2] - 5] ^= 1;
	ck_assert_ptr_null(unpack_read(u, PLAN_PAGES, chunk, n, &off));
	chunk[ends[1] - 500] ^= 1;
	ck_assert_ptr_nonnull(unpack_read(u, PLAN_PAGES, chunk, n, &off));
	ck_assert(off > ends[0] && off <= ends[1]);
	chunk[ends[1] - 500] ^= 1;
	for (size_t cut = 1; cut < n; cut++) {
		bool is_end = cut == ends[0] || cut == ends[1] || cut == ends[2];
		bool is_right = !unpack_read(u, PLAN_PAGES, chunk, cut, &off);

		if (is_right != is_end)
			ck_abort_msg("cut at %zu", cut);
	}
}
END_TEST

/* Whatever stands there: an answer, and within what is there. */
START_TEST(anything_may_stand_where_a_page_should)
{
	for (unsigned trial = 0; trial < 20000; trial++) {
		struct parquet_page p;
		uint8_t at[24];
		size_t n = rng_u64(8, 0, trial) % sizeof(at);

		for (size_t i = 0; i < n; i++)
			at[i] = (uint8_t)rng_u64(8, trial + 1, i);
		if (trial % 2 && n)
			at[0] = 0x15;
		if (parquet_page_read(&p, at, n) &&
		    p.head_bytes + p.level_bytes + p.stored_bytes > n)
			ck_abort_msg("trial %u", trial);
	}
}
END_TEST

/* Three row groups of two rows, a column of 100 bytes that are gzip's. */
static void put_file(const char *path)
{
	static uint8_t file[4096];
	struct thrift t = { .to = file + 304, .size = 2000 };
	FILE *f = fopen(path, "w");

	memcpy(file, "PAR1", 4);
	thrift_i64(&t, 3, 6);
	thrift_list(&t, 4, THRIFT_STRUCT, 3);
	for (int64_t i = 0; i < 3; i++) {
		unsigned group = thrift_begin_element(&t), at, meta;

		thrift_list(&t, 1, THRIFT_STRUCT, 1);
		at = thrift_begin_element(&t);
		meta = thrift_begin(&t, 3);
		thrift_list(&t, 3, THRIFT_BINARY, 1);
		thrift_text_element(&t, "a");
		thrift_i32(&t, 4, 2);
		thrift_i64(&t, 7, 100);
		thrift_i64(&t, 9, 4 + 100 * i);
		thrift_end(&t, meta);
		thrift_end(&t, at);
		thrift_i64(&t, 3, 2);
		thrift_end(&t, group);
	}
	thrift_end(&t, 0);
	t.to[t.len] = (uint8_t)t.len;
	t.to[t.len + 1] = (uint8_t)(t.len >> 8);
	memcpy(t.to + t.len + 4, "PAR1", 4);
	ck_assert_uint_eq(fwrite(file, 1, 304 + t.len + 8, f), 304 + t.len + 8);
	fclose(f);
}

static struct job *job_of_scan(char *directory)
{
	struct job *j = new_job();
	char path[TEMP_BELOW];

	temp_folder(directory);
	snprintf(path, sizeof(path), "%s/a.parquet", directory);
	put_file(path);
	mem_replace(&j->directory, directory);
	j->dataset = DATASET_SCAN;
	j->format = FORMAT_PARQUET;
	j->access = ACCESS_FRAMEWORK;
	j->shuffle.kind = SHUFFLE_NONE;
	j->batch_size = 2;
	j->prefetch = 8;
	return j;
}

static uint64_t elapsed_of(int decompress, uint64_t *idle_ns)
{
	char directory[TEMP_BYTES];
	struct rig r = { .job = job_of_scan(directory) };
	uint64_t elapsed;

	r.job->decompress = decompress;
	r.job->decompress_rate = 1000;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.samples), 6);
	elapsed = r.elapsed_ns;
	*idle_ns = rig_rank(&r)->loaders[0].worker.stat.idle_ns;
	rig_end(&r);
	temp_remove(directory);
	return elapsed;
}

/* 100 bytes a batch at 1000 a second, and 10 ms of compute at the end. */
START_TEST(asleep_it_takes_as_long_as_the_rate_says)
{
	uint64_t idle_ns, without_ns;

	ck_assert_uint_eq(elapsed_of(DECOMPRESS_NONE, &without_ns), 30 * MS);
	ck_assert_uint_eq(elapsed_of(DECOMPRESS_SLEEP, &idle_ns), 310 * MS);
	/* It waits for the end behind all steps, or for the last. */
	ck_assert_uint_eq(without_ns, 30 * MS);
	ck_assert_uint_eq(idle_ns, 310 * MS);
	/* The engine has no files: there is nothing to inflate. */
	ck_assert_uint_eq(elapsed_of(DECOMPRESS_REAL, &idle_ns), 30 * MS);
}
END_TEST

Suite *suite_unpack(void)
{
	Suite *s = suite_create("unpack");
	TCase *t = tcase_create("bytes");
	TCase *time = tcase_create("time");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_stream_is_gone_on_with_from_read_to_read);
	tcase_add_test(t, a_wrong_byte_is_found);
	tcase_add_test(t, pages_are_decompressed_one_by_one);
	tcase_add_test(t, so_are_those_of_zstd);
	tcase_add_test(t, anything_may_stand_where_a_page_should);
	suite_add_tcase(s, t);
	tcase_add_test(time, asleep_it_takes_as_long_as_the_rate_says);
	suite_add_tcase(s, time);
	return s;
}
