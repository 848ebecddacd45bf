/* SPDX-License-Identifier: Apache-2.0 */
/* fake_engine.h - an engine of every kind that does as it is told, in virtual time. */
#pragma once

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <mlgen/engine.h>

#define FAKE_ALL INT64_MAX /* a result: what is asked for */
#define FAKE_RESULTS 8
#define FAKE_HELD 64
#define FAKE_LOG 256
#define FAKE_CONTENT 262144u

/* What it shall do and what it was asked; job->priv. */
struct fake {
	uint64_t op_ns;
	bool one_by_one; /* each operation of a batch op_ns after the other */
	bool no_links;
	bool backwards;  /* of what is ready the last one comes first */
	bool is_frozen;  /* a timeout passes, and the clock does not */
	unsigned accept; /* has no room for more; 0 = for all */
	int submit_rc;
	/* Results of each kind, call by call; behind them all is well. */
	struct {
		int64_t result[FAKE_RESULTS];
		unsigned count, calls;
	} script[MLGEN_OPS];
	unsigned char *content; /* of WRITEs, by offset; FAKE_CONTENT bytes */
	/* What was seen. */
	unsigned files, submits, most_held, logged;
	unsigned batch[FAKE_LOG]; /* by submit */
	int open_files;
	struct fake_call {
		enum mlgen_op op;
		unsigned flags;
		uint64_t off, len_bytes;
		const unsigned char *base;
	} log[FAKE_LOG];
	/* Under way. */
	struct mlgen_io *held[FAKE_HELD];
	uint64_t due_ns[FAKE_HELD];
	unsigned held_count;
};

static inline void fake_script(struct fake *f, enum mlgen_op op, int64_t result)
{
	ck_assert_uint_lt(f->script[op].count, FAKE_RESULTS);
	f->script[op].result[f->script[op].count++] = result;
}

static inline void fake_keep(struct fake *f, const struct mlgen_io *op)
{
	uint64_t at = op->off, left = (uint64_t)op->result;

	for (int i = 0; i < op->iovcnt && left; i++) {
		size_t n = op->iov[i].iov_len < left ? op->iov[i].iov_len : (size_t)left;

		ck_assert_uint_le(at + n, FAKE_CONTENT);
		memcpy(f->content + at, op->iov[i].iov_base, n);
		at += n;
		left -= n;
	}
}

static inline void fake_note(struct fake *f, const struct mlgen_io *op)
{
	ck_assert_uint_lt(f->logged, FAKE_LOG);
	f->log[f->logged++] = (struct fake_call){
		.op = op->op,
		.flags = op->flags,
		.off = op->off,
		.len_bytes = op->len_bytes,
		.base = op->iov ? op->iov[0].iov_base : NULL,
	};
}

static inline void fake_does(struct fake *f, struct mlgen_io *op)
{
	bool moves = op->op == MLGEN_READ || op->op == MLGEN_WRITE;
	unsigned call = f->script[op->op].calls++;
	int64_t all = moves ? (int64_t)op->len_bytes : 0;
	int64_t result = call < f->script[op->op].count ? f->script[op->op].result[call] : FAKE_ALL;

	fake_note(f, op);
	op->result = result < all ? result : all;
	if (op->op == MLGEN_WRITE && op->result > 0 && f->content)
		fake_keep(f, op);
	if (op->op == MLGEN_OPEN && op->result == 0) {
		op->file->word = 1;
		f->open_files++;
	}
	if (op->op == MLGEN_CLOSE) {
		op->file->word = 0;
		f->open_files--;
	}
}

static inline int fake_sync_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct fake *f = ctx->job->priv;

	ck_assert_uint_eq(n, 1);
	fake_does(f, io[0]);
	ctx->sleep_until(ctx, ctx->now_ns(ctx) + f->op_ns);
	return 1;
}

/* The operations from io on that go together; whole. */
static inline unsigned fake_chain(struct mlgen_io **io, unsigned n)
{
	unsigned len = 1;

	while (io[len - 1]->flags & MLGEN_IO_LINK) {
		ck_assert_msg(len < n, "a chain is cut");
		ck_assert_ptr_eq(io[len]->file, io[0]->file);
		len++;
	}
	return len;
}

static inline void fake_hold(struct fake *f, struct mlgen_io *op, uint64_t due)
{
	ck_assert_uint_lt(f->held_count, FAKE_HELD);
	f->due_ns[f->held_count] = due;
	f->held[f->held_count++] = op;
	if (f->held_count > f->most_held)
		f->most_held = f->held_count;
}

static inline int fake_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct fake *f = ctx->job->priv;
	uint64_t now = ctx->now_ns(ctx);
	unsigned i = 0;

	ck_assert_uint_lt(f->submits, FAKE_LOG);
	if (f->submit_rc)
		return f->submit_rc;
	while (i < n) {
		unsigned len = fake_chain(io + i, n - i);
		bool is_cancelled = false;

		if (f->accept && f->held_count + len > f->accept)
			break;
		for (unsigned k = 0; k < len; k++, i++) {
			if (is_cancelled)
				io[i]->result = -ECANCELED;
			else
				fake_does(f, io[i]);
			if (io[i]->op == MLGEN_OPEN && io[i]->result < 0)
				is_cancelled = true;
			fake_hold(f, io[i], now + f->op_ns * (f->one_by_one ? i + 1 : k + 1));
		}
	}
	f->batch[f->submits++] = i;
	return (int)i;
}

/* The next one to give back. */
static inline unsigned fake_next(const struct fake *f, uint64_t now)
{
	unsigned next = 0;

	for (unsigned i = 1; i < f->held_count; i++)
		if (f->backwards && f->due_ns[i] <= now)
			next = i;
		else if (f->due_ns[i] < f->due_ns[next])
			next = i;
	return next;
}

static inline void fake_drop(struct fake *f, unsigned i)
{
	f->held_count--;
	for (; i < f->held_count; i++) {
		f->held[i] = f->held[i + 1];
		f->due_ns[i] = f->due_ns[i + 1];
	}
}

static inline int fake_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
			    uint64_t timeout_ns)
{
	struct fake *f = ctx->job->priv;
	uint64_t begin = ctx->now_ns(ctx), until = UINT64_MAX;
	unsigned n = 0;

	if (timeout_ns != UINT64_MAX)
		until = begin + timeout_ns;
	while (n < max && f->held_count) {
		unsigned i = fake_next(f, ctx->now_ns(ctx));
		uint64_t due = f->due_ns[i];

		if (due > ctx->now_ns(ctx)) {
			if (n >= min)
				break;
			if (!f->is_frozen)
				ctx->sleep_until(ctx, due < until ? due : until);
			if (due > until)
				break;
		}
		io[n++] = f->held[i];
		fake_drop(f, i);
	}
	return (int)n;
}

static inline int fake_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct fake *f = ctx->job->priv;

	(void)err;
	f->files = ctx->files;
	ctx->can_link = !f->no_links;
	snprintf(ctx->in_use, sizeof(ctx->in_use), "registered files");
	snprintf(ctx->note, sizeof(ctx->note), "no locked memory");
	return 0;
}

/* clang-format off */
#define FAKE_TABLE .abi = MLGEN_ENGINE_ABI, \
	.size = sizeof(struct mlgen_engine), .name = "fake", .help = "fake", \
	.caps = ((1u << MLGEN_OPS) - 1) | MLGEN_CAP_NO_FILES, .init = fake_init
/* clang-format on */

static const struct mlgen_engine fake_sync = {
	FAKE_TABLE,
	.submit = fake_sync_submit,
};

static const struct mlgen_engine fake_async = {
	FAKE_TABLE,
	.submit = fake_submit,
	.reap = fake_reap,
};
