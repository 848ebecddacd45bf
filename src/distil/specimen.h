/* SPDX-License-Identifier: Apache-2.0 */
/* specimen.h - visits of which all calls are kept, so that they can be held against what a
 * framework would call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "distil/visit.h"
#include "trace/trace.h"

enum {
	SPECIMENS_MOST = 1024,      /* evenly spread over the trace's visits */
	SPECIMEN_CALLS_MOST = 4096, /* of a longer one the first of them */
};

/* As the trace has it, with the thread's own time in front of it. */
struct specimen_call {
	uint64_t off, len_bytes; /* off: TRACE_UNKNOWN = not known */
	int64_t result;
	uint64_t start_ns, duration_ns;
	uint64_t think_ns; /* since the call before; 0 for the first */
	/* Of the thread, from the end of the call before to that of this one; TRACE_UNKNOWN = not
	 * known. */
	uint64_t cpu_ns;
	uint16_t op;    /* enum trace_op */
	uint16_t flags; /* enum trace_flag */
};

struct specimen {
	struct visit visit;
	uint64_t number;     /* of the visits that may be specimens, from 0 */
	bool writes;         /* begins with a write, or an open to write */
	uint64_t file_bytes; /* TRACE_UNKNOWN = not known */
	uint32_t count;      /* calls that are kept */
	struct specimen_call *calls;
	size_t room; /* of calls: mem_grow() */
};

struct specimens {
	struct specimen *at; /* owned, and their calls */
	uint32_t count;
};
