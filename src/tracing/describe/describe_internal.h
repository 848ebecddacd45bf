/* SPDX-License-Identifier: Apache-2.0 */
/* describe_internal.h - the state while a trace is described, and its intervals. */
#pragma once

#include "stat/opstat.h"
#include "trace/model/model.h"
#include "tracing/describe/describe.h"

/* ---- intervals ---- */

/* Make intervals from start to end, each `length_ns` long, more than 0, or longer. */
void intervals_init(struct intervals *s, uint64_t start_ns, uint64_t end_ns, uint64_t length_ns);
void intervals_fini(struct intervals *s);

void intervals_add(struct intervals *s, const struct trace_record *r);

/*
 * Call after all records were added: compute ends and shares. `seen` is the number of records of
 * each operation. The hit percentage is computed from the pages that were added to the cache or, if
 * the trace has none, from block reads.
 */
void intervals_finish(struct intervals *s, const uint64_t seen[TRACE_OPS]);
/* Make `to`, the same time in at most `most` intervals. */
void intervals_coarsen(struct intervals *to, const struct intervals *from, size_t most);

/* Consecutive intervals of one kind. */
struct phase {
	enum phase_kind kind;
	size_t first, count; /* intervals */
	uint64_t bytes;      /* read and written */
};

/* Find the phases in order of time. Returns their number; at most `most` are filled in. */
size_t phases_find(const struct intervals *s, struct phase *to, size_t most);

/* ---- a description while its trace is read ---- */

/* Requests of one kind by their size. */
struct size_account {
	uint64_t count[SIZES_CLASSES], bytes[SIZES_CLASSES], ns[SIZES_CLASSES];
};

enum { SIZED_READ, SIZED_WRITE, SIZED_BLOCK_READ, SIZED_BLOCK_WRITE, SIZED };

/* An id whose name the document needs. */
struct wanted_name {
	uint32_t id;
	const char *text; /* the store's; NULL = not found yet */
};

struct describe {
	struct trace_reader *reader;
	struct description *to;
	struct trace_names *names;
	struct trace_files files;
	struct trace_tasks tasks;
	struct trace_marks marks;
	struct pairing block, async;
	struct size_account sizes[SIZED];
	uint64_t start_ns, end_ns; /* time of all records */
	uint64_t seen[TRACE_OPS];  /* records, including calls that failed */
	uint64_t moved_ns;         /* time in reads and writes */
	uint64_t cache_ahead_bytes, block_ns, block_ahead_bytes;
	uint64_t fault_first_ns, fault_last_ns;
	uint32_t top[DESCRIBE_TOP]; /* ids of files, those with the most bytes first */
	size_t top_count;
	struct wanted_name *wanted; /* ascending ids */
	size_t wanted_count;
	size_t fact_room, mount_room, loss_room; /* allocated elements of lists that grow */
};

/* Find the files with the most bytes, after the first pass. */
void describe_find_top(struct describe *d);
/* The name of an id, "" if it has none. */
const char *describe_name(const struct describe *d, uint32_t id);
/* Fill the figures, after both passes. */
void describe_fill(struct describe *d);
