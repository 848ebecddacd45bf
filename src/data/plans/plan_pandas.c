/* SPDX-License-Identifier: Apache-2.0 */
/* plan_pandas.c - pandas.read_csv(file) of a text, call by call. */
#include "data/file/file.h"

/*
 * The parser asks for 256 KiB of text at a time, which Python's text file asks of the file, and
 * goes on until it has as much, or nothing comes; it ends when it gets nothing (pandas 1.5, CPython
 * 3.11; text of one byte a letter). So there are two empty reads where the last chunk is not full,
 * and one where it is. The file is read whole, whichever row is wanted, as DLIO does.
 */
#define CHUNK 262144u

enum { OPEN, STAT, READ, CLOSE, CLOSED };

static void pandas_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)shape;
	(void)x;
	p->end = p->file_bytes;
}

/* From p->off on; it ends behind an empty read of a whole chunk. */
static void next_chunk(struct plan *p, struct plan_op *op)
{
	uint64_t left = p->end - p->off;

	op->op = MLGEN_READ;
	op->off = p->off;
	op->len_bytes = CHUNK;
	if (p->has) {
		op->len_bytes = CHUNK - p->has;
		p->has = 0;
	} else if (left == 0) {
		p->step = CLOSE;
	} else if (left < CHUNK) {
		p->has = (unsigned)left;
		p->off = p->end;
	} else {
		p->off += CHUNK;
	}
}

static bool pandas_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	if (p->step == READ) {
		next_chunk(p, op);
		return true;
	}
	if (p->step == CLOSED)
		return false;
	op->op = p->step == OPEN ? MLGEN_OPEN : p->step == STAT ? MLGEN_STAT : MLGEN_CLOSE;
	p->step++;
	return true;
}

/* All chunks but what follows the last whole one. */
static void pandas_skip(struct plan *p, struct plan_counts *c)
{
	uint64_t n = p->end / CHUNK;

	c->ops[MLGEN_READ] += n;
	sizes_add(&c->reads, CHUNK, n);
	c->io_bytes += n * CHUNK;
	p->off = n * CHUNK;
}

static uint64_t pandas_largest_read(const struct plan_config *config)
{
	(void)config;
	return CHUNK;
}

const struct plan_kind plan_pandas = {
	.init = pandas_init,
	.next = pandas_next,
	.skip = pandas_skip,
	.largest_read = pandas_largest_read,
};
