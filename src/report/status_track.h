/* SPDX-License-Identifier: Apache-2.0 */
/* status_track.h - the last seconds of running jobs, which figures are differences from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/watch/watch.h"

#define TRACK_LOOKS 10 /* seconds that AU, throughput and percentiles look back */

/* Of one job: a ring, the oldest at `next` once it is full. A phase that is new begins anew. */
struct track {
	char *job_name; /* owned */
	enum live_phase phase;
	uint64_t begin_ns; /* of the phase */
	struct live looks[TRACK_LOOKS];
	unsigned next, count;
};

/* A look, which is remembered once a second, however often there is one; of its histograms all, or
 * that of the stalls. */
void track_follow(struct track *t, const struct live *now, bool is_whole);
void track_fini(struct track *t);

/* The look that is the longest ago, in the phase of `now`; where there is none, `now` itself. t may
 * be NULL. */
const struct live *track_then(const struct track *t, const struct live *now);
/* When that phase began. */
uint64_t track_begin_ns(const struct track *t, const struct live *now);

/* Of several, by their names. A zeroed struct has none. */
struct tracks {
	struct track *items;
	size_t count;
};

void tracks_follow(struct tracks *t, const struct live *now);
const struct track *tracks_find(const struct tracks *t, const char *job_name);
void tracks_fini(struct tracks *t);
