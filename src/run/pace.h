/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h - when the next request of a rate-limited stream is due. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

/*
 * An open loop: due times follow from the rates alone, in the order of the requests, as if storage
 * took no time. A stream that falls behind submits at once, and its latencies count from the due
 * time, so that a stall is not hidden by the requests it held up. rate and rate_iops both hold.
 * Reads and writes have each a schedule of their own, and keep their order: the direction that
 * reaches its rate first holds the other back, which may make up for it.
 */
struct pace {
	bool is_paced;
	double bytes_ns[2]; /* ns per byte; 0 = no limit */
	double ios_ns[2];   /* ns per request */
	double due_ns[2];   /* next of each direction, since the start */
	double last_ns;     /* due time of the request before */
};

void pace_init(struct pace *p, const struct job *job);

/* ns after the start at which the next request is due: read 0, write 1. */
uint64_t pace_due(const struct pace *p, unsigned direction);

/* That request, of so many bytes, was taken. */
void pace_take(struct pace *p, unsigned direction, uint64_t bytes);
