/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay_blocks.c - what a device was asked for is a read or write from its issue to its
 * completion. */
#include <check.h>

#include "suites.h"
#include "work/replay/replay_internal.h"

static struct replay_blocks *blocks;

static void set_up(void)
{
	blocks = replay_blocks_new(0);
}

static void tear_down(void)
{
	replay_blocks_free(blocks);
}

static void issue(uint64_t start_ns, uint64_t off, unsigned flags)
{
	const struct trace_record r = { .start_ns = start_ns,
					.off = off,
					.len_bytes = 512,
					.pid = 7,
					.tid = 8,
					.file = 1,
					.op = TRACE_BLOCK_ISSUE,
					.flags = (uint16_t)flags };

	replay_blocks_add(blocks, &r);
}

static void complete(uint64_t start_ns, uint64_t duration_ns, uint64_t off, int64_t result)
{
	const struct trace_record r = { .start_ns = start_ns,
					.duration_ns = duration_ns,
					.off = off,
					.len_bytes = 512,
					.result = result,
					.file = 1,
					.op = TRACE_BLOCK_COMPLETE };

	replay_blocks_add(blocks, &r);
}

static void expect(bool is_end, unsigned op, uint64_t start_ns, uint64_t duration_ns, uint64_t off,
		   int64_t result)
{
	struct trace_record r;

	ck_assert(replay_blocks_next(blocks, is_end, &r));
	ck_assert_uint_eq(r.op, op);
	ck_assert_uint_eq(r.start_ns, start_ns);
	ck_assert_uint_eq(r.duration_ns, duration_ns);
	ck_assert_uint_eq(r.off, off);
	ck_assert_int_eq(r.result, result);
}

static void expect_none(bool is_end)
{
	struct trace_record r;

	ck_assert(!replay_blocks_next(blocks, is_end, &r));
}

START_TEST(they_come_in_the_order_of_issues_once_they_are_done)
{
	issue(100, 4096, 0);
	issue(110, 8192, TRACE_WRITES);
	expect_none(false);
	complete(150, 0, 8192, 0);
	expect_none(false);
	complete(170, 0, 4096, 0);
	expect(false, TRACE_READ, 100, 70, 4096, 512);
	expect(false, TRACE_WRITE, 110, 40, 8192, 512);
	expect_none(true);
	/* The same place once more, and by whom. */
	struct trace_record r;

	issue(200, 4096, 0);
	complete(230, 0, 4096, 0);
	ck_assert(replay_blocks_next(blocks, false, &r));
	ck_assert_uint_eq(r.duration_ns, 30);
	ck_assert_uint_eq(r.pid, 7);
	ck_assert_uint_eq(r.tid, 8);
}
END_TEST

START_TEST(a_completion_that_has_its_own_times_is_taken_at_its_word)
{
	issue(100, 4096, 0);
	complete(100, 50, 4096, 512);
	expect(false, TRACE_READ, 100, 50, 4096, 512);
	/* Issued before the trace began. */
	complete(120, 30, 8192, 512);
	expect(false, TRACE_READ, 120, 30, 8192, 512);
	complete(130, 0, 8192, 0);
	expect_none(true);
}
END_TEST

START_TEST(what_failed_did)
{
	issue(100, 4096, 0);
	complete(150, 0, 4096, -5);
	expect(false, TRACE_READ, 100, 50, 4096, -5);
}
END_TEST

START_TEST(a_completion_that_is_lost_holds_up_16384_others_at_most)
{
	issue(100, 0, 0);
	for (uint64_t i = 1; i < 16384; i++) {
		expect_none(false);
		issue(100 + i, i * 4096, 0);
		complete(100 + i, 1, i * 4096, 0);
	}
	expect(false, TRACE_READ, 100, 0, 0, 512);
	for (uint64_t i = 1; i < 16384; i++)
		expect(false, TRACE_READ, 100 + i, 1, i * 4096, 512);
	/* Too late, and for nobody else. */
	issue(20000, 4096, 0);
	complete(20010, 0, 0, 0);
	expect_none(false);
	expect(true, TRACE_READ, 20000, 0, 4096, 512);
}
END_TEST

START_TEST(what_lies_beyond_the_span_is_folded)
{
	replay_blocks_free(blocks);
	blocks = replay_blocks_new(1 << 20);
	issue(100, (1 << 20) - 512, 0);
	issue(110, 1 << 20, 0);
	issue(120, (5 << 20) + 4096, TRACE_WRITES);
	issue(130, TRACE_UNKNOWN, 0);
	expect(true, TRACE_READ, 100, 0, (1 << 20) - 512, 512);
	expect(true, TRACE_READ, 110, 0, 0, 512);
	expect(true, TRACE_WRITE, 120, 0, 4096, 512);
	expect(true, TRACE_READ, 130, 0, TRACE_UNKNOWN, 512);
	ck_assert_uint_eq(replay_blocks_folded(blocks), 2);
}
END_TEST

START_TEST(other_records_are_none)
{
	struct trace_record r = { .op = TRACE_READ, .len_bytes = 1 };

	replay_blocks_add(blocks, &r);
	r = (struct trace_record){ .op = TRACE_BLOCK_ISSUE };
	replay_blocks_add(blocks, &r); /* a flush */
	r.len_bytes = 512;
	r.start_ns = TRACE_UNKNOWN;
	replay_blocks_add(blocks, &r);
	expect_none(true);
}
END_TEST

Suite *suite_replay_blocks(void)
{
	Suite *s = suite_create("replay_blocks");
	TCase *t = tcase_create("replay_blocks");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, they_come_in_the_order_of_issues_once_they_are_done);
	tcase_add_test(t, a_completion_that_has_its_own_times_is_taken_at_its_word);
	tcase_add_test(t, what_failed_did);
	tcase_add_test(t, a_completion_that_is_lost_holds_up_16384_others_at_most);
	tcase_add_test(t, what_lies_beyond_the_span_is_folded);
	tcase_add_test(t, other_records_are_none);
	suite_add_tcase(s, t);
	return s;
}
