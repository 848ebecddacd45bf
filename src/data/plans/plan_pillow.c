/* SPDX-License-Identifier: Apache-2.0 */
/* plan_pillow.c - Image.open(file) of JPEG and PNG files, call by call. */
#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats.h"

/* ---- Image.open(file).load() of a JPEG file ---- */

/*
 * Pillow gives its decoder 64 KiB at a time, from the file's beginning, until the image is
 * complete; it does not look for the file's end. Reads pass Python's buffer of one block
 * (st_blksize, 4096 bytes), which the file's header has filled. A read of 64 KiB uses the rest of
 * the buffer and then, in one call, reads whole blocks. If these come short, it reads the missing
 * whole blocks, at least one, which is empty. (Pillow 9.4, CPython 3.11.)
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

static bool pillow_next(struct plan *p, struct plan_op *op)
{
	static const enum mlgen_op calls[] = {
		[OPEN] = MLGEN_OPEN,
		[STAT] = MLGEN_STAT,
		[HEAD] = MLGEN_READ,
		[CLOSE] = MLGEN_CLOSE,
	};
	uint64_t left = CHUNK - p->off % CHUNK;

	if (p->step == CLOSED)
		return false;
	op->after = true;
	if (p->step != DATA) {
		op->op = calls[p->step];
		op->len_bytes = p->step == HEAD ? BLOCK : 0;
		p->step++;
		return true;
	}
	/* Read the missing part of the chunk that contains p->off. */
	op->op = MLGEN_READ;
	op->off = p->off;
	op->len_bytes = left < BLOCK ? BLOCK : left - left % BLOCK;
	if (p->off == p->end)
		p->step = CLOSE;
	p->off = u64_min(p->off + op->len_bytes, p->end);
	if (p->off == p->end && p->off % CHUNK == 0)
		p->step = CLOSE;
	return true;
}

/* Count all whole chunks except the first. */
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
 * Pillow parses the chunks in order, through Python's buffer of one block (file.h). It never seeks
 * back, except after its first look at the file, so small chunks are read block by block. Image
 * data is read 64 KiB at a time, or up to the end of the chunk (Pillow 9.4, CPython 3.11). The last
 * read is the head of IEND.
 */
enum { IMAGE_READ = 65536, SMALL = 1024, PREFIX_BYTES = 16 };

enum { PNG_OPEN, PNG_STAT, PREFIX, BEFORE, LARGE, AFTER, IMAGE, NEXT_CHUNK, PNG_CLOSE, PNG_CLOSED };

static struct png_layout *png_of(struct plan *p)
{
	_Static_assert(sizeof(struct png_layout) <= PLAN_OWN_BYTES, "a plan has no room for it");
	return (struct png_layout *)(void *)p->own;
}

/* Go to a chunk of the image; p->off .. p->end is its unread data. */
static void begin_chunk(struct plan *p, uint64_t off)
{
	uint64_t last = png_of(p)->end_off - PNG_END_BYTES - 4; /* the chunk's CRC */
	uint64_t bytes = png_of(p)->data_bytes;

	p->off = off;
	p->end = bytes ? u64_min(off + bytes, last) : last;
	p->end = u64_max(p->end, off);
}

static void png_init_plan(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)x;
	png_layout(shape, png_of(p));
	pyfile_open(&p->python, p->file_bytes);
}

/* Make one of many small reads up to offset `to`. False if the file's offset is already `to`. */
static bool advance(struct plan *p, uint64_t to)
{
	uint64_t at = pyfile_tell(&p->python);

	if (at >= to)
		return false;
	pyfile_read(&p->python, u64_min(to - at, SMALL));
	return true;
}

/* Start the requests of Pillow's next step. */
static void png_step(struct plan *p)
{
	struct png_layout *png = png_of(p);
	struct pyfile *f = &p->python;
	uint64_t n;

	switch (p->step) {
	case PREFIX:
		pyfile_read(f, PREFIX_BYTES);
		p->step++;
		break;
	case BEFORE:
		if (!advance(p, u64_min(png->large_off, png->data_off)))
			p->step++;
		break;
	case LARGE:
		pyfile_read(f, png->large_bytes);
		p->step++;
		break;
	case AFTER:
		if (advance(p, png->data_off))
			break;
		begin_chunk(p, png->data_off);
		p->step++;
		break;
	case IMAGE:
		n = u64_min(IMAGE_READ, p->end - p->off);
		pyfile_read(f, n);
		p->off += n;
		if (p->off == p->end)
			p->step = NEXT_CHUNK;
		break;
	default: /* NEXT_CHUNK: the CRC, and the head of the next image chunk or of IEND */
		pyfile_read(f, PNG_CHUNK_BYTES);
		p->step = PNG_CLOSE;
		if (p->end + PNG_CHUNK_BYTES < png->end_off - PNG_END_BYTES) {
			begin_chunk(p, p->end + PNG_CHUNK_BYTES);
			p->step = IMAGE;
		}
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
		png_step(p);
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
	return config->dataset->scan ? UINT64_MAX : IMAGE_READ;
}

const struct plan_kind plan_png = {
	.init = png_init_plan,
	.next = png_next,
	.largest_read = png_largest_read,
};
