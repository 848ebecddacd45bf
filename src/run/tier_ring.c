/* SPDX-License-Identifier: Apache-2.0 */
/* tier_ring.c - decisions of a cache tier that wait for the rank that they are for. */
#include "base/mem.h"
#include "base/util.h"
#include "run/tier_inside.h"

/* Batches that a ring has beyond those that may be read ahead: the one at hand, that of a rank
 * which is a step behind, and what a part of one is. */
#define BATCHES_BEYOND 3u

/* Above the generation. */
#define ENTRY_HIT (UINT32_C(1) << 30)
#define ENTRY_SUBSTITUTED (UINT32_C(1) << 31)

/* An accelerator may have read on by an epoch before another one has, or before one of its own
 * loaders has: of plain ones it takes what comes first. */
static bool may_drift(const struct job *j)
{
	bool shares = j->accelerators > 1 && j->cache_scope != CACHE_OF_RANK;

	return (shares && j->barrier != BARRIER_STEP) ||
	       (j->read_threads > 1 &&
		(j->loader == LOADER_PLAIN || (j->loader == LOADER_TFDATA && !j->deterministic)));
}

/* How much may be decided of a rank before it asks for it. */
static uint64_t ring_room(const struct job *j, const struct pass *pass)
{
	const struct sampler *s = &pass->sampler;
	uint64_t of_batch = s->batch / s->extent_samples + 2;
	uint64_t ahead = (pass->window + BATCHES_BEYOND) * of_batch;
	uint64_t epochs = 0;

	/* They meet at its end, or never. */
	if (may_drift(j))
		epochs = j->accelerators > 1 && j->barrier == BARRIER_NONE ? 2 : 1;
	/* Its batches are of any number of extents. */
	if (s->is_sized)
		epochs = 2;
	return ahead + epochs * s->rank_extents;
}

/* Of a decision that waits. */
static uint64_t entry_bytes(const struct job *j)
{
	return sizeof(struct tier_entry) +
	       (j->cache_substitute != CACHE_SUBSTITUTE_NONE ? sizeof(uint32_t) : 0);
}

uint64_t tier_ring_bytes(const struct job *j, const struct pass *pass)
{
	return ring_room(j, pass) * entry_bytes(j);
}

void tier_ring_init(struct tier_ring *r, const struct tier *t)
{
	r->room = ring_room(t->job, t->cfg.pass);
	r->at = mem_array(r->room, sizeof(*r->at));
	if (t->job->cache_substitute != CACHE_SUBSTITUTE_NONE)
		r->substitutes = mem_array(r->room, sizeof(*r->substitutes));
}

void tier_ring_fini(struct tier_ring *r)
{
	mem_free(r->at);
	mem_free(r->substitutes);
}

void tier_ring_put(struct tier_ring *r, uint64_t number, const struct tier_decision *d)
{
	uint32_t word = d->generation | (d->is_hit ? ENTRY_HIT : 0) |
			(d->is_substituted ? ENTRY_SUBSTITUTED : 0);

	r->at[number % r->room] = (struct tier_entry){ d->slot, word };
	if (d->is_substituted)
		r->substitutes[number % r->room] = d->substitute;
	r->end = number + 1;
}

struct tier_decision tier_ring_get(const struct tier_ring *r, uint64_t number)
{
	struct tier_entry e = r->at[number % r->room];
	bool is_substituted = e.word & ENTRY_SUBSTITUTED;

	return (struct tier_decision){
		.slot = e.slot,
		.generation = e.word & TIER_GENERATION_MOST,
		.is_hit = e.word & ENTRY_HIT,
		.is_substituted = is_substituted,
		.substitute = is_substituted ? r->substitutes[number % r->room] : 0,
	};
}
