/* SPDX-License-Identifier: Apache-2.0 */
/* uring_ring.c - set up the best ring that this kernel supports, or explain why it refuses. */
#include "io_uring.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define ERROR_PREFIX "ioengine=io_uring: io_uring_setup: "

/* Maximum entries of a ring (IORING_MAX_ENTRIES of the kernel). */
#define ENTRIES_MAX 32768u

/* ---- why there is no ring ---- */

static int refused_perm(int rc, struct mlgen_err *err)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int disabled = 0;

	if (f && fscanf(f, "%d", &disabled) != 1)
		disabled = 0;
	if (f)
		fclose(f);
	if (disabled)
		return mlgen_fail(
			err, rc,
			ERROR_PREFIX "%s; kernel.io_uring_disabled is %d (%s), set it to 0 or "
				     "use ioengine=libaio",
			strerror(-rc), disabled,
			disabled == 1 ? "for privileged processes only" : "for no process");
	return mlgen_fail(
		err, rc,
		ERROR_PREFIX
		"%s; a seccomp profile, such as a container's, refuses it: allow io_uring_setup, "
		"io_uring_enter and io_uring_register in the profile, or use ioengine=libaio",
		strerror(-rc));
}

static int refused_old(int rc, struct mlgen_err *err)
{
	struct utsname host = { .release = "?" };

	uname(&host);
	return mlgen_fail(err, rc,
			  ERROR_PREFIX
			  "%s; it requires Linux 5.11, built with io_uring, and a seccomp profile "
			  "that does not hide it (this is Linux %s); or use ioengine=libaio",
			  strerror(-rc), host.release);
}

/* Kernels before 5.12 lock the memory of rings; one limit applies to all rings of a user. */
static int refused_memory(const struct mlgen_ctx *ctx, int rc, struct mlgen_err *err)
{
	uint64_t entries = 1, bytes;

	while (entries < ctx->iodepth)
		entries *= 2;
	/* Each entry has one SQE, two CQEs and one index; the heads take two pages. */
	bytes = entries * (64 + 2 * 16 + 4) + 8192;
	return mlgen_fail(err, rc,
			  ERROR_PREFIX "%s; %u rings of iodepth=%u need %" PRIu64
				       " KiB of locked memory, and the limit is %" PRIu64
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
		return mlgen_fail(
			err, rc,
			ERROR_PREFIX
			"%s; each of %u workers needs a descriptor for its ring: raise ulimit -n",
			strerror(-rc), ctx->job->workers);
	default:
		return mlgen_fail(err, rc, ERROR_PREFIX "%s", strerror(-rc));
	}
}

/* ---- set-up ---- */

/*
 * Flags to try, best first. This thread processes completions when it asks for them (DEFER_TASKRUN,
 * Linux 6.1), or at least is not interrupted by them (COOP_TASKRUN, 5.19). TASKRUN_FLAG shows in an
 * empty ring that completions are pending. SUBMIT_ALL (5.18) continues after a bad request. Do not
 * add IORING_SETUP_NO_SQARRAY: a liburing that does not know the flag returns bogus completions.
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

/* The kernel refuses these flags where a kernel thread submits. */
#define NOT_WITH_SQPOLL                                                                            \
	(IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG)

static int ring_set_up(struct worker_ring *r)
{
	unsigned entries = r->ctx->iodepth, flags;
	int rc = -EINVAL;

	/* The kernel thread may free an entry only after the completion has arrived. */
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

/* A polled ring supports only reads and writes. */
static void probe_operations(struct worker_ring *r)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(&r->uring);

	for (unsigned op = 0; op < MLGEN_OPS; op++) {
		bool moves = op == MLGEN_READ || op == MLGEN_WRITE;
		/* If the probe is refused, assume the operations of Linux 5.11. */
		bool has = probe ? io_uring_opcode_supported(probe, (int)ring_opcode[op])
				 : op != MLGEN_MKDIR;

		r->supports[op] = moves || (has && !r->opts->hipri);
	}
	io_uring_free_probe(probe);
}

static int check_depth(const struct worker_ring *r, struct mlgen_err *err)
{
	bool polls = r->opts->sqthread_poll;
	unsigned max = polls ? ENTRIES_MAX / 2 : ENTRIES_MAX;

	if (r->ctx->iodepth <= max)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "iodepth: %u is above the capacity of an io_uring ring%s, %u",
			  r->ctx->iodepth, polls ? " with sqthread_poll" : "", max);
}

int uring_ring_open(struct worker_ring *r, struct mlgen_err *err)
{
	int rc = check_depth(r, err);

	if (rc < 0)
		return rc;
	rc = ring_set_up(r);
	if (rc < 0)
		return refused(r->ctx, rc, err);
	/* EXT_ARG (5.11) is needed to wait with a timeout. Such kernels also have every operation
	 * used here except mkdir. */
	if (!(r->uring.features & IORING_FEAT_EXT_ARG))
		return refused_old(-ENOSYS, err);
	/* Saves a look-up of the ring's descriptor per call; optional, so errors are ignored. */
	io_uring_register_ring_fd(&r->uring);
	probe_operations(r);
	return 0;
}

/*
 * The kernel frees a ring in the background. Files and memory are unregistered here and now,
 * because the files and memory of the next worker are under the same limits.
 */
void uring_ring_close(struct worker_ring *r)
{
	struct io_uring_cqe *cqe;
	int rc = 0;

	/* Operations in flight would continue to write to a buffer that is freed. */
	while (r->in_kernel && (rc == 0 || rc == -EINTR)) {
		rc = io_uring_wait_cqe(&r->uring, &cqe);
		if (rc)
			continue;
		io_uring_cqe_seen(&r->uring, cqe);
		r->in_kernel--;
	}
	uring_files_unregister(r);
	io_uring_queue_exit(&r->uring);
}
