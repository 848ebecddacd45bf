/* SPDX-License-Identifier: Apache-2.0 */
/* trace_writer.h - a trace file as a stream: entries and records in, compressed chunks out. */
#pragma once

#include <mlgen/err.h>

#include "trace/trace.h"

/*
 * One thread owns a writer. It keeps a chunk of records and one of entries in memory, whatever the
 * trace's length; the index goes out in parts, too.
 *
 * An error stays: what follows is counted as lost, and the file is cut back to its last whole
 * chunk, so that it can be read as far as it goes. The caller goes on and learns it at the end.
 */
struct trace_writer;

struct trace_written {
	uint64_t records, entries, chunks, bytes;
	uint64_t lost; /* that were handed over and could not be written */
};

/*
 * Write to the descriptor, from its start; it is the caller's, open for writing, and empty; `path`
 * is for messages. 0 or -errno with err.
 */
int trace_writer_new(struct trace_writer **out, int fd, const char *path,
		     const struct trace_head *head, struct mlgen_err *err);

/* Copied. Neither fails: see above. */
void trace_writer_record(struct trace_writer *w, const struct trace_record *r);
void trace_writer_entry(struct trace_writer *w, const struct trace_entry *e);

/* A file's path, or a marker's text: its id, which is 1 or more; written when it is new. See
 * trace_names.h for what that takes. */
uint32_t trace_writer_name(struct trace_writer *w, const char *text, size_t bytes);
/* The same, of which more is known: size, device, inode, generation. */
uint32_t trace_writer_file(struct trace_writer *w, const char *path, size_t bytes,
			   const uint64_t known[4]);

/* What there is goes out now, as a chunk that may be short. */
void trace_writer_flush(struct trace_writer *w);

/*
 * Everything out, index and end behind it. 0, or -errno with err of the first error. Frees the
 * writer, not the descriptor. `written` may be NULL.
 */
int trace_writer_finish(struct trace_writer *w, struct trace_written *written,
			struct mlgen_err *err);
