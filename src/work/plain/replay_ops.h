/* SPDX-License-Identifier: Apache-2.0 */
/* replay_ops.h - a trace made ready to be replayed: what each worker does, one operation after the
 * other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "job/job.h"
#include "run/results.h"
#include "work/plain/replay_files.h"

enum replay_flag {
	/* It failed in the trace: it may fail here, too. */
	REPLAY_MAY_FAIL = 1u << 0,
	/* A page of a mapping: touched by ioengine=mmap, else read. */
	REPLAY_TOUCH = 1u << 1,
};

/* One operation. Times are ns of the trace, from its first operation. */
struct replay_op {
	uint64_t start_ns;
	uint64_t think_ns;    /* after what its worker had done before it */
	uint64_t off;         /* RENAME: id of the file that it becomes */
	uint32_t len_bytes;   /* as asked for; OPEN: flags of open(2) */
	uint32_t moved_bytes; /* of a read that ended at the end of the file */
	uint32_t file;        /* id of replay_files.h */
	uint32_t turn;        /* how many began before it: on its file, or at all */
	uint16_t under_way;   /* of its worker's, when it began */
	uint16_t beside;      /* of those that `turn` counts */
	uint8_t op;           /* enum mlgen_op */
	uint8_t flags;        /* enum replay_flag */
};

/*
 * What a whole trace comes to, for one job. It is read twice, sorted by start with bounded memory,
 * and what each worker does is put into a temporary file without a name (base/unnamed.h), so that
 * memory grows with workers and files, and not with operations.
 *
 * Block requests are replayed where a trace has nothing else: else they are what the calls came to.
 *
 * Threads of the trace that were there at different times share a worker; so do all with
 * replay_threads=. Of a worker operations keep their order, and as many are under way when one
 * begins as were in the trace.
 */
struct replay_ops {
	const struct job *job;
	uint64_t threads; /* of the trace that have operations */
	unsigned workers;
	unsigned depth;                /* most under way of a worker; 1 and more */
	uint64_t operations, bytes[2]; /* read, written */
	uint64_t touches, redirected;
	uint64_t span_ns;       /* from the first start to the last end */
	uint64_t largest_bytes; /* of a read or write */
	unsigned most_open;     /* files that a worker has open at once */
	size_t longest_name;    /* of the trace, bytes */
	bool writes;            /* something is changed */
	/* It has no calls on files, and these are requests of block devices: reads and writes of
	 * files that stand for them. */
	uint64_t blocks, folded; /* beyond replay_span, of them */
	bool is_direct;          /* they pass the page cache */
	uint64_t align_bytes;    /* what their offsets and lengths divide by */
	bool was_incomplete;     /* the trace lost something, or has no end */
	uint64_t left_operations;
	uint64_t left_writes; /* of them, that have no offset */
	char left_out[256];   /* as replay_result has it */
	/* Asked for, over the time of the trace at replay_speed. */
	double slice_seconds;
	struct replay_slice slices[REPLAY_SLICES];
	struct replay_spool *spool;
};

/*
 * 0, or -errno with err: no trace, one without an operation that could be replayed, more than 65535
 * threads at a time, no room for the temporary file, or options that do not fit to what it has.
 * `files` is empty, and knows all files afterwards.
 */
int replay_ops_read(struct replay_ops *o, struct replay_files *files, const struct job *job,
		    struct mlgen_err *err);
void replay_ops_fini(struct replay_ops *o); /* takes a zeroed one */

/* The way of one worker through its operations, on its own thread. */
struct replay_cursor;
struct replay_cursor *replay_cursor_new(const struct replay_ops *o, unsigned worker);
void replay_cursor_free(struct replay_cursor *c); /* NULL is fine */
/* 1 and *op, until the next call; 0 = that was all; or -errno with err. */
int replay_cursor_next(struct replay_cursor *c, const struct replay_op **op, struct mlgen_err *err);
