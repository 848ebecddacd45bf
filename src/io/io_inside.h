/* SPDX-License-Identifier: Apache-2.0 */
/* io_inside.h - an io, for what sets it up and what operations go through. */
#pragma once

#include "io/io.h"
#include "io/iobuf.h"
#include "io/seen.h"

struct io {
	/* What every operation needs, together. */
	const struct mlgen_engine *engine;
	struct clock *clock;
	struct opstat *stat;
	struct trace_ring *trace; /* NULL = none */
	uint64_t mark_ns;         /* next start; 0 = read the clock */
	struct stop *stop;
	unsigned iodepth;
	unsigned under_way; /* queued + in_engine + done */
	unsigned queued, in_engine;
	bool is_sync, is_init;
	bool in_chain; /* the last one submitted is linked to the next */
	bool may_meet_fifos;
	unsigned fifo_looks; /* that found one */
	bool ends_in_time;   /* with stop->at_ns */
	int error;           /* the engine's own failure, for ever */
	uint64_t last_ns;
	/* Done in place, first to last. */
	struct io_op *first, **last;
	/* Asynchronous engines: in front of the engine, and behind it. */
	struct mlgen_io **queue, **reaped;
	/* A slot per operation under way, and one for what is done in place. */
	unsigned place;
	struct iobuf buf;
	struct seen seen;
	struct mlgen_ctx ctx;
	enum mem_kind mem;
	uint64_t seed;
};
