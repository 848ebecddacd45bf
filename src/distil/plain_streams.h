/* SPDX-License-Identifier: Apache-2.0 */
/* plain_streams.h - accounts of threads and files put together: what one section of a plain job
 * does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "distil/plain_book.h"

enum {
	PLAIN_SECTIONS_MOST = 8,
	PLAIN_FILES_MOST = 16, /* whose ids are kept */
};

/* What threads that do alike things do, together. */
struct plain_stream {
	/* Read, written: sums of all threads; start_squares are of how far starts are from a line
	 * through them. */
	struct plain_account dir[2];
	uint32_t threads;
	uint32_t file_count; /* of a thread */
	uint32_t files[PLAIN_FILES_MOST];
	bool is_shared; /* all threads are at the same files */
	bool is_after;  /* a thread's files come one after the other */
	uint64_t start_ns, end_ns;
	uint64_t low, high; /* in a file: first byte, behind the last one */
	uint32_t summed;    /* others that went into this, unlike it */
};

struct plain_streams {
	struct plain_stream *at; /* by their start */
	uint32_t count;
	size_t room; /* vec.h */
};

void plain_streams_find(struct plain_streams *s, const struct plain_book *b);
void plain_streams_fini(struct plain_streams *s); /* takes a zeroed one */

/* Requests of both directions that go on where the one before ended, of those that could. */
double plain_stream_in_order(const struct plain_stream *s);
/* The most frequent size of a direction; 0 = it has none. */
uint64_t plain_stream_size(const struct plain_stream *s, bool is_write);
