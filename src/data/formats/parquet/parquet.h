/* SPDX-License-Identifier: Apache-2.0 */
/* parquet.h - Parquet files: columns, pages and row groups. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "stat/opstat.h"

/*
 * The format module has a writer that uses no library, and reads the footers of existing files.
 * This header is for the plan of PyArrow's reads and for the unpacking of pages.
 *
 *   row group  rows that are stored together
 *   chunk      one column of a row group
 *   page       a header and some values of a chunk
 *   footer     the description of all chunks, at the end of the file
 */

/* ---- The options columns= and read_columns= of a table ---- */

/* The most columns of a table, and the most letters of a name. More are assumed to be a mistake. */
#define COLUMNS_MAX 10000
#define COLUMN_NAME_MAX 255

enum column_kind {
	COLUMN_INT8,
	COLUMN_INT32,
	COLUMN_INT64,
	COLUMN_FLOAT16,
	COLUMN_FLOAT32,
	COLUMN_FLOAT64,
	COLUMN_BYTES, /* a value of `bytes` bytes; columns= has no name for it */
};

struct column {
	char *name; /* owned */
	enum column_kind kind;
	bool is_list;
	bool is_read;
	uint64_t bytes; /* declared bytes per row: 1 for int8; 1 .. INT32_MAX */
};

struct columns {
	struct column *list; /* ordered as in the text */
	unsigned count;
	struct column **by_name;
};

/*
 * Parse "NAME:TYPE,NAME:TYPE[N]", with or without spaces around the commas, into a zeroed struct.
 * An entry is one column, or one for each number of a range ("feature_000..026:float32"). All
 * columns are read. 0, or -EINVAL with err ("columns: ..."); columns_fini is needed either way.
 */
int columns_parse(struct columns *c, const char *text, struct mlgen_err *err);
/* Set up the default: one column "data" with this many bytes per row. */
int columns_default(struct columns *c, uint64_t bytes, struct mlgen_err *err);
void columns_fini(struct columns *c);

/* Select the columns to be read by names and ranges; NULL = all columns. 0, or -EINVAL with err
 * ("read_columns: ..."). */
int columns_select(struct columns *c, const char *text, struct mlgen_err *err);

/* Declared bytes of a row: in all columns, and in the columns that are read. */
uint64_t columns_row_bytes(const struct columns *c);
uint64_t columns_read_bytes(const struct columns *c);

/* ---- Places of the parts of a Parquet file that mlgen writes ---- */

/*
 * All files of a dataset are alike, and so are the row groups of a file. A file has the magic
 * bytes, the row groups with a chunk of every column, the footer, its length, and the magic bytes
 * again. Columns are flat and required, so pages have no levels.
 */
enum {
	PARQUET_MAGIC_BYTES = 4,
	PARQUET_TAIL_BYTES = 8, /* length of the footer, magic bytes */
	/* Room for a page header, or for a piece of the footer. */
	PARQUET_PIECE_MAX = 512,
};

/* A column's part of a row group. */
struct parquet_chunk {
	uint64_t off; /* counted from the beginning of the row group */
	uint64_t bytes;
	uint64_t value_bytes; /* stored bytes of a value: 4 for int8 */
	uint64_t page_values; /* values of every page but the last ... */
	uint64_t last_values; /* ... and of the last one */
	uint64_t pages;
	size_t head_bytes, last_head_bytes; /* page headers */
};

/* The common part of all files: ds->common. */
struct parquet {
	struct columns columns;
	struct parquet_chunk *chunks; /* columns.count chunks */
	uint64_t groups;              /* row groups of a file */
	uint64_t group_rows, group_bytes;
	uint64_t footer_off, footer_bytes; /* without the tail */
	uint64_t file_bytes;
	unsigned *reads; /* the columns that are read, in the file's order */
	unsigned read_count;
	uint64_t row_read_bytes;           /* declared bytes of a row that are read */
	struct sizes read_sizes;           /* sizes of the reads of a row group ... */
	uint64_t read_bytes, largest_read; /* ... their sum, and the largest */
};

/* Declared bytes of a row in the columns that are read. */
uint64_t parquet_read_bytes(const struct dataset *ds);

/* Write the header of a page into PARQUET_PIECE_MAX bytes. Returns its length. */
size_t parquet_page_header(const struct parquet_chunk *c, uint64_t page, uint8_t *to);

/* ---- Row groups and chunks that a scan finds in a Parquet file ---- */

/*
 * A scan reads only the footer. It handles chunks of columns of any type, nested or not, with any
 * pages and any compression; sizes are those on disk. The words of a file describe the row groups
 * in the order of the footer: for each group the number of rows up to its end, then place and bytes
 * of each chunk that is read. Groups without rows are left out.
 *
 * The highest byte of a chunk's bytes is its codec, 0 = none.
 */
#define PARQUET_CODEC_SHIFT 56
enum { PARQUET_CODEC_NONE = 0, PARQUET_CODEC_GZIP = 2, PARQUET_CODEC_ZSTD = 6 };
static inline uint64_t parquet_chunk_bytes(const uint64_t *chunk)
{
	return chunk[1] & ((UINT64_C(1) << PARQUET_CODEC_SHIFT) - 1);
}
static inline unsigned parquet_chunk_codec(const uint64_t *chunk)
{
	return (unsigned)(chunk[1] >> PARQUET_CODEC_SHIFT);
}

enum {
	PARQUET_GROUP_ROWS, /* rows of every row group; 0 = they differ */
	PARQUET_CHUNKS,     /* chunks that are read of every row group */
	PARQUET_FOOTER_OFF,
	PARQUET_FOOTER_BYTES, /* without the tail */
	PARQUET_GROUPS,
	PARQUET_GROUPS_BEFORE, /* row groups of earlier files, if files or groups differ */
};

/* parquet_index_group returns the row group of a row; parquet_index_chunks returns the chunks of a
 * row group, two words each. */
uint64_t parquet_index_group(const struct file_shape *shape, uint64_t row);
const uint64_t *parquet_index_chunks(const struct file_shape *shape, uint64_t group);

/* Implement look, scanned_range and found_extent of struct format. */
int parquet_look(struct look *l);
void parquet_index_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
			 uint64_t *len);
void parquet_index_extent(const struct file_shape *shape, uint64_t n, uint64_t *first,
			  uint64_t *samples);

/* ---- The header of a page that another program wrote ---- */

struct parquet_page {
	size_t head_bytes;
	/* After the header: levels, which are never compressed, and then the values. */
	uint64_t level_bytes, stored_bytes;
	uint64_t raw_bytes; /* stored_bytes after decompression */
	bool is_packed;     /* the values are compressed if the chunk has a codec */
};

/* Parse a page in memory that begins at `at`; false = the header is damaged, or the page is longer
 * than `bytes`. */
bool parquet_page_read(struct parquet_page *p, const uint8_t *at, size_t bytes);
