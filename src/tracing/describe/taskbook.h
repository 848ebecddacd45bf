/* SPDX-License-Identifier: Apache-2.0 */
/* taskbook.h - an account of each thread of a trace, and of each process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/files.h"
#include "base/map.h"
#include "tracing/describe/described.h"
#include "trace/trace.h"

struct task_account {
	uint32_t pid, tid, parent;
	uint32_t text;     /* of `names`; 0 = none */
	uint32_t threads;  /* of a process: that have records */
	uint32_t children; /* that it forked */
	uint32_t execs;
	uint32_t loaders; /* of children, see roles.c */
	uint64_t operations, opens, metadata;
	uint64_t reads, read_bytes, writes, written_bytes, syncs;
	uint64_t faults, switches;
	/* Of its records; of a process the sum of its threads. */
	uint64_t first_ns, last_ns, span_ns;
	bool timeless; /* some calls took nobody knows how long */
	uint64_t call_ns, fault_ns;
	uint64_t cpu_ns, exit_cpu_ns, on_cpu_ns;
	uint64_t cpu_span_ns; /* of those whose CPU time is known */
	bool has_cpu, has_exit_cpu;
	uint64_t ended_ns; /* its last record did; for steps of the clock */
	int role, sure;
};

struct taskbook {
	struct map thread_keys, process_keys;
	struct spill threads, processes; /* struct task_account */
	struct trace_names *names;
	uint64_t clock_steps; /* records that ended before the one before */
	uint32_t last;        /* thread of the last record, + 1 */
};

void taskbook_init(struct taskbook *b, struct trace_names *names);
void taskbook_fini(struct taskbook *b);

/* An entry of a process or thread; others are passed over. */
void taskbook_name(struct taskbook *b, const struct trace_entry *e);
void taskbook_add(struct taskbook *b, const struct trace_record *r, unsigned kind);

/* When all was added: threads into processes, and who is what (roles.h). */
void taskbook_sum(struct taskbook *b);

static inline struct task_account *taskbook_thread(const struct taskbook *b, uint32_t i)
{
	return (struct task_account *)b->threads.at + i;
}

static inline struct task_account *taskbook_process(const struct taskbook *b, uint32_t i)
{
	return (struct task_account *)b->processes.at + i;
}

/* Of one; its text stays with names. */
void taskbook_describe(const struct taskbook *b, const struct task_account *a,
		       struct described_task *to);
/* Those with most bytes, then most operations. How many. */
size_t taskbook_top(const struct task_account *all, uint32_t count, uint32_t *numbers, size_t most);

/* Skew, CPU and shares of time of all. */
void taskbook_totals(const struct taskbook *b, struct described_trace *t);
