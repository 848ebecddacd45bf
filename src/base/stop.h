/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - what ends a job in the middle: a signal, an error elsewhere, or its time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * One per job. Once it is set, no sleep of the job goes on and none begins, and the io layer begins
 * no call any more (io.h). Its time, where it has one, is known before it comes: then sleeps end by
 * themselves, and whoever waits for anything else waits until stop_at_ns. A zeroed one is not set
 * and has no time; NULL is one that never comes.
 */
struct stop {
	_Atomic uint32_t is_set; /* the word that sleepers wait on */
	_Atomic uint64_t at_ns;  /* on the job's clock; 0 = no time */
};

/* Any thread. Those who wait for something else have to be woken, too. */
void stop_set(struct stop *s, struct clock *c);

static inline bool stop_is_set(const struct stop *s)
{
	return s && atomic_load_explicit(&s->is_set, memory_order_acquire);
}

/* CLOCK_NEVER = no time. */
static inline uint64_t stop_at_ns(const struct stop *s)
{
	uint64_t at = s ? atomic_load_explicit(&s->at_ns, memory_order_relaxed) : 0;

	return at ? at : CLOCK_NEVER;
}

static inline void stop_at(struct stop *s, uint64_t ns)
{
	if (s)
		atomic_store_explicit(&s->at_ns, ns, memory_order_relaxed);
}

/* Is it set, or its time over? What ends with its time is in it. */
static inline bool stop_has_come(const struct stop *s, uint64_t now_ns)
{
	return stop_is_set(s) || now_ns >= stop_at_ns(s);
}

/*
 * Sleep to an absolute time. False: the stop came before it, maybe before the sleep.
 */
bool stop_sleep_until(struct stop *s, struct clock *c, uint64_t deadline_ns);

/* As clock_sleep_exactly. Less than deadline_ns: the stop came before it. */
uint64_t stop_sleep_exactly(struct stop *s, struct clock *c, uint64_t deadline_ns,
			    uint64_t *late_ns);
