/* SPDX-License-Identifier: Apache-2.0 */
/* npz.h - where the parts of an npz file lie. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/format.h"
#include "data/formats/npy.h"
#include "data/formats/zip_look.h"

enum {
	NPZ_NAME_BYTES = 5, /* "x.npy" */
	NPZ_EXTRA_BYTES = 20,
	NPZ_LOCAL_BYTES = 30 + NPZ_NAME_BYTES + NPZ_EXTRA_BYTES,
	NPZ_HEAD_BYTES = NPZ_LOCAL_BYTES + NPY_HEADER_BYTES,
};

/* x.npy, y.npy, central directory, end record. */
struct npz_layout {
	uint64_t x_bytes, y_bytes; /* the members: header and data */
	uint64_t y_off;            /* local header of y.npy */
	uint64_t dir_off, dir_bytes;
	bool has_end64; /* zip64 end record and locator before the end record */
	uint64_t end;   /* of the file */
};

struct npz_layout npz_layout(const struct file_shape *shape);

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

struct look;

/* Of format_npz: see format.h. */
int npz_look(struct look *l);
void npz_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		     uint64_t *len);
void npz_array_found(const uint64_t *facts, uint64_t file_bytes, struct npz_array *a);
