/* SPDX-License-Identifier: Apache-2.0 */
/* read_internal.h - what the files of run/read share. */
#pragma once

#include <limits.h>

#include "io/io.h"
#include "run/read/read.h"

/* ---- a task of a reader, for src/run/reader*.c alone ---- */

struct task {
	struct read_task public;
	struct task *next_task; /* free, or finished */
	bool is_active;
	bool has_next;
	bool is_chain; /* is, or is to be, under way as a whole */
	bool is_open;  /* its file, between one operation and the next */
	bool is_again; /* in single operations, after its chain */
	/* reader_start_list, else NULL: the piece that operations are made of, that of the next
	 * one; how far into it; the next one's place in it. */
	const struct read_list *list;
	unsigned piece, next_piece, list_step;
	uint64_t list_done, list_at;
	bool is_filling; /* what is under way is of a piece that is_fill */
	unsigned in_flight;
	enum plan_packed packed; /* what the last operation reads */
	unsigned part;           /* whose path it has */
	/* Of a chain's read: wanted of the file, and got. */
	uint64_t chain_bytes, got_bytes;
	const struct plan_config *config;
	struct plan plan;
	struct plan_op next;
	struct mlgen_file file;
	uint64_t first_ns; /* its first operation started; 0 = not known */
	uint64_t last_ns;  /* its last one completed */
	char path[PATH_MAX];
};

/* Operations of a chain: open, read, close. */
#define CHAIN_OPS 3u

/* reader_fresh decides by these numbers which reads go into new memory. */
struct fresh {
	uint64_t from_bytes;     /* so large ones; UINT64_MAX = none */
	uint64_t moves_to_bytes; /* the most that from_bytes grows to; 0 = stays */
	uint64_t array_bytes;    /* arrays that are held, from so many bytes on */
	bool is_array;           /* what is read is an array of NumPy */
	bool has_huge;           /* huge pages were asked for */
};

struct reader {
	struct io *io;
	struct opstat *stat;
	struct unpack *unpack; /* NULL = nothing is decompressed */
	reader_decode *decode; /* NULL = nothing comes behind a read */
	void *decode_arg;
	struct fresh fresh;
	struct task *last_task; /* that was started */
	struct task *tasks;
	unsigned task_count, active;
	struct task *free_task; /* a stack */
	struct task *finished, **last_finished;
	struct io_op *ops;
	struct iovec *from;      /* of each of them */
	struct io_op **free_ops; /* a stack */
	struct io_op **done;
	unsigned op_count, free_count;
	unsigned depth, requests; /* under way; a chain is one */
	bool can_chain;
};

/* The next operation, by its plan or its list; false: there is none. */
bool task_next(struct task *t);

/* Of a list: may what stands next not begin? Then nothing comes any more. And what
 * an operation has of its piece. */
bool task_is_refused(struct task *t);
void task_list_op(struct reader *r, struct task *t, struct io_op *op);

/* The plan of the task's extent, from its beginning; in a chain if it can be. */
void reader_plan(struct reader *r, struct task *t);

/* Hand over whatever may go now. */
void reader_submit(struct reader *r);

/* One of its operations has come back. */
void reader_complete(struct reader *r, struct io_op *op);

/* Nothing of it is left to do: reader_finish_one gives it away. */
void reader_end_task(struct reader *r, struct task *t);
