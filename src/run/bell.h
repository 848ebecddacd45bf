/* SPDX-License-Identifier: Apache-2.0 */
/* bell.h - wait for somebody else to have changed something. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * Whoever changes a condition rings; whoever waits for it looks at the bell,
 * then at the condition, then waits for a ring later than the look. A ring
 * with nobody waiting costs two atomic accesses and no system call.
 *
 *	for (;;) {
 *		uint32_t seen = bell_look(b);
 *		if (condition)
 *			break;
 *		bell_wait(b, clock, seen, deadline_ns);
 *	}
 */
struct bell {
	_Atomic uint32_t rings;
	_Atomic uint32_t waiters;
};

uint32_t bell_look(const struct bell *b);

/* 0, or -ETIMEDOUT; may return early: look at the condition again. */
int bell_wait(struct bell *b, struct clock *c, uint32_t seen, uint64_t deadline_ns);

void bell_ring(struct bell *b, struct clock *c);
