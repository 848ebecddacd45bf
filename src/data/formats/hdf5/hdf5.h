/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5.h - HDF5 files: where samples lie, and the reads that find them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"

/*
 * The format module writes files without libhdf5, and uses libhdf5 to look into existing files.
 * This header is for the plan of h5py's reads.
 *
 *   sample  one index of the dataset's first axis
 *   row     all chunks with the same place along the first axis
 *   read    a read of metadata by libhdf5
 */

/* ---- A dataset that a scan finds in a file ---- */

/*
 * The bytes of a sample lie in one piece if the dataset is contiguous or compact (compact: within
 * the metadata), otherwise in the chunks of a row. Chunks are read whole, with neighbouring
 * samples.
 *
 * The words of a file begin with the metadata reads for opening the file and the dataset, two words
 * each. For a chunked dataset, the place and size of every chunk follow; a chunk that does not
 * exist has size 0. Then come the steps that find chunks, two words each: a read of the index, or
 * {0, 0} for the next chunk. Finally, the table at `table` says which rows share steps. Its entries
 * have the first of these rows, and the word of the row's first step.
 */
struct hdf5_index {
	bool is_chunked, is_compact, is_filtered;
	/* Chunks are too large for libhdf5's cache, so only the sample's part of each chunk is
	 * read. */
	bool is_direct;
	uint64_t read_count, sieve_bytes;
	uint64_t root_count; /* reads that belong to opening the file */
	/* Contiguous and compact: the first sample, the end of all samples, and the size of one. */
	uint64_t off, end, sample_bytes;
	/* Chunked: samples and chunks of a row, and the size of a chunk without filters. */
	uint64_t row_samples, row_chunks, chunk_bytes;
	uint64_t table, table_rows;
	const uint64_t *words; /* NULL while the file is only inspected (struct look) */
};

void hdf5_index_unpack(struct hdf5_index *f, const struct file_shape *shape);

/* The steps of a row: words *from .. *end - 1. */
void hdf5_index_steps(const struct hdf5_index *f, uint64_t row, uint64_t *from, uint64_t *end);
/* Index of the word of a row's first chunk. */
uint64_t hdf5_index_chunk(const struct hdf5_index *f, uint64_t row);

void hdf5_index_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		      uint64_t *len);

/* ---- The metadata of a file that mlgen writes ---- */

#define HDF5_RANK_MAX 3
/* Largest metadata; libhdf5 1.10 writes 2048 bytes. */
#define HDF5_IMAGE_MAX 8192
#define HDF5_PLACES_MAX 16
#define HDF5_READS_MAX 32

/* The place of a number that depends on the shape. `number` is an index: first the sides of the
 * dimensions, then the bytes of all samples, then the end of the file. */
struct hdf5_place {
	unsigned off, number;
};

struct hdf5_read {
	unsigned off, len_bytes;
};

/*
 * The image is that of a file as h5py writes it by default, with one contiguous dataset `records`
 * of uint8. libhdf5, which is not thread-safe, makes the metadata once. It opens them once, as h5py
 * does, so that its reads can be recorded. Files of other shapes differ only in a few numbers at
 * fixed places, and the reads are the same, so mlgen writes the files without libhdf5. The struct
 * has no pointers.
 */
struct hdf5_image {
	unsigned rank;
	unsigned head_bytes; /* followed by the samples, up to the end of the file */
	uint8_t head[HDF5_IMAGE_MAX];
	unsigned place_count;
	struct hdf5_place places[HDF5_PLACES_MAX];
	/* Metadata reads of opening the file and of f['records'], in order. */
	unsigned read_count, root_count; /* all reads, and the reads of the open */
	struct hdf5_read reads[HDF5_READS_MAX];
	/* Bytes that libhdf5 reads at once if a sample is smaller. */
	uint64_t sieve_bytes;
};

/*
 * Set up an image; one thread at a time. The first call for a rank asks libhdf5; later calls copy
 * the result. 0, or -EINVAL with err if libhdf5 lays files out in a way that mlgen does not know.
 */
int hdf5_image_init(struct hdf5_image *im, unsigned rank, struct mlgen_err *err);

/* Write the first head_bytes of a file whose dataset has these `rank` sides. */
void hdf5_image_fill(const struct hdf5_image *im, const uint64_t *sides, uint8_t *to);

/* Record the reads of a file with these sides in im->reads; part of init. */
int hdf5_image_record_reads(struct hdf5_image *im, const uint64_t *sides);
