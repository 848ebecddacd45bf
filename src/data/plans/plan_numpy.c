/* SPDX-License-Identifier: Apache-2.0 */
/* plan_numpy.c - numpy.load(file)[name] of an npz file, call by call. */
#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats.h"
#include "data/plans/plans_internal.h"

/*
 * Three layers of Python lie between NumPy and read(2), and the sizes follow from them (NumPy 1.24,
 * CPython 3.11; derived from their sources, compared with strace in t/func/peers/60-framework.sh
 * and 130-scan-numpy.sh):
 *
 * - NumPy takes an array of an archive in chunks of 256 KiB, less where no
 *   whole number of elements is as many.
 * - zipfile (plans_internal.h) opens the member twice: once to see that it is an
 *   array, once to read it.
 * - The file object has a buffer of one block (file.h).
 *
 * What is below is the program of the first two, in their words; each step is one call, of which
 * come none, one or several reads. Every call waits for the one before it. NumPy reads at the
 * file's position and moves that with lseek(2); here each read has its offset.
 */
enum {
	BLOCK = PYFILE_BLOCK,
	CHUNK = 262144,
	MAGIC_BYTES = 6,     /* of an array */
	VERSION_BYTES = 8,   /* ... with its version */
	COMMENT_MAX = 65536, /* zipfile looks for the end record there */
};

enum {
	OPEN,
	STAT,
	MAGIC, /* archive or array? */
	/* The end record: read until there is no more. */
	END_STAT,
	END_READ,
	COMMENT_STAT,
	COMMENT_READ,
	LOCATOR,
	END64,
	DIRECTORY,
	/* The member: its magic, then from its beginning again. */
	FIRST_HEAD,
	FIRST_NAME,
	FIRST_EXTRA,
	FIRST_MAGIC,
	HEAD,
	NAME,
	EXTRA,
	VERSION,
	LENGTH,
	HEADER,
	DATA, /* once per chunk */
	CLOSE,
	CLOSED,
};

/* The archive, the member that is open, and how many chunks of it have been counted already. */
struct numpy {
	struct npz_array npz;
	struct zipread zip;
};

static struct numpy *numpy_of(struct plan *p)
{
	_Static_assert(sizeof(struct numpy) <= PLAN_OWN_BYTES, "a plan has no room for it");
	return (struct numpy *)(void *)p->own;
}

/* Whole elements. */
static uint64_t chunk_bytes(const struct npz_array *a)
{
	return CHUNK / u64_min(CHUNK, a->item_bytes) * a->item_bytes;
}

static void numpy_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)x; /* the array is read whole, whichever sample is wanted */
	npz_array(shape, &numpy_of(p)->npz);
	pyfile_open(&p->python, p->file_bytes);
	p->end = numpy_of(p)->npz.data_bytes;
}

static bool is_left_out(const struct npz_array *a, unsigned step)
{
	switch (step) {
	case COMMENT_STAT:
	case COMMENT_READ:
		return !a->has_comment;
	case END64:
		return !a->has_locator;
	case FIRST_EXTRA:
	case EXTRA:
		return a->member.extra_bytes == 0;
	default:
		return false;
	}
}

static enum mlgen_op operation_of(unsigned step)
{
	return step == OPEN ? MLGEN_OPEN : step == CLOSE ? MLGEN_CLOSE : MLGEN_STAT;
}

static bool is_operation(unsigned step)
{
	return step == OPEN || step == STAT || step == END_STAT || step == COMMENT_STAT ||
	       step == CLOSE;
}

/* ZipFile(): where the directory is, and what is in it. */
static void begin_archive(struct plan *p, unsigned step)
{
	const struct npz_array *a = &numpy_of(p)->npz;
	struct pyfile *f = &p->python;
	uint64_t before = COMMENT_MAX + ZIP_END_BYTES;

	if (step == MAGIC) {
		pyfile_read(f, MAGIC_BYTES); /* and back */
	} else if (step == END_READ) {
		pyfile_seek_end(f, p->file_bytes - ZIP_END_BYTES);
		pyfile_read_all(f);
	} else if (step == COMMENT_READ) {
		pyfile_seek(f, p->file_bytes > before ? p->file_bytes - before : 0);
		pyfile_read_all(f);
	} else if (step == LOCATOR) {
		pyfile_seek_end(f, a->end_off - ZIP_LOCATOR_BYTES);
		pyfile_read(f, ZIP_LOCATOR_BYTES);
	} else if (step == END64) {
		pyfile_seek_end(f, a->end_off - ZIP_LOCATOR_BYTES - ZIP_END64_BYTES);
		pyfile_read(f, ZIP_END64_BYTES);
	} else {
		pyfile_seek(f, a->dir_off);
		pyfile_read(f, a->dir_bytes);
	}
}

/* ZipFile.open() */
static void begin_member(struct plan *p, unsigned step)
{
	const struct zip_member *m = &numpy_of(p)->npz.member;

	if (step == FIRST_HEAD || step == HEAD) {
		zipread_open(&numpy_of(p)->zip, m);
		zipread_head(&numpy_of(p)->zip, &p->python, ZIP_LOCAL_BYTES);
	} else {
		zipread_head(&numpy_of(p)->zip, &p->python,
			     step == FIRST_NAME || step == NAME ? m->name_bytes : m->extra_bytes);
	}
}

/* From the second chunk on they are alike: so many have been counted. */
static void jump(struct plan *p, uint64_t chunks)
{
	uint64_t bytes = chunks * CHUNK;

	p->python.raw += bytes;
	numpy_of(p)->zip.at += bytes;
	numpy_of(p)->zip.taken += bytes;
	p->off += bytes;
	p->jump = 0;
}

static void begin_array(struct plan *p, unsigned step)
{
	const struct npz_array *a = &numpy_of(p)->npz;
	unsigned length_bytes = a->has_long_header ? 4 : 2;
	uint64_t bytes;

	if (step == FIRST_MAGIC) {
		bytes = MAGIC_BYTES;
	} else if (step == VERSION) {
		bytes = VERSION_BYTES;
	} else if (step == LENGTH) {
		bytes = length_bytes;
	} else if (step == HEADER) {
		bytes = a->header_bytes - VERSION_BYTES - length_bytes;
	} else {
		if (p->off)
			jump(p, p->jump);
		bytes = u64_min(chunk_bytes(a), p->end - p->off);
		p->off += bytes;
	}
	zipread_read(&numpy_of(p)->zip, bytes);
}

static void begin_step(struct plan *p)
{
	unsigned step = p->step;

	if (step <= DIRECTORY)
		begin_archive(p, step);
	else if ((step >= FIRST_HEAD && step <= FIRST_EXTRA) || (step >= HEAD && step <= EXTRA))
		begin_member(p, step);
	else
		begin_array(p, step);
}

/* Which comes behind the one that is done. */
static void next_step(struct plan *p)
{
	p->step++;
	while (is_left_out(&numpy_of(p)->npz, p->step))
		p->step++;
}

/* One step after the other, until one of them is an operation. */
static bool numpy_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	for (;;) {
		op->op = MLGEN_READ;
		if (pyfile_next(&p->python, &op->off, &op->len_bytes))
			return true;
		if (zipread_more(&numpy_of(p)->zip, &p->python))
			continue;
		if (p->step == DATA && p->off == p->end)
			p->step = CLOSE;
		if (p->step == CLOSED)
			return false;
		if (is_operation(p->step)) {
			op->op = operation_of(p->step);
			next_step(p);
			return true;
		}
		begin_step(p);
		if (p->step != DATA)
			next_step(p);
	}
}

/*
 * All chunks that begin and end in the middle of the array, of a member that is stored: the buffer
 * is the same before each and after it, so that the calls are. The first chunk is read by way of a
 * copy, to see what is in the buffer then.
 */
static void numpy_skip(struct plan *p, struct plan_counts *c)
{
	uint64_t n = p->end / CHUNK;
	struct plan probe = *p;
	struct plan_op op;

	if (n < 4 || chunk_bytes(&numpy_of(p)->npz) != CHUNK || numpy_of(p)->npz.member.is_deflated)
		return;
	n -= 3;
	while (probe.off == 0 && numpy_next(&probe, &op))
		;
	while (pyfile_next(&probe.python, &op.off, &op.len_bytes) ||
	       zipread_more(&numpy_of(&probe)->zip, &probe.python))
		;
	if (numpy_of(&probe)->zip.ready)
		return;
	p->jump = n;
	c->io_bytes += n * CHUNK;
	if (probe.python.have == probe.python.used) {
		c->ops[MLGEN_READ] += n;
		sizes_add(&c->reads, CHUNK, n);
		return;
	}
	c->ops[MLGEN_READ] += 2 * n;
	sizes_add(&c->reads, CHUNK - BLOCK, n);
	sizes_add(&c->reads, BLOCK, n);
}

/* Found files have directories and elements of any size. */
static uint64_t numpy_largest_read(const struct plan_config *config)
{
	return config->dataset->scan ? UINT64_MAX : CHUNK - BLOCK;
}

const struct plan_kind plan_numpy = {
	.init = numpy_init,
	.next = numpy_next,
	.skip = numpy_skip,
	.largest_read = numpy_largest_read,
};
