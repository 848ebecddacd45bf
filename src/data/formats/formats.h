/* SPDX-License-Identifier: Apache-2.0 */
/* formats.h - where the parts of files of some formats lie. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/file.h"

/*
 * The formats themselves are rows (struct format in data/file/file.h), and nothing but
 * data/file/format.c names them. What is here is for the readers' plans, which have to know where
 * the parts of an archive, of an array or of an image lie.
 */

/* ---- Files that are read from their beginning to their end ---- */

/*
 * A file that is read from its beginning to its end holds samples one behind the other. How far
 * into it has a reader gone that has delivered the first n of them, 0 < n <= all?
 */
uint64_t tfrecord_needed(const struct file_shape *shape, uint64_t n);
uint64_t tar_needed(const struct file_shape *shape, uint64_t n);

/*
 * How many samples to read together: the largest divisor of samples_per_file whose records stay
 * within one buffer of TensorFlow's, at least 1. Most extents then take a request, none takes many.
 */
uint64_t forward_extent_samples(uint64_t samples_per_file, uint64_t record_bytes);

/* ---- Samples with index files beside them ---- */

/*
 * Megatron-LM has one index, NAME.idx of NAME.bin (megatron/core/datasets/indexed_dataset.py):
 * MMIDIDX, a version, the type of a token, how many sequences and documents there are; then for
 * each sequence its tokens (32 bits), for each its offset (64 bits), and the documents. A sample is
 * a sequence.
 */
/* Is there such an index? `path` as openat(2) takes it. */
bool indexed_is_megatron(int dir_fd, const char *path);

/* ---- The header of a NumPy array in a file ---- */

enum { NPY_HEADER_BYTES = 128 };

/* Where the data begins in a file, made or found, and how much it is. */
uint64_t npy_data_off(const struct file_shape *s);
uint64_t npy_data_bytes(const struct file_shape *s);

/* ---- Where a member lies in a zip archive that somebody else wrote ---- */

/* Where a member lies: its local header, the name and the extra field behind that, then what is
 * stored of it. */
struct zip_member {
	uint64_t header_off;
	unsigned name_bytes, extra_bytes;
	uint64_t stored_bytes; /* in the file */
	uint64_t plain_bytes;  /* what becomes of them */
	bool is_deflated;
};

#define ZIP_LOCAL_BYTES 30u

/* What stands behind the directory, last to first: the end record, without a comment, and for zip64
 * the locator of the end record that is before it. */
enum {
	ZIP_END_BYTES = 22,
	ZIP_LOCATOR_BYTES = 20,
	ZIP_END64_BYTES = 56,
};

/* ---- Where the parts of an npz file lie ---- */

enum {
	NPZ_NAME_BYTES = 5, /* "x.npy" */
	NPZ_EXTRA_BYTES = 20,
	NPZ_LOCAL_BYTES = 30 + NPZ_NAME_BYTES + NPZ_EXTRA_BYTES,
	NPZ_HEAD_BYTES = NPZ_LOCAL_BYTES + NPY_HEADER_BYTES,
};

/*
 * One array of an archive that numpy.load can read, made or found: what the calls depend on.
 */
struct npz_array {
	uint64_t dir_off, dir_bytes;
	uint64_t end_off; /* of the end record, which is the file's end ... */
	bool has_comment; /* ... but for this, or what else is behind it */
	bool has_locator; /* of a zip64 end record, before the end record */
	struct zip_member member;
	/* The array in it: magic, length and header; its data; an element. */
	uint64_t header_bytes, data_bytes, item_bytes;
	bool has_long_header; /* its length has four bytes, not two */
};

/* Of a made file x.npy; of a found one what npz_look has put down. */
void npz_array(const struct file_shape *shape, struct npz_array *a);

/* ---- Where the chunks of a PNG file lie ---- */

enum {
	PNG_SIGNATURE_BYTES = 8,
	PNG_CHUNK_BYTES = 12, /* length, type and CRC of a chunk */
	PNG_END_BYTES = 12,   /* IEND */
};

/* What a reader's calls depend on, of a file made or found. */
struct png_layout {
	/* The largest chunk before the image that is more than a block of Python's buffer: its
	 * payload; 0 = none. */
	uint64_t large_off, large_bytes;
	/* The first chunk of the image: its payload. All but the last are as long. */
	uint64_t data_off, data_bytes;
	uint64_t end_off; /* behind IEND; what follows no reader looks at */
};

void png_layout(const struct file_shape *shape, struct png_layout *l);

/* ---- TFRecord files that somebody else has written ---- */

/* TFRecordDataset reads as much at a time, by default. */
#define TFRECORD_READ_BYTES 262144

bool tfrecord_found_is_compressed(const struct file_shape *shape);
