/* SPDX-License-Identifier: Apache-2.0 */
/* plan_pillow.c - Image.open(file) of JPEG and PNG files, call by call. */
#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats.h"

/* ---- Image.open(file).load() of a JPEG file ---- */

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

/* ---- numpy.asarray(Image.open(file)) of a PNG file ---- */

/*
 * Pillow goes through the chunks from the beginning, over Python's buffer of one block (file.h),
 * and never back but from its first look at the file: all that is small takes a block after the
 * other. Of the image it asks for 64 KiB at a time, or for what the chunk still has (Pillow 9.4,
 * CPython 3.11). It ends at the head of IEND.
 */
enum { AT_A_TIME = 65536, SMALL = 1024, PREFIX_BYTES = 16 };

enum {
	PNG_OPEN,
	PNG_STAT,
	PREFIX,
	BEFORE,
	LARGE,
	BEHIND,
	IMAGE,
	NEXT_CHUNK,
	PNG_CLOSE,
	PNG_CLOSED
};

static struct png_layout *png_of(struct plan *p)
{
	_Static_assert(sizeof(struct png_layout) <= PLAN_OWN_BYTES, "a plan has no room for it");
	return (struct png_layout *)(void *)p->own;
}

/* p->end: of the chunk of the image that is being read. */
static void begin_chunk(struct plan *p, uint64_t off)
{
	uint64_t behind = png_of(p)->end_off - PNG_END_BYTES - 4; /* its CRC */
	uint64_t bytes = png_of(p)->data_bytes;

	p->off = off;
	p->end = bytes ? u64_min(off + bytes, behind) : behind;
	p->end = u64_max(p->end, off);
}

static void png_init_plan(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)x;
	png_layout(shape, png_of(p));
	pyfile_open(&p->python, p->file_bytes);
}

/* One more of many small reads up to there: false when it is there. */
static bool advance(struct plan *p, uint64_t to)
{
	uint64_t at = pyfile_tell(&p->python);

	if (at >= to)
		return false;
	pyfile_read(&p->python, u64_min(to - at, SMALL));
	return true;
}

static void read_image(struct plan *p)
{
	uint64_t n = u64_min(AT_A_TIME, p->end - p->off);

	pyfile_read(&p->python, n);
	p->off += n;
	if (p->off == p->end)
		p->step = NEXT_CHUNK;
}

/* CRC, and the head of the next chunk, of the image or the end. */
static void read_next_head(struct plan *p)
{
	uint64_t next = p->end + PNG_CHUNK_BYTES;

	pyfile_read(&p->python, PNG_CHUNK_BYTES);
	p->step = PNG_CLOSE;
	if (next >= png_of(p)->end_off - PNG_END_BYTES)
		return;
	begin_chunk(p, next);
	p->step = IMAGE;
}

/* What Pillow asks of the file next. */
static void take_step(struct plan *p)
{
	if (p->step == PREFIX) {
		pyfile_read(&p->python, PREFIX_BYTES);
		p->step++;
	} else if (p->step == BEFORE) {
		if (!advance(p, u64_min(png_of(p)->large_off, png_of(p)->data_off)))
			p->step++;
	} else if (p->step == LARGE) {
		pyfile_read(&p->python, png_of(p)->large_bytes);
		p->step++;
	} else if (p->step == BEHIND) {
		if (advance(p, png_of(p)->data_off))
			return;
		begin_chunk(p, png_of(p)->data_off);
		p->step++;
	} else if (p->step == IMAGE) {
		read_image(p);
	} else {
		read_next_head(p);
	}
}

static bool png_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	for (;;) {
		op->op = MLGEN_READ;
		if (pyfile_next(&p->python, &op->off, &op->len_bytes))
			return true;
		if (p->step < PREFIX || p->step >= PNG_CLOSE)
			break;
		take_step(p);
	}
	if (p->step == PNG_CLOSED)
		return false;
	op->op = p->step == PNG_OPEN ? MLGEN_OPEN : p->step == PNG_STAT ? MLGEN_STAT : MLGEN_CLOSE;
	p->step++;
	return true;
}

/* A chunk before the image may be as large as the file. */
static uint64_t png_largest_read(const struct plan_config *config)
{
	return config->dataset->scan ? UINT64_MAX : AT_A_TIME;
}

const struct plan_kind plan_png = {
	.init = png_init_plan,
	.next = png_next,
	.largest_read = png_largest_read,
};
