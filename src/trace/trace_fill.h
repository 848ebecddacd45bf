/* SPDX-License-Identifier: Apache-2.0 */
/* trace_fill.h - a trace file made of records that come in any order. */
#pragma once

#include "trace/trace_writer.h"

/*
 * What the importers fill. Records are sorted by their start (trace_sort.h);
 * processes, mounts and host of the trace are not known.
 */
struct trace_fill;

struct trace_filled {
	uint64_t records, markers;
	uint32_t files; /* with names of markers */
};

/* As trace_writer_new; `form` is what the trace comes from, such as "csv". */
int trace_fill_new(struct trace_fill **out, int fd, const char *path,
		   const char *form, struct mlgen_err *err);

/* Its id; a path of a file, or the name or text of a marker. */
uint32_t trace_fill_name(struct trace_fill *f, const char *name, size_t bytes);

/* Copied. 0, or -errno with err: no room to sort them. */
int trace_fill_add(struct trace_fill *f, const struct trace_record *r,
		   struct mlgen_err *err);

/* Everything out. 0 or -errno with err; frees it in either case. */
int trace_fill_finish(struct trace_fill *f, struct trace_filled *filled,
		      struct mlgen_err *err);

/* What is in the file is of no use then. NULL is fine. */
void trace_fill_abandon(struct trace_fill *f);
