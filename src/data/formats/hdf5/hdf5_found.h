/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_found.h - what a scan puts down about an HDF5 file: where samples lie, and the reads that
 * find them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/format.h"
#include "data/file/look.h"

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

void hdf5_found_pack(const struct hdf5_found *f, uint64_t *facts);
void hdf5_found_unpack(struct hdf5_found *f, const struct file_shape *shape);

/* What each sample has of a row whose chunks are so large: bytes, and those of the last one. */
struct hdf5_share {
	uint64_t each, last, samples;
};
struct hdf5_share hdf5_share_of(const struct hdf5_found *f, uint64_t samples, uint64_t row,
				uint64_t row_bytes);

/* The steps of a row: words *from .. *end - 1. */
void hdf5_found_steps(const struct hdf5_found *f, uint64_t row, uint64_t *from, uint64_t *end);
/* The word of its first chunk. */
uint64_t hdf5_found_chunk(const struct hdf5_found *f, uint64_t row);

/* format->look and found_range. */
int hdf5_look(struct look *l);
void hdf5_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		      uint64_t *len);
