/* SPDX-License-Identifier: Apache-2.0 */
/* iobuf.h - a worker's buffer, and how the operations under way share it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "io/io.h"

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

/* Point what is left of a transfer at where it goes: io.off and io.len_bytes become those of the
 * rest, or of as much as goes into one call. */
void iobuf_aim_rest(struct iobuf *b, struct io_op *op) __attribute__((cold));

/* A slot, of which there is one: preferably of its kind. */
static inline unsigned iobuf_take_slot(struct iobuf *b, const struct io_op *op)
{
	bool moves = op->io.op == MLGEN_READ || op->io.op == MLGEN_WRITE;
	struct iobuf_slots *from = &b->others;

	if (from->count == 0 || (moves && b->transfers.count))
		from = &b->transfers;
	return from->slot[--from->count];
}

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
