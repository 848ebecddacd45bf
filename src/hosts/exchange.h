/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - what the processes of a channel tell each other: each gets what all have said. */
#pragma once

#include "hosts/channels.h"

/*
 * For what is too much for votes and too little for a network of its own: each sends its part to
 * rank 0, which sends all of them to each. So rank 0 sends as many bytes as all say, once for each
 * other process; whoever has much to say says it in turns of some hundred KiB, which is what is in
 * memory of it.
 *
 * Called by one thread of each process at a time, in the same order everywhere, with no lock held
 * that a waiter of the channel takes. It sleeps until all have said theirs. It is over with the
 * channel, whoever closed it, and where anyone has left that, for of him nothing comes any more.
 *
 * `all` is read with hosts_part. 0, or -EPIPE: the channel is closed.
 */
int hosts_exchange(struct hosts_channel *c, const void *mine, size_t n, struct buf *all);
