/* SPDX-License-Identifier: Apache-2.0 */
/* trace_ordered.h - all records of a trace by their start, with the names they speak of. */
#pragma once

#include "trace/trace_reader.h"

/*
 * What another form of a trace is written from. Records that memory has no room for are in a
 * temporary file (trace_sort.h), names as trace_names.h says.
 */
struct trace_ordered;

/* Read all that is left of a reader; ids are those of trace_ordered_name from here on. 0, or -errno
 * with err: such as -EINTR of a signal that comes now. */
int trace_ordered_read(struct trace_ordered **out, struct trace_reader *r, struct mlgen_err *err);
/* The same for who wants more. Each may be NULL. */
struct trace_ordered_wants {
	/* Is this record to be kept? Its ids are still those of the reader. */
	bool (*keeps)(void *arg, const struct trace_record *r);
	/* An entry, as it comes; of a file, `id` is that of trace_ordered_name. */
	void (*told)(void *arg, const struct trace_entry *e, uint32_t id);
	void *arg;
};
int trace_ordered_read_some(struct trace_ordered **out, struct trace_reader *r,
			    const struct trace_ordered_wants *wants, struct mlgen_err *err);
void trace_ordered_free(struct trace_ordered *o); /* NULL is fine */

/* The next one, until the next call. 1, 0 = that was all, or -errno with err. */
int trace_ordered_next(struct trace_ordered *o, const struct trace_record **r,
		       struct mlgen_err *err);

/* Path or text of a record's file; "" where it has none. Until the next call of any of these. */
const char *trace_ordered_name(const struct trace_ordered *o, uint32_t file, size_t *bytes);
/* Ids are from 1 to this. */
uint32_t trace_ordered_names(const struct trace_ordered *o);
