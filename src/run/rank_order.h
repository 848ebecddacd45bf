/* SPDX-License-Identifier: Apache-2.0 */
/* rank_order.h - an order that follows from losses, or from what a cache has, is drawn before its epoch. */
#pragma once

#include "run/train.h"

/*
 * By each rank before an epoch is read. All meet; the last of them makes
 * weights of what the epoch before has computed on, batch by batch in the order
 * of the plan, and draws. So loaders, which read no further than their rank lets
 * them, find an order that nobody changes, without a lock. 0, or -EPIPE once
 * closed; any other order is known, and there is nothing to do.
 */
int rank_order_draw(struct rank *r);
