/* SPDX-License-Identifier: Apache-2.0 */
/* plain_internal.h - streams: threads that read and write in the same way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "tracing/distil/plain/plain.h"

enum {
	PLAIN_SIZES = 24,      /* sizes of requests that are told apart */
	PLAIN_TIMES = 48,      /* powers of two of ns */
	PLAIN_FILES_MOST = 16, /* files of a stream whose ids are kept */
};

/* A stream is sequential if at least this part of its requests is in order. */
#define PLAIN_IN_ORDER 0.5

struct plain_size {
	uint64_t bytes, count;
};

struct plain_account {
	uint32_t task, file; /* file: UINT32_MAX = several, see files */
	bool is_write, is_direct, is_fault;
	uint32_t files;
	uint64_t count, bytes;
	struct plain_size sizes[PLAIN_SIZES]; /* the first that were seen */
	uint64_t others;                      /* requests of other sizes */
	uint64_t in_order;                    /* requests that begin where the one before ended */
	uint64_t low, high;                   /* first byte, and after the last */
	uint64_t last_end;
	uint64_t start_ns, end_ns;
	uint64_t syncs, datasyncs;
	uint64_t last_sync_ns, last_start_ns;
	uint32_t depth; /* requests of the thread in flight, at most */
	/* Times of the thread between calls, by powers of two; times from start to start. */
	uint64_t thinks[PLAIN_TIMES], think_ns[PLAIN_TIMES];
	uint64_t gaps;
	double gap_ns, gap_squares, think_squares;
	/* Runs of requests between long pauses: more than a quarter of the longest so far. */
	uint64_t longest_ns, run, runs, run_sum, run_squares;
	/* Starts, counted from the first one, and their products with their numbers from 0. */
	double start_sum, start_squares, start_products;
};

struct plain_stream {
	/* Reads, writes: sums of all threads. Their start_squares are the squares of how far starts
	 * are from a line through them. */
	struct plain_account dir[2];
	uint32_t threads;
	uint32_t file_count; /* of a thread */
	uint32_t files[PLAIN_FILES_MOST];
	bool is_shared; /* all threads use the same files */
	bool is_after;  /* a thread uses one file after the other */
	uint64_t start_ns, end_ns;
	uint64_t low, high; /* in a file: first byte, after the last one */
	uint32_t summed;    /* streams unlike this one that were added to it */
};

struct plain_streams {
	struct plain_stream *at; /* by start */
	uint32_t count;
	size_t room; /* vec.h */
};

/* Read the trace again, and find its streams. 0, or -errno with err: as trace_reader_open. To be
 * finished in any case. */
int plain_streams_read(struct plain_streams *s, struct distil *d, struct mlgen_err *err);
void plain_streams_fini(struct plain_streams *s); /* takes a zeroed one */

/* The part of the requests that begin where the one before ended, of both directions. */
double plain_stream_in_order(const struct plain_stream *s);
/* The most frequent size of a direction; 0 = it has no requests. */
uint64_t plain_stream_size(const struct plain_stream *s, bool is_write);
