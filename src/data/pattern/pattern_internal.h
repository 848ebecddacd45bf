/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_internal.h - declarations that the files of data/pattern share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/pattern/pattern.h"
#include "job/job.h"

/* ---- Pieces: a region cut into requests of several sizes, in random order ---- */

/*
 * The counterpart of a random map for a mix of sizes (bssplit, or reads and writes of different
 * sizes). Every byte is accessed once, and no memory is needed per piece. The region is a row of
 * strips, and each strip is cut into pieces of one kind. Strips are divided among the kinds such
 * that each kind has its share of the pieces. Every piece lies at a multiple of its own size within
 * its strip.
 *
 * fio fits each request into the free part of its map. It moves the same bytes, but cuts up to a
 * third of the requests to sizes that are not in the job.
 */
struct pieces;

struct piece_kind {
	uint64_t bytes;
	double percent; /* share of the requests, more than 0 */
	bool is_write;
};

struct piece {
	uint64_t off, bytes; /* the offset counts from the start of the region */
	bool is_write;
};

/* Cut a region into pieces. It must hold at least one piece of the smallest kind. `kinds` is
 * copied. */
struct pieces *pieces_new(const struct piece_kind *kinds, unsigned count, uint64_t region_bytes);
void pieces_free(struct pieces *s); /* NULL is fine */

/* pieces_count returns the number of all pieces, pieces_bytes the sum of their bytes. A rest below
 * the smallest piece is left out. */
uint64_t pieces_count(const struct pieces *s);
uint64_t pieces_bytes(const struct pieces *s);

/* Start over, in the order of (seed, round). */
void pieces_start(struct pieces *s, uint64_t seed, uint64_t round);

/* Get the next piece. 64 random bits choose its kind. At least one piece must be left. */
struct piece pieces_next(struct pieces *s, uint64_t random);

/* ---- Mix: direction and size of each request of a plain job ---- */

/* The sizes of one direction; count 0 = the job does not use this direction. */
struct mix_sizes {
	unsigned count;
	uint64_t bytes[JOB_SIZES_MAX];
	double percent[JOB_SIZES_MAX];
	uint64_t upto[JOB_SIZES_MAX]; /* cumulative shares, scaled to 2^64 */
	uint64_t smallest, largest;
};

struct mix {
	struct mix_sizes dir[2]; /* read, write */
	bool is_mixed;
	bool only_write;
	bool one_size; /* a single size for both directions */
	double write_share;

	/* State of the draws. */
	uint64_t seed, strata, words, requests;
	uint64_t bits;
	unsigned bits_left, stratum_left, writes_left;
};

/* Return 0, or -EINVAL with err if the sizes cannot be parsed. */
int mix_init(struct mix *m, const struct job *job, uint64_t seed, struct mlgen_err *err);

/* List all kinds with their shares, for a map of several sizes. Returns their number. */
#define MIX_KINDS_MAX (2 * JOB_SIZES_MAX)
unsigned mix_kinds(const struct mix *m, struct piece_kind kinds[MIX_KINDS_MAX]);

/* Set is_write and len_bytes of the next n requests. */
void mix_draw(struct mix *m, struct pattern_op *ops, unsigned n);

/* Return 64 random bits for one request. */
uint64_t mix_random(struct mix *m);
