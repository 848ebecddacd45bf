/* SPDX-License-Identifier: Apache-2.0 */
/* run_inside.h - what a run is made of, for src/run/run*.c alone. */
#pragma once

#include "io/energy.h"
#include "io/host.h"
#include "run/disks.h"
#include "run/memlimit.h"
#include "run/run.h"
#include "run/slot.h"

struct tracer;

struct run {
	struct run_shared shared;
	struct host host; /* with what memory_limit leaves of it */
	struct memlimit memory;
	struct slot *slots;
	struct disks disks;
	struct energy_meter energy;
	uint64_t timestamp_ms;
	struct tracer *tracer; /* NULL = there is no trace */
	struct traced_config trace;
	struct traced_threads *threads;
	struct trace_result traced; /* no bytes: nothing was recorded */
	struct run_result result;
};
