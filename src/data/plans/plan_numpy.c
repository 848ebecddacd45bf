/* SPDX-License-Identifier: Apache-2.0 */
/* plan_numpy.c - numpy.load of npz and npy files, call by call, and of labels after them. */
#include "data/plans/plans_internal.h"

#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats.h"

/* ---- what Python's zipfile asks of an archive's file when a member is read ---- */

/* ZipExtFile.MIN_READ_SIZE */
#define LEAST 4096u

void zipread_open(struct zipread *z, const struct zip_member *member)
{
	*z = (struct zipread){ .member = *member, .at = member->header_off };
}

/* ZipFile.open() reads three pieces before the data. */
static void zipread_head(struct zipread *z, struct pyfile *f, uint64_t bytes)
{
	pyfile_seek(f, z->at);
	pyfile_read(f, bytes);
	z->at += bytes;
}

void zipread_read(struct zipread *z, uint64_t bytes)
{
	uint64_t now = u64_min(bytes, z->ready);

	z->ready -= now;
	z->want = bytes - now;
}

static void deliver(struct zipread *z, uint64_t bytes)
{
	if (bytes > z->want)
		z->ready = bytes - z->want;
	z->want -= u64_min(bytes, z->want);
}

/* At least LEAST, or what is left: what was asked of the file. */
static uint64_t zipread_take(struct zipread *z, struct pyfile *f, uint64_t bytes)
{
	uint64_t left = z->member.stored_bytes - z->taken;

	bytes = u64_min(u64_max(bytes, LEAST), left);
	if (bytes == 0)
		return 0;
	zipread_head(z, f, bytes);
	z->taken += bytes;
	return bytes;
}

/* v x by / of, in 128 bits. */
static uint64_t in_proportion(uint64_t v, uint64_t by, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)v * by / of) : 0;
}

/* One call of ZipExtFile._read1: whether it asked the file. What was taken and could not be
 * inflated yet, since no more was asked for, comes first. */
static bool more_deflated(struct zipread *z, struct pyfile *f)
{
	const struct zip_member *m = &z->member;
	uint64_t used = in_proportion(z->plain, m->stored_bytes, m->plain_bytes);
	uint64_t tail = z->taken > used ? z->taken - used : 0;
	uint64_t asked = 0, most, out;

	if (z->want > tail)
		asked = zipread_take(z, f, z->want - tail);
	most = in_proportion(z->taken, m->plain_bytes, m->stored_bytes);
	out = most > z->plain ? most - z->plain : 0;
	out = u64_min(out, u64_max(z->want, LEAST));
	if (asked == 0 && out == 0)
		asked = zipread_take(z, f, LEAST);
	z->plain += out;
	deliver(z, out);
	if (asked == 0 && out == 0)
		z->want = 0;
	return asked > 0;
}

bool zipread_more(struct zipread *z, struct pyfile *f)
{
	uint64_t got;

	while (z->want && z->member.is_deflated)
		if (more_deflated(z, f))
			return true;
	if (z->want == 0)
		return false;
	got = zipread_take(z, f, z->want);
	deliver(z, got);
	if (got == 0)
		z->want = 0;
	return got > 0;
}

/* ---- numpy.load(file)[name] of an npz file ---- */

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

/* ---- numpy.load(file) of an npy file ---- */

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

#define CALL_MAX PYFILE_CALL_MAX

enum { NPY_OPEN, NPY_STAT, NPY_MAGIC, NPY_HEADER, AGAIN, BEFORE, WHOLE, NPY_DATA, NPY_CLOSED };

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
	p->step = NPY_OPEN;
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

	if (step == NPY_MAGIC) {
		pyfile_read(&p->python, MAGIC_BYTES);
		return false;
	}
	if (step == NPY_HEADER) {
		pyfile_seek(&p->python, 0);
		pyfile_read(&p->python, p->off);
		return false;
	}
	if (step == BEFORE || step == WHOLE)
		return go_to_array(p, op, step == WHOLE);
	op->op = step == NPY_OPEN ? MLGEN_OPEN : MLGEN_STAT;
	op->part = p->has;
	if (step == NPY_STAT)
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
		if (p->step >= NPY_DATA)
			break;
		op->off = op->len_bytes = 0;
		if (take_step(p, op))
			return true;
	}
	if (p->step == NPY_CLOSED)
		return false;
	if (p->off < p->end) {
		next_data(p, op);
		return true;
	}
	op->op = MLGEN_CLOSE;
	p->step = NPY_CLOSED;
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
