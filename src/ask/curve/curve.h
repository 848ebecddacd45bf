/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - --miss-curve: what a cache would hit, by size and policy, without a run. */
#pragma once

/*
 * The accesses of a job's epochs are counted in the order of its plan. The counts give the hit
 * ratio of caches of several sizes (data/cache). Documents of runs give the cost of a hit and of a
 * miss, from which the AU is computed.
 */

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "ask/ask.h"
#include "data/file/file.h"
#include "job/job.h"
#include "field/fields.h"

/* ---- question and answer ---- */

#define MISS_CURVE_SIZES 10 /* 10 %, 20 %, ... of the dataset */

struct miss_point {
	const char *policy; /* borrowed */
	double size_percent;
	uint64_t size_bytes;
	uint64_t hits;
	double hit_ratio;
	double au_percent; /* NaN = costs are unknown */
};

/* The curve of one job. */
struct miss_curve {
	const char *job;            /* borrowed */
	uint64_t data_bytes, units; /* size of the dataset */
	uint64_t caches;            /* number of caches of each size: 1, or one per rank */
	uint64_t epochs, accesses;  /* accesses of the epochs after the first */
	double hit_ns, miss_ns;     /* time of an extent; NaN = unknown */
	/* Cache options of the job that the curve ignores; "" = none. */
	char left_out[96];
	struct metric_list points; /* miss_point, policy by policy; owned */
};

extern const struct mlgen_field miss_curve_fields[];

/*
 * Count the hits of simulated caches (cache.c) from the order of the job's accesses, epoch by
 * epoch. 0, or -EINVAL with err if the order is not known before a run.
 */
int miss_curve_count(struct miss_curve *m, const struct job *j, const struct dataset *ds,
		     struct mlgen_err *err);
void miss_curve_fini(struct miss_curve *m);
