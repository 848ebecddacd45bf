/* SPDX-License-Identifier: Apache-2.0 */
/* trace_internal.h - what the files of trace share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/trace.h"

/* ---- one file of a trace, chunk by chunk, whatever its state ---- */

struct trace_file {
	const char *path; /* the caller's */
	int fd;           /* -1 = closed */
	struct trace_head head;
	uint64_t at, bytes; /* of the next chunk; of the file */
	uint32_t number;    /* the next chunk's */
	bool is_over;       /* nothing comes any more */
	uint64_t records, lost;
};

/* What is needed for one chunk at a time, of whichever file. */
struct trace_unpack;

void trace_unpack_free(struct trace_unpack *u); /* NULL is fine */

void trace_file_close(struct trace_file *f); /* takes a closed one */

/* ---- records by their start, more of them than memory has room for ---- */

/*
 * So many are sorted in memory and written to a file without a name (base/files.h); in the end
 * all such runs are merged. Of records with the same start those that say which phase holds come
 * first, then the other markers, since they hold for what begins with them; otherwise the order is
 * the one in which they came.
 */
struct trace_sort;

/* What memory is for: 32 MiB of records, and 8 MiB to sort them. */
enum { TRACE_SORT_RUN = 1 << 19 };

/* `run` records at a time, as TRACE_SORT_RUN. Takes nothing yet. */
struct trace_sort *trace_sort_new(size_t run);
void trace_sort_free(struct trace_sort *s); /* NULL is fine */

/* Copied. 0, or -errno with err: there is no room for a run. */
int trace_sort_add(struct trace_sort *s, const struct trace_record *r, struct mlgen_err *err);

/* The next one, until the next call; none are added any more. 1, 0 = that was all, or -errno with
 * err. */
int trace_sort_next(struct trace_sort *s, const struct trace_record **r, struct mlgen_err *err);

/* ---- what is in a gzip file, block by block, whatever number of members it has ---- */

/*
 * Bytes of the file go in, those of the text come out; it holds neither for long. Members follow
 * one another, as writers of blocks leave them, and zeros behind the last are padding.
 */
struct trace_gunzip;

void trace_gunzip_free(struct trace_gunzip *g); /* NULL is fine */

/* ---- rows of comma-separated values, as RFC 4180 has them ---- */

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
