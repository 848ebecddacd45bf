/* SPDX-License-Identifier: Apache-2.0 */
/* plan_numpy.c - numpy.load(file)['x'] of an npz file, call by call. */
#include "data/npz.h"
#include "base/util.h"
#include "data/plan.h"

/*
 * Three layers of Python lie between NumPy and read(2), and the sizes follow
 * from them (NumPy 1.24, CPython 3.11; derived from their sources, compared
 * with strace in t/func/60-framework.sh):
 *
 * - NumPy takes an array of an archive in chunks of 256 KiB.
 * - zipfile asks for at least 4096 bytes at a time, and it opens the member
 *   twice: once to see that it is an array, once to read it.
 * - The file object has a buffer of one block (st_blksize, 4096 bytes). A
 *   read takes what is left in it; then, in one call, the whole blocks of the
 *   rest; then one block more into the buffer for what remains. A seek within
 *   what is left costs nothing, any other empties the buffer.
 *
 * Every call waits for the one before it. NumPy reads at the file's position
 * and moves that with lseek(2); here each read has its offset.
 */
enum {
	BLOCK = 4096,
	CHUNK = 262144,
	/* Of a member, what the first block of the file holds. */
	IN_BLOCK = BLOCK - NPZ_LOCAL_BYTES,
};

/* What some files have and others do not. */
enum {
	END64 = 1, /* a zip64 end record */
	MORE = 2,  /* x.npy goes on behind the first block when it is opened */
	AGAIN = 4, /* ... so that block has left the buffer by the second time */
};

enum from { START, DIRECTORY, END };

struct step {
	enum mlgen_op op;
	enum from from;
	uint64_t before; /* READ: so far before it, or after the start */
	uint64_t len_bytes;
	unsigned needs;
};

/* All that comes before the array's data. */
static const struct step steps[] = {
	{ .op = MLGEN_OPEN },
	{ .op = MLGEN_STAT },
	/* Archive or array? */
	{ MLGEN_READ, START, 0, BLOCK, 0 },
	/* The end record: read until there is no more, with a byte to spare
	 * over the size that stat told. */
	{ .op = MLGEN_STAT },
	{ MLGEN_READ, END, NPZ_END_BYTES, NPZ_END_BYTES + 1, 0 },
	{ MLGEN_READ, END, 0, 1, 0 },
	/* A zip64 locator before it? */
	{ MLGEN_READ, END, NPZ_END_BYTES + NPZ_LOCATOR_BYTES, BLOCK, 0 },
	{ MLGEN_READ, END, NPZ_END_BYTES + NPZ_LOCATOR_BYTES + NPZ_END64_BYTES,
	  BLOCK, END64 },
	{ MLGEN_READ, DIRECTORY, 0, BLOCK, 0 },
	/* x.npy: the magic bytes, then from its beginning again. */
	{ MLGEN_READ, START, 0, BLOCK, 0 },
	{ MLGEN_READ, START, BLOCK, BLOCK, MORE },
	{ MLGEN_READ, START, 0, BLOCK, AGAIN },
	{ MLGEN_READ, START, BLOCK, BLOCK, MORE },
};

#define STEPS ARRAY_LEN(steps)

static void numpy_init(struct plan *p, const struct file_shape *shape,
		       const struct extent *x)
{
	const struct npz_layout l = npz_layout(shape);

	(void)x; /* the array is read whole, whichever sample is wanted */
	p->dir_off = l.dir_off;
	p->off = 2 * BLOCK;
	p->end = NPZ_LOCAL_BYTES + l.x_bytes;
	p->has = (l.has_end64 ? END64 : 0) | (l.x_bytes > IN_BLOCK ? MORE : 0) |
		 /* All of it used up counts as left, too. */
		 (l.x_bytes >= IN_BLOCK ? AGAIN : 0);
}

static void take_step(const struct plan *p, const struct step *s,
		      struct plan_op *op)
{
	op->op = s->op;
	op->len_bytes = s->len_bytes;
	if (s->from == END)
		op->off = p->file_bytes - s->before;
	else
		op->off = (s->from == DIRECTORY ? p->dir_off : 0) + s->before;
}

/*
 * What the buffer has read ends at a block, and a chunk of the array ends
 * NPZ_HEAD_BYTES behind a multiple of CHUNK: so the place in the file says
 * which chunk is being read.
 */
static void next_data(struct plan *p, struct plan_op *op)
{
	uint64_t chunks = (p->off + CHUNK - 1) / CHUNK;
	uint64_t until = NPZ_HEAD_BYTES + chunks * CHUNK;
	uint64_t left = (until < p->end ? until : p->end) - p->off;

	op->op = MLGEN_READ;
	op->off = p->off;
	op->len_bytes = left < BLOCK ? BLOCK : left - left % BLOCK;
	p->off += op->len_bytes;
}

static bool numpy_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	while (p->step < STEPS && (steps[p->step].needs & ~p->has))
		p->step++;
	if (p->step < STEPS)
		take_step(p, &steps[p->step++], op);
	else if (p->off < p->end)
		next_data(p, op);
	else if (p->step++ == STEPS)
		op->op = MLGEN_CLOSE;
	else
		return false;
	return true;
}

/* From the second chunk on each is the same two reads, but the last. */
static void numpy_skip(struct plan *p, struct plan_counts *c)
{
	uint64_t chunks = (p->end - NPZ_HEAD_BYTES) / CHUNK;
	uint64_t n = chunks > 1 ? chunks - 1 : 0;

	c->ops[MLGEN_READ] += 2 * n;
	sizes_add(&c->reads, CHUNK - BLOCK, n);
	sizes_add(&c->reads, BLOCK, n);
	c->io_bytes += n * CHUNK;
	p->off += n * CHUNK;
}

static uint64_t numpy_largest_read(const struct plan_config *config)
{
	(void)config;
	return CHUNK - BLOCK;
}

const struct plan_kind plan_numpy = {
	.init = numpy_init,
	.next = numpy_next,
	.skip = numpy_skip,
	.largest_read = numpy_largest_read,
};
