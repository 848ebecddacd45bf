/* SPDX-License-Identifier: Apache-2.0 */
/* uring_submit.c - fill the queue of a ring, and hand it to the kernel. */
#include "io_uring.h"

/* One request moves no more: Linux cuts it there itself (MAX_RW_COUNT). */
#define ONE_REQUEST_BYTES 0x7ffff000u

/* How often a submission that the kernel has no memory for is repeated. */
#define TRIES_MAX 100u

/* Reads and writes: as few steps as can be, this runs for each of them. */

static bool is_fixed(const struct ring *r, uint64_t at, uint64_t len)
{
	return at < r->fixed_bytes && len <= r->fixed_bytes - at &&
	       at >> ONE_BUFFER_SHIFT == (at + len - 1) >> ONE_BUFFER_SHIFT;
}

static void prep_one_part(const struct ring *r, struct io_uring_sqe *sqe, const struct iovec *iov,
			  bool is_write)
{
	uint64_t at = (uintptr_t)iov->iov_base - r->buf;
	uint64_t len = iov->iov_len < ONE_REQUEST_BYTES ? iov->iov_len : ONE_REQUEST_BYTES;

	sqe->addr = (uintptr_t)iov->iov_base;
	sqe->len = (unsigned)len;
	if (is_fixed(r, at, len)) {
		sqe->opcode = is_write ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED;
		sqe->buf_index = (uint16_t)(at >> ONE_BUFFER_SHIFT);
	} else {
		sqe->opcode = is_write ? IORING_OP_WRITE : IORING_OP_READ;
	}
}

static void prep_parts(struct io_uring_sqe *sqe, const struct mlgen_io *op, bool is_write)
{
	sqe->addr = (uintptr_t)op->iov;
	sqe->len = (unsigned)op->iovcnt;
	sqe->opcode = is_write ? IORING_OP_WRITEV : IORING_OP_READV;
}

static void prep_transfer(struct ring *r, struct io_uring_sqe *sqe, const struct mlgen_io *op)
{
	const struct mlgen_file *file = op->file;
	bool is_write = op->op == MLGEN_WRITE;

	*sqe = (struct io_uring_sqe){
		.flags = file->word ? IOSQE_FIXED_FILE : 0,
		.fd = file->word ? (int)slot_of(file) : file->fd,
		.off = op->off,
		.rw_flags = r->rw_flags,
	};
	if (op->iovcnt == 1)
		prep_one_part(r, sqe, op->iov, is_write);
	else
		prep_parts(sqe, op, is_write);
	if (r->opts->force_async && ++r->requests % r->opts->force_async == 0)
		sqe->flags |= IOSQE_ASYNC;
}

static void submit_put(struct ring *r, struct io_uring_sqe *sqe, struct mlgen_io *op)
{
	if (moves_bytes(op))
		prep_transfer(r, sqe, op);
	else
		uring_ops_prep(r, sqe, op);
	if (op->flags & MLGEN_IO_LINK)
		uring_chain_link(sqe, op);
	sqe->user_data = (uintptr_t)op;
}

static bool put_next(struct ring *r, struct mlgen_io *op)
{
	struct io_uring_sqe *sqe;

	if (!moves_bytes(op) && !uring_ops_takes(r, op)) {
		uring_done(r, op, uring_here_do(r, op));
		return true;
	}
	sqe = io_uring_get_sqe(&r->uring);
	if (!sqe)
		return false;
	submit_put(r, sqe, op);
	return true;
}

/* How many of n are in the submission queue, or done already. */
static unsigned put_all(struct ring *r, struct mlgen_io **io, unsigned n)
{
	unsigned i = 0, whole = 0; /* of a chain that was found to fit */

	for (; i < n; i++) {
		if (i >= whole && io[i]->flags & MLGEN_IO_LINK) {
			whole = i + uring_chain_len(io + i, n - i);
			if (!uring_chain_fits(r, io + i, whole - i))
				break;
		}
		if (!put_next(r, io[i]))
			break;
	}
	if (i == 0 && whole && !r->in_kernel && !r->done_count) {
		uring_chain_refuse(r, io, whole);
		i = whole;
	}
	return i;
}

/* Handing over. */

/*
 * The kernel is short of memory, or of room for completions. Those under way give some back: wait
 * for one more. False: that does not help.
 */
static bool wait_for_room(struct ring *r, unsigned *tries)
{
	unsigned ready = io_uring_cq_ready(&r->uring);
	struct io_uring_cqe *cqe;
	int rc;

	if (++*tries > TRIES_MAX)
		return false;
	if (ready == r->in_kernel)
		return true;
	rc = io_uring_wait_cqes(&r->uring, &cqe, ready + 1, NULL, NULL);
	return rc == 0 || rc == -EINTR;
}

/*
 * With the events that came in meanwhile: with DEFER_TASKRUN the thread has to ask for them, and so
 * it need not enter a second time. A kernel without SUBMIT_ALL stops behind a bad request.
 */
static int send_all(struct ring *r)
{
	unsigned tries = 0;

	while (io_uring_sq_ready(&r->uring)) {
		int rc = io_uring_submit_and_get_events(&r->uring);

		if (rc > 0)
			r->in_kernel += (unsigned)rc;
		else if (rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
			return rc ? rc : -EAGAIN;
		else if (rc != -EINTR && !wait_for_room(r, &tries))
			return rc;
	}
	return 0;
}

/* The kernel's thread takes them; wake it where it has gone to sleep. */
static int send_to_thread(struct ring *r, unsigned n)
{
	int rc;

	do {
		rc = io_uring_submit(&r->uring);
	} while (rc == -EINTR);
	r->in_kernel += n;
	return rc < 0 ? rc : 0;
}

int uring_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct ring *r = ctx->priv;
	unsigned done = r->done_count, taken = put_all(r, io, n);
	int rc = 0;

	if (r->opts->sqthread_poll)
		rc = send_to_thread(r, taken - (r->done_count - done));
	else
		rc = send_all(r);
	return rc < 0 ? rc : (int)taken;
}
