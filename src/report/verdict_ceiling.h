/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_ceiling.h - how far a training stayed below what its host reaches without storage. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "run/results.h"

/* Within so many points the host is the limit, not the storage; of a small AU within that part of
 * it. */
#define CEILING_NEAR_POINTS 2.0
#define CEILING_NEAR_PART 0.05

struct ceiling_gap {
	enum {
		CEILING_UNKNOWN, /* not measured, or it decides nothing */
		CEILING_NEAR,    /* storage hardly matters */
		CEILING_ABOVE,   /* storage costs the difference */
	} says;
	bool of_null;   /* the figures below are without any copying */
	bool is_rate;   /* no AU: points are percent of the result's samples/s */
	double points;  /* from the result up to the ceiling */
	double reached; /* the ceiling: AU in percent, or samples/s */
	double copying; /* points between both ceilings; NaN */
};

/*
 * Buffered reads copy, so that the cached figure is the ceiling, and that without copying where it
 * is missing. With direct=1 nothing is copied: the cached figure may lie below what the host can
 * do, the null one is a bound. A model of storage (ioengine=null) never copies: its null figure is
 * the ceiling. What ran beside other jobs and was measured without them can show that the host is
 * the limit, never that storage is.
 */
void verdict_ceiling(struct ceiling_gap *g, const struct job *job, const struct ml_result *ml);

/* "with storage taken away this host reaches 72.0% AU", appended. */
void verdict_ceiling_put(struct buf *out, const struct ceiling_gap *g);

/* Samples per second of the counted steps, without those that failed; NaN without any. */
double verdict_steady_rate(const struct job *job, const struct ml_result *ml);
