/* SPDX-License-Identifier: Apache-2.0 */
/* tracer_entries.h - what holds for a whole trace, kept until there is one; for src/trace/tracer*.c
 * alone. */
#pragma once

#include "trace/trace_writer.h"

struct tracer_kept {
	struct trace_entry entry;
	char *text; /* the entry's, owned */
};

/* A zeroed one has none. */
struct tracer_entries {
	struct tracer_kept *at;
	size_t count, room; /* vec.h */
};

void tracer_entries_add(struct tracer_entries *e, enum trace_entry_kind kind,
			const uint64_t *number, size_t count, const char *text);
void tracer_entries_add_fact(struct tracer_entries *e, const char *key, const char *value);
void tracer_entries_write(const struct tracer_entries *e, struct trace_writer *w);
/* The processes among them once more, which end now. */
void tracer_entries_write_end(const struct tracer_entries *e, struct trace_writer *w,
			      uint64_t now_ns);
void tracer_entries_fini(struct tracer_entries *e);

/* Numbers behind the first `count` are not known; the text is the caller's. */
struct trace_entry tracer_entries_make(enum trace_entry_kind kind, const uint64_t *number,
				       size_t count, const char *text);
