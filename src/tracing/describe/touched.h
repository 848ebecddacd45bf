/* SPDX-License-Identifier: Apache-2.0 */
/* touched.h - which bytes of a file were touched: exact as long as they are few pieces. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files.h"

/*
 * Two pieces are in the struct, and up to TOUCHED_PIECES in the pool; both are exact. A file of
 * more is counted in blocks of TOUCHED_BLOCK bytes, each of which counts whole once a byte of it
 * was touched; in larger ones where that would be more than 2^27 blocks.
 */
#define TOUCHED_PIECES 256
#define TOUCHED_BLOCK 4096

struct touched_piece {
	uint64_t from, to; /* the byte behind */
};

/* Of a file. A zeroed one is empty. */
struct touched {
	struct touched_piece at[2];
	uint32_t count; /* of `at` */
	uint32_t more;  /* of the pool's sets, + 1; 0 = none */
};

/* For all files. A zeroed one is empty. */
struct touched_pool {
	struct spill sets;  /* struct touched_set */
	struct spill arena; /* pieces, and bits of blocks */
	uint64_t arena_used;
	uint32_t set_count, free_set; /* + 1 */
	uint64_t free_at[64];         /* + 1, by size class */
};

/* From `from` up to, and without, `to`. How many of these are new. */
uint64_t touched_add(struct touched_pool *p, struct touched *t, uint64_t from, uint64_t to);
uint64_t touched_bytes(const struct touched_pool *p, const struct touched *t);
bool touched_is_exact(const struct touched_pool *p, const struct touched *t);
void touched_pool_fini(struct touched_pool *p);
