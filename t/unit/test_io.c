/* SPDX-License-Identifier: Apache-2.0 */
/* test_io.c - the io layer over mock engines, in virtual time, and over real files. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/engines.h"
#include "io/io.h"
#include "suites.h"

#define ALL INT64_MAX /* a step that moves what is asked for */
#define STEPS 8
#define DEPTH 8
#define OP_NS 1000u
#define CONTENT 65536u

/* What a mock engine shall do and what it was asked, in job->priv. */
struct mock {
	int64_t steps[STEPS]; /* bytes at most, or -errno, call by call */
	unsigned step_count;  /* after these: the last one again */
	bool in_circles;      /* after these: from the first again */
	unsigned calls;
	uint64_t last_off, last_len;
	int last_parts;
	const unsigned char *bases[STEPS];
	unsigned char *content; /* of WRITEs, by offset; CONTENT bytes */
	struct io *look;        /* looked at while an operation is under way */
	struct io_outstanding seen;
	/* the asynchronous one */
	unsigned accept; /* per call of submit; 0 = all */
	unsigned batches, pending, inits, finis;
	int submit_rc, reap_rc;
	struct mlgen_io *held[DEPTH];
	uint64_t due_ns[DEPTH];
};

struct fixture {
	struct clock *clock;
	struct opstat stat;
	struct mlgen_engine_job job;
	struct mock mock;
	struct io *io;
};

static void keep_content(struct mock *m, const struct mlgen_io *op,
			 uint64_t bytes)
{
	uint64_t at = op->off;

	for (int i = 0; i < op->iovcnt && bytes; i++) {
		uint64_t n =
			op->iov[i].iov_len < bytes ? op->iov[i].iov_len : bytes;

		ck_assert_uint_le(at + n, CONTENT);
		memcpy(m->content + at, op->iov[i].iov_base, n);
		at += n;
		bytes -= n;
	}
}

static void mock_does(struct mock *m, struct mlgen_io *op)
{
	unsigned at = m->calls < m->step_count ? m->calls : m->step_count - 1;

	if (m->in_circles)
		at = m->calls % m->step_count;
	int64_t step = m->step_count ? m->steps[at] : ALL;
	uint64_t sum = 0;

	for (int i = 0; i < op->iovcnt; i++)
		sum += op->iov[i].iov_len;
	ck_assert_uint_eq(sum, op->len_bytes);
	m->bases[m->calls % STEPS] = op->iov->iov_base;
	m->calls++;
	m->last_off = op->off;
	m->last_len = op->len_bytes;
	m->last_parts = op->iovcnt;
	op->result =
		step > (int64_t)op->len_bytes ? (int64_t)op->len_bytes : step;
	if (m->content && op->op == MLGEN_WRITE && op->result > 0)
		keep_content(m, op, (uint64_t)op->result);
	if (m->look)
		io_look(m->look, &m->seen);
}

static int sync_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	ck_assert_uint_eq(n, 1);
	mock_does(ctx->job->priv, io[0]);
	ctx->sleep_until(ctx, ctx->now_ns(ctx) + OP_NS);
	return 1;
}

static int async_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct mock *m = ctx->job->priv;
	unsigned i;

	m->batches++;
	if (m->submit_rc)
		return m->submit_rc < 0 ? m->submit_rc : 0;
	for (i = 0; i < n && (!m->accept || m->pending < m->accept); i++) {
		mock_does(m, io[i]);
		m->due_ns[m->pending] = ctx->now_ns(ctx) + OP_NS;
		m->held[m->pending++] = io[i];
	}
	return (int)i;
}

/* The last one handed over comes back first. */
static int async_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min,
		      unsigned max, uint64_t timeout_ns)
{
	struct mock *m = ctx->job->priv;
	unsigned n = 0;

	if (m->reap_rc)
		return m->reap_rc;
	ck_assert_uint_le(min, m->pending);
	ck_assert_uint_le(max, ctx->iodepth);
	ck_assert(min == 0 || timeout_ns == UINT64_MAX);
	while (n < max && m->pending) {
		uint64_t due = m->due_ns[m->pending - 1];

		if (due > ctx->now_ns(ctx)) {
			if (n >= min)
				break;
			ctx->sleep_until(ctx, due);
		}
		io[n++] = m->held[--m->pending];
	}
	return (int)n;
}

static int mock_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct mock *m = ctx->job->priv;

	(void)err;
	m->inits++;
	ck_assert_ptr_nonnull(ctx->buf);
	return 0;
}

static int init_refused(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	(void)ctx;
	return mlgen_fail(err, -EPERM, "ring: set the sysctl to 0");
}

static int init_silent(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	(void)ctx;
	(void)err;
	return -ENOSYS;
}

static void mock_fini(struct mlgen_ctx *ctx)
{
	struct mock *m = ctx->job->priv;

	m->finis++;
}

static void *no_memory(struct mlgen_ctx *ctx, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	return NULL;
}

/* clang-format off */
#define RW_CAPS (MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE))
#define MOCK .abi = MLGEN_ENGINE_ABI, .size = sizeof(struct mlgen_engine), \
	     .name = "mock", .help = "mock", .fini = mock_fini

static const struct mlgen_engine mock_sync = {
	MOCK, .caps = RW_CAPS, .init = mock_init, .submit = sync_submit,
};
static const struct mlgen_engine mock_async = {
	MOCK, .caps = RW_CAPS, .init = mock_init, .submit = async_submit,
	.reap = async_reap,
};
static const struct mlgen_engine mock_without_caps = {
	MOCK, .submit = sync_submit,
};
static const struct mlgen_engine mock_refused = {
	MOCK, .init = init_refused, .submit = sync_submit,
};
static const struct mlgen_engine mock_silent = {
	MOCK, .init = init_silent, .submit = sync_submit,
};
static const struct mlgen_engine mock_no_memory = {
	MOCK, .buf_alloc = no_memory, .submit = sync_submit,
};
/* clang-format on */

static int open_io(struct fixture *f, const struct mlgen_engine *e,
		   unsigned depth, size_t buf_bytes, struct mlgen_err *err)
{
	f->job = (struct mlgen_engine_job){ .engine = e,
					    .workers = 1,
					    .priv = &f->mock };
	const struct io_config cfg = { .job = &f->job,
				       .clock = f->clock,
				       .stat = &f->stat,
				       .iodepth = depth,
				       .buf_bytes = buf_bytes };
	return io_new(&f->io, &cfg, err);
}

static void set_up(struct fixture *f, const struct mlgen_engine *e,
		   unsigned depth, size_t buf_bytes)
{
	struct mlgen_err err = { 0 };

	memset(f, 0, sizeof(*f));
	f->clock = clock_new_virtual(5000);
	clock_join(f->clock);
	opstat_init(&f->stat);
	ck_assert_msg(open_io(f, e, depth, buf_bytes, &err) == 0, "%s",
		      err.text);
}

static void tear_down(struct fixture *f)
{
	io_free(f->io);
	opstat_fini(&f->stat);
	clock_leave(f->clock);
	clock_free(f->clock);
}

static struct io_op transfer(enum mlgen_op kind, struct mlgen_file *file,
			     uint64_t off, uint64_t bytes)
{
	return (struct io_op){ .io = { .op = kind,
				       .file = file,
				       .off = off,
				       .len_bytes = bytes } };
}

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

static void check_resume(const struct resume_case *c,
			 const struct mlgen_engine *e)
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
	ck_assert_msg(result == c->result, "%s: result %lld", c->what,
		      (long long)result);
	ck_assert_msg(f.mock.calls == c->calls, "%s: %u calls", c->what,
		      f.mock.calls);
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

START_TEST(what_is_under_way_can_be_seen_and_what_is_done_cannot)
{
	struct mlgen_file file = { .path = "dir/first", .fd = -1 };
	struct io_op op = transfer(MLGEN_READ, &file, 8192, 4096);
	struct io_outstanding after;
	struct fixture f;

	set_up(&f, _i ? &mock_async : &mock_sync, 1, 4096);
	f.mock.look = f.io;
	ck_assert_int_eq(io_do(f.io, &op), 4096);
	ck_assert_uint_eq(f.mock.seen.start_ns, 5000);
	ck_assert_uint_eq(f.mock.seen.off, 8192);
	ck_assert_int_eq((int)f.mock.seen.op, MLGEN_READ);
	ck_assert_str_eq(f.mock.seen.path, "dir/first");
	io_look(f.io, &after);
	ck_assert_uint_eq(after.start_ns, 0);
	/* the same struct for the next file: its open says so */
	struct io_op again = transfer(MLGEN_STAT, &file, 0, 0);
	file.path = "no/such/file/with/a/longer/name";
	ck_assert_int_eq(io_do(f.io, &again), -ENOENT);
	ck_assert_int_eq(io_do(f.io, &op), 4096);
	ck_assert_str_eq(f.mock.seen.path, file.path);
	tear_down(&f);
}
END_TEST

START_TEST(of_several_the_oldest_is_seen)
{
	struct mlgen_file a = { .path = "a" }, b = { .path = "b" };
	struct io_op first = transfer(MLGEN_READ, &a, 1, 512);
	struct io_op second = transfer(MLGEN_WRITE, &b, 2, 512);
	struct io_op *done[2];
	struct io_outstanding seen;
	struct fixture f;

	set_up(&f, &mock_async, 4, 16384);
	io_submit(f.io, &first);
	ck_assert_int_eq(io_reap(f.io, done, 0, 2), 0);
	clock_sleep_until(f.clock, 5100);
	io_submit(f.io, &second);
	ck_assert_int_eq(io_reap(f.io, done, 0, 2), 0);
	io_look(f.io, &seen);
	ck_assert_str_eq(seen.path, "a");
	ck_assert_uint_eq(seen.start_ns, 5000);
	ck_assert_int_eq(io_reap(f.io, done, 2, 2), 2);
	tear_down(&f);
}
END_TEST

START_TEST(a_long_path_is_cut)
{
	char path[2000];
	struct mlgen_file file = { .path = path };
	struct io_op op = transfer(MLGEN_READ, &file, 0, 512);
	struct fixture f;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	set_up(&f, &mock_sync, 1, 4096);
	f.mock.look = f.io;
	ck_assert_int_eq(io_do(f.io, &op), 512);
	ck_assert_uint_eq(strlen(f.mock.seen.path), 511);
	tear_down(&f);
}
END_TEST

struct watcher {
	const struct io *io;
	_Atomic bool stop;
	unsigned looks;
};

static void *watch(void *arg)
{
	struct watcher *w = arg;
	struct io_outstanding seen;

	do {
		io_look(w->io, &seen);
		ck_assert_uint_lt(strlen(seen.path), sizeof(seen.path));
		w->looks++;
	} while (!atomic_load(&w->stop));
	return NULL;
}

START_TEST(another_thread_may_look_at_any_time)
{
	struct mlgen_file files[2] = { { .path = "short" },
				       { .path = "a/very/much/longer/path" } };
	struct watcher w = { 0 };
	struct fixture f;
	pthread_t t;

	set_up(&f, engines_find("null"), 1, 4096);
	w.io = f.io;
	ck_assert_int_eq(pthread_create(&t, NULL, watch, &w), 0);
	for (unsigned i = 0; i < 20000; i++) {
		struct io_op op = transfer(MLGEN_READ, &files[i % 2], i, 4096);

		ck_assert_int_eq(io_do(f.io, &op), 4096);
	}
	atomic_store(&w.stop, true);
	pthread_join(t, NULL);
	ck_assert_uint_gt(w.looks, 0);
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
		{ &mock_no_memory, -ENOMEM, "no memory for a buffer of 4 KiB, one of 1; lower the request size, the iodepth or the number of threads", 0 },
		/* clang-format on */
	};
	struct mlgen_err err = { 0 };
	struct fixture f = { 0 };

	f.clock = clock_new_virtual(1);
	clock_join(f.clock);
	opstat_init(&f.stat);
	ck_assert_int_eq(open_io(&f, cases[_i].engine, 1, 4096, &err),
			 cases[_i].rc);
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

/* Real files. */

struct place {
	char dir[256];
	char a[300], b[300];
};

static void make_place(struct place *p)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(p->dir, sizeof(p->dir), "%.200s/mlgen-io-XXXXXX",
		 tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(p->dir));
	snprintf(p->a, sizeof(p->a), "%s/a", p->dir);
	snprintf(p->b, sizeof(p->b), "%s/b", p->dir);
}

static void remove_place(const struct place *p)
{
	unlink(p->a);
	unlink(p->b);
	ck_assert_int_eq(rmdir(p->dir), 0);
}

static void make_file(const char *path, size_t bytes)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < bytes; i++)
		fputc((int)(i * 31 % 251), f);
	ck_assert_int_eq(fclose(f), 0);
}

/* One metadata operation. */
static int64_t meta_op(struct fixture *f, enum mlgen_op kind,
		       struct mlgen_file *file, uint64_t bytes)
{
	struct io_op op = transfer(kind, file, 0, bytes);

	op.io.advice = POSIX_FADV_DONTNEED;
	return io_do(f->io, &op);
}

static void open_file(struct fixture *f, struct mlgen_file *file)
{
	ck_assert_int_eq(meta_op(f, MLGEN_OPEN, file, 0), 0);
	ck_assert_int_ge(file->fd, 0);
}

START_TEST(metadata_that_the_engine_leaves_is_done_here)
{
	struct place p;
	struct fixture f;
	struct mlgen_file file = { .fd = -1,
				   .flags = O_RDWR | O_CREAT | O_EXCL,
				   .mode = 0644 };
	struct stat st;

	make_place(&p);
	file.path = p.a;
	set_up(&f, _i ? &mock_async : engines_find("psync"), 1, 4096);
	open_file(&f, &file);
	ck_assert_int_eq(fcntl(file.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	int64_t rc = meta_op(&f, MLGEN_ALLOCATE, &file, 10000);
	if (rc == 0) /* not every filesystem has it */
		ck_assert(fstat(file.fd, &st) == 0 && st.st_size == 10000);
	else
		ck_assert_int_eq(rc, -EOPNOTSUPP);
	ck_assert_int_eq(ftruncate(file.fd, 10000), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_FSYNC, &file, 0), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_FDATASYNC, &file, 0), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_ADVISE, &file, 0), 0);
	struct io_op op = transfer(MLGEN_STAT, &file, 0, 0);
	ck_assert_int_eq(io_do(f.io, &op), 0);
	ck_assert_uint_eq(op.io.size_bytes, 10000);
	/* of what is open, whatever its name leads to by now */
	file.path = p.b;
	ck_assert_int_eq(meta_op(&f, MLGEN_STAT, &file, 0), 0);
	file.path = p.a;
	ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), 0);
	ck_assert_int_eq(file.fd, -1);
	ck_assert_int_eq(meta_op(&f, MLGEN_STAT, &file, 0), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), -EBADF);
	struct io_op move = transfer(MLGEN_RENAME, &file, 0, 0);
	move.io.path2 = p.b;
	ck_assert_int_eq(io_do(f.io, &move), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_UNLINK, &file, 0), -ENOENT);
	ck_assert_int_eq(access(p.b, F_OK), 0);
	file.mode = 0755;
	ck_assert_int_eq(meta_op(&f, MLGEN_MKDIR, &file, 0), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_MKDIR, &file, 0), -EEXIST);
	ck_assert_int_eq(meta_op(&f, MLGEN_RMDIR, &file, 0), 0);
	ck_assert_uint_eq(f.stat.lat[MLGEN_MKDIR]->count, 1);
	ck_assert_uint_eq(f.mock.calls, 0);
	tear_down(&f);
	remove_place(&p);
}
END_TEST

START_TEST(psync_reads_what_is_in_the_file)
{
	static const struct {
		size_t file;
		uint64_t off, want;
		bool eof_ok;
		int64_t result;
	} cases[] = {
		/* clang-format off */
		{ 4096, 0, 4096, false, 4096 },
		{ 4096, 100, 1000, false, 1000 },
		{ 100000, 0, 100000, false, 100000 },	/* 25 buffers */
		{ 100000, 5, 99995, false, 99995 },
		{ 100000, 0, 102400, true, 100000 },	/* rounded up */
		{ 100000, 0, 102400, false, -ENODATA },
		{ 0, 0, 4096, true, 0 },
		{ 0, 0, 4096, false, -ENODATA },
		{ 0, 0, 0, false, 0 },
		{ 10, 4096, 4096, true, 0 },
		{ 5000000, 0, 5000000, false, 5000000 }, /* > 1024 parts */
		/* clang-format on */
	};
	struct mlgen_file file = { .fd = -1, .flags = O_RDONLY };
	struct place p;
	struct fixture f;
	size_t bytes;

	make_place(&p);
	make_file(p.a, cases[_i].file);
	file.path = p.a;
	set_up(&f, engines_find("psync"), 1, 4096);
	open_file(&f, &file);
	struct io_op op =
		transfer(MLGEN_READ, &file, cases[_i].off, cases[_i].want);
	op.eof_ok = cases[_i].eof_ok;
	ck_assert_int_eq(io_do(f.io, &op), cases[_i].result);
	const unsigned char *buf = io_buffer(f.io, &bytes);
	if (op.io.result > 0 && op.done_bytes <= bytes)
		for (uint64_t i = 0; i < op.done_bytes; i++)
			ck_assert_uint_eq(buf[i],
					  (cases[_i].off + i) * 31 % 251);
	ck_assert_uint_eq(f.stat.io_bytes[0], op.done_bytes);
	ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), 0);
	tear_down(&f);
	remove_place(&p);
}
END_TEST

START_TEST(psync_writes_the_buffer_again_and_again)
{
	struct mlgen_file file = { .fd = -1,
				   .mode = 0600,
				   .flags = O_RDWR | O_CREAT | O_EXCL };
	const uint64_t want = 3 * 4096 + 17;
	unsigned char *back = mem_zalloc(want);
	struct place p;
	struct fixture f;
	size_t bytes;

	make_place(&p);
	file.path = p.a;
	set_up(&f, engines_find("psync"), 1, 4096);
	unsigned char *buf = io_buffer(f.io, &bytes);
	for (size_t i = 0; i < bytes; i++)
		buf[i] = (unsigned char)(i % 253);
	open_file(&f, &file);
	struct io_op op = transfer(MLGEN_WRITE, &file, 0, want);
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)want);
	ck_assert_int_eq(pread(file.fd, back, want, 0), (ssize_t)want);
	for (uint64_t i = 0; i < want; i++)
		ck_assert_uint_eq(back[i], buf[i % bytes]);
	ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), 0);
	mem_free(back);
	tear_down(&f);
	remove_place(&p);
}
END_TEST

START_TEST(a_direct_read_ends_with_the_file)
{
	struct mlgen_file file = { .fd = -1, .flags = O_RDONLY | O_DIRECT };
	struct place p;
	struct fixture f;

	make_place(&p);
	make_file(p.a, 100001);
	file.path = p.a;
	set_up(&f, engines_find("psync"), 1, 16384);
	if (meta_op(&f, MLGEN_OPEN, &file, 0) == 0) {
		struct io_op op = transfer(MLGEN_READ, &file, 0, 102400);

		op.eof_ok = true;
		ck_assert_int_eq(io_do(f.io, &op), 100001);
		op.eof_ok = false;
		ck_assert_int_eq(io_do(f.io, &op), -ENODATA);
		ck_assert_uint_eq(op.done_bytes, 100001);
		ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), 0);
	}
	tear_down(&f);
	remove_place(&p);
}
END_TEST

START_TEST(a_missing_file_and_a_wrong_descriptor_are_told)
{
	struct mlgen_file file = { .path = "/no/such/file", .fd = -1 };
	struct fixture f;

	set_up(&f, engines_find("psync"), 1, 4096);
	ck_assert_int_eq(meta_op(&f, MLGEN_OPEN, &file, 0), -ENOENT);
	ck_assert_int_eq(file.fd, -1);
	struct io_op op = transfer(MLGEN_READ, &file, 0, 4096);
	ck_assert_int_eq(io_do(f.io, &op), -EBADF);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 0);
	tear_down(&f);
}
END_TEST

static TCase *engine_case(void)
{
	TCase *t = tcase_create("engines");

	tcase_add_test(t,
		       a_synchronous_operation_starts_where_the_last_one_ended);
	tcase_add_test(t, time_between_operations_without_io_wake_is_latency);
	tcase_add_test(t, idle_time_before_io_wake_is_no_latency);
	tcase_add_loop_test(t, short_transfers_and_interruptions_are_resumed, 0,
			    sizeof(resume_cases) / sizeof(resume_cases[0]));
	tcase_add_test(t, a_resumed_transfer_goes_on_at_its_offset);
	tcase_add_loop_test(
		t, an_engine_that_is_interrupted_but_moves_is_never_given_up, 0,
		2);
	tcase_add_test(t, one_call_reads_more_than_the_buffer_holds);
	tcase_add_test(t,
		       a_call_of_more_than_1024_parts_is_split_and_not_short);
	tcase_add_loop_test(t, a_resumed_write_has_the_content_of_one_in_one_go,
			    0, 6);
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
	tcase_add_test(t, reads_and_writes_are_never_done_in_the_engines_stead);
	tcase_add_loop_test(
		t, what_is_under_way_can_be_seen_and_what_is_done_cannot, 0, 2);
	tcase_add_test(t, of_several_the_oldest_is_seen);
	tcase_add_test(t, a_long_path_is_cut);
	tcase_add_test(t, another_thread_may_look_at_any_time);
	tcase_add_loop_test(t, an_engine_that_cannot_start_says_why, 0, 3);
	tcase_add_test(t, the_engine_is_started_and_ended_once);
	tcase_add_test(t, the_null_engine_takes_everything_and_touches_nothing);
	return t;
}

static TCase *file_case(void)
{
	TCase *t = tcase_create("files");

	tcase_add_loop_test(t, metadata_that_the_engine_leaves_is_done_here, 0,
			    2);
	tcase_add_loop_test(t, psync_reads_what_is_in_the_file, 0, 11);
	tcase_add_test(t, psync_writes_the_buffer_again_and_again);
	tcase_add_test(t, a_direct_read_ends_with_the_file);
	tcase_add_test(t, a_missing_file_and_a_wrong_descriptor_are_told);
	return t;
}

Suite *suite_io(void)
{
	Suite *s = suite_create("io");

	suite_add_tcase(s, engine_case());
	suite_add_tcase(s, file_case());
	return s;
}
