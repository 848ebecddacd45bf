/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_look.h - what a scan puts down about a Parquet file: its row groups, and the chunks that
 * are read of them. */
#pragma once

#include "data/file/dataset.h"
#include "data/file/format.h"
#include "data/file/look.h"

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
int parquet_found_init(struct dataset *ds, struct mlgen_err *err);
