/* SPDX-License-Identifier: Apache-2.0 */
/* run_trace.h - the trace of a run as a whole: begun before its jobs, ended after them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

struct job;
struct run_shared;
struct trace_result;
struct traced_threads;
struct tracer;

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
