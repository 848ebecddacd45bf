/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - names of operations, markers and flags. */
#include "trace/trace.h"

#include <string.h>

#include "base/util.h"

static const char *const names[TRACE_OPS] = {
	[TRACE_OPEN] = "open",
	[TRACE_CLOSE] = "close",
	[TRACE_STAT] = "stat",
	[TRACE_READ] = "read",
	[TRACE_WRITE] = "write",
	[TRACE_FSYNC] = "fsync",
	[TRACE_FDATASYNC] = "fdatasync",
	[TRACE_RENAME] = "rename",
	[TRACE_UNLINK] = "unlink",
	[TRACE_MKDIR] = "mkdir",
	[TRACE_RMDIR] = "rmdir",
	[TRACE_GETDENTS] = "getdents",
	[TRACE_MMAP] = "mmap",
	[TRACE_MUNMAP] = "munmap",
	[TRACE_ALLOCATE] = "allocate",
	[TRACE_ADVISE] = "advise",
	[TRACE_FAULT] = "fault",
	[TRACE_CACHE_ADD] = "cache_add",
	[TRACE_BLOCK_ISSUE] = "block_issue",
	[TRACE_BLOCK_COMPLETE] = "block_complete",
	[TRACE_ASYNC_SUBMIT] = "async_submit",
	[TRACE_ASYNC_COMPLETE] = "async_complete",
	[TRACE_FORK] = "fork",
	[TRACE_EXEC] = "exec",
	[TRACE_EXIT] = "exit",
	[TRACE_ON_CPU] = "on_cpu",
	[TRACE_SAMPLE] = "sample",
	[TRACE_STEP] = "step",
	[TRACE_EPOCH] = "epoch",
	[TRACE_STAGE] = "stage",
	[TRACE_CHECKPOINT] = "checkpoint",
	[TRACE_COMPUTE] = "compute",
	[TRACE_TEXT] = "text",
};

const char *trace_op_name(unsigned op)
{
	return op < TRACE_OPS ? names[op] : NULL;
}

unsigned trace_op_find(const char *name)
{
	for (unsigned op = 1; op < TRACE_OPS; op++)
		if (names[op] && strcmp(names[op], name) == 0)
			return op;
	return TRACE_NONE;
}

/* By the number of the bit. */
static const char *const flags[] = {
	"off_inexact", "off_inferred", "chained", "writes", "read_ahead", "async", "begins",
};

const char *trace_flag_name(unsigned bit)
{
	for (unsigned i = 0; i < ARRAY_LEN(flags); i++)
		if (bit == 1u << i)
			return flags[i];
	return NULL;
}

unsigned trace_flag_find(const char *name, size_t bytes)
{
	for (unsigned i = 0; i < ARRAY_LEN(flags); i++)
		if (strlen(flags[i]) == bytes && memcmp(flags[i], name, bytes) == 0)
			return 1u << i;
	return 0;
}
