/* SPDX-License-Identifier: Apache-2.0 */
/* uring_ring.c - set up the best ring that this kernel has, and say why there is none. */
#include "io_uring.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define SAYS "ioengine=io_uring: io_uring_setup: "

/* A ring has no more entries (IORING_MAX_ENTRIES of the kernel). */
#define ENTRIES_MAX 32768u

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
				  SAYS "%s; kernel.io_uring_disabled is %d (%s), set it to 0 or "
				       "use ioengine=libaio",
				  strerror(-rc), disabled,
				  disabled == 1 ? "for the privileged only" : "for nobody");
	return mlgen_fail(err, rc,
			  SAYS "%s; a seccomp profile, such as that of a container, refuses it: "
			       "allow io_uring_setup, io_uring_enter and io_uring_register there, "
			       "or use ioengine=libaio",
			  strerror(-rc));
}

static int refused_old(int rc, struct mlgen_err *err)
{
	struct utsname host = { .release = "?" };

	uname(&host);
	return mlgen_fail(err, rc,
			  SAYS
			  "%s; it takes Linux 5.11, built with io_uring, and a seccomp profile "
			  "that does not hide it (this is Linux %s); or use ioengine=libaio",
			  strerror(-rc), host.release);
}

/* Kernels before 5.12 lock the memory of rings; all of one user's count. */
static int refused_memory(const struct mlgen_ctx *ctx, int rc, struct mlgen_err *err)
{
	uint64_t entries = 1, bytes;

	while (entries < ctx->iodepth)
		entries *= 2;
	/* One SQE, two CQEs and one index for each, and two pages of heads. */
	bytes = entries * (64 + 2 * 16 + 4) + 8192;
	return mlgen_fail(err, rc,
			  SAYS "%s; %u rings of iodepth=%u need %" PRIu64
			       " KiB of locked memory and the limit is %" PRIu64
			       " KiB: raise it (ulimit -l) or lower iodepth",
			  strerror(-rc), ctx->job->workers, ctx->iodepth,
			  ctx->job->workers * bytes / 1024 + 1, uring_files_lock_limit() / 1024);
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
				  SAYS "%s; each of %u workers has a ring, and each ring a "
				       "descriptor: raise ulimit -n",
				  strerror(-rc), ctx->job->workers);
	default:
		return mlgen_fail(err, rc, SAYS "%s", strerror(-rc));
	}
}

/* Setting up the ring. */

/*
 * Best first. Completions are worked off by this thread when it asks for them (DEFER_TASKRUN, Linux
 * 6.1), or at least without interrupting it (COOP_TASKRUN, 5.19). TASKRUN_FLAG lets a look at the
 * empty ring see that there is such work. SUBMIT_ALL (5.18) does not stop behind a bad request.
 * IORING_SETUP_NO_SQARRAY is not for this list: a liburing that does not know it returns
 * completions that are none.
 */
static const unsigned ring_set_ups[] = {
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
		IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN |
		IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SUBMIT_ALL,
	0,
};

/* Of no use where another thread submits, and refused. */
#define NOT_WITH_SQPOLL                                                                            \
	(IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG)

static int ring_set_up(struct ring *r)
{
	unsigned entries = r->ctx->iodepth, flags;
	int rc = -EINVAL;

	/* That thread gives entries back late: a completion may be here first. */
	if (r->opts->sqthread_poll)
		entries *= 2;
	for (size_t i = 0; i < sizeof(ring_set_ups) / sizeof(ring_set_ups[0]); i++) {
		flags = ring_set_ups[i];
		if (r->opts->sqthread_poll) {
			flags &= ~NOT_WITH_SQPOLL;
			flags |= IORING_SETUP_SQPOLL;
		}
		if (r->opts->hipri)
			flags |= IORING_SETUP_IOPOLL;
		rc = io_uring_queue_init(entries, &r->uring, flags);
		if (rc != -EINVAL)
			break;
	}
	r->is_open = rc == 0;
	return rc;
}

/* clang-format off */
static const enum io_uring_op ring_opcode[MLGEN_OPS] = {
	[MLGEN_OPEN] = IORING_OP_OPENAT,
	[MLGEN_STAT] = IORING_OP_STATX,
	[MLGEN_READ] = IORING_OP_READ,
	[MLGEN_WRITE] = IORING_OP_WRITE,
	[MLGEN_ALLOCATE] = IORING_OP_FALLOCATE,
	[MLGEN_FSYNC] = IORING_OP_FSYNC,
	[MLGEN_FDATASYNC] = IORING_OP_FSYNC,
	[MLGEN_ADVISE] = IORING_OP_FADVISE,
	[MLGEN_CLOSE] = IORING_OP_CLOSE,
	[MLGEN_RENAME] = IORING_OP_RENAMEAT,
	[MLGEN_UNLINK] = IORING_OP_UNLINKAT,
	[MLGEN_MKDIR] = IORING_OP_MKDIRAT,
	[MLGEN_RMDIR] = IORING_OP_UNLINKAT,
};
/* clang-format on */

/* A polled ring takes nothing but reads and writes. */
static void see_what_it_takes(struct ring *r)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(&r->uring);

	for (unsigned op = 0; op < MLGEN_OPS; op++) {
		bool moves = op == MLGEN_READ || op == MLGEN_WRITE;
		/* Where asking is refused: all that Linux 5.11 has. */
		bool has = probe ? io_uring_opcode_supported(probe, (int)ring_opcode[op])
				 : op != MLGEN_MKDIR;

		r->takes[op] = moves || (has && !r->opts->hipri);
	}
	io_uring_free_probe(probe);
}

static int too_deep(const struct ring *r, struct mlgen_err *err)
{
	bool polls = r->opts->sqthread_poll;
	unsigned most = polls ? ENTRIES_MAX / 2 : ENTRIES_MAX;

	if (r->ctx->iodepth <= most)
		return 0;
	return mlgen_fail(err, -EINVAL, "iodepth: %u is more than a ring of io_uring holds%s, %u",
			  r->ctx->iodepth, polls ? " with sqthread_poll" : "", most);
}

/* What is still under way would go on writing to a buffer that is gone. */
static void ring_drain(struct ring *r)
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

int uring_ring_open(struct ring *r, struct mlgen_err *err)
{
	int rc = too_deep(r, err);

	if (rc < 0)
		return rc;
	rc = ring_set_up(r);
	if (rc < 0)
		return refused(r->ctx, rc, err);
	/* Waiting with a timeout, and every operation used here but mkdir. */
	if (!(r->uring.features & IORING_FEAT_EXT_ARG))
		return refused_old(-ENOSYS, err);
	/* Saves looking the descriptor up; what refuses it goes without. */
	io_uring_register_ring_fd(&r->uring);
	see_what_it_takes(r);
	return 0;
}

/*
 * A ring ends in the background; what is taken back here is closed and unlocked now: the next
 * worker's files and memory are under the same limits.
 */
void uring_ring_close(struct ring *r)
{
	ring_drain(r);
	uring_files_unregister(r);
	io_uring_queue_exit(&r->uring);
}
