/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_internal.h - what the parts of data/pattern share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/pattern/pattern.h"
#include "job/job.h"

/* ---- A region cut into requests of several sizes, each taken once, in random order ---- */

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

/* ---- What the requests of a plain job are: read or write, and how large ---- */

/* The sizes of one direction; count 0 = the job does not take it. */
struct mix_sizes {
	unsigned count;
	uint64_t bytes[JOB_SIZES_MAX];
	double percent[JOB_SIZES_MAX];
	uint64_t upto[JOB_SIZES_MAX]; /* sums of the shares, of 2^64 */
	uint64_t smallest, largest;
};

struct mix {
	struct mix_sizes dir[2]; /* read, write */
	bool is_mixed;
	bool only_write;
	bool one_size; /* the same of both directions */
	double write_share;

	/* Draws so far. */
	uint64_t seed, strata, words, requests;
	uint64_t bits;
	unsigned bits_left, stratum_left, writes_left;
};

/* 0, or -EINVAL with err where the sizes cannot be read. */
int mix_init(struct mix *m, const struct job *job, uint64_t seed, struct mlgen_err *err);

/* All of them with their shares, for a map of several sizes; their number. */
#define MIX_KINDS_MAX (2 * JOB_SIZES_MAX)
unsigned mix_kinds(const struct mix *m, struct piece_kind kinds[MIX_KINDS_MAX]);

/* is_write and len_bytes of the next n requests. */
void mix_draw(struct mix *m, struct pattern_op *ops, unsigned n);

/* 64 random bits for one of them. */
uint64_t mix_random(struct mix *m);
