/* SPDX-License-Identifier: Apache-2.0 */
/* libaio.c - engine: Linux native asynchronous I/O, one context per worker. */

#include <errno.h>
#include <inttypes.h>
#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mlgen/engine.h>

#define SAYS "ioengine=libaio: io_setup: "

struct queue {
	io_context_t context;
	unsigned in_kernel;
	struct iocb *iocbs; /* one batch; the kernel copies them */
	struct iocb **batch;
	struct io_event *events;
	struct mlgen_io **refused; /* by io_submit; their results are set */
	unsigned refused_count;
};

/* Why there is no context. */

static uint64_t sysctl_fs(const char *path)
{
	FILE *f = fopen(path, "re");
	uint64_t value = 0;

	if (f && fscanf(f, "%" SCNu64, &value) != 1)
		value = 0;
	if (f)
		fclose(f);
	return value;
}

static int all_taken(const struct mlgen_ctx *ctx, int rc, struct mlgen_err *err)
{
	uint64_t max = sysctl_fs("/proc/sys/fs/aio-max-nr");
	uint64_t used = sysctl_fs("/proc/sys/fs/aio-nr");
	uint64_t need = (uint64_t)ctx->job->workers * ctx->iodepth;

	return mlgen_fail(err, rc,
			  SAYS "%s; fs.aio-max-nr is %" PRIu64 ", %" PRIu64
			       " of it are in use, and %u workers of iodepth=%u"
			       " need %" PRIu64 ": raise it (sysctl -w "
			       "fs.aio-max-nr=%" PRIu64 ") or lower iodepth",
			  strerror(-rc), max, used, ctx->job->workers,
			  ctx->iodepth, need, used + need);
}

static int refused_set_up(const struct mlgen_ctx *ctx, int rc,
			  struct mlgen_err *err)
{
	switch (rc) {
	case -EAGAIN:
		return all_taken(ctx, rc, err);
	case -ENOSYS:
	case -EPERM:
		return mlgen_fail(err, rc,
				  SAYS "%s; this kernel is built without AIO, "
				       "or a seccomp profile refuses it: use "
				       "ioengine=io_uring or psync",
				  strerror(-rc));
	default:
		return mlgen_fail(err, rc, SAYS "%s; lower iodepth=%u",
				  strerror(-rc), ctx->iodepth);
	}
}

static int allocate(struct queue *q, unsigned depth)
{
	q->iocbs = calloc(depth, sizeof(*q->iocbs));
	q->batch = calloc(depth, sizeof(*q->batch));
	q->events = calloc(depth, sizeof(*q->events));
	q->refused = calloc(depth, sizeof(*q->refused));
	if (!q->iocbs || !q->batch || !q->events || !q->refused)
		return -ENOMEM;
	for (unsigned i = 0; i < depth; i++)
		q->batch[i] = &q->iocbs[i];
	return 0;
}

static int libaio_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct queue *q = calloc(1, sizeof(*q));
	int rc;

	if (!q)
		return -ENOMEM;
	ctx->priv = q;
	rc = io_setup((int)ctx->iodepth, &q->context);
	if (rc < 0)
		return refused_set_up(ctx, rc, err);
	return allocate(q, ctx->iodepth);
}

static void libaio_fini(struct mlgen_ctx *ctx)
{
	struct queue *q = ctx->priv;

	if (!q)
		return;
	if (q->context)
		io_destroy(q->context); /* waits for what is under way */
	free(q->refused);
	free(q->events);
	free(q->batch);
	free(q->iocbs);
	free(q);
	ctx->priv = NULL;
}

static void prep_read(struct iocb *cb, const struct mlgen_io *op)
{
	if (op->iovcnt == 1)
		io_prep_pread(cb, op->file->fd, op->iov->iov_base,
			      op->iov->iov_len, (long long)op->off);
	else
		io_prep_preadv(cb, op->file->fd, op->iov, op->iovcnt,
			       (long long)op->off);
}

static void prep_write(struct iocb *cb, const struct mlgen_io *op)
{
	if (op->iovcnt == 1)
		io_prep_pwrite(cb, op->file->fd, op->iov->iov_base,
			       op->iov->iov_len, (long long)op->off);
	else
		io_prep_pwritev(cb, op->file->fd, op->iov, op->iovcnt,
				(long long)op->off);
}

static void prep_fsync(struct iocb *cb, const struct mlgen_io *op)
{
	io_prep_fsync(cb, op->file->fd);
}

static void prep_fdatasync(struct iocb *cb, const struct mlgen_io *op)
{
	io_prep_fdsync(cb, op->file->fd);
}

/* A row here is a cap below. Without OPEN there are no chains to link. */
/* clang-format off */
static void (*const prep[MLGEN_OPS])(struct iocb *, const struct mlgen_io *) = {
	[MLGEN_READ] = prep_read,
	[MLGEN_WRITE] = prep_write,
	[MLGEN_FSYNC] = prep_fsync,
	[MLGEN_FDATASYNC] = prep_fdatasync,
};
/* clang-format on */

/*
 * Not the library's io_submit: in the program that name is another function's,
 * and the linker would take that one. A number, or -errno.
 */
static long call_submit(struct queue *q, unsigned at, unsigned n)
{
	long rc = syscall(SYS_io_submit, q->context, (long)(n - at),
			  q->batch + at);

	return rc < 0 ? -errno : rc;
}

/*
 * The kernel takes more than io_setup was asked for, takes a batch in parts,
 * and stops before a request that it refuses: that one's error is the result
 * of its operation, and the rest goes on.
 */
static int libaio_submit(struct mlgen_ctx *ctx, struct mlgen_io **io,
			 unsigned n)
{
	struct queue *q = ctx->priv;
	unsigned room = ctx->iodepth - q->in_kernel - q->refused_count;
	unsigned at = 0;

	if (n > room)
		n = room;
	for (unsigned i = 0; i < n; i++) {
		prep[io[i]->op](&q->iocbs[i], io[i]);
		q->iocbs[i].data = io[i];
	}
	while (at < n) {
		long rc = call_submit(q, at, n);
		if (rc == -EAGAIN)
			break;
		if (rc > 0) {
			at += (unsigned)rc;
			q->in_kernel += (unsigned)rc;
		} else if (rc != -EINTR) {
			io[at]->result = rc;
			q->refused[q->refused_count++] = io[at++];
		}
	}
	return (int)at;
}

static unsigned take_refused(struct queue *q, struct mlgen_io **io,
			     unsigned max)
{
	unsigned n = 0;

	while (n < max && q->refused_count)
		io[n++] = q->refused[--q->refused_count];
	return n;
}

static void take(struct queue *q, struct mlgen_io **io, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		io[i] = q->events[i].data;
		/* An error stands in the unsigned field as a negative. */
		io[i]->result = (long)q->events[i].res;
	}
	q->in_kernel -= n;
}

/* A signal ends the wait early; only one without end is taken up again. */
static int libaio_reap(struct mlgen_ctx *ctx, struct mlgen_io **io,
		       unsigned min, unsigned max, uint64_t timeout_ns)
{
	struct queue *q = ctx->priv;
	unsigned got = take_refused(q, io, max);
	bool is_endless = timeout_ns == UINT64_MAX;

	if (got == max)
		return (int)got;
	do {
		unsigned need = got < min ? min - got : 0;
		uint64_t wait_ns = need && !is_endless ? timeout_ns : 0;
		struct timespec ts = {
			.tv_sec = (time_t)(wait_ns / 1000000000u),
			.tv_nsec = (long)(wait_ns % 1000000000u),
		};
		int rc = io_getevents(q->context, (long)need, (long)(max - got),
				      q->events,
				      need && is_endless ? NULL : &ts);
		if (rc < 0 && rc != -EINTR)
			return rc;
		if (rc > 0) {
			take(q, io + got, (unsigned)rc);
			got += (unsigned)rc;
		}
	} while (got < min && is_endless);
	return (int)got;
}

const struct mlgen_engine mlgen_engine_libaio = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "libaio",
	.help = "Linux native AIO; asynchronous with direct=1 only",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) |
		MLGEN_CAP(MLGEN_FSYNC) | MLGEN_CAP(MLGEN_FDATASYNC) |
		MLGEN_CAP_DIRECT,
	.init = libaio_init,
	.fini = libaio_fini,
	.submit = libaio_submit,
	.reap = libaio_reap,
};
