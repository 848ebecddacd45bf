/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - threads that run one at a time, and the time between them: see sim.h. */
#include "sim.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wraps.h"

#define NS_PER_S UINT64_C(1000000000)
#define NEVER UINT64_MAX

/* The machine has been up for a while: 0 means "not yet" to many. */
#define UP_NS (1000 * NS_PER_S)
/* 2025-03-14 15:09:26 UTC, when it comes to the first line of main. */
#define DATE_S 1741964966

/* Who asks for the time so often without waiting spins, and time goes on. */
#define SPINS_MAX 50
#define SPIN_NS 1000
/* And if all of them only ask, nothing of the run takes time, for ever. */
#define ASKED_MAX 1000000

enum state { READY, WAITING, DONE };

struct thread {
	struct thread *next;
	pthread_t id;
	unsigned number;
	enum state state;
	const void *word; /* waits for a wake of it; NULL = for time alone */
	uint64_t deadline_ns, order;
	bool timed_out;
	uint64_t pending; /* signals, a bit each */
	unsigned spins;
	uint32_t turn; /* a futex; 1 = the thread may run */
	void *(*main)(void *arg);
	void *arg;
};

static struct {
	struct thread *first, **end; /* in the order of creation */
	unsigned created;
	uint64_t order;
	uint64_t now_ns;
	uint64_t asked;        /* how often for this time */
	uint64_t late_ns;      /* how late the kernel wakes a sleeper */
	uint64_t interrupt_ns; /* when SIGINT comes */
} sim = { .end = &sim.first, .now_ns = UP_NS, .interrupt_ns = NEVER };

static _Thread_local struct thread *me;

uint64_t sim_option(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

static struct thread *new_thread(void)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	t->number = sim.created++;
	t->order = ++sim.order;
	*sim.end = t;
	sim.end = &t->next;
	return t;
}

static void free_thread(struct thread *t)
{
	struct thread **at = &sim.first;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (!t->next)
		sim.end = at;
	free(t);
}

/* One CPU, for one thread runs at a time: waking one on the same CPU needs no interrupt of another,
 * which is what a turn costs most in a VM. */
static void stay_on_one_cpu(void)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	__real_sched_setaffinity(0, sizeof(one), &one);
}

__attribute__((constructor)) static void begin(void)
{
	stay_on_one_cpu();
	me = new_thread();
	me->id = pthread_self();
	sim.late_ns = sim_option("SLEEPS_LATE_NS", 0);
	if (getenv("INTERRUPT_AT_MS"))
		sim.interrupt_ns = UP_NS + sim_option("INTERRUPT_AT_MS", 0) * 1000000;
}

/*
 * Only the thread whose turn it is runs, so nothing below needs a lock: a turn is handed over with
 * release and taken with acquire.
 */

static struct thread *longest_ready(void)
{
	struct thread *best = NULL;

	for (struct thread *t = sim.first; t; t = t->next)
		if (t->state == READY && (!best || t->order < best->order))
			best = t;
	return best;
}

static struct thread *nearest(void)
{
	struct thread *best = NULL;

	for (struct thread *t = sim.first; t; t = t->next)
		if (t->state == WAITING && t->deadline_ns != NEVER &&
		    (!best || t->deadline_ns < best->deadline_ns ||
		     (t->deadline_ns == best->deadline_ns && t->order < best->order)))
			best = t;
	return best;
}

static _Noreturn void give_up(const char *line)
{
	_exit(write(STDERR_FILENO, line, strlen(line)) < 0 ? 98 : 97);
}

static void choose(void)
{
	struct thread *t = longest_ready();

	if (!t) {
		t = nearest();
		if (!t)
			give_up("golden: all threads wait for ever\n");
		if (t->deadline_ns > sim.now_ns) {
			sim.now_ns = t->deadline_ns;
			sim.asked = 0;
		}
		t->timed_out = true;
		t->state = READY;
	}
	__atomic_store_n(&t->turn, 1, __ATOMIC_RELEASE);
	if (t != me)
		__real_syscall(SYS_futex, (long)&t->turn, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void await_turn(void)
{
	int error = errno; /* of the call that takes its time */

	while (!__atomic_exchange_n(&me->turn, 0, __ATOMIC_ACQUIRE))
		__real_syscall(SYS_futex, (long)&me->turn, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
	me->spins = 0;
	errno = error;
}

/* False: the deadline came first. */
static bool block(const void *word, uint64_t deadline_ns)
{
	me->state = WAITING;
	me->word = word;
	me->deadline_ns = deadline_ns;
	me->order = ++sim.order;
	me->timed_out = false;
	choose();
	await_turn();
	return !me->timed_out;
}

static void wake(const void *word)
{
	for (struct thread *t = sim.first; t; t = t->next)
		if (t->state == WAITING && t->word == word)
			t->state = READY;
}

/* The calls. */

uint64_t sim_now_ns(void)
{
	return sim.now_ns;
}

unsigned sim_thread(void)
{
	return me->number;
}

void sim_sleep_until(uint64_t deadline_ns)
{
	block(NULL, deadline_ns);
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
}

static uint64_t date_ns(void)
{
	return (DATE_S + sim_option("LATER_S", 0)) * NS_PER_S + sim.now_ns - UP_NS;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	if (++sim.asked > ASKED_MAX)
		give_up("golden: nothing here takes time, so it never ends\n");
	if (++me->spins > SPINS_MAX)
		sim_sleep_until(sim.now_ns + SPIN_NS);
	*out = to_timespec(id == CLOCK_REALTIME ? date_ns() : sim.now_ns);
	return 0;
}

time_t __wrap_time(time_t *out)
{
	time_t t = (time_t)(date_ns() / NS_PER_S);

	if (out)
		*out = t;
	return t;
}

static long futex_wait(const uint32_t *word, uint32_t seen, const struct timespec *until)
{
	uint64_t deadline_ns = NEVER;

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != seen) {
		errno = EAGAIN;
		return -1;
	}
	if (until)
		deadline_ns =
			(uint64_t)until->tv_sec * NS_PER_S + (uint64_t)until->tv_nsec + sim.late_ns;
	if (deadline_ns > sim.now_ns && block(word, deadline_ns))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

/* Six arguments are read, as the kernel's entry does, whatever the call passed; those that it did
 * not pass may lie in a part of the caller's stack that AddressSanitizer guards. */
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_pread64)
		return __wrap_pread((int)a[0], (void *)a[1], (size_t)a[2], (off_t)a[3]);
	if (number != SYS_futex)
		return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
		return futex_wait((const uint32_t *)a[0], (uint32_t)a[2],
				  (const struct timespec *)a[3]);
	wake((const void *)a[0]);
	return 0;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	void *result;

	me = t;
	await_turn();
	result = t->main(t->arg);
	t->state = DONE;
	wake(t);
	choose();
	return result;
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*main)(void *),
			  void *arg)
{
	struct thread *t;
	int rc;

	t = new_thread();
	t->main = main;
	t->arg = arg;
	rc = __real_pthread_create(&t->id, attr, run, t);
	*id = t->id;
	if (rc)
		free_thread(t);
	return rc;
}

static struct thread *find(pthread_t id)
{
	struct thread *t = sim.first;

	while (t && !pthread_equal(t->id, id))
		t = t->next;
	return t;
}

int __wrap_pthread_join(pthread_t id, void **result)
{
	struct thread *t;

	t = find(id);
	while (t && t->state != DONE)
		block(t, NEVER);
	if (t)
		free_thread(t);
	return __real_pthread_join(id, result);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	while (pthread_mutex_trylock(m))
		block(m, NEVER);
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	int rc = __real_pthread_mutex_unlock(m);

	wake(m);
	return rc;
}

int __wrap_pthread_kill(pthread_t id, int sig)
{
	struct thread *t;

	t = find(id);
	if (t) {
		t->pending |= UINT64_C(1) << sig;
		wake(&t->pending);
	}
	return t ? 0 : ESRCH;
}

static int take_signal(const sigset_t *set)
{
	if (sim.now_ns >= sim.interrupt_ns && sigismember(set, SIGINT) == 1) {
		sim.interrupt_ns = NEVER;
		return SIGINT;
	}
	for (int sig = 1; sig < 64; sig++)
		if ((me->pending >> sig) & 1 && sigismember(set, sig) == 1) {
			me->pending &= ~(UINT64_C(1) << sig);
			return sig;
		}
	return 0;
}

int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most)
{
	uint64_t deadline_ns = NEVER, until_ns;
	int sig;

	(void)info;
	if (most)
		deadline_ns =
			sim.now_ns + (uint64_t)most->tv_sec * NS_PER_S + (uint64_t)most->tv_nsec;
	while (!(sig = take_signal(set)) && deadline_ns > sim.now_ns) {
		until_ns = sim.interrupt_ns < deadline_ns ? sim.interrupt_ns : deadline_ns;
		block(&me->pending, until_ns);
	}
	if (sig)
		return sig;
	errno = EAGAIN;
	return -1;
}
