/* SPDX-License-Identifier: Apache-2.0 */
/* plain_book.h - what threads of a trace read and wrote that is of no training: an account for each
 * thread, file and direction. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/map.h"
#include "distil/distil_inside.h"

enum {
	PLAIN_ACCOUNTS_MOST = 8192, /* of more files a thread has one for all */
	PLAIN_SIZES = 24,           /* sizes of requests that are told apart */
	PLAIN_TIMES = 48,           /* powers of two of ns */
};

struct plain_size {
	uint64_t bytes, count;
};

struct plain_account {
	uint32_t task, file; /* file: UINT32_MAX = several, see files */
	bool is_write, is_direct, is_fault;
	bool is_async; /* requests overlap, or the trace says so */
	uint32_t files;
	uint64_t count, bytes;
	struct plain_size sizes[PLAIN_SIZES]; /* those that came first */
	uint64_t others;                      /* of other sizes */
	uint64_t in_order;                    /* begin where the one before ended */
	uint64_t low, high;                   /* first byte, and behind the last */
	uint64_t last_end;
	uint64_t start_ns, end_ns;
	uint64_t syncs, datasyncs;
	uint64_t last_sync_ns, last_start_ns;
	uint32_t depth; /* requests of the thread under way, at most */
	/* Times of the thread between calls, and from start to start. */
	uint64_t thinks[PLAIN_TIMES], think_ns[PLAIN_TIMES];
	uint64_t gaps;
	double gap_ns, gap_squares, think_squares;
	/* Requests between two long pauses: more than a quarter of the longest so far. */
	uint64_t longest_ns, run, runs, run_sum, run_squares;
	/* Of starts from the first on, and with their numbers from 0. */
	double start_sum, start_squares, start_products;
};

struct plain_book {
	struct plain_account *at; /* in order of their first call */
	uint32_t count;
	size_t room;     /* vec.h */
	struct map keys; /* of thread, file and direction */
};

/* It reads the trace once more. 0, or -errno with err: as trace_reader_open. */
int plain_book_read(struct plain_book *b, struct distil *d, struct mlgen_err *err);
void plain_book_fini(struct plain_book *b); /* takes a zeroed one */
