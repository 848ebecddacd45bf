/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - see stop.h. */
#include "base/stop.h"

void stop_set(struct stop *s, struct clock *c)
{
	/* Pairs with the load in stop_is_set. */
	atomic_store_explicit(&s->is_set, 1, memory_order_release);
	clock_wake(c, &s->is_set);
}

bool stop_sleep_until(struct stop *s, struct clock *c, uint64_t deadline_ns)
{
	uint64_t at_ns = stop_at_ns(s);

	if (stop_is_set(s))
		return false;
	clock_sleep_unless(c, deadline_ns < at_ns ? deadline_ns : at_ns, s ? &s->is_set : NULL);
	return deadline_ns <= at_ns && !stop_is_set(s);
}

uint64_t stop_sleep_exactly(struct stop *s, struct clock *c, uint64_t deadline_ns,
			    uint64_t *late_ns)
{
	uint64_t at_ns = stop_at_ns(s), woken_ns;

	if (stop_is_set(s))
		return 0;
	if (deadline_ns <= at_ns)
		return clock_sleep_exactly_unless(c, deadline_ns, late_ns, s ? &s->is_set : NULL);
	stop_sleep_until(s, c, deadline_ns);
	woken_ns = clock_now(c);
	return woken_ns < deadline_ns ? woken_ns : deadline_ns - 1;
}
