/* SPDX-License-Identifier: Apache-2.0 */
/* interval.h - what happened over time, in intervals of one length. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "trace/trace.h"

/* Of operations that ended in it. */
struct interval {
	double seconds; /* its end, since the trace began */
	uint64_t opens, metadata, reads, read_bytes, writes, written_bytes, errors, faults,
		cache_bytes, block_read_bytes, block_written_bytes, switches;
	double hit_percent;
};

extern const struct mlgen_field interval_fields[];

/* More are made longer, by two, until they are that few. */
#define INTERVALS_MOST (UINT64_C(1) << 18)

struct intervals {
	uint64_t start_ns, length_ns;
	size_t count;
	struct interval *at; /* owned */
};

/* From here to there, each `length_ns` long, more than 0, or longer. */
void intervals_init(struct intervals *s, uint64_t start_ns, uint64_t end_ns, uint64_t length_ns);
void intervals_fini(struct intervals *s);

void intervals_add(struct intervals *s, const struct trace_record *r);
/* What of the kernel was recorded at all. */
struct intervals_has {
	bool pages, blocks, switches;
};

/* Ends, and shares of what was counted; when all is. Pages that were added tell what the cache had,
 * or else block reads. */
void intervals_finish(struct intervals *s, const struct intervals_has *has);
/* The same in fewer, longer ones: at most `most`; `to` is a new one. */
void intervals_coarsen(struct intervals *to, const struct intervals *from, size_t most);
