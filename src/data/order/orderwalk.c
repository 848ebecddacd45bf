/* SPDX-License-Identifier: Apache-2.0 */
/* orderwalk.c - the accesses of an epoch in the order of the plan: step by step, rank by rank. */
#include "data/order/order.h"

#include "base/mem.h"

static struct sampler_epoch *order_of(struct orderwalk *w, uint64_t rank)
{
	return &w->orders[rank - w->first_rank];
}

static void take_batch(struct orderwalk *w)
{
	struct sampler_epoch *e = order_of(w, w->rank);

	w->position = sampler_batch_start(e, w->rank, w->step);
	w->end = sampler_batch_start(e, w->rank, w->step + 1);
}

static bool next_batch(struct orderwalk *w)
{
	if (++w->rank == w->end_rank) {
		w->rank = w->first_rank;
		w->step++;
	}
	if (w->step >= w->sampler->steps)
		return false;
	take_batch(w);
	return true;
}

void orderwalk_begin(struct orderwalk *w, const struct sampler *s, uint64_t first_rank,
		     uint64_t end_rank, uint64_t epoch)
{
	uint64_t ranks = end_rank - first_rank;

	*w = (struct orderwalk){
		.sampler = s, .first_rank = first_rank, .end_rank = end_rank, .rank = first_rank
	};
	if (!ranks) {
		w->step = s->steps;
		return;
	}
	w->orders = mem_array(ranks, sizeof(*w->orders));
	sampler_epoch(&w->orders[0], s, epoch);
	for (uint64_t i = 1; i < ranks; i++)
		w->orders[i] = w->orders[0];
	take_batch(w);
}

bool orderwalk_next(struct orderwalk *w, struct orderwalk_at *at)
{
	/* A batch of samples that all lie in extents before it has none. */
	while (w->position >= w->end) {
		if (w->step >= w->sampler->steps || !next_batch(w))
			return false;
	}
	*at = (struct orderwalk_at){ .rank = w->rank,
				     .step = w->step,
				     .position = w->position,
				     .extent = sampler_at(order_of(w, w->rank), w->rank,
							  w->position) };
	w->position++;
	return true;
}

void orderwalk_end(struct orderwalk *w)
{
	mem_free(w->orders);
	*w = (struct orderwalk){ 0 };
}
