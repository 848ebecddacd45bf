/* SPDX-License-Identifier: Apache-2.0 */
/* orderwalk.c - the accesses of an epoch in the order of the plan, and orders with hits first. */
#include "data/order/order.h"

#include <assert.h>

#include "base/mem.h"

/* ---- walk over an epoch, step by step, rank by rank ---- */

static struct sampler_epoch *order_of(struct orderwalk *w, uint64_t rank)
{
	return &w->orders[rank - w->first_rank];
}

static void begin_batch(struct orderwalk *w)
{
	struct sampler_epoch *e = order_of(w, w->rank);

	w->position = sampler_batch_start(e, w->rank, w->step);
	w->end = sampler_batch_start(e, w->rank, w->step + 1);
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
	begin_batch(w);
}

bool orderwalk_next(struct orderwalk *w, struct orderwalk_at *at)
{
	/* A batch is empty if its samples all lie in extents of the batches before it. */
	while (w->position >= w->end) {
		if (w->step < w->sampler->steps && ++w->rank == w->end_rank) {
			w->rank = w->first_rank;
			w->step++;
		}
		if (w->step >= w->sampler->steps)
			return false;
		begin_batch(w);
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

/* ---- cache_hits_first ---- */

struct hitsfirst {
	struct sampler sampler; /* source of the order */
	struct sampler_ranks known;
	uint32_t *order;  /* rank_extents entries for each known rank */
	uint32_t *misses; /* scratch space for one rank */
};

uint64_t hitsfirst_state_bytes(const struct sampler *s, struct sampler_ranks known)
{
	return sizeof(struct hitsfirst) +
	       (known.end - known.first + 1) * s->rank_extents * sizeof(uint32_t);
}

struct hitsfirst *hitsfirst_new(const struct sampler *s, struct sampler_ranks known)
{
	struct hitsfirst *h = mem_zalloc(sizeof(*h));

	h->sampler = *s;
	h->sampler.hits_first = NULL;
	h->known = known;
	h->order = mem_array((known.end - known.first) * s->rank_extents, sizeof(*h->order));
	h->misses = mem_array(s->rank_extents, sizeof(*h->misses));
	return h;
}

void hitsfirst_free(struct hitsfirst *h)
{
	if (!h)
		return;
	mem_free(h->order);
	mem_free(h->misses);
	mem_free(h);
}

static uint32_t *rank_order(const struct hitsfirst *h, uint64_t rank)
{
	assert(rank >= h->known.first && rank < h->known.end);
	return &h->order[(rank - h->known.first) * h->sampler.rank_extents];
}

void hitsfirst_draw(struct hitsfirst *h, uint64_t epoch, importance_cached_fn *has,
		    const void *cache)
{
	struct sampler_epoch e;

	sampler_epoch(&e, &h->sampler, epoch);
	for (uint64_t rank = h->known.first; rank < h->known.end; rank++) {
		uint64_t all = h->sampler.rank_extents, misses = 0;
		uint32_t *to = rank_order(h, rank);

		for (uint64_t i = 0; i < all; i++) {
			uint64_t extent = sampler_at(&e, rank, i);

			if (has && has(cache, rank, extent))
				*to++ = (uint32_t)extent;
			else
				h->misses[misses++] = (uint32_t)extent;
		}
		for (uint64_t i = 0; i < misses; i++)
			*to++ = h->misses[i];
	}
}

uint64_t hitsfirst_at(const struct hitsfirst *h, uint64_t rank, uint64_t position)
{
	assert(position < h->sampler.rank_extents);
	return rank_order(h, rank)[position];
}
