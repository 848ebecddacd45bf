/* SPDX-License-Identifier: Apache-2.0 */
/* trace_sort.h - records by their start, more of them than memory has room for. */
#pragma once

#include <mlgen/err.h>

#include "trace/trace.h"

/*
 * So many are sorted in memory and written to a file without a name (base/unnamed.h); in the end
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
