/* SPDX-License-Identifier: Apache-2.0 */
/* plan_png.c - numpy.asarray(Image.open(file)) of a PNG file, call by call. */
#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats.h"

/*
 * Pillow goes through the chunks from the beginning, over Python's buffer of one block (file.h),
 * and never back but from its first look at the file: all that is small takes a block after the
 * other. Of the image it asks for 64 KiB at a time, or for what the chunk still has (Pillow 9.4,
 * CPython 3.11). It ends at the head of IEND.
 */
enum { AT_A_TIME = 65536, SMALL = 1024, PREFIX_BYTES = 16 };

enum { OPEN, STAT, PREFIX, BEFORE, LARGE, BEHIND, IMAGE, NEXT_CHUNK, CLOSE, CLOSED };

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
	p->step = CLOSE;
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
		if (p->step < PREFIX || p->step >= CLOSE)
			break;
		take_step(p);
	}
	if (p->step == CLOSED)
		return false;
	op->op = p->step == OPEN ? MLGEN_OPEN : p->step == STAT ? MLGEN_STAT : MLGEN_CLOSE;
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
