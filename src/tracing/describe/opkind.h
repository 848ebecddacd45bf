/* SPDX-License-Identifier: Apache-2.0 */
/* opkind.h - what an operation counts as, and the bytes that a record moved. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/util.h"
#include "trace/trace.h"

enum opkind {
	OPKIND_CALL = 1,     /* a call on a file, which takes its thread's time */
	OPKIND_METADATA = 2, /* moves no byte of a file */
	OPKIND_READ = 4,
	OPKIND_WRITE = 8,
};

/* Bits of enum opkind; 0 = none of these, or not known here. */
unsigned opkind_of(unsigned op);

/* Imports of logs may not know how long it took. */
static inline bool opkind_has_duration(const struct trace_record *r)
{
	return r->duration_ns != TRACE_UNKNOWN;
}

/* 0 where nobody knows. */
static inline uint64_t opkind_duration_ns(const struct trace_record *r)
{
	return opkind_has_duration(r) ? r->duration_ns : 0;
}

/* Its end, or start where nobody knows; at most the last ns there is. */
static inline uint64_t opkind_end_ns(const struct trace_record *r)
{
	uint64_t end = r->start_ns + opkind_duration_ns(r);

	return end < r->start_ns ? UINT64_MAX : end;
}

/* Moved by a read or write, or as much as the record is about. */
uint64_t opkind_bytes(const struct trace_record *r);

/* Did it fail? */
static inline bool opkind_failed(const struct trace_record *r)
{
	return r->op < TRACE_FAULT && r->op != TRACE_MMAP && r->result < 0;
}

/* Does it have a time, as all have but damaged ones? */
static inline bool opkind_has_time(const struct trace_record *r)
{
	return r->start_ns != TRACE_UNKNOWN;
}
