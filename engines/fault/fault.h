/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - what the files of this engine share: operations, wrapped and numbered. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

/*
 * What happens to an operation is a function of its number and nothing else. All workers of a job
 * count together, from 1, in the order of submission;
 * what the io layer hands over once more is counted once more. With one worker the same operation
 * meets the same fault in every run.
 *
 * Every operation is taken, so that every one can be failed; metadata that the wrapped engine
 * leaves is done here. The shape is asynchronous over either kind of engine: over a synchronous
 * one, an operation is done in submit and given back by reap.
 */
struct fault_opts {
	char *engine;
	uint64_t fail_after;
	char *fail_errno;
	uint64_t short_every;
	uint64_t delay_every;
	uint64_t delay_ns;
};

/* All workers of a job. */
struct shared {
	struct mlgen_engine_job inner;
	void *inner_opts;
	_Atomic uint64_t operations;
	int error; /* -errno */
};

/* One operation as the wrapped engine sees it: the caller's stays as it is. */
struct shadow {
	struct mlgen_io io; /* first: what comes back is this */
	struct iovec half;
	struct mlgen_io *outer;
	int error; /* its result whatever comes back; 0 = that */
	bool is_late, is_done;
	uint64_t due_ns; /* 0 = at once */
};

struct fault {
	struct mlgen_ctx inner;
	const struct mlgen_engine *engine;
	const struct fault_opts *opts;
	struct shared *shared;
	bool is_init;
	struct shadow *shadows;
	struct shadow **unused; /* a stack */
	struct shadow **done;   /* first to last */
	struct mlgen_io **reaped;
	unsigned unused_count, done_count, in_engine;
	bool is_cut; /* the job ends before what is delayed */
};

/* fault_here.c: what the wrapped engine leaves. 0 or -errno. */
int64_t fault_here_do(struct mlgen_io *op);

/* fault_inject.c: as struct mlgen_engine has them. */
int fault_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n);
int fault_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
	       uint64_t timeout_ns);
