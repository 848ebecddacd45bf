/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - SIGINT, SIGTERM and SIGHUP from the first line of main to the last. */
#pragma once

#include <signal.h>
#include <time.h>

/*
 * A thread of its own takes them, so that whatever the program waits for, they are seen. What the
 * first one does depends on who attends to it: nobody, and the program ends at once; somebody who
 * looks now and then, who has a second for that; or the main thread takes them itself, as it does
 * while a run is watched (live.h). A third one ends the program at once in any case.
 *
 * A process has one set of signals; so this is the one state that is not handed down.
 */
enum signals_attention {
	SIGNALS_UNSEEN,  /* as it begins */
	SIGNALS_LOOKED,  /* the caller looks at signals_taken() */
	SIGNALS_WATCHED, /* the caller takes them, by signals_wait() */
	SIGNALS_IGNORED, /* the program is over */
};

/*
 * Before any thread is started, so that all of them inherit what is blocked: these, SIGUSR1 and
 * SIGUSR2. One that was inherited as ignored (a shell's background job) is taken all the same, but
 * for SIGHUP (nohup). Nobody is killed by SIGPIPE from now on. `leave` ends the program with its
 * status of an interruption; it is called on the thread of the signals.
 */
void signals_begin(void (*leave)(void *arg), void *arg);

/* From the main thread: who attends from now on? */
void signals_attend(enum signals_attention how);

/* Where they are watched: wait for one of them, SIGUSR1 or SIGUSR2; as sigtimedwait. */
int signals_wait(const struct timespec *most);

/* The same for who passes them on: what came, and from whom. However many come, none of them ends
 * the program. */
int signals_next(const struct timespec *most, siginfo_t *info);

/*
 * `leave` does not run between these two calls, so that any thread may change or free what it
 * reads. Code in between must not hang or wait for a signal, because a third signal would not end
 * the program.
 */
void signals_hold(void);
void signals_release(void);

/* In a child before it calls execve: mask and dispositions as this program was started with. */
void signals_hand_down(void);

/* Any thread: how many have come; without signals_begin, as in a library, is one pending? */
unsigned signals_taken(void);
