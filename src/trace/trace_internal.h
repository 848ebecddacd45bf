/* SPDX-License-Identifier: Apache-2.0 */
/* trace_internal.h - sorting of records and rows of CSV, within src/trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/trace.h"

/* ---- sorting records by start time, beyond the size of memory ---- */

/*
 * Runs of records are sorted in memory, written to an unnamed file (base/files.h), and merged at
 * the end. Among records with the same start, markers of phases come first, then other markers,
 * because markers apply to calls that start at the same time. Otherwise the order of arrival is
 * kept.
 */
struct trace_sort;

/* Records of a run: 32 MiB of records and 8 MiB of sort keys. */
enum { TRACE_SORT_RUN = 1 << 19 };

/* Sort `run` records at a time, usually TRACE_SORT_RUN. Allocates little until records are added.
 */
struct trace_sort *trace_sort_new(size_t run);
void trace_sort_free(struct trace_sort *s); /* NULL is fine */

/* Add a record, which is copied. 0, or -errno with err: a run could not be written. */
int trace_sort_add(struct trace_sort *s, const struct trace_record *r, struct mlgen_err *err);

/* The next record, valid until the next call. No more records may be added. 1, 0 at the end, or
 * -errno with err. */
int trace_sort_next(struct trace_sort *s, const struct trace_record **r, struct mlgen_err *err);

/* ---- rows of comma-separated values, as RFC 4180 has them ---- */

/* The row that was read last. A zeroed struct is ready. */
struct trace_row {
	uint64_t line; /* line number of its first byte */
	bool is_cut;   /* the last row, without a newline */
	size_t count;  /* number of cells */
	struct buf text;
	size_t *starts; /* offsets of cells in `text`, and the end of the last one */
	size_t room;
};

/*
 * Read the next row. Lines end in a newline or carriage return and newline; empty lines are
 * skipped. A quoted cell may contain commas, newlines, and doubled quotes. 1, 0 at the end of the
 * text, or -errno with err, which names file and line.
 */
int trace_row_next(struct trace_row *row, struct trace_input *in, struct mlgen_err *err);
void trace_row_fini(struct trace_row *row);

/* Cell i, NUL-terminated and writable, valid until the next row. */
char *trace_row_cell(const struct trace_row *row, size_t i, size_t *bytes);

/* Append a cell, quoted if necessary. */
void trace_row_append(struct buf *out, const char *s, size_t bytes);
