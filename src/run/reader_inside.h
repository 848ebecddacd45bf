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
