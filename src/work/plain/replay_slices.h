/* SPDX-License-Identifier: Apache-2.0 */
/* replay_slices.h - what was done over time, in so many slices of any length of time. */
#pragma once

#include "run/results.h"

/* Slices of `seconds` each; a time behind the last of them makes each twice as long, so that two
 * become one. */
struct replay_slices {
	double seconds; /* set before the first is added */
	struct replay_slice slices[REPLAY_SLICES];
	uint64_t count; /* in use */
};

/* So many bytes of one read or write were done, at so many seconds. */
void replay_slices_add(struct replay_slices *s, double at, uint64_t bytes);

/* Until they are at least so long, in steps of two. */
void replay_slices_stretch(struct replay_slices *s, double seconds);

/* Both become as long as the longer; `b` goes into `to`. Slices of both are of the same first
 * length. */
void replay_slices_merge(struct replay_slices *to, const struct replay_slices *b);
