/* SPDX-License-Identifier: Apache-2.0 */
/* visit.h - what a trace's threads do with files, one visit after the other: from open to close, or as long as a thread stays with one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

enum visit_flag {
	VISIT_OPENS = 1u << 0,  /* begins with an open of the file ... */
	VISIT_CLOSES = 1u << 1, /* ... and ends with its close */
	VISIT_READS = 1u << 2,
	VISIT_WRITES = 1u << 3,
	VISIT_SYNCS = 1u << 4,
	VISIT_MAPS = 1u << 5,   /* mmap, or faults on pages of it */
	VISIT_JUMPS = 1u << 6,  /* not every read is behind the one before */
	VISIT_BACK = 1u << 7,   /* reads what it has read before */
};

/*
 * Of one thread and one file. Where a file stays open between visits, each begins
 * when the thread turns to the file again from another one, or reads on at
 * another place than behind its last read.
 */
struct visit {
	uint64_t start_ns, end_ns; /* of its first call; end of its last one */
	uint64_t call_ns;          /* in its calls */
	uint64_t cpu_ns;  /* of the thread between them, and from the last one
			   * to its next call; TRACE_UNKNOWN = not known */
	uint64_t read_bytes, written_bytes; /* as calls returned */
	uint64_t off; /* first byte read, else written; TRACE_UNKNOWN = none */
	uint64_t end_off; /* behind the last byte read, else written */
	uint32_t file;    /* id of the trace's entry */
	uint32_t task;    /* of distil_task() */
	uint32_t calls, reads, writes;
	uint16_t flags; /* enum visit_flag */
	uint16_t stage; /* of distil_stage(); filled when stages are found */
};

/* All of a trace, by their start, in a file without a name: memory does not grow
 * with them. */
struct visits;

struct visits *visits_new(void);
void visits_free(struct visits *v); /* NULL is fine */

/* In any order; whole ones. 0, or -errno with err: no room in TMPDIR. */
int visits_add(struct visits *v, const struct visit *x, struct mlgen_err *err);
/* All were added. The same errors. */
int visits_end(struct visits *v, struct mlgen_err *err);
uint64_t visits_count(const struct visits *v);

/* Walk over all of them by start, as often as is wanted; several at a time. A
 * cursor is zeroed for the first. NULL = that was the last, or an error, which
 * visits_error has. The visit is the cursor's until the next call. */
struct visits_cursor {
	uint64_t next;
	uint32_t have, at;
	struct visit *block; /* freed behind the last; else visits_stop */
};
const struct visit *visits_next(struct visits *v, struct visits_cursor *c);
void visits_stop(struct visits_cursor *c);
int visits_error(const struct visits *v, struct mlgen_err *err);

/* Begin again; then `stage` of each may be changed by its number in the walk. */
int visits_mark(struct visits *v, uint64_t number, uint16_t stage,
		struct mlgen_err *err);
