/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - a call on a file, as logs of several programs have it, becomes a record with its place
 * in the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracing/import/importer.h"

enum call_kind {
	CALL_OPEN,
	CALL_CLOSE,
	CALL_MOVES, /* bytes at the position, which goes on */
	CALL_AT,    /* at an offset of its own */
	CALL_SEEK,
	CALL_FILE,   /* anything else of a file, open or by its name */
	CALL_RENAME, /* of two names */
	CALL_DUP,
	CALL_FORK,
	CALL_QUIET, /* moves no byte, and a trace does not have it */
};

struct call {
	const char *name;
	enum call_kind kind;
	uint16_t op;   /* enum trace_op */
	bool is_stdio; /* of the C library, above others */
};

/* By the name of a system call or a function; a 64 at its end, and prefixes of the kernel and of
 * old C libraries, are nothing. NULL = not known. */
const struct call *call_find(const char *name);

/* One of them. */
struct call_seen {
	uint32_t pid, tid;
	uint64_t start_ns, duration_ns; /* TRACE_UNKNOWN = not said */
	int64_t fd;                     /* -1 = not said */
	uint32_t file, becomes;         /* ids of names; 0 = not said */
	uint64_t off;                   /* of it, or what it seeks; TRACE_UNKNOWN */
	uint64_t bytes;                 /* as asked for; TRACE_UNKNOWN */
	uint64_t flags;                 /* of open(2); TRACE_UNKNOWN */
	int64_t whence;                 /* -1 = not said */
	bool has_result;
	int64_t result; /* -errno where it failed */
};

/*
 * Positions of files that are open: by descriptor where the log has those, else by name, of which a
 * process may have one open then.
 */
struct calls;

/* `is_in_order`: calls of all processes come by time. Else a child's may come behind all of its
 * parent's, and it inherits nothing. */
struct calls *calls_new(struct importing *m, bool is_in_order);
void calls_free(struct calls *c); /* NULL is fine */

/* 0 or -errno with err. */
int calls_take(struct calls *c, const struct call *k, const struct call_seen *s,
	       struct mlgen_err *err);

/* Is this descriptor open, by a call that was taken? */
bool calls_knows(const struct calls *c, uint32_t pid, int64_t fd);

/* At the end: notes of what was left out or guessed, and whether its times are those of day
 * (m->no_clock). */
void calls_tell(struct calls *c);
