/* SPDX-License-Identifier: Apache-2.0 */
/* mock_engine.h - the io layer over an engine that moves what it is told to, step by step, in
 * virtual time. */
#pragma once

#include <check.h>
#include <errno.h>
#include <string.h>

#include "io/io.h"

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

static inline void keep_content(struct mock *m, const struct mlgen_io *op, uint64_t bytes)
{
	uint64_t at = op->off;

	for (int i = 0; i < op->iovcnt && bytes; i++) {
		uint64_t n = op->iov[i].iov_len < bytes ? op->iov[i].iov_len : bytes;

		ck_assert_uint_le(at + n, CONTENT);
		memcpy(m->content + at, op->iov[i].iov_base, n);
		at += n;
		bytes -= n;
	}
}

static inline void mock_does(struct mock *m, struct mlgen_io *op)
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
	op->result = step > (int64_t)op->len_bytes ? (int64_t)op->len_bytes : step;
	if (m->content && op->op == MLGEN_WRITE && op->result > 0)
		keep_content(m, op, (uint64_t)op->result);
	if (m->look)
		io_look(m->look, &m->seen);
}

static inline int sync_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	ck_assert_uint_eq(n, 1);
	mock_does(ctx->job->priv, io[0]);
	ctx->sleep_until(ctx, ctx->now_ns(ctx) + OP_NS);
	return 1;
}

static inline int async_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
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
static inline int async_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min,
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

static inline int mock_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct mock *m = ctx->job->priv;

	(void)err;
	m->inits++;
	ck_assert_ptr_nonnull(ctx->buf);
	return 0;
}

static inline int init_refused(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	(void)ctx;
	return mlgen_fail(err, -EPERM, "ring: set the sysctl to 0");
}

static inline int init_silent(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	(void)ctx;
	(void)err;
	return -ENOSYS;
}

static inline void mock_fini(struct mlgen_ctx *ctx)
{
	struct mock *m = ctx->job->priv;

	m->finis++;
}

static inline void *no_memory(struct mlgen_ctx *ctx, size_t bytes)
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

static inline int open_io(struct fixture *f, const struct mlgen_engine *e, unsigned depth,
			  size_t buf_bytes, struct mlgen_err *err)
{
	f->job = (struct mlgen_engine_job){ .engine = e, .workers = 1, .priv = &f->mock };
	const struct io_config cfg = { .job = &f->job,
				       .clock = f->clock,
				       .stat = &f->stat,
				       .iodepth = depth,
				       .buf_bytes = buf_bytes };
	return io_new(&f->io, &cfg, err);
}

static inline void set_up(struct fixture *f, const struct mlgen_engine *e, unsigned depth,
			  size_t buf_bytes)
{
	struct mlgen_err err = { 0 };

	memset(f, 0, sizeof(*f));
	f->clock = clock_new_virtual(5000);
	clock_join(f->clock);
	opstat_init(&f->stat);
	ck_assert_msg(open_io(f, e, depth, buf_bytes, &err) == 0, "%s", err.text);
}

static inline void tear_down(struct fixture *f)
{
	io_free(f->io);
	opstat_fini(&f->stat);
	clock_leave(f->clock);
	clock_free(f->clock);
}

static inline struct io_op transfer(enum mlgen_op kind, struct mlgen_file *file, uint64_t off,
				    uint64_t bytes)
{
	return (struct io_op){ .io = { .op = kind, .file = file, .off = off, .len_bytes = bytes } };
}
