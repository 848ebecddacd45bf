/* SPDX-License-Identifier: Apache-2.0 */
/* uring_submit.c - fill the submission queue of a ring, and pass it to the kernel. */
#include "io_uring.h"

/* Maximum bytes of a request; Linux cuts larger ones (MAX_RW_COUNT). */
#define ONE_REQUEST_BYTES 0x7ffff000u

/* Retries of a submission that the kernel has no memory for. */
#define TRIES_MAX 100u

/* ---- requests of reads and writes: the hot path ---- */

static bool is_fixed(const struct worker_ring *r, uint64_t at, uint64_t len)
{
	return at < r->fixed_bytes && len <= r->fixed_bytes - at &&
	       at >> ONE_BUFFER_SHIFT == (at + len - 1) >> ONE_BUFFER_SHIFT;
}

static void prep_one_part(const struct worker_ring *r, struct io_uring_sqe *sqe,
			  const struct iovec *iov, bool is_write)
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

static void prep_transfer(struct worker_ring *r, struct io_uring_sqe *sqe,
			  const struct mlgen_io *op)
{
	const struct mlgen_file *file = op->file;
	bool is_write = op->op == MLGEN_WRITE;

	*sqe = (struct io_uring_sqe){
		.flags = file->word ? IOSQE_FIXED_FILE : 0,
		.fd = file->word ? (int)slot_of(file) : file->fd,
		.off = op->off,
		.rw_flags = r->rw_flags,
	};
	if (op->iovcnt == 1) {
		prep_one_part(r, sqe, op->iov, is_write);
	} else {
		sqe->addr = (uintptr_t)op->iov;
		sqe->len = (unsigned)op->iovcnt;
		sqe->opcode = is_write ? IORING_OP_WRITEV : IORING_OP_READV;
	}
	if (r->opts->force_async && ++r->requests % r->opts->force_async == 0)
		sqe->flags |= IOSQE_ASYNC;
}

/* Queue an operation or perform it here. False: the queue is full. */
static bool queue_op(struct worker_ring *r, struct mlgen_io *op)
{
	struct io_uring_sqe *sqe;

	if (!moves_bytes(op) && !uring_ops_supports(r, op)) {
		uring_done(r, op, uring_here_do(r, op));
		return true;
	}
	sqe = io_uring_get_sqe(&r->uring);
	if (!sqe)
		return false;
	if (moves_bytes(op))
		prep_transfer(r, sqe, op);
	else
		uring_ops_prep(r, sqe, op);
	if (op->flags & MLGEN_IO_LINK)
		uring_chain_link(sqe, op);
	sqe->user_data = (uintptr_t)op;
	return true;
}

/* Queue or perform up to n operations; returns their number. */
static unsigned queue_all(struct worker_ring *r, struct mlgen_io **io, unsigned n)
{
	unsigned i = 0, chain_end = 0; /* end of a chain that fits */

	for (; i < n; i++) {
		if (i >= chain_end && io[i]->flags & MLGEN_IO_LINK) {
			chain_end = i + uring_chain_len(io + i, n - i);
			if (!uring_chain_fits(r, io + i, chain_end - i))
				break;
		}
		if (!queue_op(r, io[i]))
			break;
	}
	if (i == 0 && chain_end && !r->in_kernel && !r->done_count) {
		uring_chain_refuse(r, io, chain_end);
		i = chain_end;
	}
	return i;
}

/* ---- submission ---- */

/*
 * The kernel is short of memory, or of room for completions. Operations in flight free some, so
 * wait for one more completion. False: waiting does not help.
 */
static bool wait_for_room(struct worker_ring *r, unsigned *tries)
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
 * Submit the queue and process pending completions in one call, because with DEFER_TASKRUN the
 * thread has to ask for them. A kernel without SUBMIT_ALL stops after a bad request.
 */
static int submit_all(struct worker_ring *r)
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

/* Let the kernel's thread submit n requests, and wake it if it sleeps. */
static int submit_to_thread(struct worker_ring *r, unsigned n)
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
	struct worker_ring *r = ctx->priv;
	unsigned done = r->done_count, accepted = queue_all(r, io, n);
	int rc = 0;

	if (r->opts->sqthread_poll)
		rc = submit_to_thread(r, accepted - (r->done_count - done));
	else
		rc = submit_all(r);
	return rc < 0 ? rc : (int)accepted;
}
