/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5.h - HDF5 files: the look into those of others, and what a plan needs of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"

/*
 * HDF5: a writer without the library, and a look into the files of others with it. What is here is
 * for the plan of h5py's reads.
 */

/* What a scan puts down about an HDF5 file: where samples lie, and the reads that find them. */

/*
 * A sample is one index of the dataset's first axis. Its bytes lie in one piece (contiguous, or
 * compact: within the metadata), or in the chunks of a row: all that have the same place along the
 * first axis, which are read whole, with the samples beside it.
 *
 * Words of a file: the reads of its metadata, two words each, that come with its open and that of
 * the dataset; of chunked ones then place and bytes of every chunk, 0 bytes where there is none;
 * the steps by which chunks are found, two words each, a read of the index or {0, 0} for the next
 * chunk; and at `table` for which rows which steps count: the first row of them, and the word of
 * its first step.
 */
struct hdf5_found {
	bool is_chunked, is_compact, is_filtered;
	/* Chunks that libhdf5 does not keep: of each only the sample is read. */
	bool is_direct;
	uint64_t read_count, sieve_bytes;
	uint64_t root_count; /* of the reads: those of the open */
	/* Not chunked: where the first sample and all of them end, and bytes of one. */
	uint64_t off, end, sample_bytes;
	/* Chunked: samples of a row, its chunks, bytes of one without filters. */
	uint64_t row_samples, row_chunks, chunk_bytes;
	uint64_t table, table_rows;
	const uint64_t *words; /* NULL in a look */
};

void hdf5_found_unpack(struct hdf5_found *f, const struct file_shape *shape);

/* The steps of a row: words *from .. *end - 1. */
void hdf5_found_steps(const struct hdf5_found *f, uint64_t row, uint64_t *from, uint64_t *end);
/* The word of its first chunk. */
uint64_t hdf5_found_chunk(const struct hdf5_found *f, uint64_t row);

void hdf5_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		      uint64_t *len);

/* ---- What lies before the samples of an HDF5 file, and the reads that find them ---- */

#define HDF5_RANK_MAX 3
/* Of the metadata; libhdf5 1.10 makes 2048 bytes. */
#define HDF5_IMAGE_MAX 8192
#define HDF5_PLACES_MAX 16
#define HDF5_READS_MAX 32

/* Where a number lies that depends on the shape: the side of a dimension, or behind them the bytes
 * of all samples and the file's end. */
struct hdf5_place {
	unsigned off, number;
};

struct hdf5_read {
	unsigned off, len_bytes;
};

/*
 * A file as h5py writes it by default, with one contiguous dataset `records` of uint8. libhdf5
 * makes the metadata once, and once it is opened with libhdf5, as h5py does it, to see what it
 * reads. From one shape to the other the same few numbers differ at the same places, and the reads
 * are the same: so the files themselves are written without libhdf5, which is no library for
 * several threads. Does not point to anything.
 */
struct hdf5_image {
	unsigned rank;
	unsigned head_bytes; /* then come the samples, to the file's end */
	uint8_t head[HDF5_IMAGE_MAX];
	unsigned place_count;
	struct hdf5_place places[HDF5_PLACES_MAX];
	/* Of an open and f['records'], in order; all of it metadata. */
	unsigned read_count, root_count; /* all, and those of the open */
	struct hdf5_read reads[HDF5_READS_MAX];
	/* Samples up to this size are read ahead so far. */
	uint64_t sieve_bytes;
};

/*
 * One thread at a time. The first call for a rank asks libhdf5, and later calls copy its answer. 0,
 * or -EINVAL with err if libhdf5 lays files out in a way that mlgen does not know.
 */
int hdf5_image_init(struct hdf5_image *im, unsigned rank, struct mlgen_err *err);

/* The first head_bytes of a file whose dataset has these `rank` sides. */
void hdf5_image_fill(const struct hdf5_image *im, const uint64_t *sides, uint8_t *to);

/* The reads of a file with these sides, into im->reads; part of init. */
int hdf5_image_learn(struct hdf5_image *im, const uint64_t *sides);
