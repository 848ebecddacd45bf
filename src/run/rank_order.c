/* SPDX-License-Identifier: Apache-2.0 */
/* rank_order.c - an order that follows from losses, or from what a cache has, is drawn before its epoch. */
#include "run/rank_order.h"

#include "base/mem.h"
#include "data/hitsfirst.h"
#include "data/orderwalk.h"
#include "run/tier.h"

/* The batch that is gathered. */
struct batch {
	uint64_t *extents;
	size_t room;
	unsigned count;
	uint64_t rank, step;
};

static void train_on(struct train *t, struct batch *b, uint64_t epoch)
{
	if (b->count)
		importance_trained(t->importance, epoch, b->extents, b->count);
	b->count = 0;
}

static void add_extent(struct train *t, struct batch *b,
		       const struct orderwalk_at *at, uint64_t epoch)
{
	if (at->rank != b->rank || at->step != b->step)
		train_on(t, b, epoch);
	b->rank = at->rank;
	b->step = at->step;
	b->extents = mem_grow(b->extents, &b->room, (size_t)b->count + 1,
			      sizeof(*b->extents));
	b->extents[b->count++] = tier_trained(t->tier, at);
}

/* All that was computed on in an epoch that every rank has finished. */
static void learn(struct train *t, uint64_t epoch)
{
	const struct sampler *s = &t->stages.train.sampler;
	struct batch b = { 0 };
	struct orderwalk_at at;
	struct orderwalk w;

	orderwalk_begin(&w, s, 0, s->ranks, epoch);
	while (orderwalk_next(&w, &at))
		add_extent(t, &b, &at, epoch);
	train_on(t, &b, epoch);
	orderwalk_end(&w);
	mem_free(b.extents);
}

/* By the last here at the barrier before an epoch; with the same losses every
 * process draws the same. */
static uint64_t draw_order(void *arg)
{
	struct train *t = arg;
	uint64_t from_ns = clock_now(t->clock), epoch = t->orders_drawn;

	if (t->importance && epoch > 0)
		learn(t, epoch - 1);
	if (t->importance)
		importance_draw(t->importance, epoch, t->in_cache, t->cache);
	if (t->hits_first)
		hitsfirst_draw(t->hits_first, epoch, t->in_cache, t->cache);
	t->orders_drawn = epoch + 1;
	t->draw_ns += clock_now(t->clock) - from_ns;
	return 0;
}

static const struct peers_decision decide_order = { .vote = draw_order };

int rank_order_draw(struct rank *r)
{
	struct train *t = r->train;

	bool has_order = t->importance || t->hits_first;

	return has_order ? peers_barrier(&t->peers, &decide_order, t) : 0;
}
