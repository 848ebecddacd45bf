/* SPDX-License-Identifier: Apache-2.0 */
/* trace_iolog.h - a trace as the log that fio replays, and the way back. */
#pragma once

#include <stdio.h>

#include "trace/trace_fill.h"
#include "trace/trace_input.h"
#include "trace/trace_ordered.h"

/* Bytes of a transfer; fio takes 32 bits of them, so that a longer one becomes several: a thousand,
 * and not as many as there are numbers. */
#define TRACE_IOLOG_MOST (UINT64_C(1) << 40)

/*
 * fio's iolog has files that are opened and closed, reads and writes of so many bytes at an offset,
 * and syncs. A path is at most 256 bytes without blanks, a length 32 bits. Version 3 has a time in
 * microseconds at the beginning of each line, version 2 lines that wait.
 */

/* Longer than any name that fio reads. */
enum { TRACE_IOLOG_NAME_MAX = 256 };

/* What could not be said in it. A zeroed one is empty. */
struct trace_iolog_left {
	uint64_t files;    /* whose names it cannot have */
	uint64_t of_files; /* operations on them */
	struct buf first;  /* of those names */
	uint64_t markers;
	uint64_t others;   /* operations that it does not know */
	uint64_t failed;   /* or that moved no byte */
	uint64_t unplaced; /* file or offset is not known */
	uint64_t too_long; /* more than TRACE_IOLOG_MOST */
	uint64_t nested;   /* opens and closes that leave a file as it is */
};

/*
 * Version 3, of all that is left of `o`. Bytes are those that were moved. A file is open once, from
 * its first open, or use, to its last close. A stream that fails ends it at once, and nothing is
 * said of that. 0 or -errno with err.
 */
int trace_iolog_write(struct trace_ordered *o, FILE *to, struct trace_iolog_left *left,
		      struct mlgen_err *err);
/* As a warning and notes, with that in front of each. */
void trace_iolog_left_tell(const struct trace_iolog_left *left, const char *before);
void trace_iolog_left_fini(struct trace_iolog_left *left);

/* Of the first so many bytes of a file: is it a log of fio's, of any version? */
enum { TRACE_IOLOG_FIRST_BYTES = sizeof("fio version 3 iolog") - 1 };
bool trace_iolog_is(const char *first, size_t bytes);

struct trace_iolog_read {
	unsigned version;
	uint64_t waits; /* of version 2 */
	uint64_t trims; /* that no trace has */
	bool is_cut;    /* the last line has no end */
};

/*
 * Version 2 or 3, everything into `to`. A wait is until so many milliseconds from the beginning,
 * which is what fio does. 0, or -errno with err, which has file and line.
 */
int trace_iolog_read(struct trace_input *in, struct trace_fill *to, struct trace_iolog_read *what,
		     struct mlgen_err *err);

/* Notes of what it has, but is not as it stands there; `name` is the log's. */
void trace_iolog_tell(const char *name, const struct trace_iolog_read *what);
