/* SPDX-License-Identifier: Apache-2.0 */
/* png.h - where the chunks of a PNG file lie. */
#pragma once

#include <stdint.h>

#include "data/file/format.h"

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
