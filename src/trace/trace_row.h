/* SPDX-License-Identifier: Apache-2.0 */
/* trace_row.h - rows of comma-separated values, as RFC 4180 has them. */
#pragma once

#include "trace/trace_input.h"

/* The one that was read last. A zeroed one is ready. */
struct trace_row {
	uint64_t line; /* that it begins on */
	bool is_cut;   /* the last one, and no newline ends it */
	size_t count;  /* of cells */
	struct buf text;
	size_t *starts; /* of cells in it; of one behind the last, too */
	size_t room;
};

/*
 * Lines end in a newline, or one behind a return; empty ones are skipped. A cell in quotes may have
 * commas and newlines, and quotes as two of them. 1, 0 = the text is over, or -errno with err,
 * which has the place.
 */
int trace_row_next(struct trace_row *row, struct trace_input *in, struct mlgen_err *err);
void trace_row_fini(struct trace_row *row);

/* Its bytes and a zero behind them, until the next row; may be changed. */
char *trace_row_cell(const struct trace_row *row, size_t i, size_t *bytes);

/* Append a cell, in quotes where it needs them. */
void trace_row_put(struct buf *out, const char *s, size_t bytes);
