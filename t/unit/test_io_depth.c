/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_depth.c - operations under way beside each other: batches, order, slices of the buffer, failures. */
#include "mock_engine.h"
#include "suites.h"

/* Submit n operations of `bytes` each, at offsets 0, 1, 2, ... */
static void submit_many(struct fixture *f, struct io_op *ops, unsigned n,
			enum mlgen_op kind, struct mlgen_file *file,
			uint64_t bytes)
{
	for (unsigned i = 0; i < n; i++) {
		ops[i] = transfer(kind, file, i, bytes);
		ops[i].owner = &ops[i];
		io_submit(f->io, &ops[i]);
	}
}

START_TEST(a_deep_queue_goes_out_as_one_batch_when_it_is_full)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op ops[4], *done[4];
	struct fixture f;

	set_up(&f, &mock_async, 4, 16384);
	ck_assert_uint_eq(io_room(f.io), 4);
	submit_many(&f, ops, 3, MLGEN_READ, &file, 4096);
	ck_assert_uint_eq(f.mock.batches, 0);
	ck_assert_uint_eq(io_room(f.io), 1);
	ops[3] = transfer(MLGEN_READ, &file, 3, 4096);
	io_submit(f.io, &ops[3]);
	ck_assert_uint_eq(f.mock.batches, 1);
	ck_assert_uint_eq(io_room(f.io), 0);
	ck_assert_int_eq(io_reap(f.io, done, 4, 4), 4);
	ck_assert_uint_eq(io_room(f.io), 4);
	ck_assert_uint_eq(f.mock.batches, 1);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(ops[i].io.result, 4096);
		ck_assert_uint_eq(ops[i].end_ns - ops[i].start_ns, OP_NS);
	}
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 4);
	ck_assert_uint_eq(f.stat.reap_ns, OP_NS);
	ck_assert_uint_eq(f.stat.blocked_ns[MLGEN_READ], 0);
	tear_down(&f);
}
END_TEST

START_TEST(operations_come_back_in_the_order_in_which_they_complete)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op ops[3], *done[3];
	struct fixture f;

	set_up(&f, &mock_async, 4, 16384);
	submit_many(&f, ops, 3, MLGEN_READ, &file, 4096);
	/* only two are asked for, though three are ready */
	ck_assert_int_eq(io_reap(f.io, done, 2, 2), 2);
	ck_assert_ptr_eq(done[0]->owner, &ops[2]);
	ck_assert_ptr_eq(done[1]->owner, &ops[1]);
	ck_assert_uint_eq(io_room(f.io), 3);
	/* more than what is under way is never waited for */
	ck_assert_int_eq(io_reap(f.io, done, 3, 3), 1);
	ck_assert_ptr_eq(done[0]->owner, &ops[0]);
	ck_assert_int_eq(io_reap(f.io, done, 1, 3), 0);
	tear_down(&f);
}
END_TEST

START_TEST(reaping_without_a_minimum_sends_the_queue_and_does_not_wait)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op ops[2], *done[2];
	struct fixture f;

	set_up(&f, &mock_async, 4, 16384);
	submit_many(&f, ops, 2, MLGEN_READ, &file, 4096);
	ck_assert_int_eq(io_reap(f.io, done, 0, 2), 0);
	ck_assert_uint_eq(f.mock.pending, 2);
	ck_assert_uint_eq(clock_now(f.clock), 5000);
	clock_sleep_until(f.clock, 5000 + OP_NS);
	ck_assert_int_eq(io_reap(f.io, done, 0, 2), 2);
	tear_down(&f);
}
END_TEST

START_TEST(an_engine_that_takes_a_few_at_a_time_gets_them_all)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op ops[DEPTH], *done[DEPTH];
	struct fixture f;

	set_up(&f, &mock_async, DEPTH, 8 * 4096);
	f.mock.accept = 3;
	submit_many(&f, ops, DEPTH, MLGEN_WRITE, &file, 4096);
	ck_assert_uint_eq(f.mock.pending, 3);
	ck_assert_int_eq(io_reap(f.io, done, DEPTH, DEPTH), DEPTH);
	ck_assert_uint_eq(f.mock.calls, DEPTH);
	ck_assert_uint_eq(f.stat.lat[MLGEN_WRITE]->count, DEPTH);
	tear_down(&f);
}
END_TEST

/* The first n calls: whole pages of the buffer, no two the same. */
static void check_slices(const struct mock *m, const unsigned char *buf,
			 unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		ck_assert_uint_eq((uintptr_t)(m->bases[i] - buf) % 4096, 0);
		for (unsigned j = 0; j < i; j++)
			ck_assert_ptr_ne(m->bases[i], m->bases[j]);
	}
}

START_TEST(small_reads_under_way_have_a_slice_of_the_buffer_each)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op ops[4], *done[4];
	struct fixture f;
	size_t bytes;

	set_up(&f, &mock_async, 4, 16384);
	unsigned char *buf = io_buffer(f.io, &bytes);
	for (unsigned round = 0; round < 3; round++) {
		f.mock.calls = 0;
		submit_many(&f, ops, 4, MLGEN_READ, &file, 4096);
		ck_assert_int_eq(io_reap(f.io, done, 4, 4), 4);
		check_slices(&f.mock, buf, 4);
	}
	/* larger ones and writes start where the buffer does */
	f.mock.calls = 0;
	submit_many(&f, ops, 2, MLGEN_READ, &file, 20000);
	ck_assert_int_eq(io_reap(f.io, done, 2, 2), 2);
	submit_many(&f, ops, 2, MLGEN_WRITE, &file, 4096);
	ck_assert_int_eq(io_reap(f.io, done, 2, 2), 2);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_ptr_eq(f.mock.bases[i], buf);
	tear_down(&f);
}
END_TEST

START_TEST(a_buffer_too_small_for_slices_is_shared)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op ops[4], *done[4];
	struct fixture f;

	set_up(&f, &mock_async, 4, 4096);
	submit_many(&f, ops, 4, MLGEN_READ, &file, 9000);
	ck_assert_int_eq(io_reap(f.io, done, 4, 4), 4);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(ops[i].io.result, 9000);
	tear_down(&f);
}
END_TEST

START_TEST(a_failure_of_the_engine_is_given_by_reap_for_ever)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op op, *done[1];
	struct fixture f;

	set_up(&f, &mock_async, 4, 16384);
	f.mock.submit_rc = _i == 0 ? -EBADF : _i == 1 ? 1 : 0;
	f.mock.reap_rc = _i == 2 ? -EBADF : 0;
	submit_many(&f, &op, 1, MLGEN_READ, &file, 4096);
	int want = _i == 1 ? -EAGAIN : -EBADF; /* full, with nothing in it */
	ck_assert_int_eq(io_reap(f.io, done, 1, 1), want);
	f.mock.submit_rc = f.mock.reap_rc = 0;
	ck_assert_int_eq(io_reap(f.io, done, 1, 1), want);
	tear_down(&f);
}
END_TEST

START_TEST(any_one_of_several_operations_can_fail)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op ops[4], *done[4];
	struct fixture f;

	set_up(&f, &mock_async, 4, 16384);
	for (int i = 0; i < 4; i++)
		f.mock.steps[i] = i == _i ? -EIO : ALL;
	f.mock.step_count = 4;
	submit_many(&f, ops, 4, MLGEN_READ, &file, 4096);
	ck_assert_int_eq(io_reap(f.io, done, 4, 4), 4);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(ops[i].io.result, i == _i ? -EIO : 4096);
	tear_down(&f);
}
END_TEST

Suite *suite_io_depth(void)
{
	Suite *s = suite_create("io_depth");
	TCase *t = tcase_create("depth");

	tcase_add_test(t, a_deep_queue_goes_out_as_one_batch_when_it_is_full);
	tcase_add_test(
		t, operations_come_back_in_the_order_in_which_they_complete);
	tcase_add_test(
		t, reaping_without_a_minimum_sends_the_queue_and_does_not_wait);
	tcase_add_test(t, an_engine_that_takes_a_few_at_a_time_gets_them_all);
	tcase_add_test(t,
		       small_reads_under_way_have_a_slice_of_the_buffer_each);
	tcase_add_test(t, a_buffer_too_small_for_slices_is_shared);
	tcase_add_loop_test(
		t, a_failure_of_the_engine_is_given_by_reap_for_ever, 0, 3);
	tcase_add_loop_test(t, any_one_of_several_operations_can_fail, 0, 4);
	suite_add_tcase(s, t);
	return s;
}
