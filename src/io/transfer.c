/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - an operation from its beginning until it needs the engine no more. */
#include "io/transfer.h"

#include <errno.h>
#include <fcntl.h>

#define DIRECT_BYTES 512ull /* O_DIRECT goes on at multiples at best */

/* Without progress; enough for a signal or two, and never an endless loop. */
#define TRIES_MAX 100u

/*
 * Is a short transfer the end of the file? A direct read cannot go on from an unaligned offset
 * (-EINVAL), and only the end of a file leaves it at one.
 */
static bool met_end(const struct io_op *op)
{
	const struct mlgen_io *e = &op->io;

	if (e->result == 0)
		return true;
	if (op->eof_ok && op->eof_bytes && op->done_bytes >= op->eof_bytes)
		return true;
	if (e->op == MLGEN_WRITE || !(e->file->flags & O_DIRECT))
		return false;
	return op->done_bytes % DIRECT_BYTES || (op->eof_ok && op->eof_bytes == 0);
}

static int64_t end_result(const struct io_op *op)
{
	if (op->io.op == MLGEN_WRITE)
		return -EIO; /* takes nothing, and says no reason */
	if (!op->eof_ok || op->done_bytes < op->eof_bytes)
		return -ENODATA;
	return (int64_t)op->done_bytes;
}

/* After a part of a transfer: true = aimed at the rest of it. */
static bool go_on(struct iobuf *buf, struct io_op *op, uint64_t got)
{
	op->was_short = got < op->io.len_bytes;
	op->tries = 0;
	if (op->was_short && met_end(op)) {
		op->io.result = end_result(op);
		return false;
	}
	iobuf_aim_rest(buf, op);
	return true;
}

/* What would have to wait says so once (nowait): asked for again, it would be turned down as often
 * as the CPU can ask. */
bool transfer_try_again(struct io_op *op)
{
	bool is_busy = op->io.result == -EAGAIN && !transfer_moves(op);

	if (op->io.result != -EINTR && !is_busy)
		return false;
	if (op->io.op == MLGEN_CLOSE && op->io.result == -EINTR)
		op->io.result = 0; /* Linux has closed it by then */
	if (op->io.op == MLGEN_CLOSE || op->is_linked)
		return false;
	return op->tries++ < TRIES_MAX;
}

bool transfer_look(struct iobuf *buf, struct opstat *stat, struct io_op *op)
{
	uint64_t got = (uint64_t)op->io.result;

	if (op->io.result < 0)
		return transfer_try_again(op);
	if (!transfer_moves(op))
		return false;
	op->done_bytes += got;
	transfer_count(stat, op, got);
	if (op->was_short && got)
		stat->short_ios[op->io.op == MLGEN_WRITE]++;
	if (op->done_bytes < op->want_bytes && !op->is_linked)
		return go_on(buf, op, got);
	op->io.result = (int64_t)op->done_bytes;
	return false;
}
