/* SPDX-License-Identifier: Apache-2.0 */
/* uring_files.c - register the table of files and the buffer with a ring. */
#include "io_uring.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

static const char *table_remedy(int rc)
{
	switch (rc) {
	case -EMFILE:
		return "raise ulimit -n to this number, or lower iodepth";
	case -EINVAL:
		return "it requires Linux 5.19";
	case -EPERM:
	case -EACCES:
		return "allow io_uring_register in the seccomp profile";
	default:
		return "the kernel has no memory for it";
	}
}

static int register_parts(struct worker_ring *r, uint64_t bytes)
{
	uint64_t n = (bytes + ONE_BUFFER_BYTES - 1) >> ONE_BUFFER_SHIFT;
	struct iovec *parts = calloc(n, sizeof(*parts));
	uint64_t left = bytes;
	int rc;

	if (!parts)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++, left -= ONE_BUFFER_BYTES) {
		parts[i].iov_base = (char *)r->ctx->buf + (i << ONE_BUFFER_SHIFT);
		parts[i].iov_len = left < ONE_BUFFER_BYTES ? left : ONE_BUFFER_BYTES;
	}
	rc = io_uring_register_buffers(&r->uring, parts, (unsigned)n);
	free(parts);
	return rc;
}

int uring_files_register(struct worker_ring *r, struct mlgen_err *err)
{
	struct mlgen_ctx *ctx = r->ctx;
	unsigned slots = ctx->files > ctx->iodepth ? ctx->files : ctx->iodepth;
	int rc;

	if (r->opts->registerfiles == USE_NO)
		return 0;
	rc = io_uring_register_files_sparse(&r->uring, slots);
	if (rc < 0 && r->opts->registerfiles == USE_YES)
		return mlgen_fail(err, rc,
				  "registerfiles: cannot register a table of %u files: %s; %s, or "
				  "drop registerfiles=1",
				  slots, strerror(-rc), table_remedy(rc));
	if (rc < 0) {
		uring_note(ctx,
			   "registerfiles: using ordinary descriptors, not a table of %u files: "
			   "%s; %s",
			   slots, strerror(-rc), table_remedy(rc));
		return 0;
	}
	r->slots = slots;
	return stack_fill(&r->free_slots, slots);
}

/* A refusal is not an error, because the figures remain comparable. */
void uring_files_register_buffer(struct worker_ring *r)
{
	struct mlgen_ctx *ctx = r->ctx;
	uint64_t need = ctx->job->workers * ((ctx->buf_bytes + 1023) / 1024);
	uint64_t limit = uring_files_lock_limit();
	int rc;

	if (r->opts->fixedbufs == USE_NO || !ctx->buf || !ctx->buf_bytes)
		return;
	if (ctx->buf_is_given_back) {
		uring_note(ctx, "fixedbufs: not registered, because each read uses new memory "
				"(fresh_memory)");
		return;
	}
	rc = register_parts(r, ctx->buf_bytes);
	if (rc == -ENOMEM && limit != RLIM_INFINITY)
		uring_note(ctx,
			   "fixedbufs: not registered: needs %" PRIu64
			   " KiB of locked memory, ulimit -l is %" PRIu64
			   " KiB; figures remain comparable",
			   need, limit / 1024);
	else if (rc < 0)
		uring_note(ctx, "fixedbufs: not registered: %s; figures remain comparable",
			   strerror(-rc));
	if (rc < 0)
		return;
	r->buf = (uintptr_t)ctx->buf;
	r->fixed_bytes = ctx->buf_bytes;
}

void uring_files_unregister(struct worker_ring *r)
{
	if (r->slots)
		io_uring_unregister_files(&r->uring);
	if (r->fixed_bytes)
		io_uring_unregister_buffers(&r->uring);
}

uint64_t uring_files_lock_limit(void)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &limit);
	return limit.rlim_cur;
}
