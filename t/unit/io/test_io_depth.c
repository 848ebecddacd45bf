/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_depth.c - operations under way beside each other: batches, order, slices of the buffer,
 * failures. */
#include "mock_engine.h"
#include "suites.h"

/* Operations of one file, of which DEPTH at most are under way. */
struct queue {
	struct fixture f;
	struct mlgen_file file;
	struct io_op ops[DEPTH];
	struct io_op *done[DEPTH];
};

static void queue_up(struct queue *q, unsigned depth, size_t buffer_bytes)
{
	*q = (struct queue){ .file.path = "f" };
	set_up(&q->f, &mock_async, depth, buffer_bytes);
}

/* Operations from `first` on, of `bytes` each, at offsets like their numbers. */
static void submit_many(struct queue *q, unsigned first, unsigned n, enum mlgen_op kind,
			uint64_t bytes)
{
	for (unsigned i = first; i < first + n; i++) {
		q->ops[i] = transfer(kind, &q->file, i, bytes);
		q->ops[i].owner = &q->ops[i];
		io_submit(q->f.io, &q->ops[i]);
	}
}

/* Four deep, with that many small reads handed over. */
static void queue_reads(struct queue *q, unsigned n)
{
	queue_up(q, 4, 16384);
	submit_many(q, 0, n, MLGEN_READ, 4096);
}

static int reap(struct queue *q, unsigned min, unsigned max)
{
	return io_reap(q->f.io, q->done, min, max);
}

START_TEST(a_deep_queue_goes_out_as_one_batch_when_it_is_full)
{
	struct queue q;

	queue_up(&q, 4, 16384);
	ck_assert_uint_eq(io_room(q.f.io), 4);
	submit_many(&q, 0, 3, MLGEN_READ, 4096);
	ck_assert_uint_eq(q.f.mock.batches, 0);
	ck_assert_uint_eq(io_room(q.f.io), 1);
	submit_many(&q, 3, 1, MLGEN_READ, 4096);
	ck_assert_uint_eq(q.f.mock.batches, 1);
	ck_assert_uint_eq(io_room(q.f.io), 0);
	ck_assert_int_eq(reap(&q, 4, 4), 4);
	ck_assert_uint_eq(io_room(q.f.io), 4);
	ck_assert_uint_eq(q.f.mock.batches, 1);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(q.ops[i].io.result, 4096);
		ck_assert_uint_eq(q.ops[i].end_ns - q.ops[i].start_ns, OP_NS);
	}
	ck_assert_uint_eq(q.f.stat.lat[MLGEN_READ]->count, 4);
	ck_assert_uint_eq(q.f.stat.reap_ns, OP_NS);
	ck_assert_uint_eq(q.f.stat.blocked_ns[MLGEN_READ], 0);
	tear_down(&q.f);
}
END_TEST

START_TEST(operations_come_back_in_the_order_in_which_they_complete)
{
	struct queue q;

	queue_reads(&q, 3);
	/* only two are asked for, though three are ready */
	ck_assert_int_eq(reap(&q, 2, 2), 2);
	ck_assert_ptr_eq(q.done[0]->owner, &q.ops[2]);
	ck_assert_ptr_eq(q.done[1]->owner, &q.ops[1]);
	ck_assert_uint_eq(io_room(q.f.io), 3);
	/* more than what is under way is never waited for */
	ck_assert_int_eq(reap(&q, 3, 3), 1);
	ck_assert_ptr_eq(q.done[0]->owner, &q.ops[0]);
	ck_assert_int_eq(reap(&q, 1, 3), 0);
	tear_down(&q.f);
}
END_TEST

START_TEST(reaping_without_a_minimum_sends_the_queue_and_does_not_wait)
{
	struct queue q;

	queue_reads(&q, 2);
	ck_assert_int_eq(reap(&q, 0, 2), 0);
	ck_assert_uint_eq(q.f.mock.pending, 2);
	ck_assert_uint_eq(clock_now(q.f.clock), 5000);
	clock_sleep_until(q.f.clock, 5000 + OP_NS);
	ck_assert_int_eq(reap(&q, 0, 2), 2);
	tear_down(&q.f);
}
END_TEST

START_TEST(an_engine_that_takes_a_few_at_a_time_gets_them_all)
{
	struct queue q;

	queue_up(&q, DEPTH, 8 * 4096);
	q.f.mock.accept = 3;
	submit_many(&q, 0, DEPTH, MLGEN_WRITE, 4096);
	ck_assert_uint_eq(q.f.mock.pending, 3);
	ck_assert_int_eq(reap(&q, DEPTH, DEPTH), DEPTH);
	ck_assert_uint_eq(q.f.mock.calls, DEPTH);
	ck_assert_uint_eq(q.f.stat.lat[MLGEN_WRITE]->count, DEPTH);
	tear_down(&q.f);
}
END_TEST

/* The first n calls: whole pages of the buffer, no two the same. */
static void check_slices(const struct mock *m, const unsigned char *buf, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		ck_assert_uint_eq((uintptr_t)(m->bases[i] - buf) % 4096, 0);
		for (unsigned j = 0; j < i; j++)
			ck_assert_ptr_ne(m->bases[i], m->bases[j]);
	}
}

START_TEST(small_reads_under_way_have_a_slice_of_the_buffer_each)
{
	struct queue q;
	size_t bytes;

	queue_up(&q, 4, 16384);
	unsigned char *buf = io_buffer(q.f.io, &bytes);
	for (unsigned round = 0; round < 3; round++) {
		q.f.mock.calls = 0;
		submit_many(&q, 0, 4, MLGEN_READ, 4096);
		ck_assert_int_eq(reap(&q, 4, 4), 4);
		check_slices(&q.f.mock, buf, 4);
	}
	/* larger ones and writes start where the buffer does */
	q.f.mock.calls = 0;
	submit_many(&q, 0, 2, MLGEN_READ, 20000);
	ck_assert_int_eq(reap(&q, 2, 2), 2);
	submit_many(&q, 0, 2, MLGEN_WRITE, 4096);
	ck_assert_int_eq(reap(&q, 2, 2), 2);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_ptr_eq(q.f.mock.bases[i], buf);
	tear_down(&q.f);
}
END_TEST

START_TEST(a_buffer_too_small_for_slices_is_shared)
{
	struct queue q;

	queue_up(&q, 4, 4096);
	submit_many(&q, 0, 4, MLGEN_READ, 9000);
	ck_assert_int_eq(reap(&q, 4, 4), 4);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(q.ops[i].io.result, 9000);
	tear_down(&q.f);
}
END_TEST

START_TEST(a_failure_of_the_engine_is_given_by_reap_for_ever)
{
	struct queue q;

	queue_up(&q, 4, 16384);
	q.f.mock.submit_rc = _i == 0 ? -EBADF : _i == 1 ? 1 : 0;
	q.f.mock.reap_rc = _i == 2 ? -EBADF : 0;
	submit_many(&q, 0, 1, MLGEN_READ, 4096);
	int want = _i == 1 ? -EAGAIN : -EBADF; /* full, with nothing in it */
	ck_assert_int_eq(reap(&q, 1, 1), want);
	q.f.mock.submit_rc = q.f.mock.reap_rc = 0;
	ck_assert_int_eq(reap(&q, 1, 1), want);
	tear_down(&q.f);
}
END_TEST

START_TEST(any_one_of_several_operations_can_fail)
{
	struct queue q;

	queue_up(&q, 4, 16384);
	for (int i = 0; i < 4; i++)
		q.f.mock.steps[i] = i == _i ? -EIO : ALL;
	q.f.mock.step_count = 4;
	submit_many(&q, 0, 4, MLGEN_READ, 4096);
	ck_assert_int_eq(reap(&q, 4, 4), 4);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(q.ops[i].io.result, i == _i ? -EIO : 4096);
	tear_down(&q.f);
}
END_TEST

Suite *suite_io_depth(void)
{
	Suite *s = suite_create("io_depth");
	TCase *t = tcase_create("depth");

	tcase_add_test(t, a_deep_queue_goes_out_as_one_batch_when_it_is_full);
	tcase_add_test(t, operations_come_back_in_the_order_in_which_they_complete);
	tcase_add_test(t, reaping_without_a_minimum_sends_the_queue_and_does_not_wait);
	tcase_add_test(t, an_engine_that_takes_a_few_at_a_time_gets_them_all);
	tcase_add_test(t, small_reads_under_way_have_a_slice_of_the_buffer_each);
	tcase_add_test(t, a_buffer_too_small_for_slices_is_shared);
	tcase_add_loop_test(t, a_failure_of_the_engine_is_given_by_reap_for_ever, 0, 3);
	tcase_add_loop_test(t, any_one_of_several_operations_can_fail, 0, 4);
	suite_add_tcase(s, t);
	return s;
}
