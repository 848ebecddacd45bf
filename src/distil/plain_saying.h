/* SPDX-License-Identifier: Apache-2.0 */
/* plain_saying.h - what the finder of plain jobs knows of a section when it says it; for
 * plain_found.c and plain_place.c alone. */
#pragma once

#include "distil/plain_streams.h"

struct plain_saying {
	struct distil *d;
	const struct plain_stream *s;
	struct jobsection *to;
	bool reads, writes, is_random, is_mapped;
	uint64_t thread_bytes; /* of one thread */
};

/* Options that are sizes, and numbers. */
void plain_say_size(struct jobsection *to, enum distil_sure sure, const char *option,
		    uint64_t bytes, const char *why);
void plain_say_number(struct jobsection *to, enum distil_sure sure, const char *option, uint64_t n,
		      const char *why);

/* May it stand in a job without quotes of any kind? */
bool plain_is_name(const char *name);

/* In which files, and where in them; how much. */
void plain_say_place(const struct plain_saying *g);
