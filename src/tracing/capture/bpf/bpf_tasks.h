/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_tasks.h - the processes that are followed, and what a trace says of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

/* Grows with the processes that run at a time, not with all that ever did. */
struct bpf_tasks;

struct bpf_tasks *tasks_new(struct trace_writer *writer);
void tasks_free(struct bpf_tasks *t); /* NULL is fine */

/* It was started by `parent`, and does the same until it executes something. */
void tasks_started(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns);
/* It was there before: its command line is asked for in /proc. */
void tasks_found(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns);
/* `text` has a 0 between its words. */
void tasks_executed(struct bpf_tasks *t, uint32_t pid, const char *text, size_t bytes);
void tasks_ended(struct bpf_tasks *t, uint32_t pid, uint64_t end_ns);

/* 0 = not known. */
uint32_t tasks_parent(const struct bpf_tasks *t, uint32_t pid);
/* All that there were. */
uint64_t tasks_count(const struct bpf_tasks *t);
