/* SPDX-License-Identifier: Apache-2.0 */
/* parquet.h - where the parts of a Parquet file lie. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "data/file/dataset.h"
#include "data/formats/parquet/columns.h"
#include "stat/sizes.h"

/*
 * All files of a dataset are alike, and so are the row groups of a file:
 * magic bytes; row groups, each with a chunk of every column; the footer, its length and the magic
 * bytes again. A chunk is pages, each a header and values, nothing else: columns are flat and
 * required, so there are no levels.
 */
enum {
	PARQUET_MAGIC_BYTES = 4,
	PARQUET_TAIL_BYTES = 8, /* length of the footer, magic bytes */
	/* Room for a page header, or for a piece of the footer. */
	PARQUET_PIECE_MAX = 512,
};

/* A column's part of a row group. */
struct parquet_chunk {
	uint64_t off; /* from the beginning of the row group */
	uint64_t bytes;
	uint64_t value_bytes; /* as stored: int8 is 4 */
	uint64_t page_values; /* of all pages but the last ... */
	uint64_t last_values; /* ... and of that one */
	uint64_t pages;
	size_t head_bytes, last_head_bytes; /* headers of the pages */
};

/* What all files have in common: ds->common. */
struct parquet {
	struct columns columns;
	struct parquet_chunk *chunks; /* one for each column */
	uint64_t groups;              /* row groups of a file */
	uint64_t group_rows, group_bytes;
	uint64_t footer_off, footer_bytes; /* without the tail */
	uint64_t file_bytes;
	unsigned *reads; /* the columns that are read, in the file's order */
	unsigned read_count;
	uint64_t row_read_bytes;           /* declared, of a row */
	struct sizes read_sizes;           /* of a row group's reads, and ... */
	uint64_t read_bytes, largest_read; /* ... their bytes in all, at most */
};

/* Declared bytes of the columns that are read of a row. */
uint64_t parquet_read_bytes(const struct dataset *ds);

/* Header of a page of a chunk, into PARQUET_PIECE_MAX bytes: its length. */
size_t parquet_page_header(const struct parquet_chunk *c, uint64_t page, uint8_t *to);

/* The footer and its tail in pieces, the same way; then its length, which the last piece says. */
uint64_t parquet_footer_pieces(const struct parquet *p);
size_t parquet_footer_piece(const struct parquet *p, uint64_t piece, uint8_t *to);
uint64_t parquet_footer_bytes(const struct parquet *p);
