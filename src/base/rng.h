/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - random numbers as a function of a seed and an index, and permutations without memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ---- random numbers as a pure function of (seed, stream, index) ---- */

/*
 * No state and no lock: the same three numbers give the same result, whatever the thread order, the
 * compiler or the number of nodes. Each use of randomness has its own stream, so that two uses
 * never share numbers.
 */
enum rng_stream {
	RNG_SHUFFLE = 1, /* permutations, one per epoch */
	RNG_SAMPLE_SIZE,
	RNG_COMPUTE,
	RNG_CONTENT,
	RNG_TEST,
	RNG_RESIDENCY, /* sampled offsets of page cache checks */
	RNG_WORKER,    /* seeds of a plain job's workers, for RNG_DIRECTION and RNG_REQUEST */
	RNG_DIRECTION, /* read or write */
	RNG_REQUEST,   /* size, and offset if offsets may repeat */
	RNG_PREPROCESS,
	RNG_EVAL,        /* compute times of an evaluation */
	RNG_ENGINE,      /* draws of an engine, and seeds of its workers */
	RNG_RECORDED,    /* template and random offsets of a sample */
	RNG_START,       /* start-up times of loaders */
	RNG_CACHE,       /* random evictions of a cache */
	RNG_REPLACEMENT, /* orders drawn with replacement */
	RNG_WEIGHT,      /* weights of samples */
	RNG_WEIGHTED,    /* draws by weight */
	RNG_IMPORTANCE,  /* draws by loss */
	RNG_DIFFICULTY,  /* initial losses */
	RNG_DECAY,       /* decay of losses */
	RNG_RUNS,        /* offsets of short runs, orders within windows */
	RNG_SUBSTITUTE,  /* cached substitutes for uncached samples */
	RNG_FIRST,       /* extra time of a loader's first sample */
};

/* 64 uniform bits. */
uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index);

/* Uniform in the open interval (0, 1), 53 bits. */
double rng_f64(uint64_t seed, uint64_t stream, uint64_t index);

/* Write `bytes` of incompressible content, which starts `offset` bytes into the endless string
 * named by (seed, stream). Any sequence of calls gives the same string. */
void rng_fill(void *to, size_t bytes, uint64_t seed, uint64_t stream, uint64_t offset);

/* ---- random orders of 0 .. n-1 without memory ---- */

/*
 * A Feistel network over the next even power of two, walked until the result is inside (fewer than
 * four steps on average). perm_at is a bijection on 0..n-1 for every (n, seed, round); different
 * rounds are different orders.
 */
struct perm {
	uint64_t n;
	uint64_t keys[6];
	unsigned half_bits;
};

void perm_init(struct perm *p, uint64_t n, uint64_t seed, uint64_t round);

/* The element at position `at` (< n). */
uint64_t perm_at(const struct perm *p, uint64_t at);

/*
 * A random order that is only read from its start: the same guarantees in less than a tenth of the
 * time. An invertible hash of few bits replaces the Feistel network, and elements outside are
 * skipped instead of walked on, so that the elements of one call are computed in parallel.
 */
struct perm_walk {
	uint64_t n, at; /* at: position in the next power of two */
	uint64_t mask;
	uint64_t keys[5];
	unsigned shift;
};

void perm_walk_init(struct perm_walk *w, uint64_t n, uint64_t seed, uint64_t round);

/* Store up to `want` next elements. Returns their number, which is smaller at the end of the
 * order. */
size_t perm_walk_next(struct perm_walk *w, uint64_t *out, size_t want);
