/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h - a region cut into requests of several sizes, each taken once, in random order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * What a random map is to requests of one size, for a mix of sizes (bssplit, or reads and writes
 * that differ) and without memory per piece: the region is a row of strips, each strip is cut into
 * pieces of one kind, strips are given to kinds so that the pieces of each are as many as its share
 * asks for. Every piece lies at a multiple of its own size within its strip.
 *
 * fio fits each request into what is left of its map: the same bytes, but it cuts up to a third of
 * the requests to sizes that nobody asked for.
 */
struct pieces;

struct piece_kind {
	uint64_t bytes;
	double percent; /* of the requests, more than 0 */
	bool is_write;
};

struct piece {
	uint64_t off, bytes; /* off in the region */
	bool is_write;
};

/* No smaller than one piece of the smallest kind; `kinds` are copied. */
struct pieces *pieces_new(const struct piece_kind *kinds, unsigned count, uint64_t region_bytes);
void pieces_free(struct pieces *s); /* NULL is fine */

/* All of them: their number, their bytes (less than a smallest piece of the region is left out). */
uint64_t pieces_count(const struct pieces *s);
uint64_t pieces_bytes(const struct pieces *s);

/* From the start, in the order of (seed, round). */
void pieces_start(struct pieces *s, uint64_t seed, uint64_t round);

/* The next piece; 64 random bits decide its kind. One must be left. */
struct piece pieces_next(struct pieces *s, uint64_t random);
