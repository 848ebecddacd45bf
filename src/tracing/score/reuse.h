/* SPDX-License-Identifier: Apache-2.0 */
/* reuse.h - how much else was touched since the same was touched last. */
#pragma once

#include <stdint.h>

/*
 * The distance of Mattson's stack (IBM Systems Journal 9/2, 1970): an LRU cache of c blocks hits
 * exactly what has a distance below c. While no more than `most` blocks were met it is exact; of
 * more, every second, fourth, ... is looked at, chosen by its hash, and counts as two, four, ...
 * (Waldspurger and others, Efficient MRC construction with SHARDS, FAST '15).
 */
struct reuse;

#define REUSE_COLD UINT64_MAX /* not touched before */

/* `most` is a power of two, 16 at least. About 40 bytes for each of them. */
struct reuse *reuse_new(uint32_t most);
void reuse_free(struct reuse *r); /* NULL is fine */

/* A block is touched. The accesses that this one stands for, 0 = it is not looked at; *distance, in
 * blocks, only where it is. */
uint64_t reuse_touch(struct reuse *r, uint64_t key, uint64_t *distance);

/* Different blocks so far, or an estimate. */
uint64_t reuse_blocks(const struct reuse *r);
