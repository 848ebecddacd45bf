/* SPDX-License-Identifier: Apache-2.0 */
/* formats.h - places of the parts of a file, for formats whose readers depend on them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/file.h"

/*
 * The formats themselves are rows (struct format in data/file/file.h), which only
 * data/file/format.c names. This header is for the readers' plans, which need the parts of an
 * archive, an array or an image.
 */

/* ---- Files that are read from their beginning to their end ---- */

/*
 * Offset that a forward reader has reached when it delivers the n-th sample of a file, 0 < n <= all
 * samples.
 */
uint64_t tfrecord_needed(const struct file_shape *shape, uint64_t n);
uint64_t tar_needed(const struct file_shape *shape, uint64_t n);

/*
 * Number of samples in an extent: the largest divisor of samples_per_file whose records fit into
 * one buffer of TensorFlow's, at least 1. Most extents then need one request, and none needs many.
 */
uint64_t forward_extent_samples(uint64_t samples_per_file, uint64_t record_bytes);

/* ---- Samples with an index file ---- */

/*
 * Megatron-LM has one index, NAME.idx for NAME.bin (megatron/core/datasets/indexed_dataset.py). It
 * has MMIDIDX, a version, the type of a token, the number of sequences, and the number of
 * documents. Then come the length of each sequence in tokens (32 bits), the offset of each sequence
 * (64 bits), and the documents. A sample is a sequence.
 */
/* True if the file has such an index; `path` is relative to dir_fd, as for openat(2). */
bool indexed_is_megatron(int dir_fd, const char *path);

/* ---- The header of a NumPy array in a file ---- */

enum { NPY_HEADER_BYTES = 128 };

/* Offset and bytes of the data in a file, made or found. */
uint64_t npy_data_off(const struct file_shape *s);
uint64_t npy_data_bytes(const struct file_shape *s);

/* ---- A member of a zip archive, from any writer ---- */

/* A member consists of its local header, the name and the extra field, and the stored bytes. */
struct zip_member {
	uint64_t header_off;
	unsigned name_bytes, extra_bytes;
	uint64_t stored_bytes; /* size in the file */
	uint64_t plain_bytes;  /* uncompressed */
	bool is_deflated;
};

#define ZIP_LOCAL_BYTES 30u

/* Records after the directory, last to first: the end record without its comment, and for zip64 the
 * locator and the zip64 end record. */
enum {
	ZIP_END_BYTES = 22,
	ZIP_LOCATOR_BYTES = 20,
	ZIP_END64_BYTES = 56,
};

/* ---- The parts of an npz file ---- */

enum {
	NPZ_NAME_BYTES = 5, /* "x.npy" */
	NPZ_EXTRA_BYTES = 20,
	NPZ_LOCAL_BYTES = 30 + NPZ_NAME_BYTES + NPZ_EXTRA_BYTES,
	NPZ_HEAD_BYTES = NPZ_LOCAL_BYTES + NPY_HEADER_BYTES,
};

/* An array in an archive that numpy.load can read, made or found, as far as the calls depend on
 * it. */
struct npz_array {
	uint64_t dir_off, dir_bytes;
	uint64_t end_off; /* offset of the end record, which ends the file ... */
	bool has_comment; /* ... except for a comment or other trailing bytes */
	bool has_locator; /* a zip64 locator precedes the end record */
	struct zip_member member;
	/* The array in the member: magic, length and header; the data; an element. */
	uint64_t header_bytes, data_bytes, item_bytes;
	bool has_long_header; /* the header's length has four bytes, not two */
};

/* The array x.npy of a made file; for a found file the array that its look has stored. */
void npz_array(const struct file_shape *shape, struct npz_array *a);

/* ---- The chunks of a PNG file ---- */

enum {
	PNG_SIGNATURE_BYTES = 8,
	PNG_CHUNK_BYTES = 12, /* length, type and CRC of a chunk */
	PNG_END_BYTES = 12,   /* IEND */
};

/* The parts of a made or found file that a reader's calls depend on. */
struct png_layout {
	/* Payload of the largest chunk before the image, if that exceeds a block of Python's
	 * buffer; otherwise 0. */
	uint64_t large_off, large_bytes;
	/* Payload of the image's first chunk. All chunks but the last have the same length. */
	uint64_t data_off, data_bytes;
	uint64_t end_off; /* after IEND; readers ignore what follows */
};

void png_layout(const struct file_shape *shape, struct png_layout *l);

/* ---- TFRecord files from any writer ---- */

/* Default size of a read by TFRecordDataset. */
#define TFRECORD_READ_BYTES 262144

bool tfrecord_scanned_is_compressed(const struct file_shape *shape);
