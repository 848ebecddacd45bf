/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - operations that are wrapped and numbered, shared by the files of this engine. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

/*
 * The fault of an operation depends on its number alone. Operations of all workers of a job are
 * numbered from 1 in the order of submission. An operation that the io layer submits again gets a
 * new number. With one worker the same operation meets the same fault in every run.
 *
 * The engine accepts every operation, so that any operation can fail. It performs metadata
 * operations that the wrapped engine does not support. The engine is always asynchronous: if the
 * wrapped engine is synchronous, submit performs an operation and reap returns it.
 */
struct fault_opts {
	char *engine;
	uint64_t fail_after;
	char *fail_errno;
	uint64_t short_every;
	uint64_t delay_every;
	uint64_t delay_ns;
};

/* State shared by all workers of a job. */
struct shared {
	struct mlgen_engine_job inner;
	void *inner_opts;
	_Atomic uint64_t operations;
	int error; /* -errno */
};

/* Copy of an operation for the wrapped engine; the caller's stays unchanged. */
struct shadow {
	struct mlgen_io io; /* first member: the engine returns its address */
	struct iovec half;
	struct mlgen_io *outer;
	int error; /* replaces the result; 0 = the result stays */
	bool is_late, is_done;
	uint64_t due_ns; /* earliest time of completion; 0 = at once */
};

struct fault {
	struct mlgen_ctx inner;
	const struct mlgen_engine *engine;
	const struct fault_opts *opts;
	struct shared *shared;
	bool is_init;
	struct shadow *shadows;
	struct shadow **unused; /* stack */
	struct shadow **done;   /* oldest first */
	struct mlgen_io **reaped;
	unsigned unused_count, done_count, in_engine;
	bool is_cut; /* the job ends before delayed operations are due */
};

/* fault_here.c: perform an operation that the wrapped engine does not support. 0 or -errno. */
int64_t fault_here_do(struct mlgen_io *op);

/* fault_inject.c: functions of struct mlgen_engine. */
int fault_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n);
int fault_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
	       uint64_t timeout_ns);
