/* SPDX-License-Identifier: Apache-2.0 */
/* plan_npy.c - numpy.load(file) of an npy file, call by call, and of its labels after it. */
#include "data/plan.h"

#include "base/util.h"

/*
 * Python opens the file and reads the header through its buffer of one block
 * (st_blksize, 4096 bytes). The array itself is read by C's stdio, from a
 * stream of its own over a copy of the descriptor (numpy.fromfile; NumPy 1.24,
 * glibc 2.36):
 *
 * - Going to the array, which starts at byte 128, asks for what lies before
 *   it in the block; going there once more asks for the whole block.
 * - fread takes what the block holds of the array; then, in one call, the
 *   whole blocks of the rest; then one block more for what remains.
 *
 * Every call waits for the one before it. The copy of the descriptor has no
 * open and no close here, it never reaches the filesystem.
 */
enum { BLOCK = 4096, HEADER = 128 };

/* The kernel transfers no more in one call. */
#define CALL_MAX UINT64_C(2147479552)

struct step {
	enum mlgen_op op;
	uint64_t len_bytes; /* READ: from the beginning */
};

static const struct step steps[] = {
	{ MLGEN_OPEN, 0 }, { MLGEN_STAT, 0 },      { MLGEN_READ, BLOCK },
	{ MLGEN_STAT, 0 }, { MLGEN_READ, HEADER }, { MLGEN_READ, BLOCK },
};

#define STEPS ARRAY_LEN(steps)

static void npy_init(struct plan *p, const struct file_shape *shape,
		     const struct extent *x)
{
	(void)shape;
	(void)x; /* the array is read whole, whichever sample is wanted */
	p->off = BLOCK;
}

static void next_data(struct plan *p, struct plan_op *op)
{
	uint64_t left = p->file_bytes - p->off;

	op->op = MLGEN_READ;
	op->off = p->off;
	op->len_bytes = left < BLOCK ? BLOCK : left - left % BLOCK;
	if (op->len_bytes > CALL_MAX)
		op->len_bytes = CALL_MAX;
	p->off += op->len_bytes;
}

/* From the last operation of one part to before the first of the next. */
static void turn_to_next_part(struct plan *p)
{
	if (p->has + 1 == p->config->dataset->parts)
		return;
	p->has++;
	p->step = 0;
	p->off = BLOCK;
}

static bool npy_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	if (p->step < STEPS) {
		op->op = steps[p->step].op;
		op->len_bytes = steps[p->step++].len_bytes;
		op->part = p->has;
	} else if (p->off < p->file_bytes) {
		next_data(p, op);
	} else if (p->step++ == STEPS) {
		op->op = MLGEN_CLOSE;
		turn_to_next_part(p);
	} else {
		return false;
	}
	return true;
}

static uint64_t npy_largest_read(const struct plan_config *config)
{
	(void)config;
	return CALL_MAX;
}

/* plan_whole_file, and again for the label. */
static bool direct_next(struct plan *p, struct plan_op *op)
{
	struct file_shape shape = p->shape;

	if (!plan_whole_file.next(p, op)) {
		if (p->has + 1 >= p->config->dataset->parts)
			return false;
		shape.part = ++p->has;
		p->file_bytes =
			format_file_bytes(p->config->dataset->format, &shape);
		p->step = 0;
		plan_whole_file.init(p, &shape, &p->extent);
		if (!plan_whole_file.next(p, op))
			return false;
	}
	op->part = p->has;
	return true;
}

static void direct_init(struct plan *p, const struct file_shape *shape,
			const struct extent *x)
{
	plan_whole_file.init(p, shape, x);
}

static uint64_t direct_largest_read(const struct plan_config *config)
{
	return plan_whole_file.largest_read(config);
}

const struct plan_kind plan_npy = {
	.init = npy_init,
	.next = npy_next,
	.largest_read = npy_largest_read,
};

const struct plan_kind plan_npy_direct = {
	.init = direct_init,
	.next = direct_next,
	.largest_read = direct_largest_read,
};
