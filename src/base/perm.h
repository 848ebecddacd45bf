/* SPDX-License-Identifier: Apache-2.0 */
/* perm.h - a random order of 0 .. n-1 that takes no memory. */
#pragma once

#include <stdint.h>

/*
 * A Feistel network over the next even power of two, walked until it lands
 * inside (less than four steps on average). perm_at is a bijection on 0..n-1
 * for every (n, seed, round); different rounds are different orders.
 */
struct perm {
	uint64_t n;
	uint64_t keys[6];
	unsigned half_bits;
};

void perm_init(struct perm *p, uint64_t n, uint64_t seed, uint64_t round);

/* The element at position `at` (< n). */
uint64_t perm_at(const struct perm *p, uint64_t at);
