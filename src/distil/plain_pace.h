/* SPDX-License-Identifier: Apache-2.0 */
/* plain_pace.h - whether a thread's requests come at a rate, after pauses, or as fast as they
 * can. */
#pragma once

#include "base/units.h"
#include "distil/plain_streams.h"

struct plain_pace {
	enum { PLAIN_PACE_NONE, PLAIN_PACE_RATE, PLAIN_PACE_THINK } kind;
	char rate[2 * UNITS_TEXT_BYTES]; /* of rate=: "16m", "8m,2m" */
	double gap_ns, gap_spread;       /* from start to start; of the mean */
	char think[UNITS_TEXT_BYTES], think_p50[UNITS_TEXT_BYTES], think_p95[UNITS_TEXT_BYTES];
	uint64_t blocks; /* requests for each pause */
};

void plain_pace_find(struct plain_pace *p, const struct plain_stream *s);
