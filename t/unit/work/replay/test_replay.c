/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay.c - a trace made ready to be replayed: who does what, when, and what is left out. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "suites.h"
#include "work/replay/replay_internal.h"

/* ---- workers ---- */

static struct trace_record call(uint32_t tid, uint64_t start_ns, uint64_t duration_ns)
{
	return (struct trace_record){ .pid = 1,
				      .tid = tid,
				      .op = TRACE_READ,
				      .start_ns = start_ns,
				      .duration_ns = duration_ns };
}

/* Of threads 1 to n, each of which is there from first to last. */
static unsigned workers_of(const uint64_t (*times)[2], uint32_t n, uint64_t most, unsigned *of)
{
	struct replay_lanes l = { 0 };
	struct mlgen_err err = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		struct trace_record first = call(i + 1, times[i][0], 1),
				    last = call(i + 1, times[i][1] - 1, 1);

		replay_lanes_add(&l, &first);
		replay_lanes_add(&l, &last);
	}
	ck_assert_int_eq(replay_lanes_share(&l, most, &err), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct trace_record r = call(i + 1, times[i][0], 1);

		of[i] = replay_lanes_of(&l, &r);
		ck_assert_uint_lt(of[i], l.workers);
	}
	unsigned workers = l.workers;
	replay_lanes_fini(&l);
	return workers;
}

START_TEST(threads_that_were_there_together_have_a_worker_each)
{
	const uint64_t times[][2] = { { 10, 30 }, { 20, 40 }, { 5, 50 } };
	unsigned of[3];

	ck_assert_uint_eq(workers_of(times, 3, 0, of), 3);
	ck_assert_uint_ne(of[0], of[1]);
	ck_assert_uint_ne(of[0], of[2]);
	ck_assert_uint_ne(of[1], of[2]);
}
END_TEST

START_TEST(threads_that_followed_one_another_share_one)
{
	const uint64_t times[][2] = { { 10, 20 }, { 30, 40 }, { 50, 60 }, { 35, 70 } };
	unsigned of[4];

	ck_assert_uint_eq(workers_of(times, 4, 0, of), 2);
	ck_assert_uint_eq(of[0], of[1]);
	ck_assert_uint_eq(of[0], of[2]);
	ck_assert_uint_ne(of[0], of[3]);
}
END_TEST

START_TEST(there_are_no_more_workers_than_asked_for)
{
	const uint64_t times[][2] = { { 1, 90 }, { 2, 90 }, { 3, 90 }, { 4, 90 }, { 5, 90 } };
	unsigned of[5];

	ck_assert_uint_eq(workers_of(times, 5, 2, of), 2);
	ck_assert_uint_eq(workers_of(times, 5, 1, of), 1);
	ck_assert_uint_eq(workers_of(times, 5, 9, of), 5);
}
END_TEST

START_TEST(nothing_needs_no_worker)
{
	struct replay_lanes l = { 0 };
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(replay_lanes_share(&l, 0, &err), 0);
	ck_assert_uint_eq(l.workers, 0);
	replay_lanes_fini(&l);
}
END_TEST

/* ---- slices ---- */

START_TEST(slices_hold_all_that_was_done_however_long_it_takes)
{
	struct replay_slices s = { .seconds = .5 }, b = { .seconds = .5 };
	uint64_t ios = 0, bytes = 0;

	for (int i = 0; i < 1000; i++)
		replay_slices_add(&s, i, 4096);
	replay_slices_add(&b, .1, 10);
	replay_slices_merge(&b, &s);
	ck_assert_double_eq(b.seconds, 32);
	ck_assert_uint_eq(b.count, 32);
	for (size_t i = 0; i < REPLAY_SLICES; i++) {
		ios += b.slices[i].done_ios;
		bytes += b.slices[i].done_bytes;
		ck_assert(i < b.count || b.slices[i].done_ios == 0);
	}
	ck_assert_uint_eq(ios, 1001);
	ck_assert_uint_eq(bytes, 1000 * 4096 + 10);
	ck_assert_uint_eq(b.slices[0].done_ios, 33);
	ck_assert_uint_eq(b.slices[1].done_ios, 32);
}
END_TEST

/* ---- what a record becomes ---- */

START_TEST(what_cannot_be_replayed_is_counted_by_its_reason)
{
	const struct {
		unsigned op;
		uint64_t off;
		int64_t result;
		uint32_t file;
		int taken;
		const char *left;
	} rows[] = {
		{ TRACE_READ, 0, 10, 1, 1, "" },
		{ TRACE_FAULT, 5000, 0, 1, 1, "" },
		{ TRACE_OPEN, 0, -ENOENT, 1, 1, "" },
		{ TRACE_READ, TRACE_UNKNOWN, 10, 1, 0, "1 without an offset" },
		{ TRACE_READ, 0, -EIO, 1, 0, "1 that failed" },
		{ TRACE_WRITE, 0, 10, 0, 0, "1 on files without a name" },
		{ TRACE_WRITE, 0, INT64_MAX, 1, 0, "1 of more than 16 TiB" },
		{ TRACE_GETDENTS, 0, 10, 1, 0, "1 getdents" },
		{ TRACE_MMAP, 0, 10, 1, 0, "1 mmap and munmap" },
		{ TRACE_BLOCK_ISSUE, 0, 10, 1, 0, "" },
		{ TRACE_STEP, 0, 0, 0, 0, "" },
		{ 4711, 0, 0, 1, 0, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct replay_left_counts left = { 0 };
		struct replay_op op;
		struct trace_record r = { .op = (uint16_t)rows[i].op,
					  .off = rows[i].off,
					  .len_bytes = 10,
					  .result = rows[i].result };
		char text[64];

		ck_assert_int_eq(replay_op_from(&op, &r, rows[i].file, &left), rows[i].taken);
		replay_left_text(&left, text, sizeof(text));
		ck_assert_str_eq(text, rows[i].left);
	}
}
END_TEST

START_TEST(a_read_is_of_no_more_than_a_call_moves)
{
	const struct trace_record r = { .op = TRACE_READ,
					.len_bytes = UINT64_MAX - 1,
					.result = 10 };

	ck_assert_uint_eq(replay_bytes(&r), 0x7ffff000);
}
END_TEST

START_TEST(a_long_list_of_reasons_is_cut_and_counted_whole)
{
	struct replay_left_counts left;
	char text[32];

	for (unsigned i = 0; i < LEFT_REASONS; i++)
		left.count[i] = 1000;
	ck_assert_uint_eq(replay_left_text(&left, text, sizeof(text)), 1000 * LEFT_REASONS);
	ck_assert_uint_eq(strlen(text), sizeof(text) - 1);
}
END_TEST

static struct replay_file after(const struct trace_record *r, size_t n)
{
	struct replay_file f = { 0 };

	for (size_t i = 0; i < n; i++)
		replay_file_add_record(&f, &r[i]);
	return f;
}

START_TEST(a_file_that_was_read_was_there_as_far_as_it_was_read)
{
	const struct trace_record r[] = {
		{ .op = TRACE_OPEN, .len_bytes = O_RDONLY },
		{ .op = TRACE_READ, .off = 4096, .len_bytes = 100, .result = 7 },
		{ .op = TRACE_READ, .off = 0, .len_bytes = 100, .result = 100 },
	};
	struct replay_file f = after(r, 3);

	ck_assert_uint_eq(f.bytes, 4103);
	ck_assert_uint_eq(f.flags, REPLAY_FILE_PRESENT | REPLAY_FILE_READ);
}
END_TEST

START_TEST(what_the_trace_writes_first_was_not_there)
{
	const struct trace_record r[] = {
		{ .op = TRACE_OPEN, .len_bytes = O_RDWR | O_CREAT | O_TRUNC },
		{ .op = TRACE_WRITE, .off = 0, .len_bytes = 9, .result = 9 },
		{ .op = TRACE_READ, .off = 0, .len_bytes = 9, .result = 9 },
	};
	struct replay_file f = after(r, 3);

	ck_assert(!(f.flags & REPLAY_FILE_PRESENT));
	ck_assert(f.flags & REPLAY_FILE_CHANGED);
	ck_assert_uint_eq(f.bytes, 0);
}
END_TEST

START_TEST(what_is_removed_was_there)
{
	const struct trace_record r = { .op = TRACE_UNLINK };
	struct replay_file f = after(&r, 1);

	ck_assert(f.flags & REPLAY_FILE_PRESENT);
	ck_assert(f.flags & REPLAY_FILE_CHANGED);
}
END_TEST

/* ---- files that are open ---- */

START_TEST(a_worker_has_as_many_files_open_as_in_the_trace)
{
	struct replay_opened x = { 0 };
	struct replay_op open = { .op = MLGEN_OPEN }, read = { .op = MLGEN_READ },
			 close = { .op = MLGEN_CLOSE };

	for (uint32_t file = 1; file <= 100; file++) {
		open.file = read.file = close.file = file;
		ck_assert(replay_opened_add(&x, 0, &open));
		ck_assert(replay_opened_add(&x, 0, &read));
		/* Another worker has it open, too, by itself. */
		ck_assert(replay_opened_add(&x, 1, &read));
		ck_assert(replay_opened_add(&x, 0, &close));
		ck_assert(!replay_opened_add(&x, 0, &close));
	}
	ck_assert_uint_eq(replay_opened_most(&x), 100);
	replay_opened_fini(&x);
}
END_TEST

START_TEST(the_file_that_was_opened_last_is_found)
{
	struct replay_handles h;
	struct replay_handle *a, *b, *c;

	replay_handles_init(&h, 3, 16);
	a = replay_handles_acquire(&h, 7);
	b = replay_handles_acquire(&h, 7);
	c = replay_handles_acquire(&h, 8);
	ck_assert_ptr_null(replay_handles_acquire(&h, 9));
	ck_assert_ptr_eq(replay_handles_find(&h, 7), b);
	ck_assert_ptr_eq(replay_handles_find(&h, 8), c);
	replay_handles_release(&h, b);
	ck_assert_ptr_eq(replay_handles_find(&h, 7), a);
	replay_handles_release(&h, a);
	ck_assert_ptr_null(replay_handles_find(&h, 7));
	ck_assert_ptr_eq(replay_handles_any(&h), c);
	replay_handles_release(&h, c);
	ck_assert_ptr_null(replay_handles_any(&h));
	replay_handles_fini(&h);
}
END_TEST

/* ---- operations of workers ---- */

START_TEST(each_worker_gets_its_operations_in_their_order)
{
	/* The second of them has none, nor has the last. */
	enum { WORKERS = 4, OPS = 5000 };
	struct replay_spool *s;
	struct mlgen_err err = { 0 };
	struct replay_ops o = { .workers = WORKERS };
	const struct replay_op *op;

	ck_assert_int_eq(replay_spool_new(&s, NULL, &err), 0);
	for (uint32_t i = 0; i < OPS; i++) {
		struct replay_op one = { .file = i, .op = MLGEN_READ };

		ck_assert_int_eq(replay_spool_add(s, i % 2 * 2, &one, &err), 0);
	}
	ck_assert_int_eq(replay_spool_end(s, &err), 0);
	o.spool = s;
	for (uint32_t w = 0; w < WORKERS; w++) {
		struct replay_cursor *c = replay_cursor_new(&o, w);

		for (uint32_t i = w / 2; w % 2 == 0 && i < OPS; i += 2) {
			ck_assert_int_eq(replay_cursor_next(c, &op, &err), 1);
			ck_assert_uint_eq(op->file, i);
		}
		ck_assert_int_eq(replay_cursor_next(c, &op, &err), 0);
		ck_assert_int_eq(replay_cursor_next(c, &op, &err), 0);
		replay_cursor_free(c);
	}
	replay_ops_fini(&o);
}
END_TEST

Suite *suite_replay(void)
{
	Suite *s = suite_create("replay");
	TCase *t = tcase_create("replay");

	tcase_add_test(t, threads_that_were_there_together_have_a_worker_each);
	tcase_add_test(t, threads_that_followed_one_another_share_one);
	tcase_add_test(t, there_are_no_more_workers_than_asked_for);
	tcase_add_test(t, nothing_needs_no_worker);
	tcase_add_test(t, slices_hold_all_that_was_done_however_long_it_takes);
	tcase_add_test(t, what_cannot_be_replayed_is_counted_by_its_reason);
	tcase_add_test(t, a_read_is_of_no_more_than_a_call_moves);
	tcase_add_test(t, a_long_list_of_reasons_is_cut_and_counted_whole);
	tcase_add_test(t, a_file_that_was_read_was_there_as_far_as_it_was_read);
	tcase_add_test(t, what_the_trace_writes_first_was_not_there);
	tcase_add_test(t, what_is_removed_was_there);
	tcase_add_test(t, a_worker_has_as_many_files_open_as_in_the_trace);
	tcase_add_test(t, the_file_that_was_opened_last_is_found);
	tcase_add_test(t, each_worker_gets_its_operations_in_their_order);
	suite_add_tcase(s, t);
	return s;
}
