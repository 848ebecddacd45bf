/* SPDX-License-Identifier: Apache-2.0 */
/* visit.h - what a trace's threads do with files, one visit after the other: from open to close, or
 * as long as a thread stays with one. */
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
	VISIT_MAPS = 1u << 5,  /* mmap, or faults on pages of it */
	VISIT_JUMPS = 1u << 6, /* not every read is behind the one before */
	VISIT_BACK = 1u << 7,  /* reads what it has read before */
};

/*
 * Of one thread and one file. A visit that begins with the thread's own open ends with its close;
 * but a file that is kept open, of which more places are read than VISIT_PLACES, is visited anew
 * with each of them that follows, and so is one that the thread did not open: what is read in order
 * is a visit then.
 */
/* As many columns of a row group as somebody reads. */
enum { VISIT_PLACES = 256 };

struct visit {
	uint64_t start_ns, end_ns;          /* of its first call; end of its last one */
	uint64_t call_ns;                   /* in its calls */
	uint64_t cpu_ns;                    /* of the thread between them, and from the last one
					     * to its next call; TRACE_UNKNOWN = not known */
	uint64_t read_bytes, written_bytes; /* as calls returned */
	uint64_t off;     /* first byte read, else written; TRACE_UNKNOWN = none */
	uint64_t end_off; /* behind the last byte read, else written */
	uint32_t file;    /* id of the trace's entry */
	uint32_t task;    /* of distil_task() */
	uint32_t calls, reads, writes;
	uint16_t flags; /* enum visit_flag */
	uint16_t stage; /* of distil_stage(); filled when stages are found */
};

/* All of a trace, by their start, in a file without a name: memory does not grow with them. */
struct visits;

struct visits *visits_new(void);
void visits_free(struct visits *v); /* NULL is fine */

/* The next one, which begins no earlier than all before it; its number, from 0. 0, or -errno with
 * err: there is no room in TMPDIR. */
int visits_add(struct visits *v, const struct visit *x, uint64_t *number, struct mlgen_err *err);
/* It may go on as long as it is among the last VISITS_WINDOW; NULL = it is not. */
enum { VISITS_WINDOW = 1 << 16 };
struct visit *visits_at(struct visits *v, uint64_t number);
uint64_t visits_count(const struct visits *v);

/* Walk over all of them, as often as is wanted and several at a time; none are added meanwhile. A
 * cursor is zeroed for the first of them, and has nothing to be freed behind the last; visits_stop
 * frees it earlier. The visit is the cursor's until the next call. 1, 0 = that was all, or -errno
 * with err. */
struct visits_cursor {
	uint64_t next; /* number of the one to come */
	uint32_t at, count;
	struct visit *block;
};
int visits_next(const struct visits *v, struct visits_cursor *c, const struct visit **x,
		struct mlgen_err *err);
void visits_stop(struct visits_cursor *c);

/* All of them once more, each of which `change` may write into. */
typedef void visits_change(void *arg, struct visit *x);
int visits_each(struct visits *v, visits_change *change, void *arg, struct mlgen_err *err);
