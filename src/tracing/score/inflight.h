/* SPDX-License-Identifier: Apache-2.0 */
/* inflight.h - how many operations were under way, for how long. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracing/score/spread.h"

/* Between two looks, at most INFLIGHT_MOST operations end; of more, those that would end first are
 * given up. */
struct inflight {
	uint64_t *ends; /* a heap, the first to end in front */
	size_t count, room;
	uint64_t now_ns;
	uint64_t ended_ns; /* when the last of those that ended did */
};

enum { INFLIGHT_MOST = 65536 };

/* Time in which none was under way, as pieces of at least so long. */
#define INFLIGHT_IDLE_NS UINT64_C(1000000)

struct inflight_seen {
	struct spread depth; /* weight: ns */
	uint64_t idle_count, idle_ns;
};

/* Time goes on to here: what there was since the last look goes into `seen` (NULL = nowhere), up to
 * `until_ns`. */
void inflight_go(struct inflight *f, uint64_t now_ns, uint64_t until_ns,
		 struct inflight_seen *seen);
/* One begins now, and ends then. */
void inflight_begin(struct inflight *f, uint64_t end_ns);
void inflight_fini(struct inflight *f);
