/* SPDX-License-Identifier: Apache-2.0 */
/* run_inside.h - what a run is made of, for src/run/run*.c alone. */
#pragma once

#include "io/energy.h"
#include "io/host.h"
#include "run/disks.h"
#include "run/memlimit.h"
#include "run/others.h"
#include "run/run.h"
#include "run/run_trace.h"
#include "run/slot.h"

struct tracer;

struct run {
	struct run_shared shared;
	struct host host; /* with what memory_limit leaves of it */
	struct memlimit memory;
	struct slot *slots;
	struct disks disks;
	struct energy_meter energy;
	struct others *others; /* NULL = there are none */
	uint64_t timestamp_ms;
	struct tracer *tracer; /* NULL = there is no trace */
	struct traced_config trace;
	struct traced_threads *threads;
	struct trace_result traced; /* no bytes: nothing was recorded */
	struct run_result result;
};

/* Of a group the first slot, or the one behind `after`; NULL = no more. */
struct slot *run_next_in_group(struct run *r, unsigned group, struct slot *after);

/* Was it interrupted, or has it failed? */
bool run_is_stopping(const struct run *r);
/* Together: does any process end here, as this one does where `ends`? None goes on alone. */
bool run_stops(struct run *r, bool ends);

/*
 * Set up the slots (activity.h, init), with others together: each after the one before, so that one
 * which fails has failed in all of them. `rc`: what came before that in this process. 0, or -errno
 * with err.
 */
int run_begin(struct run *r, int rc, struct mlgen_err *err);

/* Prepare the jobs of a group, with others together: 0, CREW_STOPPED, or -errno with err. */
int run_prepare(struct run *r, unsigned group, struct mlgen_err *err);
