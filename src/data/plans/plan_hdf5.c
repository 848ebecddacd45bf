/* SPDX-License-Identifier: Apache-2.0 */
/* plan_hdf5.c - h5py.File(file)['records'][k], call by call. */
#include "config.h"
#include "data/file/file.h"
#include "data/formats/hdf5/hdf5.h"

/*
 * h5py opens the file for each sample, as DLIO does. The metadata reads were observed from libhdf5:
 * generated files have the same reads for every shape, and scanned files have their own (hdf5.h).
 * libhdf5 reads a sample in one call. A small sample goes through its sieve buffer: libhdf5 reads
 * on until the buffer is full or the dataset ends. The file is closed before that data is used. In
 * chunked files libhdf5 reads the index until it finds a chunk, then the whole chunk, and repeats.
 *
 * The first stat is that of the open file. The second one is by name, lstat(2) to detect a symbolic
 * link, at the end of H5Fopen(). flock(2) is left out.
 */
enum { STEP_OPEN, STEP_STAT, STEP_METADATA };

/* Values of p->has: the remaining calls after the metadata. */
enum { REST_READ, REST_CLOSE, REST_DONE };

/* Bytes that one read of a sample transfers, if `left` bytes remain. */
static uint64_t sieved(uint64_t len, uint64_t left, uint64_t sieve_bytes)
{
	if (len > sieve_bytes)
		return len;
	return left < sieve_bytes ? left : sieve_bytes;
}

static void set_read(struct plan_op *op, uint64_t off, uint64_t bytes)
{
	op->op = MLGEN_READ;
	op->off = off;
	op->len_bytes = bytes;
}

/* The read, if that is still to be done, then the close. */
static bool next_of_one(struct plan *p, struct plan_op *op)
{
	if (p->has == REST_DONE)
		return false;
	if (p->has == REST_READ)
		set_read(op, p->off, p->end - p->off);
	else
		op->op = MLGEN_CLOSE;
	p->has++;
	return true;
}

#ifdef HAVE_HDF5

/* Chunked: p->off .. p->end are words of steps, p->jump is the word of the next chunk. */
static void scanned_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	struct hdf5_index f;
	uint64_t row, len;

	hdf5_index_unpack(&f, shape);
	if (f.is_chunked) {
		row = x->first_sample / f.row_samples;
		hdf5_index_steps(&f, row, &p->off, &p->end);
		p->jump = hdf5_index_chunk(&f, row);
		return;
	}
	hdf5_index_range(shape, x->first_sample, x->samples, &p->off, &len);
	p->end = p->off + sieved(len, f.end - p->off, f.sieve_bytes);
	if (f.is_compact)
		p->has = REST_CLOSE;
}

/* Get the next read; chunks and steps without bytes are skipped. */
static bool next_of_chunks(struct plan *p, const struct hdf5_index *f, struct plan_op *op)
{
	while (p->off < p->end) {
		const uint64_t *step = f->words + p->off;
		const uint64_t *chunk = f->words + p->jump;

		p->off += 2;
		if (step[1]) {
			set_read(op, step[0], step[1]);
			return true;
		}
		p->jump += 2;
		if (chunk[1]) {
			/* Read the whole chunk, or only the sample if libhdf5 does not cache the
			 * chunk. */
			uint64_t len = f->chunk_bytes / f->row_samples;
			uint64_t off = p->extent.first_sample % f->row_samples * len;

			if (f->is_direct)
				set_read(op, chunk[0] + off, len);
			else
				set_read(op, chunk[0], chunk[1]);
			op->packed = f->is_filtered ? PLAN_DEFLATE : PLAN_RAW;

			return true;
		}
	}
	return false;
}

static unsigned found_root(const struct plan *p)
{
	struct hdf5_index f;

	hdf5_index_unpack(&f, &p->shape);
	return (unsigned)f.root_count;
}

static bool found_next(struct plan *p, unsigned step, struct plan_op *op)
{
	struct hdf5_index f;

	hdf5_index_unpack(&f, &p->shape);
	if (step < f.read_count) {
		set_read(op, f.words[2 * step], f.words[2 * step + 1]);
		return true;
	}
	if (f.is_chunked && p->has == REST_READ) {
		if (next_of_chunks(p, &f, op))
			return true;
		p->has = REST_CLOSE;
	}
	return next_of_one(p, op);
}

#else

static void scanned_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)p;
	(void)shape;
	(void)x;
}

static unsigned found_root(const struct plan *p)
{
	(void)p;
	return 0;
}

static bool found_next(struct plan *p, unsigned step, struct plan_op *op)
{
	(void)p;
	(void)step;
	(void)op;
	return false;
}

#endif

static void hdf5_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	const struct hdf5_image *im = shape->common;
	uint64_t len;

	if (shape->facts) {
		scanned_init(p, shape, x);
		return;
	}
	format_sample_range(p->config->dataset->format, shape, x->first_sample, x->samples, &p->off,
			    &len);
	p->end = p->off + sieved(len, p->file_bytes - p->off, im->sieve_bytes);
}

static bool hdf5_next(struct plan *p, struct plan_op *op)
{
	const struct hdf5_image *im = p->shape.common;
	/* The second stat follows the reads of the superblock and root group. */
	unsigned root_reads = p->shape.facts ? found_root(p) : (unsigned)im->root_count;
	unsigned step = p->step++, link = STEP_METADATA + root_reads;

	op->after = true;
	if (step < STEP_METADATA || step == link) {
		op->op = step == STEP_OPEN ? MLGEN_OPEN : MLGEN_STAT;
		return true;
	}
	step -= step > link ? STEP_METADATA + 1u : STEP_METADATA;
	if (p->shape.facts)
		return found_next(p, step, op);
	if (step >= im->read_count)
		return next_of_one(p, op);
	set_read(op, im->reads[step].off, im->reads[step].len_bytes);
	return true;
}

static uint64_t hdf5_largest_read(const struct plan_config *config)
{
	(void)config;
	return UINT64_MAX;
}

const struct plan_kind plan_hdf5 = {
	.init = hdf5_init,
	.next = hdf5_next,
	.largest_read = hdf5_largest_read,
};
