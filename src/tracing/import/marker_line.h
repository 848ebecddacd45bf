/* SPDX-License-Identifier: Apache-2.0 */
/* marker_line.h - one line of an application's log as the marker that it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum marker_edge { MARKER_POINT, MARKER_BEGINS, MARKER_ENDS };

/* A zeroed one is ready; what is read last stays until the next. */
struct marker_line {
	uint64_t time_ns; /* of day, since 1970 */
	bool is_local;    /* the line had no zone, and this host's was taken */
	enum marker_edge edge;
	uint16_t op;     /* TRACE_EPOCH, STAGE, CHECKPOINT or TEXT */
	uint64_t number; /* as the log has it; TRACE_UNKNOWN = it has none */
	int64_t rank;    /* -1 = not known */
	struct buf name; /* of a stage; save or restore; a text */
	char wrong[256]; /* what is, where a line cannot be read */
};

/*
 * What a line is: 1 = a marker, 0 = none, -1 = it looks like one, and m->wrong says what is wrong
 * with it. Lines end in a zero byte.
 */

/* ":::MLLOG {...}" of MLPerf, with whatever stands before it. */
int marker_line_mllog(struct marker_line *m, const char *line, size_t bytes);
/* "[OUTPUT] 2026-02-28T12:00:00.000000 Starting epoch 1: ..." of DLIO. */
int marker_line_dlio(struct marker_line *m, const char *line);
/* "time,text"; the first line may say just that. */
int marker_line_csv(struct marker_line *m, const char *line, bool is_first);
/* Does this first line begin such a table? */
bool marker_line_is_csv(const char *line);

/* "epoch 3 start", "eval_stop", "checkpoint save begin": op, edge, number and name; anything else
 * is TRACE_TEXT. */
void marker_line_words(struct marker_line *m, const char *text, size_t bytes);

void marker_line_fini(struct marker_line *m);

/*
 * A time of day: seconds since 1970, with a fraction or not, or as many ms, us or ns as their size
 * tells, or 2026-02-28T12:00:00.5 with a zone (Z, +01:00) or without. Bytes that it takes; 0 =
 * there is none.
 */
size_t marker_time(const char *s, uint64_t *ns, bool *is_local);
