/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - a run's clock, real or virtual, and the time at which a run stops. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- sleeping, waiting and waking in real or virtual time ---- */

/*
 * Every thread of a run joins the clock before it waits or sleeps on it, and leaves before it ends.
 * The real clock uses CLOCK_MONOTONIC and futexes. The virtual clock, for tests, stands still while
 * any joined thread runs and jumps to the nearest deadline when all of them wait; a woken thread
 * counts as running from the moment of the wake. Times are ns; CLOCK_NEVER = no deadline.
 */
#define CLOCK_NEVER UINT64_MAX

struct clock;

/* CLOCK_MONOTONIC, for everything outside of a run. */
uint64_t clock_monotonic_ns(void);

/* Time since 1970 by the wall clock, which may be set at any time. */
uint64_t clock_wall_ns(void);

/* A real clock. Free with clock_free. */
struct clock *clock_new_real(void);

/* A virtual clock that starts at `start_ns`. It aborts with a message if all joined threads wait
 * without a deadline: the test has a deadlock. */
struct clock *clock_new_virtual(uint64_t start_ns);
void clock_free(struct clock *c);

/* Make sleeps of a virtual clock end late_ns late, as on a busy host, except for exact sleeps.
 * Call before threads start. */
void clock_set_lateness(struct clock *c, uint64_t late_ns);

/*
 * A thread that starts others calls clock_expect first, so that virtual time cannot move before the
 * new threads have joined. clock_join sets the calling thread's timer slack to 1 ns on the real
 * clock.
 */
void clock_expect(struct clock *c, unsigned threads);
void clock_join(struct clock *c);
void clock_leave(struct clock *c);

/* A joined thread that makes a plain blocking call (pthread_join, sigtimedwait) must not hold up
 * virtual time: call clock_leave, block, then call clock_expect and clock_join. */

uint64_t clock_now(const struct clock *c);

/* Sleep until an absolute time; return at once if it has passed. */
void clock_sleep_until(struct clock *c, uint64_t deadline_ns);

/*
 * Sleep precisely: wake early by the usual lateness of this host, and spin until the deadline.
 * *late_ns is a moving average of the lateness with weight 0.1, at most 1 ms. It starts as 0, and
 * each thread has its own. Returns the time on waking, >= deadline_ns.
 */
uint64_t clock_sleep_exactly(struct clock *c, uint64_t deadline_ns, uint64_t *late_ns);

/* Sleep like clock_sleep_until, but only while *word is 0; a thread that sets the word calls
 * clock_wake. NULL = no word. */
void clock_sleep_unless(struct clock *c, uint64_t deadline_ns, _Atomic uint32_t *word);

/* Wait while *word == seen, until deadline_ns. 0 when woken or if the word differs, -ETIMEDOUT.
 * Spurious wake-ups happen, so check the condition again. */
int clock_wait(struct clock *c, _Atomic uint32_t *word, uint32_t seen, uint64_t deadline_ns);

/* Wake all threads that wait on a word. Change the word first. */
void clock_wake(struct clock *c, _Atomic uint32_t *word);

/* ---- stop: end a job early because of a signal, an error elsewhere, or its time limit ---- */

/*
 * A job has one stop. After it is set, all sleeps of the job end, later sleeps return at once, and
 * the io layer starts no more calls (io.h). A time limit is known in advance: sleeps end at it by
 * themselves, and other waits use stop_at_ns as deadline. A zeroed struct is not set and has no
 * limit; NULL is a stop that never comes.
 */
struct stop {
	_Atomic uint32_t is_set; /* the word that sleepers wait on */
	_Atomic uint64_t at_ns;  /* time limit on the job's clock; 0 = none */
};

/* Set the stop. Any thread. Threads that wait for something other than this word must be woken
 * separately. */
void stop_set(struct stop *s, struct clock *c);

static inline bool stop_is_set(const struct stop *s)
{
	return s && atomic_load_explicit(&s->is_set, memory_order_acquire);
}

/* The time limit; CLOCK_NEVER = none. */
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

/* Is the stop set, or has the time limit been reached? */
static inline bool stop_is_due(const struct stop *s, uint64_t now_ns)
{
	return stop_is_set(s) || now_ns >= stop_at_ns(s);
}

/* Sleep until an absolute time. False: the stop came first, possibly before the sleep. */
bool stop_sleep_until(struct stop *s, struct clock *c, uint64_t deadline_ns);

/* Sleep like clock_sleep_exactly. A result below deadline_ns means that the stop came first. */
uint64_t stop_sleep_exactly(struct stop *s, struct clock *c, uint64_t deadline_ns,
			    uint64_t *late_ns);
