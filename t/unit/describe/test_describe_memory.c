/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe_memory.c - what the page cache had, which pages a mapping touched, and what the
 * device was asked for. */
#include <check.h>
#include <math.h>

#include "base/util.h"
#include "describe_rig.h"
#include "suites.h"
#include "trace/trace.h"

START_TEST(pages_that_were_added_tell_what_the_cache_had)
{
	struct trace_record r = record(TRACE_CACHE_ADD, 0, 1, file("/a"));

	r.len_bytes = 1000;
	r.flags = TRACE_READ_AHEAD;
	trace_writer_record(rig.w, &r);
	r.len_bytes = 500;
	r.flags = 0;
	trace_writer_record(rig.w, &r);
	put_read(5, 1, file("/a"), 0, 2000);
	put_read(7, 1, file("/a"), 0, 4000);
	const struct described_trace *t = described();
	ck_assert_double_eq_tol(t->cache.hit_percent, 75, 1e-12);
	ck_assert_uint_eq(t->cache.added_bytes, 1500);
	ck_assert_double_eq_tol(t->cache.read_ahead_percent, 100 / 1.5, 1e-12);
	ck_assert_ptr_null(t->cache.unknown);
}
END_TEST

static void put_block(unsigned op, uint64_t at_us, uint64_t off, uint64_t bytes, unsigned flags)
{
	struct trace_record r = record(op, at_us, 0, file("/dev/x"));

	r.off = off;
	r.len_bytes = bytes;
	r.flags = (uint16_t)flags;
	r.duration_ns = 0;
	trace_writer_record(rig.w, &r);
}

START_TEST(block_requests_are_paired)
{
	put_read(0, 1, file("/a"), 0, 8000);
	put_block(TRACE_BLOCK_ISSUE, 10, 0, 4096, TRACE_READ_AHEAD);
	put_block(TRACE_BLOCK_ISSUE, 20, 4096, 4096, 0);
	put_block(TRACE_BLOCK_ISSUE, 30, 65536, 4096, TRACE_WRITES);
	put_block(TRACE_BLOCK_COMPLETE, 40, 4096, 4096, 0);
	put_block(TRACE_BLOCK_COMPLETE, 50, 0, 4096, 0);
	put_block(TRACE_BLOCK_COMPLETE, 100, 65536, 4096, TRACE_WRITES);
	/* Its issue was not seen. */
	put_block(TRACE_BLOCK_COMPLETE, 100, 99, 4096, 0);
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->block.reads, 2);
	ck_assert_uint_eq(t->block.read_bytes, 8192);
	ck_assert_uint_eq(t->block.writes, 1);
	ck_assert_uint_eq(t->block.depth_most, 3);
	ck_assert_double_eq(t->block.read_ahead_percent, 50);
	ck_assert_uint_eq(t->block.lat_ns->count, 3);
	ck_assert_uint_eq(t->block.lat_ns->sum_ns, (20 + 40 + 70) * US);
	ck_assert_double_eq_tol(t->block.depth_mean, 1.3, 1e-9);
	/* 8192 came for 8000 that were read. */
	ck_assert_double_eq(t->cache.hit_percent, 0);
	/* A device is no file of the program. */
	ck_assert_uint_eq(t->unique.files, 1);
}
END_TEST

START_TEST(faults_touch_pages)
{
	static const uint64_t offsets[] = { 0, 4096, 16384, 8192, 0 };

	put(TRACE_MMAP, 0, 1, file("/m"));
	for (unsigned i = 0; i < ARRAY_LEN(offsets); i++) {
		struct trace_record r = record(TRACE_FAULT, 10 + i, 1, file("/m"));

		r.off = offsets[i];
		trace_writer_record(rig.w, &r);
	}
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->mmap.faults, 5);
	ck_assert_uint_eq(t->mmap.pages, 4);
	ck_assert_double_eq(t->mmap.ascending_percent, 50);
	ck_assert_double_eq_tol(t->mmap.faults_per_sec, 1e6, 1e-3);
	ck_assert_ptr_null(t->mmap.unknown);
	ck_assert_double_eq_tol(t->fault_percent, 100 * 5 / 15.0, 1e-9);
}
END_TEST

Suite *suite_describe_memory(void)
{
	Suite *s = suite_create("describe_memory");
	TCase *t = tcase_create("describe_memory");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, pages_that_were_added_tell_what_the_cache_had);
	tcase_add_test(t, block_requests_are_paired);
	tcase_add_test(t, faults_touch_pages);
	suite_add_tcase(s, t);
	return s;
}
