/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_image.h - what lies before the samples of an HDF5 file, and the reads that find them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

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
