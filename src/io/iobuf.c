/* SPDX-License-Identifier: Apache-2.0 */
/* iobuf.c - a worker's buffer, and how the operations under way share it. */
#include "io/iobuf.h"

#include "base/mem.h"

/*
 * One engine operation moves at most 1 GiB and 1024 parts: Linux cuts a transfer at 2 GiB less a
 * page and refuses more parts (UIO_MAXIOV).
 */
#define ONE_CALL_BYTES (1ull << 30)
#define ONE_CALL_PARTS 1024ull
/* Part lists of all slots of a deep queue: 1 MiB, at least 16 parts each. */
#define ALL_PARTS 65536ull
#define LEAST_PARTS 16ull

#define SLICE_BYTES 4096ull /* slices are multiples of it */

static uint64_t parts_of_slot(uint64_t span_bytes, unsigned slots)
{
	uint64_t parts = ALL_PARTS / slots;

	if (parts < LEAST_PARTS)
		parts = LEAST_PARTS;
	if (parts > ONE_CALL_PARTS)
		parts = ONE_CALL_PARTS;
	if (parts > ONE_CALL_BYTES / span_bytes)
		parts = ONE_CALL_BYTES / span_bytes;
	return parts;
}

/* In one part. */
static void aim_at(struct io_op *op, void *at, uint64_t bytes)
{
	op->iov.iov_base = at;
	op->iov.iov_len = (size_t)bytes;
	op->io.iov = &op->iov;
	op->io.iovcnt = 1;
	op->io.len_bytes = bytes;
}

/* It repeats over the buffer. */
static void aim_parts(struct iobuf *b, struct io_op *op, uint64_t skip, uint64_t rest)
{
	struct iovec *parts = &b->parts[op->slot * b->slot_parts];
	uint64_t moved = 0, n = 0;

	for (; n < b->slot_parts && moved < rest; n++, skip = 0) {
		uint64_t len = b->span_bytes - skip;

		if (len > rest - moved)
			len = rest - moved;
		parts[n].iov_base = b->base + skip;
		parts[n].iov_len = (size_t)len;
		moved += len;
	}
	op->io.iov = parts;
	op->io.iovcnt = (int)n;
	op->io.len_bytes = moved;
}

/* The caller's own parts: as they are, then what is left of them. */
static void aim_from(struct iobuf *b, struct io_op *op, uint64_t rest)
{
	struct iovec *parts = &b->parts[op->slot * b->slot_parts];
	const struct iovec *from = op->from;
	uint64_t skip = op->done_bytes, moved = 0, n = 0;

	if (skip == 0) {
		op->io.iov = from;
		op->io.iovcnt = (int)op->from_parts;
		op->io.len_bytes = rest;
		return;
	}
	for (; skip >= from->iov_len; from++)
		skip -= from->iov_len;
	for (; n < b->slot_parts && moved < rest; n++, from++, skip = 0) {
		parts[n].iov_base = (unsigned char *)from->iov_base + skip;
		parts[n].iov_len = from->iov_len - (size_t)skip;
		moved += parts[n].iov_len;
	}
	op->io.iov = parts;
	op->io.iovcnt = (int)n;
	op->io.len_bytes = moved;
}

void iobuf_init(struct iobuf *b, uint64_t bytes, unsigned depth, unsigned transfers)
{
	uint64_t span = bytes < ONE_CALL_BYTES ? bytes : ONE_CALL_BYTES;
	unsigned slices = transfers ? transfers : 1;

	*b = (struct iobuf){
		.span_bytes = span,
		.slice_bytes = bytes / slices / SLICE_BYTES * SLICE_BYTES,
		.slices = slices,
		.slot_parts = parts_of_slot(span, depth + 1),
	};
	if (b->slice_bytes > span)
		b->slice_bytes = span;
	b->parts = mem_array((depth + 1) * b->slot_parts, sizeof(*b->parts));
	b->transfers.slot = mem_array(transfers, sizeof(unsigned));
	b->others.slot = mem_array(depth - transfers, sizeof(unsigned));
	for (unsigned i = depth; i > 0; i--)
		iobuf_give_slot(b, i - 1);
}

void iobuf_fini(struct iobuf *b)
{
	mem_free(b->parts);
	mem_free(b->transfers.slot);
	mem_free(b->others.slot);
	*b = (struct iobuf){ 0 };
}

void iobuf_aim_rest(struct iobuf *b, struct io_op *op)
{
	uint64_t rest = op->want_bytes - op->done_bytes;
	uint64_t skip = op->done_bytes ? op->done_bytes % b->span_bytes : 0;

	op->is_cut = true;
	op->io.off = op->first_off + op->done_bytes;
	if (op->from)
		aim_from(b, op, rest);
	else if (op->into)
		aim_at(op, (unsigned char *)op->into + op->done_bytes,
		       rest < ONE_CALL_BYTES ? rest : ONE_CALL_BYTES);
	else if (rest > b->span_bytes - skip)
		aim_parts(b, op, skip, rest);
	else
		aim_at(op, iobuf_at(b, op) + skip, rest);
}
