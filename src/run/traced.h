/* SPDX-License-Identifier: Apache-2.0 */
/* traced.h - the trace of a run, for those whose work is in it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "trace/trace_ring.h"

struct clock;
struct job;
struct run_shared;
struct trace_result;
struct traced_threads;
struct tracer;

/* Of a job; a zeroed one is in no trace. */
struct traced {
	struct tracer *tracer; /* NULL = there is no trace */
	const char *job;       /* NULL: the run has no other */
	/* Where it is written down who works for it, and its number there; NULL = nowhere. By that
	 * clock. */
	struct traced_threads *threads;
	size_t number;
	struct clock *clock;
	/* The job's name; NULL: others run beside it, and a time of the trace is not its alone. */
	const char *stage;
};

#define TRACED_ROLE_BYTES 48

/* On the thread that will write into it: its ring, or NULL, also of NULL. It ends it with
 * trace_ring_end. For role and files see tracer.h. */
struct trace_ring *traced_ring(const struct traced *t, const char *role, uint64_t files);

/* A plain job's marker, of each of its workers: from time zero to its end. `ring` NULL = there is
 * no trace. */
void traced_stage(const struct traced *t, struct trace_ring *ring, uint64_t begin_ns,
		  uint64_t end_ns);

/* Has any of its jobs write_iolog, which is made of the run's trace? */
bool traced_is_logged(struct job *const *jobs, size_t count);

struct traced_config {
	int fd;           /* as in tracer.h */
	const char *path; /* the same; the caller's, as long as it is traced */
	/* Of all jobs, by --trace; else of those that have write_iolog. */
	bool is_asked;
};

/* For run.c: a tracer that knows host, program, mounts and jobs, and the slots of the run with it;
 * `threads` learns who works for which. 0 or -errno with err. */
int traced_start(struct tracer **out, struct run_shared *run, const struct traced_config *cfg,
		 struct traced_threads *threads, struct mlgen_err *err);
/* 0, or -errno with err: something is not in it. */
int traced_end(struct tracer *t, const struct traced_config *cfg, bool always,
	       struct trace_result *result, struct mlgen_err *err);
