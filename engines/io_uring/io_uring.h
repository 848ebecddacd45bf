/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring.h - a worker's ring, shared by the files of this engine. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <mlgen/engine.h>

/* A ring belongs to one worker. The code that runs for every read and write is in uring_submit.c
 * and uring_reap.c, or inline here, so that it contains no calls between files. */

/* The kernel registers at most 1 GiB at once, so a larger buffer is registered in several parts. */
#define ONE_BUFFER_SHIFT 30
#define ONE_BUFFER_BYTES (1ull << ONE_BUFFER_SHIFT)

/* USE_AUTO is 0, so that zeroed options are the defaults. */
enum use { USE_AUTO, USE_NO, USE_YES };

struct uring_opts {
	int registerfiles, fixedbufs; /* enum use */
	bool sqthread_poll, hipri, uncached, nowait;
	uint64_t force_async;
};

/* Stack of free numbers. */
struct stack {
	unsigned *item;
	unsigned count;
};

struct worker_ring {
	struct io_uring uring;
	struct mlgen_ctx *ctx;
	const struct uring_opts *opts;
	bool is_open;
	bool supports[MLGEN_OPS]; /* false: performed by a system call */
	unsigned in_kernel;
	int rw_flags;
	uint64_t requests; /* counted for force_async only */
	/* Registered buffer; fixed_bytes 0 = none. */
	uintptr_t buf;
	uint64_t fixed_bytes;
	/* Table of registered files and its free slots; 0 slots = no table. */
	unsigned slots;
	struct stack free_slots;
	/* Results of the STAT operations in flight. */
	struct statx *stats;
	struct stack free_stats;
	/* Operations that are complete without the ring, oldest first. */
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

/* file->word is 1 + the slot of a registered file, or 0. */

static inline void hold_slot(struct worker_ring *r, struct mlgen_file *file)
{
	file->word = stack_pop(&r->free_slots) + 1u;
}

static inline unsigned slot_of(const struct mlgen_file *file)
{
	return (unsigned)file->word - 1;
}

static inline void free_slot(struct worker_ring *r, struct mlgen_file *file)
{
	stack_push(&r->free_slots, slot_of(file));
	file->word = 0;
}

static inline bool moves_bytes(const struct mlgen_io *op)
{
	return op->op == MLGEN_READ || op->op == MLGEN_WRITE;
}

/*
 * O_NONBLOCK is left out. With it the ring would assume that the filesystem can read without
 * waiting. On a filesystem that cannot, submission would wait instead of passing the reads to
 * kernel threads.
 */
static inline int uring_open_flags(const struct mlgen_file *file)
{
	return file->flags & ~O_NONBLOCK;
}

/* Complete an operation without the ring; reap returns it. */
static inline void uring_done(struct worker_ring *r, struct mlgen_io *op, int64_t result)
{
	op->result = result;
	r->done[r->done_count++] = op;
}

/* io_uring.c: append a sentence to ctx->note. */
__attribute__((format(printf, 2, 3))) void uring_note(struct mlgen_ctx *ctx, const char *fmt, ...);

/* uring_ring.c: set up the best ring that this kernel supports. 0 or -errno with err. If is_open is
 * set, even after an error, the caller must close the ring. */
int uring_ring_open(struct worker_ring *r, struct mlgen_err *err);
void uring_ring_close(struct worker_ring *r);

/* uring_files.c: register the table of files and the buffer. 0, or -errno with err if the job
 * requires a table and the kernel refuses it. A refused buffer is not an error. */
int uring_files_register(struct worker_ring *r, struct mlgen_err *err);
void uring_files_register_buffer(struct worker_ring *r);
void uring_files_unregister(struct worker_ring *r);
uint64_t uring_files_lock_limit(void); /* bytes of memory that may be locked */

/* uring_ops.c: operations other than READ and WRITE. Does the ring support the operation? */
bool uring_ops_supports(const struct worker_ring *r, const struct mlgen_io *op);
/* Fill the kernel's request for the operation. */
void uring_ops_prep(struct worker_ring *r, struct io_uring_sqe *sqe, struct mlgen_io *op);
/* Call after completion, when op->result is the kernel's result: set the other results. */
void uring_ops_settle(struct worker_ring *r, struct mlgen_io *op);

/* uring_here.c: perform an operation by a system call. 0 or -errno. */
int64_t uring_here_do(struct worker_ring *r, struct mlgen_io *op);

/* uring_chain.c: the length of the chain at the head of n operations. */
unsigned uring_chain_len(struct mlgen_io **io, unsigned n);
/* Is there room for the chain now? */
bool uring_chain_fits(const struct worker_ring *r, struct mlgen_io **io, unsigned len);
/* Fail a chain for which there will never be room. */
void uring_chain_refuse(struct worker_ring *r, struct mlgen_io **io, unsigned len);
/* Set the link flag of a request. */
void uring_chain_link(struct io_uring_sqe *sqe, const struct mlgen_io *op);

/* uring_submit.c, uring_reap.c: functions of struct mlgen_engine. */
int uring_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n);
int uring_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
	       uint64_t timeout_ns);
