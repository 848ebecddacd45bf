/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - see thread.h. */
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

/* Who only looks now and then has so long. */
static const struct timespec second = { .tv_sec = 1 };

/* Whoever does not come to an end by the second has a fault of its own. */
#define PATIENCE 3

static const int others[] = { SIGUSR1, SIGUSR2 };

/* Whose disposition is changed here, or for a while by who waits for a child. */
static const int changed[] = { SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ, SIGPIPE, SIGCHLD };

static struct {
	sigset_t inherited_mask;
	struct sigaction inherited[ARRAY_LEN(changed)];
	sigset_t ending; /* the program */
	pthread_t guard;
	bool has_guard;
	void (*leave)(void *arg);
	void *arg;
	_Atomic unsigned taken;
	_Atomic int attention;
} state;

/* Held while somebody changes what `leave` reads, and by it for ever. */
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

/* SIGHUP is ignored on purpose (nohup). To block it would keep it. */
static sigset_t ending_set(void)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction hangup;
	size_t n = ARRAY_LEN(all);

	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN)
		n--;
	return set_of(all, n);
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

	/* Before it is counted: others would come to an end of their own. */
	if (is_ending(sig) && atomic_load(&state.attention) == SIGNALS_UNSEEN)
		leave_now();
	if (is_ending(sig) && atomic_fetch_add(&state.taken, 1) + 1 >= PATIENCE)
		leave_now();
	return sig;
}

int signals_next(const struct timespec *most, siginfo_t *info)
{
	int sig = next_signal(most, info);

	if (is_ending(sig))
		atomic_fetch_add(&state.taken, 1);
	return sig;
}

void signals_hand_down(void)
{
	for (size_t i = 0; i < ARRAY_LEN(changed); i++)
		sigaction(changed[i], &state.inherited[i], NULL);
	sigprocmask(SIG_SETMASK, &state.inherited_mask, NULL);
}

static bool has_attention(enum signals_attention how)
{
	return atomic_load(&state.attention) == (int)how;
}

/* Until somebody else attends, which SIGUSR2 tells. */
static void *guard(void *arg)
{
	bool is_late = false;

	(void)arg;
	while (has_attention(SIGNALS_UNSEEN) || has_attention(SIGNALS_LOOKED)) {
		int sig = signals_wait(is_late ? &second : NULL);
		bool is_over = is_late && sig < 0 && errno == EAGAIN;

		is_late |= is_ending(sig);
		if (is_over || (is_late && has_attention(SIGNALS_UNSEEN)))
			leave_now();
	}
	return NULL;
}

/* Without the thread they do what they do to every program. */
static void start_guard(void)
{
	state.has_guard = thread_start(&state.guard, guard, NULL) == 0;
	if (state.has_guard)
		return;
	log_note("no thread is left for signals: an interruption ends mlgen without a report");
	pthread_sigmask(SIG_UNBLOCK, &state.ending, NULL);
}

static void end_guard(void)
{
	if (!state.has_guard)
		return;
	pthread_kill(state.guard, SIGUSR2);
	pthread_join(state.guard, NULL);
	state.has_guard = false;
}

void signals_begin(void (*leave)(void *arg), void *arg)
{
	sigset_t also = set_of(others, ARRAY_LEN(others));

	state.ending = ending_set();
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
	signal(SIGPIPE, SIG_IGN); /* and EPIPE: the other outputs are written */
	start_guard();
}

void signals_attend(enum signals_attention how)
{
	bool needs_guard = how == SIGNALS_UNSEEN || how == SIGNALS_LOOKED;

	atomic_store(&state.attention, how);
	if (!needs_guard)
		end_guard();
	else if (!state.has_guard && state.leave)
		start_guard();
}

/* One that is blocked, where no thread takes it. */
static bool is_pending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

unsigned signals_taken(void)
{
	return state.leave ? atomic_load(&state.taken) : is_pending();
}
