/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads, and what stack they and the program itself have. */
#pragma once

#include <pthread.h>

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
