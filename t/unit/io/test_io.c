/* SPDX-License-Identifier: Apache-2.0 */
/* test_io.c - the io layer starts an engine, takes its times, and does nothing in its stead. */
#include "io/engines.h"
#include "mock_engine.h"
#include "suites.h"

START_TEST(a_synchronous_operation_starts_where_the_last_one_ended)
{
	struct mlgen_file file = { .path = "f" };
	struct fixture f;

	set_up(&f, &mock_sync, 1, 4096);
	for (uint64_t i = 0; i < 3; i++) {
		struct io_op op = transfer(MLGEN_READ, &file, i * 4096, 4096);

		ck_assert_int_eq(io_do(f.io, &op), 4096);
		ck_assert_uint_eq(op.start_ns, 5000 + i * OP_NS);
		ck_assert_uint_eq(op.end_ns, op.start_ns + OP_NS);
		ck_assert_uint_eq(io_last_ns(f.io), op.end_ns);
		ck_assert_uint_eq(f.mock.last_off, i * 4096);
	}
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 3);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->min_ns, OP_NS);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->max_ns, OP_NS);
	ck_assert_uint_eq(f.stat.lat[MLGEN_WRITE]->count, 0);
	ck_assert_uint_eq(f.stat.blocked_ns[MLGEN_READ], 3 * OP_NS);
	ck_assert_uint_eq(f.stat.io_bytes[0], 3 * 4096);
	ck_assert_uint_eq(f.stat.io_bytes[1], 0);
	tear_down(&f);
}
END_TEST

START_TEST(time_between_operations_without_io_wake_is_latency)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op op = transfer(MLGEN_READ, &file, 0, 512);
	struct fixture f;

	set_up(&f, &mock_sync, 1, 4096);
	ck_assert_int_eq(io_do(f.io, &op), 512);
	clock_sleep_until(f.clock, 5000 + OP_NS + 300);
	ck_assert_int_eq(io_do(f.io, &op), 512);
	ck_assert_uint_eq(op.end_ns - op.start_ns, OP_NS + 300);
	tear_down(&f);
}
END_TEST

START_TEST(idle_time_before_io_wake_is_no_latency)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op op = transfer(MLGEN_WRITE, &file, 0, 512);
	struct fixture f;

	set_up(&f, &mock_sync, 1, 4096);
	ck_assert_int_eq(io_do(f.io, &op), 512);
	clock_sleep_until(f.clock, 1000000);
	io_wake(f.io);
	ck_assert_uint_eq(io_last_ns(f.io), 5000 + OP_NS);
	ck_assert_int_eq(io_do(f.io, &op), 512);
	ck_assert_uint_eq(op.start_ns, 1000000);
	ck_assert_uint_eq(f.stat.lat[MLGEN_WRITE]->max_ns, OP_NS);
	ck_assert_uint_eq(f.stat.io_bytes[1], 1024);
	tear_down(&f);
}
END_TEST

START_TEST(reads_and_writes_are_never_done_in_the_engines_stead)
{
	struct mlgen_file file = { .path = "f", .fd = -1 };
	struct io_op op = transfer(MLGEN_READ, &file, 0, 4096);
	struct fixture f;

	set_up(&f, &mock_without_caps, 1, 4096);
	ck_assert_int_eq(io_do(f.io, &op), -EOPNOTSUPP);
	op.io.op = MLGEN_WRITE;
	ck_assert_int_eq(io_do(f.io, &op), -EOPNOTSUPP);
	ck_assert_uint_eq(f.mock.calls, 0);
	tear_down(&f);
}
END_TEST

START_TEST(an_engine_that_cannot_start_says_why)
{
	static const struct {
		const struct mlgen_engine *engine;
		int rc;
		const char *text;
		unsigned finis;
	} cases[] = {
		/* clang-format off */
		{ &mock_refused, -EPERM, "ring: set the sysctl to 0", 1 },
		{ &mock_silent, -ENOSYS, "ioengine=mock: cannot start: Function not implemented", 1 },
		{ &mock_no_memory, -ENOMEM, "no memory for a buffer of 4 KiB (1 such buffers); lower the request size, the iodepth or the number of threads", 0 },
		/* clang-format on */
	};
	struct mlgen_err err = { 0 };
	struct fixture f = { 0 };

	f.clock = clock_new_virtual(1);
	clock_join(f.clock);
	opstat_init(&f.stat);
	ck_assert_int_eq(open_io(&f, cases[_i].engine, 1, 4096, &err), cases[_i].rc);
	ck_assert_ptr_null(f.io);
	ck_assert_int_eq(err.code, cases[_i].rc);
	ck_assert_str_eq(err.text, cases[_i].text);
	ck_assert_uint_eq(f.mock.finis, cases[_i].finis);
	tear_down(&f);
}
END_TEST

START_TEST(the_engine_is_started_and_ended_once)
{
	struct fixture f;

	set_up(&f, &mock_async, 2, 8192);
	ck_assert_uint_eq(f.mock.inits, 1);
	tear_down(&f);
	ck_assert_uint_eq(f.mock.finis, 1);
	io_free(NULL);
}
END_TEST

START_TEST(the_null_engine_takes_everything_and_touches_nothing)
{
	struct mlgen_file file = { .path = "/no/such/file", .fd = 77 };
	struct fixture f;

	set_up(&f, engines_find("null"), 1, 4096);
	for (unsigned kind = 0; kind < MLGEN_OPS; kind++) {
		struct io_op op = transfer((enum mlgen_op)kind, &file, 0, 5000);

		op.io.path2 = "/no/such/file/either";
		bool moves = kind == MLGEN_READ || kind == MLGEN_WRITE;
		ck_assert_int_eq(io_do(f.io, &op), moves ? 5000 : 0);
		ck_assert_uint_eq(f.stat.lat[kind]->count, 1);
	}
	ck_assert_int_eq(file.fd, -1);
	tear_down(&f);
}
END_TEST

Suite *suite_io(void)
{
	Suite *s = suite_create("io");
	TCase *t = tcase_create("engine");

	tcase_add_test(t, a_synchronous_operation_starts_where_the_last_one_ended);
	tcase_add_test(t, time_between_operations_without_io_wake_is_latency);
	tcase_add_test(t, idle_time_before_io_wake_is_no_latency);
	tcase_add_test(t, reads_and_writes_are_never_done_in_the_engines_stead);
	tcase_add_loop_test(t, an_engine_that_cannot_start_says_why, 0, 3);
	tcase_add_test(t, the_engine_is_started_and_ended_once);
	tcase_add_test(t, the_null_engine_takes_everything_and_touches_nothing);
	suite_add_tcase(s, t);
	return s;
}
