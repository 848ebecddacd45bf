/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - random numbers that follow from a seed and a place, and permutations without memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ---- random numbers as a pure function of (seed, stream, index) ---- */

/*
 * No state, no lock: the same three numbers give the same result whatever the thread order, the
 * compiler or the number of nodes. A stream is one use of randomness, so that two uses never share
 * numbers.
 */
enum rng_stream {
	RNG_SHUFFLE = 1, /* permutations, one per epoch */
	RNG_SAMPLE_SIZE,
	RNG_COMPUTE,
	RNG_CONTENT,
	RNG_TEST,
	RNG_RESIDENCY, /* where in a file the page cache is looked at */
	RNG_WORKER,    /* seeds of the workers of a plain job, and their ... */
	RNG_DIRECTION, /* read or write */
	RNG_REQUEST,   /* size, and place where one may come twice */
	RNG_PREPROCESS,
	RNG_EVAL,        /* compute times of an evaluation */
	RNG_ENGINE,      /* what an engine draws, and the seeds of its workers */
	RNG_RECORDED,    /* a sample's template, and its random places */
	RNG_START,       /* how long a loader takes to begin */
	RNG_CACHE,       /* what makes room in a cache of that policy */
	RNG_REPLACEMENT, /* orders drawn with replacement */
	RNG_WEIGHT,      /* weights of samples, and ... */
	RNG_WEIGHTED,    /* draws by them */
	RNG_IMPORTANCE,  /* draws by losses, ... */
	RNG_DIFFICULTY,  /* what those begin with, ... */
	RNG_DECAY,       /* and what is left of them */
	RNG_RUNS,        /* places of short runs, orders within windows */
	RNG_SUBSTITUTE,  /* what a cache has, in place of what it has not */
	RNG_FIRST,       /* how much longer a loader's first sample takes */
};

/* 64 uniform bits. */
uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index);

/* Uniform in the open interval (0, 1), 53 bits. */
double rng_f64(uint64_t seed, uint64_t stream, uint64_t index);

/*
 * `bytes` of incompressible content that starts `offset` bytes into the endless string named by
 * (seed, stream); any cut gives the same string.
 */
void rng_fill(void *to, size_t bytes, uint64_t seed, uint64_t stream, uint64_t offset);

/* ---- a random order of 0 .. n-1 that takes no memory ---- */

/*
 * A Feistel network over the next even power of two, walked until it lands inside (less than four
 * steps on average). perm_at is a bijection on 0..n-1 for every (n, seed, round); different rounds
 * are different orders.
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
 * An order that is only ever walked from its start: the same promises at less than a tenth of the
 * time. An invertible hash of few bits takes the place of the Feistel network, and what lands
 * outside is left out instead of led on, so that the elements of one call are computed side by
 * side.
 */
struct perm_walk {
	uint64_t n, at; /* at: in the next power of two */
	uint64_t mask;
	uint64_t keys[5];
	unsigned shift;
};

void perm_walk_init(struct perm_walk *w, uint64_t n, uint64_t seed, uint64_t round);

/* The next `want` elements; fewer where the order ends. Their number. */
size_t perm_walk_next(struct perm_walk *w, uint64_t *out, size_t want);
