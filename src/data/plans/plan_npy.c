/* SPDX-License-Identifier: Apache-2.0 */
/* plan_npy.c - numpy.load(file) of an npy file, call by call, and of its labels after it. */
#include "data/file/file.h"
#include "data/formats/formats.h"

/*
 * Python opens the file and reads the header through its buffer of one block (file.h). The array
 * itself is read by C's stdio, from a stream of its own over a copy of the descriptor
 * (numpy.fromfile; NumPy 1.24, glibc 2.36):
 *
 * - Going to the array asks for what lies before it in its block; going there
 *   once more asks for the whole block. Where it begins with a block neither
 *   reads anything.
 * - fread takes what the block holds of the array; then, in one call, the
 *   whole blocks of the rest; then one block more for what remains.
 *
 * Every call waits for the one before it. The copy of the descriptor has no open and no close here,
 * it never reaches the filesystem.
 */
enum { BLOCK = PYFILE_BLOCK, MAGIC_BYTES = 6 };

#define CALL_MAX PYFILE_CALL_MAX

enum { OPEN, STAT, MAGIC, HEADER, AGAIN, BEFORE, WHOLE, DATA, CLOSED };

static void npy_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)p;
	(void)shape;
	(void)x; /* the array is read whole, whichever sample is wanted */
}

static void next_data(struct plan *p, struct plan_op *op)
{
	uint64_t left = p->end - p->off;

	op->op = MLGEN_READ;
	op->off = p->off;
	op->len_bytes = left < BLOCK ? BLOCK : left - left % BLOCK;
	if (op->len_bytes > CALL_MAX)
		op->len_bytes = CALL_MAX;
	p->off += op->len_bytes;
}

/* A label file that is no array is read by plan_next. */
static unsigned arrays_of(const struct dataset *ds)
{
	return ds->labels ? 1 : ds->parts;
}

/* From the last operation of one part to before the first of the next. */
static void turn_to_next_part(struct plan *p)
{
	if (p->has + 1 == arrays_of(p->config->dataset))
		return;
	p->has++;
	p->step = OPEN;
}

/* The file is open, so that p->shape is its. */
static void begin_file(struct plan *p)
{
	uint64_t header = npy_data_off(&p->shape);

	pyfile_open(&p->python, p->file_bytes);
	p->off = header;
	p->end = header + npy_data_bytes(&p->shape);
}

/* What lies before the array in its block, or all of it: false = nothing. */
static bool go_to_array(struct plan *p, struct plan_op *op, bool is_whole)
{
	uint64_t before = p->off % BLOCK;

	op->op = MLGEN_READ;
	op->off = p->off - before;
	op->len_bytes = is_whole ? BLOCK : before;
	if (is_whole && before)
		p->off += BLOCK - before;
	return before > 0;
}

/* The next step; whether it is an operation. */
static bool take_step(struct plan *p, struct plan_op *op)
{
	unsigned step = p->step++;

	if (step == MAGIC) {
		pyfile_read(&p->python, MAGIC_BYTES);
		return false;
	}
	if (step == HEADER) {
		pyfile_seek(&p->python, 0);
		pyfile_read(&p->python, p->off);
		return false;
	}
	if (step == BEFORE || step == WHOLE)
		return go_to_array(p, op, step == WHOLE);
	op->op = step == OPEN ? MLGEN_OPEN : MLGEN_STAT;
	op->part = p->has;
	if (step == STAT)
		begin_file(p);
	return true;
}

static bool npy_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	for (;;) {
		op->op = MLGEN_READ;
		if (pyfile_next(&p->python, &op->off, &op->len_bytes))
			return true;
		if (p->step >= DATA)
			break;
		op->off = op->len_bytes = 0;
		if (take_step(p, op))
			return true;
	}
	if (p->step == CLOSED)
		return false;
	if (p->off < p->end) {
		next_data(p, op);
		return true;
	}
	op->op = MLGEN_CLOSE;
	p->step = CLOSED;
	turn_to_next_part(p);
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
	const struct dataset *ds = p->config->dataset;
	struct file_shape shape;

	if (!plan_whole_file.next(p, op)) {
		if (p->has + 1 >= arrays_of(ds))
			return false;
		p->has++;
		format_shape(ds, p->has * ds->files + p->extent.file, &shape);
		p->file_bytes = format_file_bytes(ds->format, &shape);
		p->step = 0;
		plan_whole_file.init(p, &shape, &p->extent);
		if (!plan_whole_file.next(p, op))
			return false;
	}
	op->part = p->has;
	return true;
}

static void direct_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
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
