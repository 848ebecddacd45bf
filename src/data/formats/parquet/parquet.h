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
 * Parquet: columns, pages and row groups. A writer without a library, and a look into the footers
 * of others. What is here is for the plan of PyArrow's reads, and for pages that are unpacked.
 */

/* ---- What columns= and read_columns= of a table say ---- */

/* Of a table, and the letters of a name; more is taken for a mistake. */
#define COLUMNS_MAX 10000
#define COLUMN_NAME_MAX 255

enum column_kind {
	COLUMN_INT8,
	COLUMN_INT32,
	COLUMN_INT64,
	COLUMN_FLOAT16,
	COLUMN_FLOAT32,
	COLUMN_FLOAT64,
	COLUMN_BYTES, /* one value that is `bytes` long; no text says so */
};

struct column {
	char *name; /* owned */
	enum column_kind kind;
	bool is_list;
	bool is_read;
	uint64_t bytes; /* in a row, as declared: int8 is 1; 1 .. INT32_MAX */
};

struct columns {
	struct column *list; /* in the order of the text */
	unsigned count;
	struct column **by_name;
};

/*
 * "NAME:TYPE,NAME:TYPE[N]", with blanks around the commas or none: a column each, or one for each
 * number of a range ("feature_000..026:float32"). Into a zeroed struct; all are read. 0, or -EINVAL
 * with err ("columns: ..."); the struct wants columns_fini either way.
 */
int columns_parse(struct columns *c, const char *text, struct mlgen_err *err);
/* The same for no text: "data", so many bytes in a row. */
int columns_one(struct columns *c, uint64_t bytes, struct mlgen_err *err);
void columns_fini(struct columns *c);

/* Only those are read whose names or ranges stand in the text; NULL is all.
 * 0, or -EINVAL with err ("read_columns: ..."). */
int columns_select(struct columns *c, const char *text, struct mlgen_err *err);

/* Declared bytes of a row, and those of the columns that are read. */
uint64_t columns_row_bytes(const struct columns *c);
uint64_t columns_read_bytes(const struct columns *c);

/* ---- Where the parts of a Parquet file lie ---- */

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

/*
 * What a scan puts down about a Parquet file: its row groups, and the chunks that are read of
 * them.
 */

/*
 * From the footer alone: chunks of columns of any type, nested or not, with whatever pages and
 * compression; their bytes are those on disk. Words, row group by row group in the order of the
 * footer: the rows up to its end, then place and bytes of each chunk that is read. Groups without a
 * row are left out.
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
	PARQUET_GROUP_ROWS, /* of each row group; 0 = they differ */
	PARQUET_CHUNKS,     /* that are read of each */
	PARQUET_FOOTER_OFF,
	PARQUET_FOOTER_BYTES, /* without the tail */
	PARQUET_GROUPS,
	PARQUET_GROUPS_BEFORE, /* where files or groups differ: in all files */
};

/* The row group that has a row; and its chunks, two words each. */
uint64_t parquet_found_group(const struct file_shape *shape, uint64_t row);
const uint64_t *parquet_found_chunks(const struct file_shape *shape, uint64_t group);

/* format->look, found_range, found_extent and found_init. */
int parquet_look(struct look *l);
void parquet_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
			 uint64_t *len);
void parquet_found_extent(const struct file_shape *shape, uint64_t n, uint64_t *first,
			  uint64_t *samples);

/* ---- The header of a page of somebody else's Parquet file, in memory ---- */

struct parquet_page {
	size_t head_bytes;
	/* Behind it: so many that are never compressed (levels), then these. */
	uint64_t level_bytes, stored_bytes;
	uint64_t raw_bytes; /* that come of stored_bytes */
	bool is_packed;     /* ... if the chunk has a codec */
};

/* At `at`, of which `bytes` are there: false, it is none, or not all of it. */
bool parquet_page_read(struct parquet_page *p, const uint8_t *at, size_t bytes);
