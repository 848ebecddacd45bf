/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - a run's clock, real or virtual, and the time at which a run stops. */
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"

/* Upper limit of the time spent spinning after an early wake. */
#define LATE_MAX_NS UINT64_C(1000000)

/* A thread that waits in virtual time; stored on its stack. */
struct waiter {
	struct waiter *next;
	const void *word; /* NULL: only the deadline ends the wait */
	uint64_t deadline_ns;
	pthread_cond_t woken;
	bool waits;
	int result;
};

struct clock {
	bool is_virtual;
	/* The members below are for the virtual clock, protected by `lock`. */
	pthread_mutex_t lock;
	uint64_t now_ns;  /* written under lock, read without */
	uint64_t late_ns; /* lateness of sleeps that are not exact */
	unsigned expected, joined, waiting;
	struct waiter *first, **end; /* first arrival first */
};

/* Real time */

uint64_t clock_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline void spin_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static int real_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t deadline_ns)
{
	/* FUTEX_WAIT_BITSET is the only futex wait with an absolute time. */
	struct timespec ts = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
			       .tv_nsec = (long)(deadline_ns % NS_PER_S) };
	long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen,
			  deadline_ns == CLOCK_NEVER ? NULL : &ts, NULL, FUTEX_BITSET_MATCH_ANY);

	/* EAGAIN (the word differs) and EINTR: the caller checks again. */
	return rc < 0 && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
}

/* A sleep is a wait on a word that only a stop wakes. It uses the same timers as clock_nanosleep
 * and is as precise. */
static void real_sleep(uint64_t deadline_ns, _Atomic uint32_t *word)
{
	while (atomic_load_explicit(word, memory_order_acquire) == 0 &&
	       real_wait(word, 0, deadline_ns) != -ETIMEDOUT)
		;
}

/* Virtual time; the caller of these functions holds `lock` */

static void wake_one(struct clock *c, struct waiter **at, int result)
{
	struct waiter *w = *at;

	*at = w->next;
	if (!w->next)
		c->end = at;
	w->waits = false;
	w->result = result;
	/* Decrement here, not in the woken thread: time must stand still from now on. */
	c->waiting--;
	pthread_cond_signal(&w->woken);
}

/* If no thread runs, advance time and wake one thread. Other threads with the same deadline wake
 * after the first thread waits again, so the order is always the same. */
static void advance(struct clock *c)
{
	struct waiter **nearest = &c->first;
	uint64_t deadline;

	if (c->waiting == 0 || c->expected + c->joined > c->waiting)
		return;
	/* Among equal deadlines, the thread that arrived first is woken. */
	for (struct waiter **at = &c->first; *at; at = &(*at)->next)
		if ((*at)->deadline_ns < (*nearest)->deadline_ns)
			nearest = at;
	assert(*nearest); /* someone waits */
	deadline = (*nearest)->deadline_ns;
	if (deadline == CLOCK_NEVER) {
		log_error("virtual clock: deadlock at %llu ns: all %u threads wait without a "
			  "deadline",
			  (unsigned long long)c->now_ns, c->waiting);
		abort();
	}
	if (deadline > c->now_ns)
		__atomic_store_n(&c->now_ns, deadline, __ATOMIC_RELEASE);
	wake_one(c, nearest, -ETIMEDOUT);
}

static int virtual_wait(struct clock *c, _Atomic uint32_t *word, uint32_t seen,
			uint64_t deadline_ns)
{
	struct waiter w = { .word = word,
			    .deadline_ns = deadline_ns,
			    .woken = PTHREAD_COND_INITIALIZER,
			    .waits = true };

	pthread_mutex_lock(&c->lock);
	/*
	 * A waker changes the word before it takes the lock: either the change is seen here, or the
	 * waker searches for waiters after this thread has queued itself.
	 */
	if (atomic_load_explicit(word, memory_order_acquire) == seen) {
		w.result = -ETIMEDOUT;
		if (deadline_ns > c->now_ns) {
			assert(c->waiting < c->joined);
			*c->end = &w;
			c->end = &w.next;
			c->waiting++;
			advance(c);
			while (w.waits)
				pthread_cond_wait(&w.woken, &c->lock);
		}
	}
	pthread_mutex_unlock(&c->lock);
	pthread_cond_destroy(&w.woken);
	return w.result;
}

static void virtual_sleep(struct clock *c, uint64_t deadline_ns, _Atomic uint32_t *word)
{
	while (atomic_load_explicit(word, memory_order_acquire) == 0 &&
	       virtual_wait(c, word, 0, deadline_ns) != -ETIMEDOUT)
		;
}

struct clock *clock_new_real(void)
{
	struct clock *c = mem_zalloc(sizeof(*c));

	c->end = &c->first;
	return c;
}

struct clock *clock_new_virtual(uint64_t start_ns)
{
	struct clock *c = clock_new_real();

	c->is_virtual = true;
	c->now_ns = start_ns;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void clock_free(struct clock *c)
{
	if (c && c->is_virtual)
		pthread_mutex_destroy(&c->lock);
	mem_free(c);
}

void clock_expect(struct clock *c, unsigned threads)
{
	if (!c->is_virtual)
		return;
	pthread_mutex_lock(&c->lock);
	c->expected += threads;
	pthread_mutex_unlock(&c->lock);
}

void clock_join(struct clock *c)
{
	if (!c->is_virtual) {
		/* Sleeps then end 30 us late instead of 85 us (Linux, hrtimers). */
		prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
		return;
	}
	pthread_mutex_lock(&c->lock);
	if (c->expected > 0)
		c->expected--;
	c->joined++;
	pthread_mutex_unlock(&c->lock);
}

void clock_leave(struct clock *c)
{
	if (!c->is_virtual)
		return;
	pthread_mutex_lock(&c->lock);
	assert(c->joined > c->waiting);
	c->joined--;
	advance(c);
	pthread_mutex_unlock(&c->lock);
}

void clock_set_lateness(struct clock *c, uint64_t late_ns)
{
	pthread_mutex_lock(&c->lock);
	c->late_ns = late_ns;
	pthread_mutex_unlock(&c->lock);
}

uint64_t clock_now(const struct clock *c)
{
	/* Pairs with the release in advance(). */
	return c->is_virtual ? __atomic_load_n(&c->now_ns, __ATOMIC_ACQUIRE) : clock_monotonic_ns();
}

void clock_sleep_until(struct clock *c, uint64_t deadline_ns)
{
	clock_sleep_unless(c, deadline_ns, NULL);
}

static uint64_t clock_sleep_exactly_unless(struct clock *c, uint64_t deadline_ns, uint64_t *late_ns,
					   _Atomic uint32_t *word)
{
	_Atomic uint32_t own = 0;
	uint64_t now, early;

	if (!word)
		word = &own;
	if (c->is_virtual) {
		virtual_sleep(c, deadline_ns, word);
		return clock_now(c);
	}
	now = clock_monotonic_ns();
	early = *late_ns < deadline_ns ? deadline_ns - *late_ns : 0;
	if (now < early) {
		real_sleep(early, word);
		now = clock_monotonic_ns();
		if (now < early)
			return now;
		uint64_t late = now - early;
		if (late > LATE_MAX_NS)
			late = LATE_MAX_NS;
		*late_ns = (*late_ns * 9 + late) / 10;
	}
	while (now < deadline_ns) {
		spin_hint();
		now = clock_monotonic_ns();
	}
	return now;
}

uint64_t clock_sleep_exactly(struct clock *c, uint64_t deadline_ns, uint64_t *late_ns)
{
	return clock_sleep_exactly_unless(c, deadline_ns, late_ns, NULL);
}

void clock_sleep_unless(struct clock *c, uint64_t deadline_ns, _Atomic uint32_t *word)
{
	_Atomic uint32_t own = 0;

	if (!word)
		word = &own;
	if (!c->is_virtual)
		real_sleep(deadline_ns, word);
	else if (deadline_ns > clock_now(c))
		virtual_sleep(c, deadline_ns + c->late_ns, word);
}

int clock_wait(struct clock *c, _Atomic uint32_t *word, uint32_t seen, uint64_t deadline_ns)
{
	return c->is_virtual ? virtual_wait(c, word, seen, deadline_ns)
			     : real_wait(word, seen, deadline_ns);
}

void clock_wake(struct clock *c, _Atomic uint32_t *word)
{
	if (!c->is_virtual) {
		syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX);
		return;
	}
	pthread_mutex_lock(&c->lock);
	for (struct waiter **at = &c->first; *at;) {
		if ((*at)->word == word)
			wake_one(c, at, 0);
		else
			at = &(*at)->next;
	}
	pthread_mutex_unlock(&c->lock);
}

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
