/* SPDX-License-Identifier: Apache-2.0 */
/* plan_pillow.c - Image.open(file).load() of a JPEG file, call by call. */
#include "data/file/file.h"

/*
 * Pillow hands its decoder 64 KiB at a time, from the file's beginning, until the image is
 * complete; it does not look for the file's end. Below it is Python's buffer of one block
 * (st_blksize, 4096 bytes), which the file's header has filled: a read takes what is left in it;
 * then, in one call, the whole blocks of the rest; where that falls short of the 64 KiB, it asks
 * again for the whole blocks that are missing, one at least, and gets nothing. (Pillow 9.4, CPython
 * 3.11.)
 */
enum { BLOCK = 4096, CHUNK = 65536 };

enum { OPEN, STAT, HEAD, DATA, CLOSE, CLOSED };

static void pillow_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)shape;
	(void)x;
	p->off = p->file_bytes < BLOCK ? p->file_bytes : BLOCK;
	p->end = p->file_bytes;
}

/* What is missing of the chunk that p->off lies in. */
static void next_data(struct plan *p, struct plan_op *op)
{
	uint64_t left = CHUNK - p->off % CHUNK;

	op->op = MLGEN_READ;
	op->off = p->off;
	op->len_bytes = left < BLOCK ? BLOCK : left - left % BLOCK;
	if (p->off == p->end)
		p->step = CLOSE;
	p->off += op->len_bytes;
	if (p->off > p->end)
		p->off = p->end;
	if (p->off == p->end && p->off % CHUNK == 0)
		p->step = CLOSE;
}

static bool pillow_next(struct plan *p, struct plan_op *op)
{
	static const enum mlgen_op calls[] = {
		[OPEN] = MLGEN_OPEN,
		[STAT] = MLGEN_STAT,
		[HEAD] = MLGEN_READ,
		[CLOSE] = MLGEN_CLOSE,
	};

	if (p->step == CLOSED)
		return false;
	op->after = true;
	if (p->step == DATA) {
		next_data(p, op);
		return true;
	}
	op->op = calls[p->step];
	op->len_bytes = p->step == HEAD ? BLOCK : 0;
	p->step++;
	return true;
}

/* All chunks but the first and what follows the last whole one. */
static void pillow_skip(struct plan *p, struct plan_counts *c)
{
	uint64_t chunks = p->end / CHUNK;
	uint64_t n = chunks > 1 ? chunks - 1 : 0;

	c->ops[MLGEN_READ] += n;
	sizes_add(&c->reads, CHUNK, n);
	c->io_bytes += n * CHUNK;
	p->off += n * CHUNK;
}

static uint64_t pillow_largest_read(const struct plan_config *config)
{
	(void)config;
	return CHUNK;
}

const struct plan_kind plan_pillow = {
	.init = pillow_init,
	.next = pillow_next,
	.skip = pillow_skip,
	.largest_read = pillow_largest_read,
};
