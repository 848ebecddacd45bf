/* SPDX-License-Identifier: Apache-2.0 */
/* plan_tables.c - pandas.read_csv(file) of a text and pyarrow's read_row_group of some columns,
 * call by call. */
#include "data/file/file.h"
#include "data/formats/parquet/parquet.h"

/* ---- pandas ---- */

/*
 * The parser asks for 256 KiB of text at a time, which Python's text file asks of the file, and
 * goes on until it has as much, or nothing comes; it ends when it gets nothing (pandas 1.5, CPython
 * 3.11; text of one byte a letter). So there are two empty reads where the last chunk is not full,
 * and one where it is. The file is read whole, whichever row is wanted, as DLIO does.
 */
#define CHUNK 262144u

enum { OPEN, STAT, READ, CLOSE, CLOSED };

static void pandas_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)shape;
	(void)x;
	p->end = p->file_bytes;
}

/* From p->off on; it ends behind an empty read of a whole chunk. */
static void next_chunk(struct plan *p, struct plan_op *op)
{
	uint64_t left = p->end - p->off;

	op->op = MLGEN_READ;
	op->off = p->off;
	op->len_bytes = CHUNK;
	if (p->has) {
		op->len_bytes = CHUNK - p->has;
		p->has = 0;
	} else if (left == 0) {
		p->step = CLOSE;
	} else if (left < CHUNK) {
		p->has = (unsigned)left;
		p->off = p->end;
	} else {
		p->off += CHUNK;
	}
}

static bool pandas_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	if (p->step == READ) {
		next_chunk(p, op);
		return true;
	}
	if (p->step == CLOSED)
		return false;
	op->op = p->step == OPEN ? MLGEN_OPEN : p->step == STAT ? MLGEN_STAT : MLGEN_CLOSE;
	p->step++;
	return true;
}

/* All chunks but what follows the last whole one. */
static void pandas_skip(struct plan *p, struct plan_counts *c)
{
	uint64_t n = p->end / CHUNK;

	c->ops[MLGEN_READ] += n;
	sizes_add(&c->reads, CHUNK, n);
	c->io_bytes += n * CHUNK;
	p->off = n * CHUNK;
}

static uint64_t pandas_largest_read(const struct plan_config *config)
{
	(void)config;
	return CHUNK;
}

const struct plan_kind plan_pandas = {
	.init = pandas_init,
	.next = pandas_next,
	.skip = pandas_skip,
	.largest_read = pandas_largest_read,
};

/* ---- pyarrow ---- */

/*
 * pyarrow's ParquetFile asks for the last 64 KiB of the file, and for the footer once more, whole,
 * where that was not all of it. read_row_group (without pre_buffer, which is how DLIO calls it)
 * reads the chunk of each column in one request, one after the other, also where they lie side by
 * side.
 *
 * DLIO keeps the footer of a file for the epoch, so it is read once however many row groups follow.
 * Row groups are shuffled over the threads here: each opens and closes the file by itself, and the
 * footer is read with the first one of its file.
 */
#define FIRST_READ_BYTES 65536

enum {
	STEP_OPEN,
	STEP_STAT,
	STEP_FOOTER,
	STEP_FOOTER_AGAIN,
	STEP_CHUNKS,
	STEP_CLOSED,
};

/* A file that is made is like all others; one that was found is as its footer says
 * (parquet.h). */
struct arrow_file {
	uint64_t footer_off, footer_bytes;
	uint64_t reads;
};

static struct arrow_file arrow_file_of(const struct plan *p)
{
	const struct parquet *f = p->shape.common;
	const uint64_t *facts = p->shape.facts;

	if (facts)
		return (struct arrow_file){
			.footer_off = facts[PARQUET_FOOTER_OFF],
			.footer_bytes = facts[PARQUET_FOOTER_BYTES],
			.reads = facts[PARQUET_CHUNKS],
		};
	return (struct arrow_file){ .footer_off = f->footer_off,
				    .footer_bytes = f->footer_bytes,
				    .reads = f->read_count };
}

static bool is_footer_longer(const struct arrow_file *f)
{
	return f->footer_bytes + PARQUET_TAIL_BYTES > FIRST_READ_BYTES;
}

/* p->off and p->end count the columns that are still to be read of the row group p->jump. */
static void arrow_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	const struct parquet *f = shape->common;

	p->end = arrow_file_of(p).reads;
	p->jump = shape->facts ? parquet_found_group(shape, x->first_sample)
			       : x->first_sample / f->group_rows;
}

static void read_footer(struct plan *p, struct plan_op *op)
{
	const struct arrow_file f = arrow_file_of(p);

	op->op = MLGEN_READ;
	if (p->step == STEP_FOOTER) {
		op->len_bytes = p->file_bytes < FIRST_READ_BYTES ? p->file_bytes : FIRST_READ_BYTES;
		op->off = p->file_bytes - op->len_bytes;
		p->step = is_footer_longer(&f) ? STEP_FOOTER_AGAIN : STEP_CHUNKS;
	} else {
		op->len_bytes = f.footer_bytes;
		op->off = f.footer_off;
		p->step = STEP_CHUNKS;
	}
}

static enum plan_packed packed_by(unsigned codec)
{
	if (codec == PARQUET_CODEC_NONE)
		return PLAN_RAW;
	return codec == PARQUET_CODEC_ZSTD ? PLAN_ZSTD_PAGES : PLAN_PAGES;
}

static void read_chunk(struct plan *p, struct plan_op *op)
{
	uint64_t column = p->off++;

	op->op = MLGEN_READ;
	if (p->shape.facts) {
		const uint64_t *chunk = parquet_found_chunks(&p->shape, p->jump) + 2 * column;

		op->off = chunk[0];
		op->len_bytes = parquet_chunk_bytes(chunk);
		op->packed = packed_by(parquet_chunk_codec(chunk));
	} else {
		const struct parquet *f = p->shape.common;
		const struct parquet_chunk *c = &f->chunks[f->reads[column]];

		op->off = PARQUET_MAGIC_BYTES + p->jump * f->group_bytes + c->off;
		op->len_bytes = c->bytes;
	}
}

static bool arrow_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	switch (p->step) {
	case STEP_OPEN:
		op->op = MLGEN_OPEN;
		p->step = p->extent.first_sample == 0 ? STEP_STAT : STEP_CHUNKS;
		return true;
	case STEP_STAT:
		op->op = MLGEN_STAT;
		p->step = STEP_FOOTER;
		return true;
	case STEP_FOOTER:
	case STEP_FOOTER_AGAIN:
		read_footer(p, op);
		return true;
	case STEP_CHUNKS:
		if (p->off < p->end) {
			read_chunk(p, op);
		} else {
			op->op = MLGEN_CLOSE;
			p->step = STEP_CLOSED;
		}
		return true;
	default:
		return false;
	}
}

/* All row groups of files that are made are alike. */
static void arrow_skip(struct plan *p, struct plan_counts *c)
{
	const struct parquet *f = p->shape.common;

	if (!f)
		return;
	c->ops[MLGEN_READ] += f->read_count;
	sizes_merge(&c->reads, &f->read_sizes);
	c->io_bytes += f->read_bytes;
	p->off = p->end;
}

static uint64_t arrow_largest_read(const struct plan_config *config)
{
	const struct parquet *f = config->dataset->common;
	uint64_t most;

	if (!f)
		return UINT64_MAX;
	most = f->footer_bytes + PARQUET_TAIL_BYTES > FIRST_READ_BYTES ? f->footer_bytes
								       : FIRST_READ_BYTES;
	return most > f->largest_read ? most : f->largest_read;
}

const struct plan_kind plan_parquet = {
	.init = arrow_init,
	.next = arrow_next,
	.skip = arrow_skip,
	.largest_read = arrow_largest_read,
};
