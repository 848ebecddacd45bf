/* SPDX-License-Identifier: Apache-2.0 */
/* perm.h - a random order of 0 .. n-1 that takes no memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
