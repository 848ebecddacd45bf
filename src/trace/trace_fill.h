/* SPDX-License-Identifier: Apache-2.0 */
/* trace_fill.h - a trace file made of records that come in any order. */
#pragma once

#include "trace/trace_writer.h"

/*
 * What the importers fill. Records are sorted by their start (trace_sort.h), but for one over a
 * writer, where they go as they come.
 */
struct trace_fill;

struct trace_filled {
	uint64_t records, markers;
	uint32_t files;             /* with names of markers */
	uint64_t processes, mounts; /* told by trace_fill_entry */
};

/* As trace_writer_new; `form` is what the trace comes from, such as "csv". */
int trace_fill_new(struct trace_fill **out, int fd, const char *path, const char *form,
		   struct mlgen_err *err);

/* Over a trace that is written already, and stays the caller's, with facts of its own. */
struct trace_fill *trace_fill_over(struct trace_writer *writer);

/* What holds for all of the trace, as TRACE_FACT. */
void trace_fill_fact(struct trace_fill *f, const char *key, const char *value);

/* Of a process, a thread, a mount or what was lost: numbers behind the first `count` are not known.
 * Of files see below. */
void trace_fill_entry(struct trace_fill *f, enum trace_entry_kind kind, const uint64_t *number,
		      size_t count, const char *text);

/* Its id; a path of a file, or the name or text of a marker. */
uint32_t trace_fill_name(struct trace_fill *f, const char *name, size_t bytes);

/* The same of a file of which more is known: size, device, inode, generation. */
uint32_t trace_fill_file(struct trace_fill *f, const char *path, size_t bytes,
			 const uint64_t known[4]);

/* Copied. 0, or -errno with err: no room to sort them. */
int trace_fill_add(struct trace_fill *f, const struct trace_record *r, struct mlgen_err *err);

/* When operations began, first and last, of what was added; false = none was. */
bool trace_fill_span(const struct trace_fill *f, uint64_t *first_ns, uint64_t *last_ns);

/* What is in it by now. */
const struct trace_filled *trace_fill_look(const struct trace_fill *f);

/* Everything out. 0 or -errno with err; frees it in either case. */
int trace_fill_finish(struct trace_fill *f, struct trace_filled *filled, struct mlgen_err *err);

/* What is in the file is of no use then. NULL is fine. */
void trace_fill_abandon(struct trace_fill *f);
