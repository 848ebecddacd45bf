/* SPDX-License-Identifier: Apache-2.0 */
/* io_internal.h - state of a worker's operations and buffer, for src/io alone. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "io/io.h"
#include "stat/opstat.h"
#include "trace/tracer.h"

/* ---- the operations of one worker in flight, published to other threads ---- */

#define PATH_WORDS (sizeof(((struct io_outstanding *)0)->path) / 8)

/*
 * The worker writes relaxed words, which io_look reads in another thread. They are only printed, so
 * a mix of two operations does no harm. Paths are copied, because an owner may free a path before
 * the reader looks. They are stored apart from the slots, so that the words that every operation
 * writes stay together.
 */
struct published_slot {
	_Atomic uint64_t start_ns; /* 0 = nothing */
	_Atomic uint64_t off;
	_Atomic unsigned op;
	/* Worker only: the file whose path is stored for this slot, and published.paths at that
	 * time. */
	const struct mlgen_file *file;
	uint64_t paths;
};

struct published_path {
	_Atomic uint64_t word[PATH_WORDS];
};

struct published {
	struct published_slot *slots;
	struct published_path *path; /* a path per slot */
	unsigned count;
	uint64_t paths; /* number of operations so far that can change the path of a file */
};

/* ---- a worker's buffer, shared by its operations in flight ---- */

#define IOBUF_STAMP_EVERY 4096ull

/* Stack of free slots. */
struct iobuf_slots {
	unsigned *slot;
	unsigned count;
};

/*
 * A transfer that fits is one part of the buffer; a larger one is a list of parts that repeat over
 * the buffer. A READ that fits has the slice of its slot to itself, and so has a WRITE with a
 * stamp. All other transfers start at the beginning of the buffer. A resumed transfer continues at
 * the place in the buffer where it stopped, so that the bytes written are the same as in one call.
 * A READ into the caller's memory is one part, up to the size of one call. A WRITE from the
 * caller's parts uses that list. When it is resumed, it uses as many of the remaining parts as a
 * slot has room for.
 */
struct iobuf {
	unsigned char *base;
	uint64_t span_bytes;  /* size of a part */
	uint64_t slice_bytes; /* multiple of 4096; 0 = no slices */
	unsigned slices;      /* slots 0 to slices - 1 have one */
	uint64_t stamp;       /* 0 = none */
	uint64_t writes;      /* stamped so far */
	struct iovec *parts;  /* slot_parts for each slot */
	uint64_t slot_parts;
	struct iobuf_slots transfers, others; /* slots with a slice, and without */
};

/*
 * Set up slots 0 to depth - 1, of which the first `transfers` have slices, and slot `depth`, which
 * is never free, because it serves operations done in place. With depth 0, that slot has the slice.
 * The caller sets `base` later.
 */
void iobuf_init(struct iobuf *b, uint64_t bytes, unsigned depth, unsigned transfers);
void iobuf_fini(struct iobuf *b); /* leaves `base` to the caller; accepts a zeroed struct */

static inline void iobuf_release_slot(struct iobuf *b, unsigned slot)
{
	struct iobuf_slots *to = slot < b->slices ? &b->transfers : &b->others;

	to->slot[to->count++] = slot;
}

static inline bool iobuf_has_slice(const struct iobuf *b, const struct io_op *op)
{
	return op->want_bytes <= b->slice_bytes && op->slot < b->slices &&
	       (op->io.op == MLGEN_READ || b->stamp);
}

static inline unsigned char *iobuf_at(const struct iobuf *b, const struct io_op *op)
{
	if (!iobuf_has_slice(b, op))
		return b->base;
	return b->base + op->slot * b->slice_bytes;
}

/* Aim the rest of a transfer at its memory: io.off and io.len_bytes become those of the rest, or of
 * as much as one call can move. */
void iobuf_aim_rest(struct iobuf *b, struct io_op *op) __attribute__((cold));

/* Aim a new transfer at the buffer. */
static inline void iobuf_aim(struct iobuf *b, struct io_op *op)
{
	if (op->want_bytes > b->span_bytes || op->into || op->from) {
		iobuf_aim_rest(b, op);
		return;
	}
	op->iov.iov_base = iobuf_at(b, op);
	op->iov.iov_len = (size_t)op->want_bytes;
	op->io.iov = &op->iov;
	op->io.iovcnt = 1;
}

/* Mark the blocks of a WRITE, once per operation, so that each block is unique. */
static inline void iobuf_stamp(struct iobuf *b, const struct io_op *op)
{
	uint64_t words[2] = { op->first_off, b->stamp };
	unsigned char *at = iobuf_at(b, op);

	if (!b->stamp || !iobuf_has_slice(b, op) || op->from)
		return;
	words[1] += b->writes++;
	for (uint64_t i = 0; i < op->want_bytes; i += IOBUF_STAMP_EVERY) {
		memcpy(at + i, words, sizeof(words));
		words[0] += IOBUF_STAMP_EVERY;
	}
}

/* ---- the io of a worker ---- */

struct io {
	/* Members that every operation needs come first. */
	const struct mlgen_engine *engine;
	struct clock *clock;
	struct opstat *stat;
	struct trace_ring *trace; /* NULL = none */
	uint64_t mark_ns;         /* next start; 0 = read the clock */
	struct stop *stop;
	unsigned iodepth;
	unsigned in_flight; /* queued + in_engine + done */
	unsigned queued, in_engine;
	bool is_sync, is_init;
	bool in_chain; /* the last operation submitted is linked to the next */
	bool may_meet_fifos;
	unsigned fifos_ended;
	bool ends_in_time; /* the time of the stop ends this io */
	int error;         /* the engine's own failure, permanent */
	uint64_t last_ns;
	/* List of operations that are complete without the engine, oldest first. */
	struct io_op *first, **last;
	/* Asynchronous engines: operations not yet submitted, and those that reap returned. */
	struct mlgen_io **queue, **reaped;
	unsigned in_place_slot; /* the others are for operations in flight */
	struct iobuf buf;
	struct published published;
	struct mlgen_ctx ctx;
	enum mem_kind mem;
	uint64_t seed;
};

/* ---- transfers, from their start until no further call of the engine is needed ---- */

/*
 * A short or interrupted transfer, or one larger than a single call, goes to the engine again.
 * Bytes, sizes and resumed transfers are counted here; time is not. The usual case of one complete
 * call is inline, because every operation passes through it.
 */

static inline bool transfer_moves(const struct io_op *op)
{
	return MLGEN_CAP(op->io.op) & (MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE));
}

static inline void transfer_count(struct opstat *stat, const struct io_op *op, uint64_t bytes)
{
	_Atomic uint64_t *c = &stat->io_bytes[op->io.op == MLGEN_WRITE];
	uint64_t seen = atomic_load_explicit(c, memory_order_relaxed);

	/* This worker is the only writer; the status line reads. */
	atomic_store_explicit(c, seen + bytes, memory_order_relaxed);
}

/* Begin an operation that has its slot. */
static inline __attribute__((always_inline)) void transfer_begin(struct iobuf *buf,
								 struct opstat *stat,
								 struct io_op *op)
{
	unsigned is_write = op->io.op == MLGEN_WRITE;

	op->want_bytes = op->io.len_bytes;
	op->first_off = op->io.off;
	op->done_bytes = 0;
	op->tries = 0;
	op->is_started = op->is_cut = op->was_short = false;
	if (!transfer_moves(op))
		return;
	sizes_add(&stat->sizes[is_write], op->want_bytes, 1);
	iobuf_aim(buf, op);
	if (is_write)
		iobuf_stamp(buf, op);
}

/* Was the operation, of any kind, interrupted, and may it be repeated? */
bool transfer_may_retry(struct io_op *op);

/* Handle the result of an operation that is short, has failed, moves in parts, or is not a
 * transfer. True = submit it once more. */
bool transfer_check_result(struct iobuf *buf, struct opstat *stat, struct io_op *op)
	__attribute__((cold));

/* ---- records of a trace ---- */

/*
 * Record a complete operation; call on the worker's thread. The caller sets op->end_ns, and offset
 * and length to those of the whole operation. is_async: the engine completed the operation after
 * submit had returned.
 *
 * A file gets a number of the ring, in file->trace, when it is opened, and loses it when it is
 * closed. A file without a number is recorded with its path each time, and so is every operation on
 * a name (an open, a rename). The record of an open contains the file's size if the caller of the
 * open knows it. Operations that never began are not recorded.
 */
void io_trace(struct trace_ring *ring, struct io_op *op, bool is_async);
