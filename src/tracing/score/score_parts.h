/* SPDX-License-Identifier: Apache-2.0 */
/* score_parts.h - M1 to M12: what of two traces is compared, and how far apart it may be. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tracing/score/profile.h"

enum { SCORE_METRICS = 12 };

/* Of one phase; a phase that a trace has not is an empty one. */
struct score_pair {
	const struct profile *real, *candidate;
	const struct profile_phase *a, *b;
};

/* How far apart they are. */
struct score_distance {
	double value;    /* NaN = unknown, and `why` */
	double at_least; /* of the limit, which chance alone needs; 0 */
	const char *why;
};

/* One figure of a metric; a metric fails where one of them does. */
struct score_part {
	unsigned metric; /* from 1 */
	const char *name;
	double distilled, preset; /* thresholds; NaN = none */
	struct score_distance (*distance)(const struct score_pair *p);
};

/* In the order of the metrics; the last has no name. */
extern const struct score_part score_parts[];

/* "rounds" of 6. */
const char *score_metric_name(unsigned metric);
/* Does it depend on how fast host and storage are? */
static inline bool score_is_timed(unsigned metric)
{
	return metric >= 8;
}
