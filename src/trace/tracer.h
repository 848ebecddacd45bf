/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.h - a run's own trace: a ring for each thread, and a thread that writes what they
 * bring. */
#pragma once

#include <mlgen/err.h>

#include "base/clock.h"
#include "trace/trace_ring.h"

/*
 * Those that work put records into rings of their own and never wait; one thread of the tracer
 * looks at all rings every few ms and writes them. Each ring has 4 MiB, or less where there are so
 * many that they would have more than 256 MiB together, but no less than 64 KiB. It goes when its
 * thread has left it and all is written.
 *
 * The file is emptied when the first ring is there, or at the end: until then what was in it stays.
 * What cannot be written ends nothing but the trace.
 */
struct tracer;

struct tracer_config {
	int fd;              /* open for writing, the caller's */
	const char *path;    /* for messages; copied */
	struct clock *clock; /* of all records */
	uint64_t threads;    /* that will have a ring at a time, about */
};

/* What the rings of so many take together. */
uint64_t tracer_ring_bytes(uint64_t threads);

struct tracer *tracer_new(const struct tracer_config *cfg);

/* Before tracer_start: what holds for all of the trace. Numbers that are behind the first `count`
 * are not known. */
void tracer_entry(struct tracer *t, enum trace_entry_kind kind, const uint64_t *number,
		  size_t count, const char *text);
/* "key=value"; nothing where the value is "". */
void tracer_fact(struct tracer *t, const char *key, const char *value);

/* On the main thread, whose CPUs it has. 0 or -errno with err. */
int tracer_start(struct tracer *t, struct mlgen_err *err);

/*
 * On the thread that will write into it: its ring, with numbers for so many files that are open at
 * once. `role` says what it does (trace.h). NULL: there is no memory, which tracer_stop tells.
 */
struct trace_ring *tracer_ring(struct tracer *t, const char *role, uint64_t files);

struct tracer_total {
	bool is_begun; /* the file is a trace now */
	uint64_t records, bytes, lost;
	uint64_t cpu_ns; /* of the thread that writes */
};

/*
 * Write what is there, also of threads that still write, and end. With `always` there is a trace
 * even where nobody had a ring. 0, or -errno with err: it is not whole. A tracer that was not
 * started has no trace.
 */
int tracer_stop(struct tracer *t, bool always, struct tracer_total *total, struct mlgen_err *err);

/* Stops it if need be; not while a thread may still write into its ring. NULL is fine. */
void tracer_free(struct tracer *t);
