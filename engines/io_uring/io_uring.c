/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring.c - engine: batches of requests through one io_uring per worker. */
#include "io_uring.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Linux 6.14; older headers lack it. */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

/* clang-format off */
static const struct mlgen_choice uses[] = {
	{ "auto", USE_AUTO, "if this host allows it" },
	{ "0", USE_NO, "no" },
	{ "1", USE_YES, "yes" },
	{ 0 },
};

static const struct mlgen_field uring_fields[] = {
	{ "registerfiles", MLGEN_F_ENUM(struct uring_opts, registerfiles, uses),
	  .def = "auto", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Register a table of open files with the ring. With 1, mlgen fails if the kernel refuses." },
	{ "fixedbufs", MLGEN_F_ENUM(struct uring_opts, fixedbufs, uses),
	  .def = "auto", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Register the worker's buffer with the ring. If the kernel refuses, mlgen prints a note and continues without." },
	{ "sqthread_poll", MLGEN_F_BOOL(struct uring_opts, sqthread_poll),
	  .def = "0", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "A kernel thread per worker polls for requests; it occupies a CPU." },
	{ "hipri", MLGEN_F_BOOL(struct uring_opts, hipri),
	  .def = "0", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Poll for completions; requires direct=1 and a device with poll queues." },
	{ "uncached", MLGEN_F_BOOL(struct uring_opts, uncached),
	  .def = "0", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Drop pages from the page cache after they are read or written (RWF_DONTCACHE, Linux 6.14)." },
	{ "nowait", MLGEN_F_BOOL(struct uring_opts, nowait),
	  .def = "0", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "A request that would have to wait fails with EAGAIN (RWF_NOWAIT)." },
	{ "force_async", MLGEN_F_U64(struct uring_opts, force_async),
	  .def = "0", .unit = "requests", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Every Nth request goes directly to a kernel worker, without a first attempt in place; 0: none." },
	{ 0 },
};
/* clang-format on */

static const struct uring_opts defaults;

/* ---- report of optional features ---- */

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *fmt,
							 ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + used, size - used, fmt, ap);
	va_end(ap);
}

/* Append the kernel's names of the ring's set-up flags; IOPOLL is reported as "polled completions".
 */
static void append_flags(const struct worker_ring *r, char *text, size_t size)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{ IORING_SETUP_SQPOLL, "SQPOLL" },
		{ IORING_SETUP_SINGLE_ISSUER, "SINGLE_ISSUER" },
		{ IORING_SETUP_DEFER_TASKRUN, "DEFER_TASKRUN" },
		{ IORING_SETUP_COOP_TASKRUN, "COOP_TASKRUN" },
		{ IORING_SETUP_TASKRUN_FLAG, "TASKRUN_FLAG" },
		{ IORING_SETUP_SUBMIT_ALL, "SUBMIT_ALL" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (r->uring.flags & names[i].flag)
			append(text, size, "%s%s", *text ? "|" : "", names[i].name);
}

static void report_in_use(struct worker_ring *r)
{
	struct mlgen_ctx *ctx = r->ctx;
	char flags[96] = "";
	const char *const means[] = {
		r->slots && r->fixed_bytes ? "registered files and buffers"
		: r->slots                 ? "registered files"
		: r->fixed_bytes           ? "registered buffers"
					   : "",
		flags,
		r->opts->hipri ? "polled completions" : "",
		r->opts->uncached ? "RWF_DONTCACHE" : "",
		r->opts->nowait ? "RWF_NOWAIT" : "",
	};

	append_flags(r, flags, sizeof(flags));
	for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++)
		if (*means[i])
			append(ctx->in_use, sizeof(ctx->in_use), "%s%s", *ctx->in_use ? ", " : "",
			       means[i]);
}

/* ---- set-up ---- */

static int uring_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct worker_ring *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	ctx->priv = r;
	ctx->can_link = false;
	ctx->in_use[0] = ctx->note[0] = '\0';
	r->ctx = ctx;
	r->opts = ctx->opts && !ctx->job->is_preparing ? ctx->opts : &defaults;
	r->rw_flags = (r->opts->uncached ? RWF_DONTCACHE : 0) | (r->opts->nowait ? RWF_NOWAIT : 0);
	rc = uring_ring_open(r, err);
	if (rc < 0)
		return rc;
	r->done = calloc(ctx->iodepth, sizeof(*r->done));
	r->stats = calloc(ctx->iodepth, sizeof(*r->stats));
	if (!r->done || !r->stats)
		return -ENOMEM;
	rc = stack_fill(&r->free_stats, ctx->iodepth);
	if (rc == 0)
		rc = uring_files_register(r, err);
	if (rc < 0)
		return rc;
	uring_files_register_buffer(r);
	/* Linked reads name their file before it is open, so the open needs a slot. */
	ctx->can_link = r->slots && !r->opts->hipri;
	report_in_use(r);
	return 0;
}

static void uring_fini(struct mlgen_ctx *ctx)
{
	struct worker_ring *r = ctx->priv;

	if (!r)
		return;
	if (r->is_open)
		uring_ring_close(r);
	free(r->free_slots.item);
	free(r->free_stats.item);
	free(r->stats);
	free(r->done);
	free(r);
	ctx->priv = NULL;
}

void uring_note(struct mlgen_ctx *ctx, const char *fmt, ...)
{
	char text[sizeof(ctx->note)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	append(ctx->note, sizeof(ctx->note), "%s%s", *ctx->note ? "; " : "", text);
}

const struct mlgen_engine mlgen_engine_io_uring = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "io_uring",
	.help = "Linux io_uring; iodepth requests at a time per worker",
	.caps = MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_STAT) | MLGEN_CAP(MLGEN_READ) |
		MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP(MLGEN_ALLOCATE) | MLGEN_CAP(MLGEN_FSYNC) |
		MLGEN_CAP(MLGEN_FDATASYNC) | MLGEN_CAP(MLGEN_ADVISE) | MLGEN_CAP(MLGEN_CLOSE) |
		MLGEN_CAP(MLGEN_RENAME) | MLGEN_CAP(MLGEN_UNLINK) | MLGEN_CAP(MLGEN_MKDIR) |
		MLGEN_CAP(MLGEN_RMDIR) | MLGEN_CAP_DIRECT | MLGEN_CAP_PRIVATE_FDS,
	.opts = uring_fields,
	.opts_size = sizeof(struct uring_opts),
	.init = uring_init,
	.fini = uring_fini,
	.submit = uring_submit,
	.reap = uring_reap,
};
