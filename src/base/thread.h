/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads, signals, identities of processes, and libraries loaded on demand. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <mlgen/err.h>

/* ---- threads and their stacks ---- */

/*
 * Stack size of every thread. The default follows ulimit -s, which may be 8 MiB of address space
 * for each of thousands of threads, or so little that a thread crashes. Buffers are on the heap,
 * and even the deepest chain of calls has only a few path buffers on the stack, so this is plenty.
 * Pages are allocated when touched.
 */
#define THREAD_STACK_BYTES (512u << 10)

/* Start a thread with a stack of THREAD_STACK_BYTES. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*main)(void *), void *arg);

/* Yield the CPU once. This is not a wait (to wait, use struct clock of clock.h); it saves a
 * sleep if another thread is about to finish. */
void thread_yield(void);

/* Check the limit of the main thread's stack, which is ulimit -s. NULL, or a complete error line
 * if the limit is too small. The line is constant, because formatting could exceed the stack. */
const char *thread_too_small_stack(void);

/* ---- SIGINT, SIGTERM and SIGHUP, for the whole lifetime of the program ---- */

/*
 * A separate thread receives the signals, so they have an effect whatever the program waits for.
 * The effect of the first signal depends on the mode: the program ends at once; or the caller polls
 * from time to time and has one second to react; or the main thread receives the signals itself
 * while it watches a run (live.h). A third signal always ends the program at once.
 *
 * Signals are per process, so the state of this module is global. All other state in the program is
 * passed as a parameter.
 */
enum signals_mode {
	SIGNALS_UNSEEN,  /* the initial mode: the program ends at once */
	SIGNALS_POLLED,  /* the caller polls signals_received() */
	SIGNALS_WATCHED, /* the caller receives them with signals_wait() */
	SIGNALS_IGNORED, /* the program is ending */
};

/*
 * Call before any thread starts, so that all threads inherit the blocked signals: SIGINT, SIGTERM,
 * SIGHUP, SIGUSR1 and SIGUSR2. A signal inherited as ignored (background job of a shell) is
 * received anyway, except for SIGHUP (nohup). SIGPIPE is ignored from now on. `leave` ends the
 * program with the exit status of an interruption; it is called on the signal thread.
 */
void signals_begin(void (*leave)(void *arg), void *arg);

/* Set the mode. Main thread only. */
void signals_set_mode(enum signals_mode how);

/* Wait for SIGINT, SIGTERM, SIGHUP, SIGUSR1 or SIGUSR2; otherwise like sigtimedwait.
 * SIGNALS_WATCHED only. */
int signals_wait(const struct timespec *most);

/* Like signals_wait, for a program that forwards signals: also returns the sender. The program is
 * never ended, however many signals arrive. */
int signals_next(const struct timespec *most, siginfo_t *info);

/*
 * `leave` does not run between these two calls, so that any thread may change or free the data that
 * `leave` reads. Code in between must not hang or wait for a signal, because a third signal would
 * not end the program.
 */
void signals_hold(void);
void signals_release(void);

/* Restore the signal mask and the dispositions that this program was started with. Call in a child
 * before execve. */
void signals_restore_inherited(void);

/* Number of signals received. If signals_begin was not called, as in a library: 1 if a signal is
 * pending, otherwise 0. Any thread. */
unsigned signals_received(void);

/* ---- identify a process, and check whether it still runs ---- */

/*
 * Identity of a process, so that other processes can check later whether it still runs. A pid alone
 * is not enough: the same pid can belong to another process later, after a reboot, or in another
 * container.
 */
struct process {
	char host[65];
	char machine_id[33]; /* from /etc/machine-id; "" = missing */
	char boot_id[37];
	uint64_t pid_namespace; /* inode number; 0 = unknown */
	uint64_t pid;           /* 0 = unknown */
	uint64_t start_ticks;   /* since boot; 0 = unknown */
};

/* Fill in the calling process. Unknown members stay empty. */
void process_self(struct process *p);

bool process_is_same(const struct process *a, const struct process *b);

/*
 * Check whether a process still runs. Only processes of this host can be checked: a process is gone
 * if the machine has been rebooted since, if the pid is free, or if the pid belongs to a process
 * with another start time. Processes of other hosts and containers are unknown. `self` is the
 * calling process.
 */
enum process_state { PROCESS_UNKNOWN, PROCESS_RUNS, PROCESS_GONE };
enum process_state process_check(const struct process *p, const struct process *self);

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
