/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - receive the signals that end the program, see thread.h. */
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/log.h"
#include "base/util.h"

/* Time that a polling caller has to react. */
static const struct timespec second = { .tv_sec = 1 };

/* Number of signals after which the program is ended, because it does not end by itself. */
#define PATIENCE 3

static const int user_signals[] = { SIGUSR1, SIGUSR2 };

/* Signals whose disposition is changed here, or temporarily by code that waits for a child. */
static const int changed[] = { SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ, SIGPIPE, SIGCHLD };

static struct {
	sigset_t inherited_mask;
	struct sigaction inherited[ARRAY_LEN(changed)];
	sigset_t ending; /* signals that end the program */
	pthread_t guard;
	bool has_guard;
	void (*leave)(void *arg);
	void *arg;
	_Atomic unsigned received;
	_Atomic int mode;
} state;

/* Held while data that `leave` reads is changed. leave_now() never releases it. */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

void signals_hold(void)
{
	pthread_mutex_lock(&held);
}

void signals_release(void)
{
	pthread_mutex_unlock(&held);
}

static void leave_now(void)
{
	signals_hold();
	state.leave(state.arg);
}

static sigset_t set_of(const int *list, size_t n)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, list[i]);
	return set;
}

static bool is_ending(int sig)
{
	return sig > 0 && sigismember(&state.ending, sig) == 1;
}

static int next_signal(const struct timespec *most, siginfo_t *info)
{
	sigset_t set = state.ending;

	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, info, most);
}

int signals_wait(const struct timespec *most)
{
	int sig = next_signal(most, NULL);

	/* Leave before the signal is counted, because a thread that sees the count would end the
	 * program in another way. */
	if (is_ending(sig) && atomic_load(&state.mode) == SIGNALS_UNSEEN)
		leave_now();
	if (is_ending(sig) && atomic_fetch_add(&state.received, 1) + 1 >= PATIENCE)
		leave_now();
	return sig;
}

int signals_next(const struct timespec *most, siginfo_t *info)
{
	int sig = next_signal(most, info);

	if (is_ending(sig))
		atomic_fetch_add(&state.received, 1);
	return sig;
}

void signals_restore_inherited(void)
{
	for (size_t i = 0; i < ARRAY_LEN(changed); i++)
		sigaction(changed[i], &state.inherited[i], NULL);
	sigprocmask(SIG_SETMASK, &state.inherited_mask, NULL);
}

static bool has_attention(enum signals_mode how)
{
	return atomic_load(&state.mode) == (int)how;
}

/* Receive signals until the mode changes, which SIGUSR2 announces. */
static void *guard(void *arg)
{
	bool is_late = false;

	(void)arg;
	while (has_attention(SIGNALS_UNSEEN) || has_attention(SIGNALS_POLLED)) {
		int sig = signals_wait(is_late ? &second : NULL);
		bool is_over = is_late && sig < 0 && errno == EAGAIN;

		is_late |= is_ending(sig);
		if (is_over || (is_late && has_attention(SIGNALS_UNSEEN)))
			leave_now();
	}
	return NULL;
}

/* Without the thread the signals have their default effect. */
static void start_guard(void)
{
	state.has_guard = thread_start(&state.guard, guard, NULL) == 0;
	if (state.has_guard)
		return;
	log_note("cannot start the thread for signals: an interrupt ends mlgen without a report");
	pthread_sigmask(SIG_UNBLOCK, &state.ending, NULL);
}

void signals_begin(void (*leave)(void *arg), void *arg)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t also = set_of(user_signals, ARRAY_LEN(user_signals));
	struct sigaction hangup;
	size_t n = ARRAY_LEN(ending);

	/* An ignored SIGHUP (nohup) is left out, because blocking would keep it pending. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN)
		n--;
	state.ending = set_of(ending, n);
	state.leave = leave;
	state.arg = arg;
	for (size_t i = 0; i < ARRAY_LEN(changed); i++)
		sigaction(changed[i], NULL, &state.inherited[i]);
	pthread_sigmask(SIG_BLOCK, &state.ending, &state.inherited_mask);
	pthread_sigmask(SIG_BLOCK, &also, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN); /* EFBIG is clearer */
	signal(SIGPIPE,
	       SIG_IGN); /* EPIPE is clearer, too, and the other outputs are still written */
	start_guard();
}

void signals_set_mode(enum signals_mode how)
{
	bool needs_guard = how == SIGNALS_UNSEEN || how == SIGNALS_POLLED;

	atomic_store(&state.mode, how);
	if (needs_guard && !state.has_guard && state.leave)
		start_guard();
	if (needs_guard || !state.has_guard)
		return;
	pthread_kill(state.guard, SIGUSR2);
	pthread_join(state.guard, NULL);
	state.has_guard = false;
}

unsigned signals_received(void)
{
	sigset_t pending;

	if (state.leave)
		return atomic_load(&state.received);
	/* Before signals_begin(), a blocked signal stays pending. */
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}
