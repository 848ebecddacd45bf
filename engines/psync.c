/* SPDX-License-Identifier: Apache-2.0 */
/* psync.c - engine: pread and pwrite, one request at a time. */

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <mlgen/engine.h>

/* Linux 6.14; the headers of Debian 12 do not have it. */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080
#endif

struct psync_opts {
	bool nowait;
	bool uncached;
	bool hipri;
};

/* clang-format off */
static const struct mlgen_field psync_fields[] = {
	{ "nowait", MLGEN_F_BOOL(struct psync_opts, nowait),
	  .def = "0", .group = "psync", .flags = MLGEN_FIO,
	  .help = "A request that would have to wait fails with EAGAIN, such as a buffered read of a page that is not cached (RWF_NOWAIT)." },
	{ "uncached", MLGEN_F_BOOL(struct psync_opts, uncached),
	  .def = "0", .group = "psync", .flags = MLGEN_FIO,
	  .help = "Drop pages from the page cache after they are read or written (RWF_DONTCACHE, Linux 6.14)." },
	{ "hipri", MLGEN_F_BOOL(struct psync_opts, hipri),
	  .def = "0", .group = "psync", .flags = MLGEN_FIO,
	  .help = "Poll for completions (RWF_HIPRI); it has an effect only with direct=1 and a device with poll queues." },
	{ 0 },
};
/* clang-format on */

/* State of a worker with flags; without flags ctx->priv is NULL. */
struct psync {
	int flags; /* RWF_... for every request */
};

/*
 * Call pread(2) without its wrapper. The wrapper is a cancellation point, which costs two locked
 * instructions in a program with threads, and no thread is cancelled here. The offset fits into one
 * register only where long has 64 bits.
 */
static ssize_t pread_once(int fd, void *to, size_t bytes, off_t off)
{
#if defined(__LP64__) && defined(SYS_pread64)
	return syscall(SYS_pread64, fd, to, bytes, off);
#else
	return pread(fd, to, bytes, off);
#endif
}

static ssize_t plain_read(const struct mlgen_io *op)
{
	if (op->iovcnt == 1)
		return pread_once(op->file->fd, op->iov->iov_base, op->iov->iov_len,
				  (off_t)op->off);
	return preadv(op->file->fd, op->iov, op->iovcnt, (off_t)op->off);
}

static ssize_t plain_write(const struct mlgen_io *op)
{
	if (op->iovcnt == 1)
		return pwrite(op->file->fd, op->iov->iov_base, op->iov->iov_len, (off_t)op->off);
	return pwritev(op->file->fd, op->iov, op->iovcnt, (off_t)op->off);
}

/* preadv2 and pwritev2 use the file's own position for an offset of -1, so that offset is refused
 * here. */
static ssize_t with_flags(const struct mlgen_io *op, int flags)
{
	if (op->off > INT64_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (op->op == MLGEN_READ)
		return preadv2(op->file->fd, op->iov, op->iovcnt, (off_t)op->off, flags);
	return pwritev2(op->file->fd, op->iov, op->iovcnt, (off_t)op->off, flags);
}

static int psync_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)n; /* always 1: this engine has no reap */
	const struct psync *p = ctx->priv;
	struct mlgen_io *op = io[0];
	ssize_t done;

	if (p)
		done = with_flags(op, p->flags);
	else
		done = op->op == MLGEN_READ ? plain_read(op) : plain_write(op);
	op->result = done < 0 ? -errno : done;
	return 1;
}

/* There are no options if another engine wraps this engine. */
static int psync_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	const struct psync_opts *opts = ctx->opts;
	struct psync *p;
	int flags = 0;

	if (opts && !ctx->job->is_preparing)
		flags = (opts->nowait ? RWF_NOWAIT : 0) | (opts->uncached ? RWF_DONTCACHE : 0) |
			(opts->hipri ? RWF_HIPRI : 0);
	if (!flags)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return mlgen_fail(err, -ENOMEM, "ioengine=psync: no memory");
	p->flags = flags;
	ctx->priv = p;
	return 0;
}

static void psync_fini(struct mlgen_ctx *ctx)
{
	free(ctx->priv);
	ctx->priv = NULL;
}

const struct mlgen_engine mlgen_engine_psync = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "psync",
	.help = "pread and pwrite; one request at a time per worker",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP_DIRECT |
		MLGEN_CAP_PRIVATE_FDS,
	.opts = psync_fields,
	.opts_size = sizeof(struct psync_opts),
	.init = psync_init,
	.fini = psync_fini,
	.submit = psync_submit, /* no reap: done when submit returns */
};
