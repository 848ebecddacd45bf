/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.h - decompresses what a thread has read, and drops it (decompress=real). */
#pragma once

#include <stdint.h>

#include "data/file/file.h"

/*
 * Of one thread. Reads of compressed bytes come to lie in its room, whole, and are decompressed
 * from there as the framework would, into a buffer that is used again and again: what comes out is
 * dropped. A stream that goes through a file is gone on with from read to read.
 */
struct unpack;

/* For reads of so many bytes at most. NULL: no memory for zlib and zstd. */
struct unpack *unpack_new(uint64_t most_bytes);
void unpack_free(struct unpack *u); /* NULL is fine */
/* What it takes of memory. */
uint64_t unpack_bytes(uint64_t most_bytes);

/* Where a read of most_bytes fits; page-aligned. */
void *unpack_room(struct unpack *u);

/* Another file is read from its beginning. */
void unpack_begin(struct unpack *u);

/* These bytes: NULL, or what is wrong with them, at *off of them. */
const char *unpack_read(struct unpack *u, enum plan_packed packed, const void *at, uint64_t bytes,
			uint64_t *off);
