/* SPDX-License-Identifier: Apache-2.0 */
/* hitsfirst.h - an epoch's order with what a cache has in front (cache_hits_first). */
#pragma once

#include "data/order/importance.h"
#include "data/order/sampler.h"

/*
 * What SHADE does of every batch order (R. I. S. Khan et al., FAST '23): of what a rank reads in an
 * epoch, that which the cache has when it begins comes first, then the rest, both in the order that
 * they had. So nothing is evicted before it was hit.
 *
 * 4 bytes an access of an epoch, of the ranks that are known here. Written at the epoch's barrier
 * (hitsfirst_draw, by one thread), read by all threads between two of them.
 */
struct hitsfirst;

/* Of a sampler, whose own order it is that is parted; it is copied. */
struct hitsfirst *hitsfirst_new(const struct sampler *s, struct sampler_ranks known);
void hitsfirst_free(struct hitsfirst *h); /* NULL is fine */
uint64_t hitsfirst_state_bytes(const struct sampler *s, struct sampler_ranks known);

/* The order of an epoch (from 0), by what is there now. */
void hitsfirst_draw(struct hitsfirst *h, uint64_t epoch, importance_has *has, const void *cache);

/* The extent at a position of a known rank, of the epoch that was drawn last. */
uint64_t hitsfirst_at(const struct hitsfirst *h, uint64_t rank, uint64_t position);
