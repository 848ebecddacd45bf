/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.h - one file of a trace, chunk by chunk, whatever its state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "trace/trace.h"
#include "trace/trace_chunk.h"
#include "trace/trace_reader.h"

struct trace_file {
	const char *path; /* the caller's */
	int fd;           /* -1 = closed */
	struct trace_head head;
	uint64_t at, bytes; /* of the next chunk; of the file */
	uint32_t number;    /* the next chunk's */
	bool is_over;       /* nothing comes any more */
	uint64_t records, lost;
};

/* What is needed for one chunk at a time, of whichever file. */
struct trace_unpack;

struct trace_unpack *trace_unpack_new(void);
void trace_unpack_free(struct trace_unpack *u); /* NULL is fine */

/* Open it and look at its head: 0, or -errno with err. */
int trace_file_open(struct trace_file *f, const char *path, struct mlgen_err *err);
/* The same of a descriptor that is open for reading, which stays the caller's, as does `name`: for
 * messages. */
int trace_file_from(struct trace_file *f, int fd, const char *name, struct mlgen_err *err);
void trace_file_close(struct trace_file *f); /* takes a closed one */

/*
 * The next whole chunk of records or entries: 1, *h and *raw (until the next call), 0 at the end,
 * or -errno with err: a read failed. What is damaged or missing is counted in `read`.
 */
int trace_file_chunk(struct trace_file *f, struct trace_unpack *u, struct trace_chunk_head *h,
		     void **raw, struct trace_read *read, struct mlgen_err *err);
