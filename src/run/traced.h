/* SPDX-License-Identifier: Apache-2.0 */
/* traced.h - the trace of a run, for those whose work is in it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "trace/trace_ring.h"

struct run_shared;
struct trace_result;
struct tracer;

/* Of a job; a zeroed one is in no trace. */
struct traced {
	struct tracer *tracer; /* NULL = there is no trace */
	const char *job;       /* NULL: the run has no other */
	/* The job's name; NULL: others run beside it, and a time of the trace
	 * is not its alone. */
	const char *stage;
};

#define TRACED_ROLE_BYTES 48

/* On the thread that will write into it: its ring, or NULL, also of NULL. It
 * ends it with trace_ring_end. For role and files see tracer.h. */
struct trace_ring *traced_ring(const struct traced *t, const char *role,
			       uint64_t files);

/* A plain job's marker, of each of its workers: from time zero to its end. `ring`
 * NULL = there is no trace. */
void traced_stage(const struct traced *t, struct trace_ring *ring,
		  uint64_t begin_ns, uint64_t end_ns);

/* For run.c: a tracer that knows host, program, mounts and jobs, and all slots
 * of the run with it. 0 or -errno with err. */
int traced_start(struct tracer **out, struct run_shared *run, int fd,
		 const char *path, struct mlgen_err *err);
/* With its `file`. 0, or -errno with err: something is not in it. */
int traced_end(struct tracer *t, bool always, struct trace_result *result,
	       struct mlgen_err *err);
