/* SPDX-License-Identifier: Apache-2.0 */
/* darshan_row.h - a line of darshan-dxt-parser's text that says what was read or written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * MODULE RANK read|write SEGMENT OFFSET LENGTH START END, seconds from the job's begin, and behind
 * them [OST] of Lustre as often as there are some, and the thread that pthread_self() named, both
 * where the version has them.
 */
struct darshan_row {
	const char *module; /* not terminated */
	size_t module_bytes;
	uint64_t rank;
	bool is_write;
	uint64_t off, bytes;
	uint64_t start_ns, end_ns; /* from the job's begin */
	unsigned decimals;         /* that the times have */
	bool has_thread;
	uint64_t thread;
};

/* NULL, or what is wrong with it, to stand behind the line's place. Only as long as the line is.
 * `why` is where the words go if need be. */
const char *darshan_row_take(struct darshan_row *r, const char *line, size_t bytes, char *why,
			     size_t why_bytes);

/* Seconds, as a decimal fraction. NULL, or what is wrong: "is negative". */
const char *darshan_seconds(const char *s, size_t bytes, uint64_t *ns, unsigned *decimals);
