/* SPDX-License-Identifier: Apache-2.0 */
/* traced_threads.h - which job a thread of a trace worked for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A trace names threads by their number, which the kernel gives to another one when a thread has
 * ended: so each is known with its beginning.
 */
struct traced_threads;

struct traced_threads *traced_threads_new(void);
void traced_threads_free(struct traced_threads *t); /* NULL is fine */

/* Any thread: it works for job number `job` from now on, of the clock of the trace. */
void traced_threads_add(struct traced_threads *t, size_t job, uint64_t now_ns);

/* When nobody adds any more: did this thread work for the job then? */
bool traced_threads_is(struct traced_threads *t, size_t job, uint32_t tid, uint64_t at_ns);
/* Did any? */
bool traced_threads_has(const struct traced_threads *t, size_t job);
