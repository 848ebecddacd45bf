/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - --miss-curve: what a cache would hit, by size and policy, without a run. */
#pragma once

/*
 * The accesses of a job's epochs are counted in the order of its plan, and from them what caches of
 * several sizes hit (data/cache). Documents of runs say what a hit and a miss cost, and so what AU
 * would be.
 */

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "ask/ask.h"
#include "data/file/file.h"
#include "job/job.h"
#include "stat/metric.h"

/* ---- a question and its answer ---- */

#define MISS_CURVE_SIZES 10 /* 10 %, 20 %, ... of the data set */

struct miss_point {
	const char *policy; /* borrowed */
	double size_percent;
	uint64_t size_bytes;
	uint64_t hits;
	double hit_ratio;
	double au_percent; /* NaN: costs are not known */
};

/* Of one job. */
struct miss_curve {
	const char *job;            /* borrowed */
	uint64_t data_bytes, units; /* of the data set */
	uint64_t caches;            /* each of the size, of its own rank */
	uint64_t epochs, accesses;  /* of the epochs after the first */
	double hit_ns, miss_ns;     /* of an extent; NaN = not known */
	/* Options of the job that a run has beside it; "" = none. */
	char left_out[96];
	struct metric_list points; /* miss_point, policy by policy; owned */
};

extern const struct mlgen_field miss_curve_fields[];

/*
 * By the job's order alone: what cache.c would do with it, epoch after epoch. 0, or -EINVAL with
 * err where there is no order that it could be asked of.
 */
int miss_curve_count(struct miss_curve *m, const struct job *j, const struct dataset *ds,
		     struct mlgen_err *err);
void miss_curve_fini(struct miss_curve *m);
