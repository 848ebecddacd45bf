/* SPDX-License-Identifier: Apache-2.0 */
/* libaio.c - engine: Linux native asynchronous I/O, one context per worker. */

#include <errno.h>
#include <inttypes.h>
#include <libaio.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <mlgen/engine.h>

#define ERROR_PREFIX "ioengine=libaio: io_setup: "

struct aio_opts {
	bool userspace_reap;
	bool nowait;
	bool libaio_vectored;
};

/* clang-format off */
static const struct mlgen_field aio_fields[] = {
	{ "userspace_reap", MLGEN_F_BOOL(struct aio_opts, userspace_reap),
	  .def = "0", .group = "libaio", .flags = MLGEN_FIO,
	  .help = "Reap completions from the context's memory, and call the kernel only to wait for more." },
	{ "nowait", MLGEN_F_BOOL(struct aio_opts, nowait),
	  .def = "0", .group = "libaio", .flags = MLGEN_FIO,
	  .help = "A request that would have to wait fails with EAGAIN (RWF_NOWAIT)." },
	{ "libaio_vectored", MLGEN_F_BOOL(struct aio_opts, libaio_vectored),
	  .def = "0", .group = "libaio", .flags = MLGEN_FIO,
	  .help = "Use preadv and pwritev also for requests with a single part." },
	{ 0 },
};
/* clang-format on */

/*
 * The io_context_t is the address at which the kernel has mapped this ring (fs/aio.c). The kernel
 * appends at tail, and the reader moves head; both wrap at nr.
 */
struct aio_ring {
	unsigned id, nr;
	_Atomic unsigned head, tail;
	unsigned magic, compat_features, incompat_features, header_length;
};

#define RING_MAGIC 0xa10a10a1u

struct queue {
	io_context_t context;
	struct aio_ring *ring; /* NULL = reap by io_getevents alone */
	unsigned rw_flags;
	int inline_parts; /* requests of up to this many parts (0 or 1) use no vector */
	unsigned in_kernel;
	struct iocb *iocbs; /* a batch; the kernel copies them */
	struct iocb **batch;
	struct io_event *events;
	struct mlgen_io **refused; /* operations that io_submit refused; results are set */
	unsigned refused_count;
};

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

static int fail_exhausted(const struct mlgen_ctx *ctx, int rc, struct mlgen_err *err)
{
	uint64_t max = sysctl_fs("/proc/sys/fs/aio-max-nr");
	uint64_t used = sysctl_fs("/proc/sys/fs/aio-nr");
	unsigned workers = ctx->job->workers;
	uint64_t need = (uint64_t)workers * ctx->iodepth;

	return mlgen_fail(err, rc,
			  ERROR_PREFIX
			  "%s; fs.aio-max-nr is %" PRIu64 ", %" PRIu64
			  " of them in use, and %u worker%s of iodepth=%u need %" PRIu64
			  ": raise it (sysctl -w fs.aio-max-nr=%" PRIu64 ") or lower iodepth",
			  strerror(-rc), max, used, workers, workers == 1 ? "" : "s", ctx->iodepth,
			  need, used + need);
}

static int fail_setup(const struct mlgen_ctx *ctx, int rc, struct mlgen_err *err)
{
	switch (rc) {
	case -EAGAIN:
		return fail_exhausted(ctx, rc, err);
	case -ENOSYS:
	case -EPERM:
		return mlgen_fail(err, rc,
				  ERROR_PREFIX
				  "%s; this kernel is built without AIO, or a seccomp profile "
				  "refuses it: use ioengine=io_uring or psync",
				  strerror(-rc));
	default:
		return mlgen_fail(err, rc, ERROR_PREFIX "%s; lower iodepth=%u", strerror(-rc),
				  ctx->iodepth);
	}
}

/* Use the ring of the context if the kernel declares this layout. */
static void use_ring(struct mlgen_ctx *ctx, struct queue *q)
{
	struct aio_ring *ring = (struct aio_ring *)q->context;

	if (ring->magic != RING_MAGIC || ring->incompat_features != 0 ||
	    ring->header_length != sizeof(*ring)) {
		snprintf(ctx->note, sizeof(ctx->note),
			 "userspace_reap: this kernel stores completions in an unknown format; "
			 "mlgen uses io_getevents instead");
		return;
	}
	q->ring = ring;
	snprintf(ctx->in_use, sizeof(ctx->in_use), "userspace reap");
}

static int libaio_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	static const struct aio_opts none;
	/* There are no options if another engine wraps this engine. */
	const struct aio_opts *opts = ctx->opts && !ctx->job->is_preparing ? ctx->opts : &none;
	struct queue *q = calloc(1, sizeof(*q));
	unsigned depth = ctx->iodepth;
	int rc;

	if (!q)
		return -ENOMEM;
	ctx->priv = q;
	rc = io_setup((int)depth, &q->context);
	if (rc < 0)
		return fail_setup(ctx, rc, err);
	q->rw_flags = opts->nowait ? RWF_NOWAIT : 0;
	q->inline_parts = opts->libaio_vectored ? 0 : 1;
	if (opts->userspace_reap)
		use_ring(ctx, q);
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

static void libaio_fini(struct mlgen_ctx *ctx)
{
	struct queue *q = ctx->priv;

	if (!q)
		return;
	if (q->context)
		io_destroy(q->context); /* waits for operations in flight */
	free(q->refused);
	free(q->events);
	free(q->batch);
	free(q->iocbs);
	free(q);
	ctx->priv = NULL;
}

static void prep_read(const struct queue *q, struct iocb *cb, const struct mlgen_io *op)
{
	if (op->iovcnt <= q->inline_parts)
		io_prep_pread(cb, op->file->fd, op->iov->iov_base, op->iov->iov_len,
			      (long long)op->off);
	else
		io_prep_preadv(cb, op->file->fd, op->iov, op->iovcnt, (long long)op->off);
	cb->aio_rw_flags = q->rw_flags;
}

static void prep_write(const struct queue *q, struct iocb *cb, const struct mlgen_io *op)
{
	if (op->iovcnt <= q->inline_parts)
		io_prep_pwrite(cb, op->file->fd, op->iov->iov_base, op->iov->iov_len,
			       (long long)op->off);
	else
		io_prep_pwritev(cb, op->file->fd, op->iov, op->iovcnt, (long long)op->off);
	cb->aio_rw_flags = q->rw_flags;
}

static void prep_fsync(const struct queue *q, struct iocb *cb, const struct mlgen_io *op)
{
	(void)q;
	io_prep_fsync(cb, op->file->fd);
}

static void prep_fdatasync(const struct queue *q, struct iocb *cb, const struct mlgen_io *op)
{
	(void)q;
	io_prep_fdsync(cb, op->file->fd);
}

/* Each row has its cap in the engine's table below. Without OPEN there are no chains. */
/* clang-format off */
static void (*const prep[MLGEN_OPS])(const struct queue *, struct iocb *,
				     const struct mlgen_io *) = {
	[MLGEN_READ] = prep_read,
	[MLGEN_WRITE] = prep_write,
	[MLGEN_FSYNC] = prep_fsync,
	[MLGEN_FDATASYNC] = prep_fdatasync,
};
/* clang-format on */

/* Call io_submit(2) directly: mlgen has a function with the same name as libaio's wrapper, and the
 * linker would choose that function. Returns the number of accepted operations, or -errno. */
static long call_submit(struct queue *q, unsigned at, unsigned n)
{
	long rc = syscall(SYS_io_submit, q->context, (long)(n - at), q->batch + at);

	return rc < 0 ? -errno : rc;
}

/*
 * The kernel accepts more operations than io_setup was asked for, so `room` limits the batch. It
 * may accept a batch in parts, and stops before a request that it refuses. The error becomes the
 * result of that operation, and the rest of the batch is submitted.
 */
static int libaio_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct queue *q = ctx->priv;
	unsigned room = ctx->iodepth - q->in_kernel - q->refused_count;
	unsigned at = 0;

	if (n > room)
		n = room;
	for (unsigned i = 0; i < n; i++) {
		prep[io[i]->op](q, &q->iocbs[i], io[i]);
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

static unsigned reap_refused(struct queue *q, struct mlgen_io **io, unsigned max)
{
	unsigned n = 0;

	while (n < max && q->refused_count)
		io[n++] = q->refused[--q->refused_count];
	return n;
}

static struct mlgen_io *complete(struct queue *q, const struct io_event *event)
{
	struct mlgen_io *op = event->data;

	/* The unsigned field holds errors as negative numbers. */
	op->result = (long)event->res;
	q->in_kernel--;
	return op;
}

/*
 * Reap the completions that are in the ring already. The acquire of tail pairs with the kernel's
 * release: an event is whole once tail has passed it. The release of head tells the kernel that the
 * entry can be reused.
 */
static unsigned reap_ring(struct queue *q, struct mlgen_io **io, unsigned max)
{
	struct aio_ring *ring = q->ring;
	const struct io_event *events;
	unsigned head, tail, n = 0;

	if (!ring)
		return 0;
	events = (const struct io_event *)(ring + 1);
	head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	for (; n < max && head != tail; n++) {
		io[n] = complete(q, &events[head]);
		head = head + 1 == ring->nr ? 0 : head + 1;
	}
	if (n)
		atomic_store_explicit(&ring->head, head, memory_order_release);
	return n;
}

/* Reap at least `need` completions through the kernel, or fewer at the timeout. */
static int get_events(struct queue *q, struct mlgen_io **io, unsigned need, unsigned max,
		      uint64_t timeout_ns)
{
	uint64_t wait_ns = need && timeout_ns != UINT64_MAX ? timeout_ns : 0;
	struct timespec ts = {
		.tv_sec = (time_t)(wait_ns / 1000000000u),
		.tv_nsec = (long)(wait_ns % 1000000000u),
	};
	bool is_endless = need && timeout_ns == UINT64_MAX;
	int n = io_getevents(q->context, (long)need, (long)max, q->events, is_endless ? NULL : &ts);

	if (n < 0)
		return n == -EINTR ? 0 : n;
	for (int i = 0; i < n; i++)
		io[i] = complete(q, &q->events[i]);
	return n;
}

/* A signal ends a wait early; only a wait without timeout is resumed. */
static int libaio_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
		       uint64_t timeout_ns)
{
	struct queue *q = ctx->priv;
	unsigned got = reap_refused(q, io, max);

	got += reap_ring(q, io + got, max - got);
	if (got == max || (q->ring && got >= min))
		return (int)got;
	do {
		int n = get_events(q, io + got, got < min ? min - got : 0, max - got, timeout_ns);

		if (n < 0)
			return n;
		got += (unsigned)n;
	} while (got < min && timeout_ns == UINT64_MAX);
	return (int)got;
}

const struct mlgen_engine mlgen_engine_libaio = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "libaio",
	.help = "Linux native AIO; asynchronous with direct=1 only",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP(MLGEN_FSYNC) |
		MLGEN_CAP(MLGEN_FDATASYNC) | MLGEN_CAP_DIRECT | MLGEN_CAP_PRIVATE_FDS,
	.opts = aio_fields,
	.opts_size = sizeof(struct aio_opts),
	.init = libaio_init,
	.fini = libaio_fini,
	.submit = libaio_submit,
	.reap = libaio_reap,
};
