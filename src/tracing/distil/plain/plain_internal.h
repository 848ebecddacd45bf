/* SPDX-License-Identifier: Apache-2.0 */
/* plain_internal.h - streams, which are threads that read and write in the same way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "tracing/distil/plain/plain.h"

enum {
	PLAIN_SIZES = 24,      /* distinct sizes of requests that are counted */
	PLAIN_TIMES = 48,      /* buckets of times, by powers of two of ns */
	PLAIN_FILES_MOST = 16, /* files of a stream whose ids are stored */
};

/* A stream is sequential if at least this part of its requests are in order. */
#define PLAIN_IN_ORDER 0.5

struct plain_size {
	uint64_t bytes, count;
};

struct plain_account {
	uint32_t task, file; /* file id; UINT32_MAX = several, see files */
	bool is_write, is_direct, is_fault;
	uint32_t files;
	uint64_t count, bytes;
	struct plain_size sizes[PLAIN_SIZES]; /* the first distinct sizes */
	uint64_t other_sizes;                 /* requests of further sizes */
	uint64_t in_order;  /* requests that begin at the end of the previous one */
	uint64_t low, high; /* first byte, and the byte after the last */
	uint64_t last_end;
	uint64_t start_ns, end_ns;
	uint64_t syncs, datasyncs;
	uint64_t last_sync_ns, last_start_ns;
	uint32_t depth; /* largest number of requests that the thread had in flight */
	/* Pauses between calls by powers of two, and gaps from start to start. */
	uint64_t thinks[PLAIN_TIMES], think_ns[PLAIN_TIMES];
	uint64_t gaps;
	double gap_ns, gap_squares, think_squares;
	/* Runs of requests between long pauses. A pause is long if it exceeds a quarter of the
	 * longest pause so far. */
	uint64_t longest_ns, run, runs, run_sum, run_squares;
	/* Sums over start times, relative to the first one. start_products sums their products with
	 * the number of the request, from 0. */
	double start_sum, start_squares, start_products;
};

struct plain_stream {
	/* Reads and writes, summed over all threads. Here start_squares is the sum of the squared
	 * distances of start times from a line through them. */
	struct plain_account dir[2];
	uint32_t threads;
	uint32_t file_count; /* number of files per thread */
	uint32_t files[PLAIN_FILES_MOST];
	bool is_shared; /* all threads use the same files */
	bool is_after;  /* a thread uses its files one after another */
	uint64_t start_ns, end_ns;
	uint64_t low, high; /* first byte in a file, and the byte after the last */
	uint32_t summed;    /* dissimilar streams that were added to this one */
};

struct plain_streams {
	struct plain_stream *at; /* sorted by start */
	uint32_t count;
	size_t room; /* vec.h */
};

/* Read the trace again and find its streams. 0, or -errno with err: as trace_reader_open. Call
 * plain_streams_fini in either case. */
int plain_streams_read(struct plain_streams *s, struct distil *d, struct mlgen_err *err);
void plain_streams_fini(struct plain_streams *s); /* accepts a zeroed struct */

/* The part of requests, in both directions, that begin at the end of the previous one. */
double plain_stream_in_order(const struct plain_stream *s);
/* The most frequent size of requests in a direction; 0 = there are none. */
uint64_t plain_stream_size(const struct plain_stream *s, bool is_write);
