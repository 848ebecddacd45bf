/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - a run's clock, real or virtual, and the time at which a run stops. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- all waiting and all waking of a run, in real or in virtual time ---- */

/*
 * Every thread of a run joins the clock before it waits or sleeps on it and leaves before it ends.
 * The real clock is CLOCK_MONOTONIC and futexes. The virtual one, for tests, stands still while any
 * joined thread runs and jumps to the nearest deadline when all of them wait; a woken thread counts
 * as running from the moment of the wake. Times are ns; CLOCK_NEVER = no deadline.
 */
#define CLOCK_NEVER UINT64_MAX

struct clock;

/* The time of the machine's clock, for what is no part of a run. */
uint64_t clock_monotonic_ns(void);

/* What the host's clock says it is, since 1970; it may be set at any time. */
uint64_t clock_wall_ns(void);

/* The machine's clock. Free with clock_free. */
struct clock *clock_new_real(void);

/* A virtual clock at time `start_ns`. With every joined thread waiting without a deadline it aborts
 * with a message: the test has a deadlock. */
struct clock *clock_new_virtual(uint64_t start_ns);
void clock_free(struct clock *c);

/* Of a virtual one, before its threads start: sleeps, but for exact ones, end so much late, as on a
 * busy host. */
void clock_set_late(struct clock *c, uint64_t late_ns);

/*
 * Before a thread is started call clock_expect (on the starting thread), so that virtual time
 * cannot move before the new thread has joined. clock_join sets this thread's timer slack to 1 ns
 * on the real clock.
 */
void clock_expect(struct clock *c, unsigned threads);
void clock_join(struct clock *c);
void clock_leave(struct clock *c);

/*
 * Around a plain blocking call of a joined thread (pthread_join, sigtimedwait) in which it must not
 * hold virtual time up: leave, block, clock_expect+join.
 */

uint64_t clock_now(const struct clock *c);

/* Sleep to an absolute time; returns at once when it has passed. */
void clock_sleep_until(struct clock *c, uint64_t deadline_ns);

/*
 * As above, but to the point: wakes early by the usual lateness of this host (moving average of
 * weight 0.1 kept in *late_ns, one per thread, zero at first, at most 1 ms) and spins to the
 * deadline. Returns the time on waking, >= deadline_ns.
 */
uint64_t clock_sleep_exactly(struct clock *c, uint64_t deadline_ns, uint64_t *late_ns);

/*
 * The same, only while *word is 0: whoever sets it calls clock_wake. The second one then returns a
 * time before the deadline. word NULL = nobody does.
 */
void clock_sleep_unless(struct clock *c, uint64_t deadline_ns, _Atomic uint32_t *word);

/*
 * Wait while *word == seen, until deadline_ns. 0 when woken or when the word differs (spurious
 * wakes happen: look at your condition again), -ETIMEDOUT.
 */
int clock_wait(struct clock *c, _Atomic uint32_t *word, uint32_t seen, uint64_t deadline_ns);

/* Wake all who wait on word. Change the word first. */
void clock_wake(struct clock *c, _Atomic uint32_t *word);

/* ---- what ends a job in the middle: a signal, an error elsewhere, or its time ---- */

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

/* Sleeps as clock_sleep_exactly does. A result below deadline_ns means that the stop came first. */
uint64_t stop_sleep_exactly(struct stop *s, struct clock *c, uint64_t deadline_ns,
			    uint64_t *late_ns);
