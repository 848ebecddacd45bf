/* SPDX-License-Identifier: Apache-2.0 */
/* plan_numpy.c - numpy.load of npz and npy files, call by call, followed by their labels. */
#include "data/plans/plans_internal.h"

#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats.h"

/* ---- requests of Python's zipfile that read a member of an archive ---- */

/* ZipExtFile.MIN_READ_SIZE */
#define MIN_READ 4096u

void zipread_open(struct zipread *z, const struct zip_member *member)
{
	*z = (struct zipread){ .member = *member, .at = member->header_off };
}

/* Read `bytes` at the position of the member; ZipFile.open() reads three pieces before the data. */
static void zipread_fetch(struct zipread *z, struct pyfile *f, uint64_t bytes)
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

/* Hand bytes to the current read and buffer the rest. */
static void deliver(struct zipread *z, uint64_t bytes)
{
	if (bytes > z->want)
		z->ready = bytes - z->want;
	z->want -= u64_min(bytes, z->want);
}

/* Read at least MIN_READ bytes, or the rest. Returns the number of requested bytes. */
static uint64_t zipread_request(struct zipread *z, struct pyfile *f, uint64_t bytes)
{
	uint64_t left = z->member.stored_bytes - z->taken;

	bytes = u64_min(u64_max(bytes, MIN_READ), left);
	if (bytes == 0)
		return 0;
	zipread_fetch(z, f, bytes);
	z->taken += bytes;
	return bytes;
}

/* Return v x by / of, computed in 128 bits. */
static uint64_t in_proportion(uint64_t v, uint64_t by, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)v * by / of) : 0;
}

bool zipread_more(struct zipread *z, struct pyfile *f)
{
	while (z->want && z->member.is_deflated) {
		/* ZipExtFile._read1, called once. Stored bytes that were read but not inflated yet,
		 * because no read wanted them, are inflated first. */
		const struct zip_member *m = &z->member;
		uint64_t used = in_proportion(z->plain, m->stored_bytes, m->plain_bytes);
		uint64_t tail = z->taken > used ? z->taken - used : 0;
		uint64_t requested = 0, most, out;

		if (z->want > tail)
			requested = zipread_request(z, f, z->want - tail);
		most = in_proportion(z->taken, m->plain_bytes, m->stored_bytes);
		out = most > z->plain ? most - z->plain : 0;
		out = u64_min(out, u64_max(z->want, MIN_READ));
		if (requested == 0 && out == 0)
			requested = zipread_request(z, f, MIN_READ);
		z->plain += out;
		deliver(z, out);
		if (requested == 0 && out == 0)
			z->want = 0;
		if (requested > 0)
			return true;
	}
	if (z->want == 0)
		return false;
	uint64_t got = zipread_request(z, f, z->want);
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
 * - NumPy reads an array of an archive in chunks of 256 KiB, or less to have
 *   a whole number of elements.
 * - zipfile (plans_internal.h) opens the member twice: once to check that it is an
 *   array, once to read it.
 * - The file object has a buffer of one block (file.h).
 *
 * The steps below are the program of NumPy and zipfile. Each step is one call, which makes no, one
 * or several reads. Every call waits for the previous one. NumPy reads at the file's position and
 * moves it with lseek(2); here each read has its offset.
 */
enum {
	BLOCK = PYFILE_BLOCK,
	CHUNK = 262144,
	MAGIC_BYTES = 6,     /* magic of an array */
	VERSION_BYTES = 8,   /* magic and version */
	COMMENT_MAX = 65536, /* zipfile searches this much for the end record */
};

enum {
	OPEN,
	STAT,
	MAGIC, /* archive or array? */
	/* The end record: read until the end of the file. */
	END_STAT,
	END_READ,
	COMMENT_STAT,
	COMMENT_READ,
	LOCATOR,
	END64,
	DIRECTORY,
	/* The member: its magic first, then again from its start. */
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

/* State of the plan: the layout of the archive, and the open member. */
struct numpy {
	struct npz_array npz;
	struct zipread zip;
};

static struct numpy *numpy_of(struct plan *p)
{
	_Static_assert(sizeof(struct numpy) <= PLAN_OWN_BYTES, "a plan has no room for it");
	return (struct numpy *)(void *)p->own;
}

/* Bytes of a chunk, which has whole elements. */
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

/* Skip chunks that numpy_skip has counted; from the second chunk on, all are alike. */
static void jump(struct plan *p, uint64_t chunks)
{
	uint64_t bytes = chunks * CHUNK;

	p->python.raw += bytes;
	numpy_of(p)->zip.at += bytes;
	numpy_of(p)->zip.taken += bytes;
	p->off += bytes;
	p->jump = 0;
}

/* Start the requests of the current step. */
static void begin_step(struct plan *p)
{
	const struct npz_array *a = &numpy_of(p)->npz;
	struct zipread *z = &numpy_of(p)->zip;
	struct pyfile *f = &p->python;
	uint64_t before = COMMENT_MAX + ZIP_END_BYTES, bytes;
	unsigned length_bytes = a->has_long_header ? 4 : 2;

	switch (p->step) {
	case MAGIC:
		pyfile_read(f, MAGIC_BYTES); /* numpy.load seeks back afterwards */
		break;
	/* ZipFile(): find and read the directory. */
	case END_READ:
		pyfile_seek_end(f, p->file_bytes - ZIP_END_BYTES);
		pyfile_read_all(f);
		break;
	case COMMENT_READ:
		pyfile_seek(f, p->file_bytes > before ? p->file_bytes - before : 0);
		pyfile_read_all(f);
		break;
	case LOCATOR:
		pyfile_seek_end(f, a->end_off - ZIP_LOCATOR_BYTES);
		pyfile_read(f, ZIP_LOCATOR_BYTES);
		break;
	case END64:
		pyfile_seek_end(f, a->end_off - ZIP_LOCATOR_BYTES - ZIP_END64_BYTES);
		pyfile_read(f, ZIP_END64_BYTES);
		break;
	case DIRECTORY:
		pyfile_seek(f, a->dir_off);
		pyfile_read(f, a->dir_bytes);
		break;
	/* ZipFile.open() */
	case FIRST_HEAD:
	case HEAD:
		zipread_open(z, &a->member);
		zipread_fetch(z, f, ZIP_LOCAL_BYTES);
		break;
	case FIRST_NAME:
	case NAME:
		zipread_fetch(z, f, a->member.name_bytes);
		break;
	case FIRST_EXTRA:
	case EXTRA:
		zipread_fetch(z, f, a->member.extra_bytes);
		break;
	/* The array in the member. */
	case FIRST_MAGIC:
		zipread_read(z, MAGIC_BYTES);
		break;
	case VERSION:
		zipread_read(z, VERSION_BYTES);
		break;
	case LENGTH:
		zipread_read(z, length_bytes);
		break;
	case HEADER:
		zipread_read(z, a->header_bytes - VERSION_BYTES - length_bytes);
		break;
	default: /* DATA */
		if (p->off)
			jump(p, p->jump);
		bytes = u64_min(chunk_bytes(a), p->end - p->off);
		p->off += bytes;
		zipread_read(z, bytes);
	}
}

/* Go to the next step of this archive. */
static void next_step(struct plan *p)
{
	p->step++;
	while (is_left_out(&numpy_of(p)->npz, p->step))
		p->step++;
}

/* Run steps until one of them makes a call. */
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
		if (p->step == OPEN || p->step == STAT || p->step == END_STAT ||
		    p->step == COMMENT_STAT || p->step == CLOSE) {
			op->op = p->step == OPEN    ? MLGEN_OPEN
				 : p->step == CLOSE ? MLGEN_CLOSE
						    : MLGEN_STAT;
			next_step(p);
			return true;
		}
		begin_step(p);
		if (p->step != DATA)
			next_step(p);
	}
}

/*
 * Chunks that begin and end in the middle of a stored array are counted at once: the buffer is in
 * the same state before and after each, so their reads are alike. The first chunk is simulated on a
 * copy of the plan, to see the state of the buffer.
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

/* Scanned files may have directories and elements of any size. */
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
 * - The seek to the array reads the bytes before it in its block; a second
 *   seek reads the whole block. If the array begins with a block, neither
 *   reads anything.
 * - fread takes the array's bytes from that block; then it reads, in one call,
 *   the whole blocks of the rest; then one more block for the remainder.
 *
 * Every call waits for the previous one. The copy of the descriptor has no open and no close here,
 * since it never reaches the filesystem.
 */

#define CALL_MAX PYFILE_CALL_MAX

enum { NPY_OPEN, NPY_STAT, NPY_MAGIC, NPY_HEADER, AGAIN, BEFORE, WHOLE, NPY_DATA, NPY_CLOSED };

static void npy_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)p;
	(void)shape;
	(void)x; /* the array is read whole, whichever sample is wanted */
}

/* Number of files that are arrays; plan_next reads label files of other kinds. */
static unsigned arrays_of(const struct dataset *ds)
{
	return ds->labels ? 1 : ds->parts;
}

/* Seek to the array: read the bytes before it in its block, or the whole block. False: no read. */
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

/* Run the next step. Returns true if the step made a call, which is in `op`. */
static bool npy_step(struct plan *p, struct plan_op *op)
{
	switch (p->step++) {
	case NPY_MAGIC:
		pyfile_read(&p->python, MAGIC_BYTES);
		return false;
	case NPY_HEADER:
		pyfile_seek(&p->python, 0);
		pyfile_read(&p->python, p->off);
		return false;
	case BEFORE:
		return go_to_array(p, op, false);
	case WHOLE:
		return go_to_array(p, op, true);
	case NPY_STAT: /* the file is open, so p->shape is that of this part */
		op->op = MLGEN_STAT;
		op->part = p->has;
		pyfile_open(&p->python, p->file_bytes);
		p->off = npy_data_off(&p->shape);
		p->end = p->off + npy_data_bytes(&p->shape);
		return true;
	case NPY_OPEN:
		op->op = MLGEN_OPEN;
		op->part = p->has;
		return true;
	default: /* AGAIN: the second stat */
		op->op = MLGEN_STAT;
		op->part = p->has;
		return true;
	}
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
		if (npy_step(p, op))
			return true;
	}
	if (p->step == NPY_CLOSED)
		return false;
	if (p->off < p->end) {
		uint64_t left = p->end - p->off;

		op->op = MLGEN_READ;
		op->off = p->off;
		op->len_bytes = left < BLOCK ? BLOCK : u64_min(left - left % BLOCK, CALL_MAX);
		p->off += op->len_bytes;
		return true;
	}
	op->op = MLGEN_CLOSE;
	p->step = NPY_CLOSED;
	if (p->has + 1 != arrays_of(p->config->dataset)) {
		p->has++;
		p->step = NPY_OPEN;
	}
	return true;
}

static uint64_t npy_largest_read(const struct plan_config *config)
{
	(void)config;
	return CALL_MAX;
}

/* The calls of plan_whole_file, repeated for the label file. */
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
