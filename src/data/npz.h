/* SPDX-License-Identifier: Apache-2.0 */
/* npz.h - where the parts of an npz file lie. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/format.h"
#include "data/npy.h"

enum {
	NPZ_LOCAL_BYTES = 55, /* 30 + "x.npy" + extra of 20 */
	NPZ_HEAD_BYTES = NPZ_LOCAL_BYTES + NPY_HEADER_BYTES,
	NPZ_END_BYTES = 22,
	NPZ_END64_BYTES = 56,
	NPZ_LOCATOR_BYTES = 20,
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
