/* SPDX-License-Identifier: Apache-2.0 */
/* replay_lanes.h - which worker of a replay does what which thread of the trace did. */
#pragma once

#include <mlgen/err.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/trace.h"

struct lane_thread;

/* A zeroed one is empty. Memory grows with the threads of the trace. */
struct replay_lanes {
	struct map keys;                 /* process and thread */
	VEC(struct lane_thread) threads; /* as they are numbered */
	unsigned workers;
};

/* An operation that is replayed; in the order of the trace. */
void replay_lanes_add(struct replay_lanes *l, const struct trace_record *r);

/*
 * All are known: threads that did something at different times share a worker. With `most` (0 = no
 * limit) there are no more than so many, and the others share them in turn. 0, or -E2BIG with err.
 */
int replay_lanes_share(struct replay_lanes *l, uint64_t most, struct mlgen_err *err);

/* Of a record that was added. */
unsigned replay_lanes_of(const struct replay_lanes *l, const struct trace_record *r);
void replay_lanes_fini(struct replay_lanes *l);
