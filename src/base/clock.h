/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - all waiting and all waking of a run, in real or in virtual time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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
uint64_t clock_sleep_exactly_unless(struct clock *c, uint64_t deadline_ns, uint64_t *late_ns,
				    _Atomic uint32_t *word);

/*
 * Wait while *word == seen, until deadline_ns. 0 when woken or when the word differs (spurious
 * wakes happen: look at your condition again), -ETIMEDOUT.
 */
int clock_wait(struct clock *c, _Atomic uint32_t *word, uint32_t seen, uint64_t deadline_ns);

/* Wake all who wait on word. Change the word first. */
void clock_wake(struct clock *c, _Atomic uint32_t *word);
