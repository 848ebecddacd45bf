/* SPDX-License-Identifier: Apache-2.0 */
/* bell.c - see bell.h. */
#include "run/bell.h"

uint32_t bell_look(const struct bell *b)
{
	return atomic_load_explicit(&b->rings, memory_order_acquire);
}

int bell_wait(struct bell *b, struct clock *c, uint32_t seen, uint64_t deadline_ns)
{
	/* Pairs with bell_ring: either it sees this waiter, or the wait sees its ring. Both sides
	 * are sequentially consistent for that. */
	atomic_fetch_add(&b->waiters, 1);
	int rc = clock_wait(c, &b->rings, seen, deadline_ns);
	atomic_fetch_sub(&b->waiters, 1);
	return rc;
}

void bell_ring(struct bell *b, struct clock *c)
{
	atomic_fetch_add(&b->rings, 1);
	if (atomic_load(&b->waiters))
		clock_wake(c, &b->rings);
}
