/* SPDX-License-Identifier: Apache-2.0 */
/* misscurve.h - what lru caches of several sizes would hit, in one pass. */
#pragma once

#include <stdint.h>

/*
 * Mattson's stack (IBM Systems Journal 9/2, 1970): a unit is in an lru cache as long as it fits
 * together with all that was touched since, so that one pass says it of caches of all sizes. What
 * it says is what cache.h's lru does, exactly, provided that each size holds the largest unit: one
 * that a cache never keeps would push nothing out of it.
 *
 * About 29 bytes a unit. One thread at a time. Units are numbers from 0 here; score/reuse.h has the
 * same stack for blocks that nobody has counted, and leaves some out where they are too many.
 */
struct misscurve;

struct misscurve_config {
	uint64_t units;        /* less than 2^31 */
	const uint64_t *sizes; /* of the caches, ascending; borrowed */
	unsigned count;
	const uint64_t *unit_bytes; /* NULL = 1 each; borrowed */
};

struct misscurve *misscurve_new(const struct misscurve_config *cfg);
void misscurve_free(struct misscurve *m); /* NULL is fine */

/* A unit is touched: it is a hit in caches from this one of the sizes on; `count` = in none of
 * them. */
unsigned misscurve_touch(struct misscurve *m, uint64_t unit);
