/* SPDX-License-Identifier: Apache-2.0 */
/* mix.h - what the requests of a plain job are: read or write, and how large. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/pattern/pattern.h"
#include "data/pattern/pieces.h"
#include "job/job.h"

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
