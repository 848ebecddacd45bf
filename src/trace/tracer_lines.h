/* SPDX-License-Identifier: Apache-2.0 */
/* tracer_lines.h - the rings that a tracer's thread reads, and what it knows of them; for
 * src/trace/tracer*.c alone. */
#pragma once

#include "trace/trace_ring.h"
#include "trace/trace_writer.h"

/* One ring, and what its reader knows of it. */
struct tracer_line {
	struct trace_ring *ring; /* owned */
	char role[64];
	uint64_t told[TRACE_OPS]; /* of what was lost */
	uint64_t told_ns[TRACE_OPS];
};

/* A zeroed one has none. */
struct tracer_lines {
	struct tracer_line **at;
	size_t count, room; /* vec.h */
	char *names;        /* a name that is taken out */
};

void tracer_lines_add(struct tracer_lines *l, struct trace_ring *ring, const char *role);
/* Those of the other, which is empty then; the writer is told whose they are. NULL: there is none,
 * here and below, and nothing is written. */
void tracer_lines_join(struct tracer_lines *l, struct tracer_lines *from, struct trace_writer *w);
void tracer_lines_fini(struct tracer_lines *l);

/*
 * Write what is in them by now, and let go those whose thread has ended: what was lost of these is
 * added to *lost. How full the fullest was, 0 to 1.
 */
double tracer_lines_drain(struct tracer_lines *l, struct trace_writer *w, uint64_t *lost);

/* What was lost so far of those that are left, and entries of what is new. */
uint64_t tracer_lines_lost(const struct tracer_lines *l);
void tracer_lines_tell_lost(struct tracer_lines *l, struct trace_writer *w);
