/* SPDX-License-Identifier: Apache-2.0 */
/* rank_order.h - an order that follows from losses, or from what a cache has, is drawn before its
 * epoch. */
#pragma once

#include "run/train.h"

/*
 * By each rank before an epoch is read. All meet; the last of them makes weights of what the epoch
 * before has computed on, batch by batch in the order of the plan, and draws. So loaders, which
 * read no further than their rank lets them, find an order that nobody changes, without a lock. 0,
 * or -EPIPE once closed; any other order is known, and there is nothing to do.
 *
 * Of several processes each draws for the ranks that it has, or knows (sampler_ranks_known), and
 * before that one rank of each tells the others what these have computed on: 4 bytes a sample of an
 * epoch. It follows from caches that only they know, and all have to learn the same, in the same
 * order.
 */
int rank_order_draw(struct rank *r, uint64_t epoch);
