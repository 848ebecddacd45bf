/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring.c - engine: batches of requests through one io_uring per worker. */

#include <errno.h>
#include <inttypes.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <mlgen/engine.h>

#define SAYS "ioengine=io_uring: io_uring_setup: "

/* A ring has no more entries (IORING_MAX_ENTRIES of the kernel). */
#define ENTRIES_MAX 32768u

/* One request moves no more: Linux cuts it there itself (MAX_RW_COUNT). */
#define ONE_REQUEST_BYTES 0x7ffff000u

#define BATCH 64u

struct ring {
	struct io_uring uring;
	bool is_open;
	unsigned in_kernel;
};

/*
 * Best first. Completions are worked off by this thread when it asks for them
 * (DEFER_TASKRUN, Linux 6.1), or at least without interrupting it
 * (COOP_TASKRUN, 5.19). TASKRUN_FLAG lets a look at the empty ring see that
 * there is such work. IORING_SETUP_NO_SQARRAY is not for this list: a liburing
 * that does not know it returns completions that are none.
 */
static const unsigned set_ups[] = {
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
		IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN |
		IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	0,
};

/* Why there is no ring. */

static int refused_perm(int rc, struct mlgen_err *err)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int disabled = 0;

	if (f && fscanf(f, "%d", &disabled) != 1)
		disabled = 0;
	if (f)
		fclose(f);
	if (disabled)
		return mlgen_fail(err, rc,
				  SAYS "%s; kernel.io_uring_disabled is %d "
				       "(%s), set it to 0 or use "
				       "ioengine=libaio",
				  strerror(-rc), disabled,
				  disabled == 1 ? "for the privileged only"
						: "for nobody");
	return mlgen_fail(err, rc,
			  SAYS "%s; a seccomp profile, such as that of a "
			       "container, refuses it: allow io_uring_setup, "
			       "io_uring_enter and io_uring_register there, or "
			       "use ioengine=libaio",
			  strerror(-rc));
}

static int refused_old(int rc, struct mlgen_err *err)
{
	struct utsname host = { .release = "?" };

	uname(&host);
	return mlgen_fail(err, rc,
			  SAYS "%s; it takes Linux 5.11, built with io_uring, "
			       "and a seccomp profile that does not hide it "
			       "(this is Linux %s); or use ioengine=libaio",
			  strerror(-rc), host.release);
}

/* Kernels before 5.12 lock the memory of rings; all of one user's count. */
static int refused_memory(const struct mlgen_ctx *ctx, int rc,
			  struct mlgen_err *err)
{
	struct rlimit lock = { 0 };
	uint64_t entries = 1, bytes;

	getrlimit(RLIMIT_MEMLOCK, &lock);
	while (entries < ctx->iodepth)
		entries *= 2;
	/* One SQE, two CQEs and one index for each, and two pages of heads. */
	bytes = entries * (64 + 2 * 16 + 4) + 8192;
	return mlgen_fail(err, rc,
			  SAYS "%s; %u rings of iodepth=%u need %" PRIu64
			       " KiB of locked memory and the limit is %" PRIu64
			       " KiB: raise it (ulimit -l) or lower iodepth",
			  strerror(-rc), ctx->job->workers, ctx->iodepth,
			  ctx->job->workers * bytes / 1024 + 1,
			  (uint64_t)lock.rlim_cur / 1024);
}

static int refused(const struct mlgen_ctx *ctx, int rc, struct mlgen_err *err)
{
	switch (rc) {
	case -EPERM:
	case -EACCES:
		return refused_perm(rc, err);
	case -ENOSYS:
		return refused_old(rc, err);
	case -ENOMEM:
		return refused_memory(ctx, rc, err);
	case -EMFILE:
	case -ENFILE:
		return mlgen_fail(err, rc,
				  SAYS
				  "%s; each of %u workers has a ring, and "
				  "each ring a descriptor: raise ulimit -n",
				  strerror(-rc), ctx->job->workers);
	default:
		return mlgen_fail(err, rc, SAYS "%s", strerror(-rc));
	}
}

static int set_up(struct ring *r, unsigned entries)
{
	int rc = -EINVAL;

	for (size_t i = 0; i < sizeof(set_ups) / sizeof(set_ups[0]); i++) {
		rc = io_uring_queue_init(entries, &r->uring, set_ups[i]);
		if (rc != -EINVAL)
			break;
	}
	r->is_open = rc == 0;
	return rc;
}

static int uring_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct ring *r;
	int rc;

	if (ctx->iodepth > ENTRIES_MAX)
		return mlgen_fail(err, -EINVAL,
				  "iodepth: %u is more than a ring of io_uring "
				  "holds, %u",
				  ctx->iodepth, ENTRIES_MAX);
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	ctx->priv = r;
	rc = set_up(r, ctx->iodepth);
	if (rc < 0)
		return refused(ctx, rc, err);
	/* Waiting with a timeout, and every operation used here. */
	if (!(r->uring.features & IORING_FEAT_EXT_ARG))
		return refused_old(-ENOSYS, err);
	/* Saves looking the descriptor up; what refuses it goes without. */
	io_uring_register_ring_fd(&r->uring);
	return 0;
}

/* What is still under way would go on writing to a buffer that is gone. */
static void drain(struct ring *r)
{
	struct io_uring_cqe *cqe;
	int rc = 0;

	while (r->in_kernel && (rc == 0 || rc == -EINTR)) {
		rc = io_uring_wait_cqe(&r->uring, &cqe);
		if (rc)
			continue;
		io_uring_cqe_seen(&r->uring, cqe);
		r->in_kernel--;
	}
}

static void uring_fini(struct mlgen_ctx *ctx)
{
	struct ring *r = ctx->priv;

	if (!r)
		return;
	if (r->is_open) {
		drain(r);
		io_uring_queue_exit(&r->uring);
	}
	free(r);
	ctx->priv = NULL;
}

static unsigned one_part(const struct mlgen_io *op)
{
	return op->iov->iov_len < ONE_REQUEST_BYTES ? (unsigned)op->iov->iov_len
						    : ONE_REQUEST_BYTES;
}

static void prep_read(struct io_uring_sqe *sqe, const struct mlgen_io *op)
{
	if (op->iovcnt == 1)
		io_uring_prep_read(sqe, op->file->fd, op->iov->iov_base,
				   one_part(op), op->off);
	else
		io_uring_prep_readv(sqe, op->file->fd, op->iov,
				    (unsigned)op->iovcnt, op->off);
}

static void prep_write(struct io_uring_sqe *sqe, const struct mlgen_io *op)
{
	if (op->iovcnt == 1)
		io_uring_prep_write(sqe, op->file->fd, op->iov->iov_base,
				    one_part(op), op->off);
	else
		io_uring_prep_writev(sqe, op->file->fd, op->iov,
				     (unsigned)op->iovcnt, op->off);
}

static void prep_fsync(struct io_uring_sqe *sqe, const struct mlgen_io *op)
{
	io_uring_prep_fsync(sqe, op->file->fd, 0);
}

static void prep_fdatasync(struct io_uring_sqe *sqe, const struct mlgen_io *op)
{
	io_uring_prep_fsync(sqe, op->file->fd, IORING_FSYNC_DATASYNC);
}

/* A row here is a cap below. */
/* clang-format off */
static void (*const prep[MLGEN_OPS])(struct io_uring_sqe *,
				     const struct mlgen_io *) = {
	[MLGEN_READ] = prep_read,
	[MLGEN_WRITE] = prep_write,
	[MLGEN_FSYNC] = prep_fsync,
	[MLGEN_FDATASYNC] = prep_fdatasync,
};
/* clang-format on */

static void put(struct io_uring_sqe *sqe, struct mlgen_io *op)
{
	prep[op->op](sqe, op);
	/*
	 * Linked hard: a short read ends a soft chain, and the close behind it
	 * would never run.
	 */
	if (op->flags & MLGEN_IO_LINK)
		io_uring_sqe_set_flags(sqe, IOSQE_IO_HARDLINK);
	io_uring_sqe_set_data(sqe, op);
}

/* A kernel without IORING_SETUP_SUBMIT_ALL stops behind a bad request. */
static int send_all(struct ring *r)
{
	while (io_uring_sq_ready(&r->uring)) {
		int rc = io_uring_submit(&r->uring);
		if (rc == -EINTR)
			continue;
		if (rc <= 0)
			return rc ? rc : -EAGAIN;
		r->in_kernel += (unsigned)rc;
	}
	return 0;
}

static int uring_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct ring *r = ctx->priv;
	unsigned i;
	int rc;

	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&r->uring);
		if (!sqe)
			break;
		put(sqe, io[i]);
	}
	rc = send_all(r);
	return rc < 0 ? rc : (int)i;
}

static unsigned take(struct ring *r, struct mlgen_io **io, unsigned max)
{
	struct io_uring_cqe *cqes[BATCH];
	unsigned taken = 0, n, want;

	do {
		want = max - taken < BATCH ? max - taken : BATCH;
		n = io_uring_peek_batch_cqe(&r->uring, cqes, want);
		for (unsigned i = 0; i < n; i++) {
			io[taken] = io_uring_cqe_get_data(cqes[i]);
			io[taken++]->result = cqes[i]->res;
		}
		io_uring_cq_advance(&r->uring, n);
	} while (n == want && taken < max);
	r->in_kernel -= taken;
	return taken;
}

/* Until there are n completions. 0, -ETIME, -EINTR or the ring's failure. */
static int await(struct ring *r, unsigned n, uint64_t timeout_ns)
{
	struct __kernel_timespec ts = {
		.tv_sec = (int64_t)(timeout_ns / 1000000000u),
		.tv_nsec = (int64_t)(timeout_ns % 1000000000u),
	};
	struct io_uring_cqe *first;
	int rc;

	if (timeout_ns == UINT64_MAX)
		rc = io_uring_submit_and_wait(&r->uring, n);
	else
		rc = io_uring_wait_cqes(&r->uring, &first, n, &ts, NULL);
	return rc < 0 ? rc : 0;
}

static int uring_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min,
		      unsigned max, uint64_t timeout_ns)
{
	struct ring *r = ctx->priv;
	unsigned got = take(r, io, max);
	int rc = 0;

	while (got < min && rc != -ETIME) {
		rc = await(r, min - got, timeout_ns);
		if (rc < 0 && rc != -ETIME && rc != -EINTR)
			return rc;
		got += take(r, io + got, max - got);
	}
	return (int)got;
}

const struct mlgen_engine mlgen_engine_io_uring = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "io_uring",
	.help = "Linux io_uring; iodepth requests at a time per worker",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) |
		MLGEN_CAP(MLGEN_FSYNC) | MLGEN_CAP(MLGEN_FDATASYNC) |
		MLGEN_CAP_DIRECT,
	.init = uring_init,
	.fini = uring_fini,
	.submit = uring_submit,
	.reap = uring_reap,
};
