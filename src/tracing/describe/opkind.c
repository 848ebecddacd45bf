/* SPDX-License-Identifier: Apache-2.0 */
/* opkind.c - what an operation counts as, and the bytes that a record moved. */
#include "tracing/describe/opkind.h"

/* clang-format off */
static const unsigned char kinds[TRACE_OPS] = {
	[TRACE_OPEN] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_CLOSE] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_STAT] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_READ] = OPKIND_CALL | OPKIND_READ,
	[TRACE_WRITE] = OPKIND_CALL | OPKIND_WRITE,
	[TRACE_FSYNC] = OPKIND_CALL,
	[TRACE_FDATASYNC] = OPKIND_CALL,
	[TRACE_RENAME] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_UNLINK] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_MKDIR] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_RMDIR] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_GETDENTS] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_MMAP] = OPKIND_CALL,
	[TRACE_MUNMAP] = OPKIND_CALL,
	[TRACE_ALLOCATE] = OPKIND_CALL,
	[TRACE_ADVISE] = OPKIND_CALL,
};
/* clang-format on */

unsigned opkind_of(unsigned op)
{
	return op < ARRAY_LEN(kinds) ? kinds[op] : 0;
}

static uint64_t known_length(const struct trace_record *r)
{
	return r->len_bytes == TRACE_UNKNOWN ? 0 : r->len_bytes;
}

uint64_t opkind_bytes(const struct trace_record *r)
{
	switch (r->op) {
	case TRACE_READ:
	case TRACE_WRITE:
		return r->result > 0 ? (uint64_t)r->result : 0;
	case TRACE_CACHE_ADD:
	case TRACE_BLOCK_ISSUE:
	case TRACE_BLOCK_COMPLETE:
	case TRACE_CHECKPOINT:
	case TRACE_SAMPLE:
		return known_length(r);
	default:
		return 0;
	}
}
