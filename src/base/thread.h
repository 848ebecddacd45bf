/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads, signals, other processes, and libraries loaded when needed. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <mlgen/err.h>

/* ---- threads, and what stack they and the program itself have ---- */

/*
 * What a thread gets would follow from ulimit -s: 8 MiB of address space each, thousands of times,
 * or so little that it ends in a segmentation fault. So each has the same, which is plenty: buffers
 * are on the heap, and the deepest calls keep a few paths. Pages of it come into use as they are
 * touched.
 */
#define THREAD_STACK_BYTES (512u << 10)

/* Start it. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*main)(void *), void *arg);

/* Let those run that are ready, once. That is not to wait, which goes through a clock: it spares a
 * sleep where somebody else is just about to be done. */
void thread_yield(void);

/*
 * The main thread's stack is what ulimit -s says, and grows as it is used. NULL, or, where that is
 * too small for what the program may do, the line that says so: as it is written, since formatting
 * takes more than there may be.
 */
const char *thread_too_small_stack(void);

/* ---- SIGINT, SIGTERM and SIGHUP from the first line of main to the last ---- */

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

/* ---- which process has written something, and whether it still runs ---- */

/*
 * A process as others can recognise it later, from wherever they find what it has left: a number
 * alone is given again, to another process, by another boot and in another container.
 */
struct process {
	char host[65];
	char machine_id[33]; /* of /etc/machine-id; "" = it has none */
	char boot_id[37];
	uint64_t pid_namespace; /* inode; 0 = not known */
	uint64_t pid;           /* 0 = nobody knows which */
	uint64_t start_ticks;   /* since the boot; 0 = not known */
};

/* This one. What cannot be found out stays empty. */
void process_self(struct process *p);

bool process_is_same(const struct process *a, const struct process *b);

/*
 * Only what runs on this host can be looked at: it is gone when the machine has booted since, when
 * its number is free, or when that belongs to a process with another start. Of all else (other
 * hosts, other containers) nothing is proven. `self` is this one.
 */
enum process_state { PROCESS_UNKNOWN, PROCESS_RUNS, PROCESS_GONE };
enum process_state process_look(const struct process *p, const struct process *self);

/* ---- load a shared library on first use, so that runs without it start faster ---- */

/* A symbol of the library and the offset of the pointer to it in the caller's table. */
struct library_symbol {
	const char *name;
	size_t off;
};

/*
 * Load the library named soname and store the address of each of the `count` symbols in `table`,
 * whose members at the given offsets are pointers. The library stays loaded until the process ends.
 * Loading it twice is harmless. 0, or -ENOENT with err, whose text begins with `who`: the library
 * is not installed, or is not the version that mlgen was built with.
 */
int library_load(const char *who, const char *soname, const struct library_symbol *symbols,
		 size_t count, void *table, struct mlgen_err *err);
