/* SPDX-License-Identifier: Apache-2.0 */
/* hitsfirst.c - an epoch's order with what a cache has in front (cache_hits_first). */
#include "data/order/order.h"

#include <assert.h>

#include "base/mem.h"

struct hitsfirst {
	struct sampler sampler; /* of the order that is parted */
	struct sampler_ranks known;
	uint32_t *order;  /* rank_extents of each of these */
	uint32_t *misses; /* of one */
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

static uint32_t *order_of(const struct hitsfirst *h, uint64_t rank)
{
	assert(rank >= h->known.first && rank < h->known.end);
	return &h->order[(rank - h->known.first) * h->sampler.rank_extents];
}

static void part(struct hitsfirst *h, struct sampler_epoch *e, uint64_t rank, importance_has *has,
		 const void *cache)
{
	uint64_t all = h->sampler.rank_extents, misses = 0;
	uint32_t *to = order_of(h, rank);

	for (uint64_t i = 0; i < all; i++) {
		uint64_t extent = sampler_at(e, rank, i);

		if (has && has(cache, rank, extent))
			*to++ = (uint32_t)extent;
		else
			h->misses[misses++] = (uint32_t)extent;
	}
	for (uint64_t i = 0; i < misses; i++)
		*to++ = h->misses[i];
}

void hitsfirst_draw(struct hitsfirst *h, uint64_t epoch, importance_has *has, const void *cache)
{
	struct sampler_epoch e;

	sampler_epoch(&e, &h->sampler, epoch);
	for (uint64_t rank = h->known.first; rank < h->known.end; rank++)
		part(h, &e, rank, has, cache);
}

uint64_t hitsfirst_at(const struct hitsfirst *h, uint64_t rank, uint64_t position)
{
	assert(position < h->sampler.rank_extents);
	return order_of(h, rank)[position];
}
