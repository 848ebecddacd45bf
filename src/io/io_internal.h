/* SPDX-License-Identifier: Apache-2.0 */
/* io_internal.h - what a worker's operations are made of, for src/io alone. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "io/io.h"
#include "stat/opstat.h"
#include "trace/tracer.h"

/* ---- what one worker has outstanding, for another thread to look at ---- */

#define SEEN_PATH_WORDS (sizeof(((struct io_outstanding *)0)->path) / 8)

/*
 * Relaxed words: the worker writes, io_look in another thread reads. It only ever prints them, so a
 * mix of two operations does no harm. A path is copied, because its owner may free it before the
 * reader looks; kept apart, so that what every operation writes stays together.
 */
struct seen_slot {
	_Atomic uint64_t start_ns; /* 0 = nothing */
	_Atomic uint64_t off;
	_Atomic unsigned op;
	/* The worker's: whose path stands there, as of `paths`. */
	const struct mlgen_file *file;
	uint64_t paths;
};

struct seen_path {
	_Atomic uint64_t word[SEEN_PATH_WORDS];
};

struct seen {
	struct seen_slot *slots;
	struct seen_path *path; /* one per slot */
	unsigned count;
	uint64_t paths; /* operations on paths so far */
};

void seen_fini(struct seen *s); /* a zeroed one is fine */

/* ---- a worker's buffer, and how the operations under way share it ---- */

#define IOBUF_STAMP_EVERY 4096ull

/* Slots that are free; the last one given back goes first. */
struct iobuf_slots {
	unsigned *slot;
	unsigned count;
};

/*
 * A transfer is one part of the buffer if it fits, else parts that repeat over it. A READ that fits
 * has the slice of its slot to itself, a WRITE too where there is a stamp; else it starts where the
 * buffer does. Resumed, it goes on in the buffer where it stopped, so that what is written is the
 * same as in one go. A READ into the caller's own room is one part there, however large, but for
 * what is too large for one call. A WRITE from the caller's own parts has those; resumed, as many
 * of the rest as a slot has room for.
 */
struct iobuf {
	unsigned char *base;
	uint64_t span_bytes;  /* one part */
	uint64_t slice_bytes; /* multiple of 4096; 0 = no slices */
	unsigned slices;      /* of the slots from 0 on */
	uint64_t stamp;       /* 0 = none */
	uint64_t writes;      /* stamped so far */
	struct iovec *parts;  /* slot_parts for each slot */
	uint64_t slot_parts;
	struct iobuf_slots transfers, others; /* with a slice, and without */
};

/*
 * `depth` slots, from 0 on, of which the first `transfers` have slices, and one more that is never
 * taken: of what is done in place. With no others that one has the slice. The base comes later.
 */
void iobuf_init(struct iobuf *b, uint64_t bytes, unsigned depth, unsigned transfers);
void iobuf_fini(struct iobuf *b); /* not the base; a zeroed one is fine */

static inline void iobuf_give_slot(struct iobuf *b, unsigned slot)
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

/* Point a transfer that begins at the buffer. */
/* Point what is left of a transfer at where it goes: io.off and io.len_bytes become those of the
 * rest, or of as much as goes into one call. */
void iobuf_aim_rest(struct iobuf *b, struct io_op *op) __attribute__((cold));

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

/* Once per WRITE: its blocks are like no others. */
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

/* ---- an io, for what sets it up and what operations go through ---- */

struct io {
	/* What every operation needs, together. */
	const struct mlgen_engine *engine;
	struct clock *clock;
	struct opstat *stat;
	struct trace_ring *trace; /* NULL = none */
	uint64_t mark_ns;         /* next start; 0 = read the clock */
	struct stop *stop;
	unsigned iodepth;
	unsigned under_way; /* queued + in_engine + done */
	unsigned queued, in_engine;
	bool is_sync, is_init;
	bool in_chain; /* the last one submitted is linked to the next */
	bool may_meet_fifos;
	unsigned fifo_looks; /* that found one */
	bool ends_in_time;   /* with stop->at_ns */
	int error;           /* the engine's own failure, for ever */
	uint64_t last_ns;
	/* Done in place, first to last. */
	struct io_op *first, **last;
	/* Asynchronous engines: in front of the engine, and behind it. */
	struct mlgen_io **queue, **reaped;
	/* A slot per operation under way, and one for what is done in place. */
	unsigned place;
	struct iobuf buf;
	struct seen seen;
	struct mlgen_ctx ctx;
	enum mem_kind mem;
	uint64_t seed;
};

/* ---- an operation from its beginning until it needs the engine no more ---- */

/*
 * What is short, interrupted or larger than one call goes to the engine again. Bytes, sizes and
 * resumed transfers are counted here; time is not. The usual case, all of it in one go, is inline:
 * it is in every operation.
 */

static inline bool transfer_moves(const struct io_op *op)
{
	return MLGEN_CAP(op->io.op) & (MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE));
}

static inline void transfer_count(struct opstat *stat, const struct io_op *op, uint64_t bytes)
{
	_Atomic uint64_t *c = &stat->io_bytes[op->io.op == MLGEN_WRITE];
	uint64_t seen = atomic_load_explicit(c, memory_order_relaxed);

	/* One writer; the status line is the reader. */
	atomic_store_explicit(c, seen + bytes, memory_order_relaxed);
}

/* It has its slot. */
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

/* Of any operation: was it interrupted, and may it be repeated? */
bool transfer_try_again(struct io_op *op);

/* Short, failed, in parts, or no transfer. */
bool transfer_look(struct iobuf *buf, struct opstat *stat, struct io_op *op) __attribute__((cold));

/* ---- an operation of the io layer becomes a record of a trace ---- */

/*
 * On the worker's thread, once it is complete: op->end_ns is set, offset and length are those of
 * the whole. is_async: it was handed over to an engine that gives it back later.
 *
 * A file that is opened gets a number of the ring, in file->trace, and loses it when it is closed;
 * what has none brings its path each time. What names a file (an open, a rename) always does. An
 * open has the file's size where its caller knows it. Nothing is recorded of what was not begun.
 */
void io_trace(struct trace_ring *ring, struct io_op *op, bool is_async);
