/* SPDX-License-Identifier: Apache-2.0 */
/* spread.h - which values there were, and how often: exact while they are few, then to 0.4 %. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "tracing/score/distance.h"

/* So many different values are kept as they are. One more, and all go into classes, 128 to each
 * power of two. */
#define SPREAD_EXACT 4096

struct spread_value {
	uint64_t value, weight;
};

/* A zeroed one is empty. */
struct spread {
	struct map values;
	VEC(struct spread_value) exact; /* as values are numbered */
	double *classes;                /* NULL = exact */
	uint64_t count;                 /* values */
};

void spread_add(struct spread *s, uint64_t value, uint64_t weight);
void spread_fini(struct spread *s);

static inline bool spread_is_exact(const struct spread *s)
{
	return !s->classes;
}

/* What it has, in ascending order; to be freed. Where another one that it is compared with is not
 * exact, both have to be in classes. */
struct weighted *spread_points(const struct spread *s, bool in_classes, size_t *count);
