/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.h - an operation from its beginning until it needs the engine no more. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/io.h"
#include "io/iobuf.h"
#include "stat/opstat.h"

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

/* Look at what the engine did: true = hand it over once more. */
static inline bool transfer_goes_on(struct iobuf *buf, struct opstat *stat, struct io_op *op)
{
	if (op->io.result != (int64_t)op->want_bytes || op->is_cut || !transfer_moves(op))
		return transfer_look(buf, stat, op);
	op->done_bytes = op->want_bytes;
	transfer_count(stat, op, op->want_bytes);
	return false;
}
