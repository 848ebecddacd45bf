/* SPDX-License-Identifier: Apache-2.0 */
/* describe_inside.h - for src/tracing/describe/describe*.c alone. */
#pragma once

#include "tracing/describe/describe.h"
#include "tracing/describe/filebook.h"
#include "tracing/describe/markbook.h"
#include "tracing/describe/pairing.h"
#include "tracing/describe/taskbook.h"
#include "stat/opstat.h"

/* Requests of one kind by their size. */
struct size_account {
	uint64_t count[SIZES_CLASSES], bytes[SIZES_CLASSES], ns[SIZES_CLASSES];
};

enum { SIZED_READ, SIZED_WRITE, SIZED_BLOCK_READ, SIZED_BLOCK_WRITE, SIZED };

/* A text that an id of the trace stands for, where it is wanted at the end. */
struct wanted_name {
	uint32_t id;
	const char *text; /* the store's; NULL = not met yet */
};

/* While a trace is read. */
struct describe {
	struct trace_reader *reader;
	struct description *to;
	struct trace_names *names;
	struct filebook files;
	struct taskbook tasks;
	struct markbook marks;
	struct pairing *block, *async;
	struct size_account sizes[SIZED];
	uint64_t start_ns, end_ns; /* of all records */
	uint64_t seen[TRACE_OPS];  /* records, failed ones, too */
	uint64_t moved_ns;         /* in reads and writes */
	uint64_t cache_ahead_bytes, block_ns, block_ahead_bytes;
	uint64_t fault_first_ns, fault_last_ns;
	uint32_t top[DESCRIBE_TOP];
	size_t top_count;
	struct wanted_name *wanted; /* ascending ids */
	size_t wanted_count;
	/* Lists that grow while entries come. */
	size_t fact_room, mount_room, loss_room;
};

/* Pass one: what a batch has. */
void describe_entries(struct describe *d, const struct trace_batch *batch);
void describe_records(struct describe *d, const struct trace_batch *batch);

/* All was read: put it into d->to. */
void describe_fill(struct describe *d);
void describe_fill_lists(struct describe *d);

/* The text of an id, "" where nothing named it. */
const char *describe_name(const struct describe *d, uint32_t id);
/* Since the trace began; NaN = not known. */
double describe_seconds(const struct describe *d, uint64_t ns);
