/* SPDX-License-Identifier: Apache-2.0 */
/* capture_clock.h - lines with the time of day, which may be set while they come, on
 * CLOCK_MONOTONIC. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is read from a pipe was written between the last time the pipe was found empty and now. A
 * line whose time of day, by the distance of the two clocks, is elsewhere was written by another
 * one: that of before or after a step of the time of day. All times are ns; one thread has it.
 */
struct capture_clock {
	uint64_t offset_ns; /* time of day - CLOCK_MONOTONIC, of lines now */
	uint64_t other_ns;  /* the one before, of calls that began by it */
	uint64_t host_ns;   /* what this host says that it is */
	uint64_t since_ns;  /* lines were written by offset_ns since then */
	uint64_t least_ns;  /* no line to come was written before */
	bool was_set;       /* host_ns is another since the pipe was empty */
};

/* What a line says of the time it was written at. */
struct capture_stamp {
	uint64_t wall_ns; /* by the time of day; 0 = it has none */
	bool is_earlier;  /* it was written then, or any time later */
};

void capture_clock_init(struct capture_clock *c, uint64_t offset_ns);

/* The distance that this host's clocks have now. */
void capture_clock_look(struct capture_clock *c, uint64_t host_ns);

/* All that was written by `now_ns` of CLOCK_MONOTONIC has been taken. */
void capture_clock_empty(struct capture_clock *c, uint64_t now_ns);

/* What to take off the times of a line that has been read by `now_ns`. */
uint64_t capture_clock_of(struct capture_clock *c, const struct capture_stamp *stamp,
			  uint64_t now_ns);

/* Of a line of strace -ttt -T: a whole call is written when it ends, and the first half of one when
 * somebody else has something to say. */
struct capture_stamp capture_stamp_of(char *line, size_t bytes);
