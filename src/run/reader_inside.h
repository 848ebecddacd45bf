/* SPDX-License-Identifier: Apache-2.0 */
/* reader_inside.h - a task of a reader, for src/run/reader*.c alone. */
#pragma once

#include <limits.h>

#include "io/io.h"
#include "run/reader.h"

struct task {
	struct read_task public;
	struct task *next_task; /* free, or finished */
	bool is_active;
	bool has_next;
	bool is_chain; /* is, or is to be, under way as a whole */
	bool is_open;  /* its file, between one operation and the next */
	bool is_again; /* in single operations, after its chain */
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

/* An operation of it is done: what it read is decompressed. */
void task_unpack(struct task *t, struct unpack *u, const struct io_op *op);

/* Operations of a chain: open, read, close. */
#define CHAIN_OPS 3u

struct reader {
	struct io *io;
	struct opstat *stat;
	struct unpack *unpack; /* NULL = nothing is decompressed */
	reader_decode *decode; /* NULL = nothing comes behind a read */
	void *decode_arg;
	struct task *last_task; /* that was started */
	struct task *tasks;
	unsigned task_count, active;
	struct task *free_task; /* a stack */
	struct task *finished, **last_finished;
	struct io_op *ops;
	struct io_op **free_ops; /* a stack */
	struct io_op **done;
	unsigned op_count, free_count;
	unsigned depth, requests; /* under way; a chain is one */
	bool can_chain;
};

/* The plan of the task's extent, from its beginning; in a chain if it can be. */
void reader_plan(struct reader *r, struct task *t);

/* Hand over whatever may go now. */
void reader_submit(struct reader *r);

/* One of its operations has come back. */
void reader_complete(struct reader *r, struct io_op *op);

/* Nothing of it is left to do: reader_finish_one gives it away. */
void reader_end_task(struct reader *r, struct task *t);
