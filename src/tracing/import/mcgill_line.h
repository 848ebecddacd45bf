/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill_line.h - a line of what McGill's bpftrace scripts print, taken apart as its header
 * says. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a file has; each script prints one. */
enum mcgill_kind {
	MCGILL_NONE, /* nobody knows */
	MCGILL_READ,
	MCGILL_WRITE,
	MCGILL_OPEN,
	MCGILL_CLOSE,
	MCGILL_CREATE, /* mkdir, rmdir, unlink, creat */
	MCGILL_BLOCK,
	MCGILL_MMAP,
	MCGILL_CLOCK,
	MCGILL_OTHER, /* of the set, and no calls: load of CPUs and such */
};

enum mcgill_column {
	MCGILL_TIME = 1,
	MCGILL_PID,
	MCGILL_TID,
	MCGILL_SKIPPED, /* one word */
	MCGILL_COMM,    /* may have blanks */
	MCGILL_OFFSET,
	MCGILL_REQUESTED,
	MCGILL_RETURNED,
	MCGILL_LATENCY,
	MCGILL_SECTOR,
	MCGILL_FULLPATH, /* may have blanks, and is behind all others */
	MCGILL_FILENAME, /* the same, behind it */
};

enum { MCGILL_COLUMNS = 16 };

/* Of a file; a zeroed one has no header yet. */
struct mcgill_form {
	enum mcgill_kind kind;
	unsigned char column[MCGILL_COLUMNS]; /* enum mcgill_column */
	size_t count;
	bool has_sector; /* of MCGILL_BLOCK */
	bool has_queue;  /* the same: time in the queue */
};

struct mcgill_text {
	const char *s; /* in the line; not zero-terminated */
	size_t bytes;
};

/* What was not there is 0, TRACE_UNKNOWN or empty. */
struct mcgill_line {
	uint64_t time_ns; /* when it ended, since boot */
	uint64_t latency_ns;
	uint32_t pid, tid;
	uint16_t op; /* enum trace_op */
	uint64_t off, requested, bytes;
	int64_t result; /* as the call returned */
	bool has_result;
	bool writes;             /* of MCGILL_BLOCK */
	struct mcgill_text disk; /* the same: "sda" */
	struct mcgill_text path, name;
	bool has_name;  /* the form has a place for it */
	unsigned day_s; /* of MCGILL_CLOCK */
};

/* By its name: "trace_read.out". */
enum mcgill_kind mcgill_kind_of_name(const char *path);

/* A header, or what bpftrace itself says: true, and the form follows it. A file that was nobody's
 * gets its kind from it. */
bool mcgill_header(struct mcgill_form *f, const char *line);

/* NULL, or why it cannot be read. */
const char *mcgill_line_take(const struct mcgill_form *f, const char *text,
			     struct mcgill_line *out);
