/* SPDX-License-Identifier: Apache-2.0 */
/* plan_index.c - the calls of DLIO's readers of samples that have index files. */
#include "data/file/file.h"

/*
 * A worker reads the index files once, each array with one readinto(). A sample is an open, one
 * readinto() at its offset, and the close (DLIO reader/indexed_binary_reader.py). Reads that are
 * not larger than Python's buffer of one block (st_blksize, 4096 bytes) go through it and ask for
 * the whole block.
 */
enum { BLOCK = 4096 };

/* Limit of one read(2) in the kernel. */
#define CALL_MAX UINT64_C(2147479552)

enum { OPEN, STAT, READS, CLOSED };

/* Open and stat; read p->off .. p->end; close. False when all calls are made. */
static bool next_of_file(struct plan *p, struct plan_op *op)
{
	uint64_t left = p->end - p->off;

	if (p->step == CLOSED)
		return false;
	op->after = true;
	if (p->step < READS) {
		op->op = p->step++ == OPEN ? MLGEN_OPEN : MLGEN_STAT;
	} else if (left == 0) {
		op->op = MLGEN_CLOSE;
		p->step = CLOSED;
	} else {
		left = left < CALL_MAX ? left : CALL_MAX;
		op->op = MLGEN_READ;
		op->off = p->off;
		op->len_bytes = left < BLOCK ? BLOCK : left;
		p->off += left;
	}
	return true;
}

static uint64_t call_max(const struct plan_config *config)
{
	(void)config;
	return CALL_MAX;
}

static void indexed_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	uint64_t len;

	format_sample_range(p->config->dataset->format, shape, x->first_sample, x->samples, &p->off,
			    &len);
	p->end = p->off + len;
}

/* Start over with this part and store its number in p->has. */
static void begin_part(struct plan *p, unsigned part, bool is_read)
{
	struct file_shape shape = p->shape;

	shape.part = p->has = part;
	p->step = OPEN;
	p->off = 0;
	p->end = is_read ? format_file_bytes(p->config->dataset->format, &shape) : 0;
}

static void indexes_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)shape;
	(void)x;
	begin_part(p, 1, true);
}

static bool indexes_next(struct plan *p, struct plan_op *op)
{
	if (p->step == CLOSED && p->has + 1 < p->config->dataset->parts)
		begin_part(p, p->has + 1, true);
	op->part = p->has;
	return next_of_file(p, op);
}

/* First the indexes, then the samples' file: open, stat, map, close. DLIO maps the indexes, too,
 * and touches all their pages; this plan reads them instead. */
static bool indexes_and_map_next(struct plan *p, struct plan_op *op)
{
	if (p->step == CLOSED && p->has > 0)
		begin_part(p, (p->has + 1) % p->config->dataset->parts,
			   p->has + 1 < p->config->dataset->parts);
	op->part = p->has;
	return next_of_file(p, op);
}

static void mapped_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)p;
	(void)shape;
	(void)x;
}

static bool mapped_next(struct plan *p, struct plan_op *op)
{
	(void)p;
	(void)op;
	return false;
}

const struct plan_kind plan_indexes = {
	.init = indexes_init,
	.next = indexes_next,
	.largest_read = call_max,
};

const struct plan_kind plan_indexed = {
	.init = indexed_init,
	.next = next_of_file,
	.largest_read = call_max,
};

const struct plan_kind plan_map = {
	.init = indexes_init,
	.next = indexes_and_map_next,
	.largest_read = call_max,
};

const struct plan_kind plan_mapped = {
	.init = mapped_init,
	.next = mapped_next,
	.largest_read = call_max,
};
