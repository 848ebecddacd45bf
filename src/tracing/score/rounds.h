/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.h - in which order, how completely and how often items are visited, round by round. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files.h"
#include "base/map.h"
#include "tracing/describe/fairness.h"

/*
 * The n-th visit of an item is of round n. Markers of epochs say less: loaders read ahead of them.
 */

/* What came of it. */
struct rounds_sums {
	uint64_t rounds, visits, items; /* items: ever seen */
	double order;                   /* mean correlation of a round with the one before */
	double places;                  /* of the first one with the items' numbers */
};

/* All rounds beyond are one. */
enum { ROUNDS_MOST = 64 };

struct round {
	uint32_t next; /* position */
	struct order order;
};

/* Items of one kind, by numbers. A zeroed one is empty. */
struct rounds {
	struct map keys;
	struct spill places; /* struct item_place */
	struct round at[ROUNDS_MOST];
	struct order places_order;
	struct rounds_sums sums;
};

void rounds_visit(struct rounds *b, uint64_t item);
bool rounds_has(const struct rounds *b, uint64_t item);
/* NaN where there is nothing to correlate. */
struct rounds_sums rounds_finish(struct rounds *b);
void rounds_fini(struct rounds *b);
