/* SPDX-License-Identifier: Apache-2.0 */
/* trace_reader.h - the files of one trace as a stream of records and entries. */
#pragma once

#include <mlgen/err.h>

#include "trace/trace.h"

/*
 * Several files of one run are one trace: they are read one after the other, in the order of their
 * parts, and ids of files are made those of the whole (the entry that names one comes again with
 * its new id).
 *
 * A chunk that is damaged is skipped and counted, never guessed at; a file that ends early is read
 * as far as it goes. Memory is that of a chunk.
 */
struct trace_reader;

/* What a call of trace_reader_next brings; the reader's, until the next call. */
struct trace_batch {
	const struct trace_record *records;
	size_t record_count;
	const struct trace_entry *entries; /* before these records */
	size_t entry_count;
};

struct trace_read {
	uint64_t files, chunks, records, entries, bytes;
	uint64_t damaged_chunks, damaged_bytes; /* skipped */
	uint64_t damaged_records;               /* in them, of files that have their end */
	uint64_t lost;                          /* when it was recorded, as entries and ends say */
	uint64_t unknown_ops;                   /* records of a later version; they are given */
	unsigned truncated;                     /* files without an end */
};

/*
 * 0, or -errno with err: no trace, of another version, files of several runs, the same part twice.
 * A file that is empty is no trace. The paths are the caller's, and are needed as long as the
 * reader is.
 */
int trace_reader_open(struct trace_reader **out, const char *const *paths, size_t count,
		      struct mlgen_err *err);
/* The same of one file that is open for reading, such as one without a name. The descriptor is the
 * reader's from here on, whatever comes of it; `name` is for messages, and copied. */
int trace_reader_from(struct trace_reader **out, int fd, const char *name, struct mlgen_err *err);
void trace_reader_close(struct trace_reader *r); /* NULL is fine */

/* Of the first part. */
const struct trace_head *trace_reader_head(const struct trace_reader *r);

/* 1 and *batch, 0 at the end, or -errno with err: a read failed. */
int trace_reader_next(struct trace_reader *r, struct trace_batch *batch, struct mlgen_err *err);

/* Begin anew, from the first file. 0 or -errno with err. */
int trace_reader_rewind(struct trace_reader *r, struct mlgen_err *err);

/* So far. */
const struct trace_read *trace_reader_read(const struct trace_reader *r);

/* Of the first so many bytes of a file: is it a trace of mlgen's, be it of another version? */
enum { TRACE_MAGIC_BYTES = 8 };
bool trace_is_magic(const void *first, size_t bytes);
