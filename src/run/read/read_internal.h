/* SPDX-License-Identifier: Apache-2.0 */
/* read_internal.h - declarations that the files of run/read share. */
#pragma once

#include <limits.h>

#include "io/io.h"
#include "run/read/read.h"

/* ---- readers and their tasks ---- */

struct reader_task {
	struct read_task public;
	struct reader_task *next_task; /* next free or finished task */
	bool is_active;
	bool has_next;
	bool is_chain;   /* submitted, or to be submitted, as a chain */
	bool is_open;    /* the file is open between two operations */
	bool is_resumed; /* continued in single operations after a chain */
	/* Set by reader_start_list, otherwise NULL. next_piece and list_at are the position of the
	 * next operation; `piece` and list_done are that of the operation after it. */
	const struct read_list *list;
	unsigned piece, next_piece, list_step;
	uint64_t list_done, list_at;
	bool is_filling; /* the operation in flight belongs to a piece with is_fill */
	unsigned in_flight;
	enum plan_packed packed; /* compression of the bytes that the last operation reads */
	unsigned part;           /* the part of the dataset that `path` lies in */
	/* Bytes that the read of a chain requests from the file, and bytes that it has read. */
	uint64_t chain_bytes, got_bytes;
	const struct plan_config *config;
	struct plan plan;
	struct plan_op next;
	struct mlgen_file file;
	uint64_t first_ns; /* start of its first operation; 0 = not known */
	uint64_t last_ns;  /* end of its last operation */
	char path[PATH_MAX];
};

/* Operations of a chain: open, read, close. */
#define CHAIN_OPS 3u

/* Thresholds that decide which reads go into untouched memory (reader_fresh). */
struct fresh {
	uint64_t from_bytes;     /* least size of a read; UINT64_MAX = no read */
	uint64_t moves_to_bytes; /* upper limit of a growing from_bytes; 0 = it is constant */
	uint64_t array_bytes;    /* least size of an array that is held */
	bool is_array;           /* reads fill NumPy arrays */
	bool has_huge;           /* huge pages were asked for */
};

struct reader {
	struct io *io;
	struct opstat *stat;
	struct unpack *unpack; /* NULL = nothing is decompressed */
	reader_decode *decode; /* called after each read; or NULL */
	void *decode_arg;
	struct fresh fresh;
	struct reader_task *last_task; /* the task started last */
	struct reader_task *tasks;
	unsigned task_count, active;
	struct reader_task *free_task; /* a stack */
	struct reader_task *finished, **last_finished;
	struct io_op *ops;
	struct iovec *from;      /* per element of `ops` */
	struct io_op **free_ops; /* a stack */
	struct io_op **done;
	unsigned op_count, free_count;
	unsigned depth;    /* limit of requests */
	unsigned requests; /* requests in flight; a chain is one */
	bool can_chain;
};

/* Set t->next by the plan or the list; false: there are no more operations. */
bool task_next(struct reader_task *t);

/* Is the next operation of a list a fill that may not begin? If so, the task has no further
 * operation. */
bool task_is_refused(struct reader_task *t);
/* Fill in an operation of a list from its piece. */
void task_list_op(struct reader *r, struct reader_task *t, struct io_op *op);

/* Begin the plan of the task's extent, as a chain if possible. */
void reader_plan(struct reader *r, struct reader_task *t);

/* Submit all operations that need not wait. */
void reader_submit(struct reader *r);

/* Process the completion of an operation. */
void reader_complete(struct reader *r, struct io_op *op);

/* Queue a task without further operations for reader_finish_one. */
void reader_end_task(struct reader *r, struct reader_task *t);
