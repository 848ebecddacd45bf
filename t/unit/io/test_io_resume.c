/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_resume.c - what an engine moves of a transfer, cut short or interrupted, is resumed. */
#include <fcntl.h>

#include "base/mem.h"
#include "mock_engine.h"
#include "suites.h"

/* clang-format off */
static const struct resume_case {
	const char *what;
	enum mlgen_op op;
	int64_t steps[STEPS];
	unsigned step_count;
	bool eof_ok;
	int file_flags;
	uint64_t want;
	int64_t result;
	uint64_t done;
	unsigned calls;
	uint64_t shorts;
	uint64_t eof_bytes;
} resume_cases[] = {
	{ "in one go", MLGEN_READ, { ALL }, 1, false, 0, 4096, 4096, 4096, 1, 0, 0 },
	{ "nothing asked for", MLGEN_READ, { ALL }, 1, false, 0, 0, 0, 0, 1, 0, 0 },
	{ "short", MLGEN_READ, { 1000, ALL }, 2, false, 0, 4096, 4096, 4096, 2, 1, 0 },
	{ "short thrice", MLGEN_READ, { 1, 1, 1, ALL }, 4, true, 0, 4096, 4096, 4096, 4, 3, 0 },
	{ "short write", MLGEN_WRITE, { 1000, ALL }, 2, false, 0, 4096, 4096, 4096, 2, 1, 0 },
	{ "EINTR", MLGEN_READ, { -EINTR, ALL }, 2, false, 0, 4096, 4096, 4096, 2, 0, 0 },
	{ "EINTR for ever", MLGEN_READ, { -EINTR }, 1, false, 0, 4096, -EINTR, 0, 101, 0, 0 },
	{ "EAGAIN, which is an error", MLGEN_READ, { -EAGAIN, ALL }, 2, false, 0, 4096, -EAGAIN, 0, 1, 0, 0 },
	{ "EAGAIN of a write", MLGEN_WRITE, { -EAGAIN, ALL }, 2, false, 0, 4096, -EAGAIN, 0, 1, 0, 0 },
	{ "short, then EAGAIN", MLGEN_READ, { 1000, -EAGAIN, ALL }, 3, false, 0, 4096, -EAGAIN, 1000, 2, 0, 0 },
	{ "short, then EINTR", MLGEN_READ, { 96, -EINTR, ALL }, 3, false, 0, 4096, 4096, 4096, 3, 1, 0 },
	{ "error", MLGEN_READ, { -EIO }, 1, true, 0, 4096, -EIO, 0, 1, 0, 0 },
	{ "short, then error", MLGEN_WRITE, { 1000, -ENOSPC }, 2, false, 0, 4096, -ENOSPC, 1000, 2, 0, 0 },
	{ "early end", MLGEN_READ, { 1000, 0 }, 2, false, 0, 4096, -ENODATA, 1000, 2, 0, 0 },
	{ "early end allowed", MLGEN_READ, { 1000, 0 }, 2, true, 0, 4096, 1000, 1000, 2, 0, 0 },
	{ "empty file", MLGEN_READ, { 0 }, 1, false, 0, 4096, -ENODATA, 0, 1, 0, 0 },
	{ "empty file allowed", MLGEN_READ, { 0 }, 1, true, 0, 4096, 0, 0, 1, 0, 0 },
	{ "write takes nothing", MLGEN_WRITE, { 0 }, 1, false, 0, 4096, -EIO, 0, 1, 0, 0 },
	{ "direct, end allowed", MLGEN_READ, { 1024 }, 1, true, O_DIRECT, 4096, 1024, 1024, 1, 0, 0 },
	{ "direct, unaligned end", MLGEN_READ, { 1000 }, 1, false, O_DIRECT, 4096, -ENODATA, 1000, 1, 0, 0 },
	{ "direct, aligned short", MLGEN_READ, { 1024, ALL }, 2, false, O_DIRECT, 4096, 4096, 4096, 2, 1, 0 },
	{ "known end", MLGEN_READ, { 1000 }, 1, true, 0, 4096, 1000, 1000, 1, 0, 1000 },
	{ "short of a known end", MLGEN_READ, { 400, 600 }, 2, true, 0, 4096, 1000, 1000, 2, 1, 1000 },
	{ "ends before it", MLGEN_READ, { 400, 0 }, 2, true, 0, 4096, -ENODATA, 400, 2, 0, 1000 },
	{ "nothing before it", MLGEN_READ, { 0 }, 1, true, 0, 4096, -ENODATA, 0, 1, 0, 1000 },
	{ "more than was known", MLGEN_READ, { 1200 }, 1, true, 0, 4096, 1200, 1200, 1, 0, 1000 },
	{ "direct, known end", MLGEN_READ, { 1000 }, 1, true, O_DIRECT, 4096, 1000, 1000, 1, 0, 1000 },
	{ "direct, ends before it", MLGEN_READ, { 400 }, 1, true, O_DIRECT, 4096, -ENODATA, 400, 1, 0, 1000 },
};
/* clang-format on */

static uint64_t sizes_total(const struct sizes *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < SIZES_CLASSES; i++)
		n += s->count[i];
	return n;
}

static void check_resume(const struct resume_case *c, const struct mlgen_engine *e)
{
	struct mlgen_file file = { .path = "f", .flags = c->file_flags };
	struct io_op op = transfer(c->op, &file, 7000, c->want);
	struct fixture f;

	set_up(&f, e, 1, 4096);
	memcpy(f.mock.steps, c->steps, sizeof(c->steps));
	f.mock.step_count = c->step_count;
	op.eof_ok = c->eof_ok;
	op.eof_bytes = c->eof_bytes;
	int64_t result = io_do(f.io, &op);
	ck_assert_msg(result == c->result, "%s: result %lld", c->what, (long long)result);
	ck_assert_msg(f.mock.calls == c->calls, "%s: %u calls", c->what, f.mock.calls);
	ck_assert_uint_eq(op.done_bytes, c->done);
	ck_assert_uint_eq(f.stat.short_ios[c->op == MLGEN_WRITE], c->shorts);
	ck_assert_uint_eq(f.stat.short_ios[c->op != MLGEN_WRITE], 0);
	ck_assert_uint_eq(f.stat.io_bytes[c->op == MLGEN_WRITE], c->done);
	/* one request, whatever became of it, and the caller's again */
	ck_assert_uint_eq(sizes_total(&f.stat.sizes[c->op == MLGEN_WRITE]), 1);
	/* how long one took that failed is no latency */
	ck_assert_uint_eq(f.stat.lat[c->op]->count, c->result >= 0);
	ck_assert_uint_eq(op.end_ns - op.start_ns, c->calls * OP_NS);
	ck_assert_uint_eq(op.io.off, 7000);
	ck_assert_uint_eq(op.io.len_bytes, c->want);
	tear_down(&f);
}

START_TEST(short_transfers_and_interruptions_are_resumed)
{
	check_resume(&resume_cases[_i], &mock_sync);
	check_resume(&resume_cases[_i], &mock_async);
}
END_TEST

START_TEST(a_resumed_transfer_goes_on_at_its_offset)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op op = transfer(MLGEN_READ, &file, 10000, 4096);
	struct fixture f;

	set_up(&f, &mock_sync, 1, 4096);
	f.mock.steps[0] = 1000;
	f.mock.steps[1] = ALL;
	f.mock.step_count = 2;
	ck_assert_int_eq(io_do(f.io, &op), 4096);
	ck_assert_uint_eq(f.mock.last_off, 11000);
	ck_assert_uint_eq(f.mock.last_len, 3096);
	tear_down(&f);
}
END_TEST

START_TEST(an_engine_that_is_interrupted_but_moves_is_never_given_up)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op op = transfer(MLGEN_WRITE, &file, 0, 200);
	struct fixture f;

	set_up(&f, _i ? &mock_async : &mock_sync, 1, 4096);
	f.mock.steps[0] = -EINTR;
	f.mock.steps[1] = 1;
	f.mock.step_count = 2;
	f.mock.in_circles = true;
	ck_assert_int_eq(io_do(f.io, &op), 200);
	ck_assert_uint_eq(f.mock.calls, 400);
	tear_down(&f);
}
END_TEST

START_TEST(one_call_reads_more_than_the_buffer_holds)
{
	struct mlgen_file file = { .path = "f" };
	struct io_op op = transfer(MLGEN_READ, &file, 0, 10 * 4096 + 100);
	struct fixture f;

	set_up(&f, &mock_sync, 1, 4096);
	ck_assert_int_eq(io_do(f.io, &op), 10 * 4096 + 100);
	ck_assert_uint_eq(f.mock.calls, 1);
	ck_assert_int_eq(f.mock.last_parts, 11);
	ck_assert_uint_eq(f.stat.short_ios[0], 0);
	tear_down(&f);
}
END_TEST

START_TEST(a_call_of_more_than_1024_parts_is_split_and_not_short)
{
	const uint64_t most = 1024 * 4096, want = 2 * most + 5;
	struct mlgen_file file = { .path = "f" };
	struct io_op op = transfer(MLGEN_READ, &file, 0, want);
	struct fixture f;

	set_up(&f, &mock_sync, 1, 4096);
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)want);
	ck_assert_uint_eq(f.mock.calls, 3);
	ck_assert_uint_eq(f.mock.last_off, 2 * most);
	ck_assert_uint_eq(f.mock.last_len, 5);
	ck_assert_uint_eq(f.stat.short_ios[0], 0);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 1);
	tear_down(&f);
}
END_TEST

START_TEST(a_resumed_write_has_the_content_of_one_in_one_go)
{
	static const int64_t cuts[] = { 1, 4095, 4096, 4097, 5000, 9999 };
	const uint64_t want = 10000;
	struct mlgen_file file = { .path = "f" };
	struct fixture f;
	size_t bytes;

	set_up(&f, &mock_sync, 1, 4096);
	unsigned char *buf = io_buffer(f.io, &bytes);
	ck_assert_uint_eq(bytes, 4096);
	for (size_t i = 0; i < bytes; i++)
		buf[i] = (unsigned char)(i * 7 + i / 256);
	f.mock.content = mem_zalloc(CONTENT);
	f.mock.steps[0] = cuts[_i];
	f.mock.steps[1] = cuts[_i];
	f.mock.steps[2] = ALL;
	f.mock.step_count = 3;
	struct io_op op = transfer(MLGEN_WRITE, &file, 0, want);
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)want);
	for (size_t i = 0; i < want; i++)
		ck_assert_uint_eq(f.mock.content[i], buf[i % bytes]);
	mem_free(f.mock.content);
	tear_down(&f);
}
END_TEST

Suite *suite_io_resume(void)
{
	Suite *s = suite_create("io_resume");
	TCase *t = tcase_create("resumed");

	tcase_add_loop_test(t, short_transfers_and_interruptions_are_resumed, 0,
			    sizeof(resume_cases) / sizeof(resume_cases[0]));
	tcase_add_test(t, a_resumed_transfer_goes_on_at_its_offset);
	tcase_add_loop_test(t, an_engine_that_is_interrupted_but_moves_is_never_given_up, 0, 2);
	tcase_add_test(t, one_call_reads_more_than_the_buffer_holds);
	tcase_add_test(t, a_call_of_more_than_1024_parts_is_split_and_not_short);
	tcase_add_loop_test(t, a_resumed_write_has_the_content_of_one_in_one_go, 0, 6);
	suite_add_tcase(s, t);
	return s;
}
