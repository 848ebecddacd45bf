/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.c - in which order, how completely and how often items are visited, round by round. */
#include "tracing/score/rounds.h"

#include <math.h>
#include <string.h>

struct item_place {
	uint32_t visits;
	uint32_t position; /* in the round of the last */
};

void rounds_visit(struct rounds *b, uint64_t item)
{
	bool is_new;
	uint32_t i = map_number(&b->keys, item, &is_new);
	struct item_place *p;
	struct round *r;

	spill_need(&b->places, ((size_t)i + 1) * sizeof(*p));
	p = (struct item_place *)b->places.at + i;
	r = &b->at[p->visits < ROUNDS_MOST ? p->visits : ROUNDS_MOST - 1];
	if (p->visits)
		order_add(&r->order, p->position, r->next);
	else
		order_add(&b->places_order, item, r->next);
	p->visits++;
	p->position = r->next++;
	b->sums.visits++;
	b->sums.items = b->keys.count;
	if (p->visits > b->sums.rounds)
		b->sums.rounds = p->visits;
}

bool rounds_has(const struct rounds *b, uint64_t item)
{
	uint32_t i;

	return map_find(&b->keys, item, &i);
}

struct rounds_sums rounds_finish(struct rounds *b)
{
	double sum = 0;
	unsigned count = 0;

	for (size_t i = 1; i < ROUNDS_MOST; i++) {
		double order = order_correlation(&b->at[i].order);

		if (isnan(order))
			continue;
		sum += order;
		count++;
	}
	b->sums.order = count ? sum / count : (double)NAN;
	b->sums.places = order_correlation(&b->places_order);
	return b->sums;
}

void rounds_fini(struct rounds *b)
{
	map_fini(&b->keys);
	spill_free(&b->places);
	memset(b, 0, sizeof(*b));
}
