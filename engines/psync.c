/* SPDX-License-Identifier: Apache-2.0 */
/* psync.c - engine: pread and pwrite, one request at a time. */

#include <errno.h>
#include <unistd.h>

#include <mlgen/engine.h>

static ssize_t psync_read(const struct mlgen_io *op)
{
	if (op->iovcnt == 1)
		return pread(op->file->fd, op->iov->iov_base, op->iov->iov_len,
			     (off_t)op->off);
	return preadv(op->file->fd, op->iov, op->iovcnt, (off_t)op->off);
}

static ssize_t psync_write(const struct mlgen_io *op)
{
	if (op->iovcnt == 1)
		return pwrite(op->file->fd, op->iov->iov_base, op->iov->iov_len,
			      (off_t)op->off);
	return pwritev(op->file->fd, op->iov, op->iovcnt, (off_t)op->off);
}

static int psync_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)ctx;
	(void)n; /* always 1: this engine has no reap */
	struct mlgen_io *op = io[0];
	ssize_t done = op->op == MLGEN_READ ? psync_read(op) : psync_write(op);

	op->result = done < 0 ? -errno : done;
	return 1;
}

const struct mlgen_engine mlgen_engine_psync = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "psync",
	.help = "pread and pwrite; one request at a time per worker",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) |
		MLGEN_CAP_DIRECT,
	.submit = psync_submit, /* no reap: done when submit returns */
};
