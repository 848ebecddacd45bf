/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring.h - what the files of this engine share: a worker's ring. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <mlgen/engine.h>

/*
 * A ring belongs to one worker. What every read and write goes through is together in
 * uring_submit.c and uring_reap.c, or inline here, so that none of it is a call from file to file.
 */

/* No registered buffer is larger than 1 GiB: a larger one is several. */
#define ONE_BUFFER_SHIFT 30
#define ONE_BUFFER_BYTES (1ull << ONE_BUFFER_SHIFT)

/* In this order, so that options of zeros are the defaults. */
enum use { USE_AUTO, USE_NO, USE_YES };

struct uring_opts {
	int registerfiles, fixedbufs; /* enum use */
	bool sqthread_poll, hipri, uncached, nowait;
	uint64_t force_async;
};

/* Numbers that are free, last in first out. */
struct stack {
	unsigned *item;
	unsigned count;
};

struct ring {
	struct io_uring uring;
	struct mlgen_ctx *ctx;
	const struct uring_opts *opts;
	bool is_open;
	bool takes[MLGEN_OPS]; /* this ring does it; others are done here */
	unsigned in_kernel;
	int rw_flags;
	uint64_t requests; /* counted for force_async only */
	/* The registered buffer; fixed_bytes 0 = none. */
	uintptr_t buf;
	uint64_t fixed_bytes;
	/* The table of registered files: slots nobody uses; 0 slots = none. */
	unsigned slots;
	struct stack free_slots;
	/* Where the STAT operations in flight are answered. */
	struct statx *stats;
	struct stack free_stats;
	/* Complete without the ring, first to last. */
	struct mlgen_io **done;
	unsigned done_count;
};

static inline int stack_fill(struct stack *s, unsigned count)
{
	s->item = calloc(count, sizeof(*s->item));
	if (!s->item)
		return -ENOMEM;
	for (unsigned i = count; i > 0; i--)
		s->item[s->count++] = i - 1;
	return 0;
}

static inline void stack_push(struct stack *s, unsigned item)
{
	s->item[s->count++] = item;
}

static inline unsigned stack_pop(struct stack *s)
{
	return s->item[--s->count];
}

/* A file in the table has its slot + 1 as its word. */

static inline void hold_slot(struct ring *r, struct mlgen_file *file)
{
	file->word = stack_pop(&r->free_slots) + 1u;
}

static inline unsigned slot_of(const struct mlgen_file *file)
{
	return (unsigned)file->word - 1;
}

static inline void free_slot(struct ring *r, struct mlgen_file *file)
{
	stack_push(&r->free_slots, slot_of(file));
	file->word = 0;
}

static inline bool moves_bytes(const struct mlgen_io *op)
{
	return op->op == MLGEN_READ || op->op == MLGEN_WRITE;
}

/*
 * Without O_NONBLOCK: of a filesystem that cannot read without waiting, the ring would take it for
 * one that can, and wait in the submission instead of handing such reads to threads of its own.
 */
static inline int uring_open_flags(const struct mlgen_file *file)
{
	return file->flags & ~O_NONBLOCK;
}

/* Complete without the ring: reap gives it back. */
static inline void uring_done(struct ring *r, struct mlgen_io *op, int64_t result)
{
	op->result = result;
	r->done[r->done_count++] = op;
}

/* io_uring.c: a sentence more in what init says of itself. */
__attribute__((format(printf, 2, 3))) void uring_note(struct mlgen_ctx *ctx, const char *fmt, ...);

/* uring_ring.c: the best ring that this kernel has; 0 or -errno with err. An open one is to be
 * closed whatever this gives back. */
int uring_ring_open(struct ring *r, struct mlgen_err *err);
void uring_ring_close(struct ring *r);

/* uring_files.c: what the ring need not look up each time. A table that has to be is -errno with
 * err; a buffer never is an error. */
int uring_files_register(struct ring *r, struct mlgen_err *err);
void uring_files_register_buffer(struct ring *r);
void uring_files_unregister(struct ring *r);
uint64_t uring_files_lock_limit(void); /* bytes of memory that may be locked */

/* uring_ops.c: all but reads and writes. Is it for the ring, or done here; as a request; and, once
 * op->result is the kernel's, what else it writes. */
bool uring_ops_takes(const struct ring *r, const struct mlgen_io *op);
void uring_ops_prep(struct ring *r, struct io_uring_sqe *sqe, struct mlgen_io *op);
void uring_ops_settle(struct ring *r, struct mlgen_io *op);

/* uring_here.c: by a system call. 0 or -errno. */
int64_t uring_here_do(struct ring *r, struct mlgen_io *op);

/* uring_chain.c: of n operations, how many the chain at their head has; is there room for it; its
 * end where there never will be; a link of it. */
unsigned uring_chain_len(struct mlgen_io **io, unsigned n);
bool uring_chain_fits(const struct ring *r, struct mlgen_io **io, unsigned len);
void uring_chain_refuse(struct ring *r, struct mlgen_io **io, unsigned len);
void uring_chain_link(struct io_uring_sqe *sqe, const struct mlgen_io *op);

/* uring_submit.c, uring_reap.c: as struct mlgen_engine has them. */
int uring_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n);
int uring_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
	       uint64_t timeout_ns);
