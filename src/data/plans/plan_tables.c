/* SPDX-License-Identifier: Apache-2.0 */
/* plan_tables.c - calls of pandas.read_csv(file), and of pyarrow read_row_group of some columns. */
#include "data/file/file.h"
#include "data/formats/parquet/parquet.h"

/* ---- pandas ---- */

/*
 * The parser asks for 256 KiB of text at a time. Python's text file passes that on to the file, and
 * repeats until it has that much or a read is empty; the parser ends when it gets nothing (pandas
 * 1.5, CPython 3.11; text of one byte a letter). So there are two empty reads if the last chunk is
 * not full, and one if it is. DLIO reads the whole file, whichever row it needs.
 */
#define CHUNK 262144u

enum { OPEN, STAT, READ, CLOSE, CLOSED };

static void pandas_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)shape;
	(void)x;
	p->end = p->file_bytes;
}

/* The last call before the close is an empty read of a whole chunk. */
static bool pandas_next(struct plan *p, struct plan_op *op)
{
	uint64_t left = p->end - p->off;

	if (p->step == CLOSED)
		return false;
	op->after = true;
	if (p->step != READ) {
		op->op = p->step == OPEN ? MLGEN_OPEN : p->step == STAT ? MLGEN_STAT : MLGEN_CLOSE;
		p->step++;
		return true;
	}
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
	return true;
}

/* Count all whole chunks. */
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
 * pyarrow's ParquetFile reads the last 64 KiB of the file, and then the whole footer again if it
 * did not fit. read_row_group, which DLIO calls without pre_buffer, reads the chunk of each column
 * in a request of its own. The requests follow one after the other, even if the chunks are
 * adjacent.
 *
 * DLIO keeps the footer of a file for the epoch, so it is read once for all row groups. Here row
 * groups are shuffled over the threads: each opens and closes the file itself, and the footer is
 * read with the first row group of its file.
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

/* Layout of the current file. Generated files are all alike; the layout of a scanned file comes
 * from its footer (parquet.h). */
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

static bool is_footer_longer(uint64_t footer_bytes)
{
	return footer_bytes + PARQUET_TAIL_BYTES > FIRST_READ_BYTES;
}

/* p->off .. p->end are the columns still to be read in row group p->jump. */
static void arrow_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	const struct parquet *f = shape->common;

	p->end = arrow_file_of(p).reads;
	p->jump = shape->facts ? parquet_index_group(shape, x->first_sample)
			       : x->first_sample / f->group_rows;
}

static void read_column(struct plan *p, struct plan_op *op)
{
	uint64_t column = p->off++;

	op->op = MLGEN_READ;
	if (p->shape.facts) {
		const uint64_t *chunk = parquet_index_chunks(&p->shape, p->jump) + 2 * column;
		unsigned codec = parquet_chunk_codec(chunk);

		op->off = chunk[0];
		op->len_bytes = parquet_chunk_bytes(chunk);
		op->packed = codec == PARQUET_CODEC_NONE   ? PLAN_RAW
			     : codec == PARQUET_CODEC_ZSTD ? PLAN_ZSTD_PAGES
							   : PLAN_PAGES;
	} else {
		const struct parquet *f = p->shape.common;
		const struct parquet_chunk *c = &f->chunks[f->reads[column]];

		op->off = PARQUET_MAGIC_BYTES + p->jump * f->group_bytes + c->off;
		op->len_bytes = c->bytes;
	}
}

static bool arrow_next(struct plan *p, struct plan_op *op)
{
	const struct arrow_file f = arrow_file_of(p);

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
		op->op = MLGEN_READ;
		op->len_bytes = u64_min(p->file_bytes, FIRST_READ_BYTES);
		op->off = p->file_bytes - op->len_bytes;
		p->step = is_footer_longer(f.footer_bytes) ? STEP_FOOTER_AGAIN : STEP_CHUNKS;
		return true;
	case STEP_FOOTER_AGAIN:
		op->op = MLGEN_READ;
		op->len_bytes = f.footer_bytes;
		op->off = f.footer_off;
		p->step = STEP_CHUNKS;
		return true;
	case STEP_CHUNKS:
		if (p->off < p->end) {
			read_column(p, op);
		} else {
			op->op = MLGEN_CLOSE;
			p->step = STEP_CLOSED;
		}
		return true;
	default:
		return false;
	}
}

/* Count all columns at once: row groups of generated files are all alike. */
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

	if (!f)
		return UINT64_MAX;
	uint64_t most = is_footer_longer(f->footer_bytes) ? f->footer_bytes : FIRST_READ_BYTES;
	return u64_max(most, f->largest_read);
}

const struct plan_kind plan_parquet = {
	.init = arrow_init,
	.next = arrow_next,
	.skip = arrow_skip,
	.largest_read = arrow_largest_read,
};
