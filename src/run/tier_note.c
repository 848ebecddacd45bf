/* SPDX-License-Identifier: Apache-2.0 */
/* tier_note.c - what a cache tier counts of accesses, and of the order they came in. */
#include <math.h>

#include "base/mem.h"
#include "base/util.h"
#include "run/tier_inside.h"

/* Rank correlation of those that two epochs have in common: of permutations places are their own
 * ranks. */
static double correlation(const struct tier_order *o)
{
	double n = o->pairs;
	double xx = n * o->xx - o->x * o->x, yy = n * o->yy - o->y * o->y;

	if (n < 2 || !(xx > 0) || !(yy > 0))
		return (double)NAN;
	return (n * o->xy - o->x * o->y) / sqrt(xx * yy);
}

struct cache_counts *tier_record_of(struct tier_cache *c, uint64_t epoch)
{
	return &c->records[u64_min(epoch, c->record_count)];
}

void tier_note_access(struct tier_cache *c, const struct extent *x, const struct tier_decision *d,
		      struct tier_rank *rank, struct cache_counts *r)
{
	uint64_t hits = d->is_hit ? x->samples : 0;
	uint64_t substitutions = d->is_substituted ? x->samples : 0;
	uint64_t misses = x->samples - hits - substitutions;

	r->accesses += x->samples;
	r->hits += hits;
	r->misses += misses;
	r->substitutions += substitutions;
	rank->accesses += x->samples;
	rank->hits += hits;
	rank->misses += misses;
	rank->substitutions += substitutions;
	if (c->epoch == 0)
		return;
	rank->later_accesses += x->samples;
	rank->later_hits += hits;
}

void tier_note_init(struct tier_cache *c, uint64_t extents)
{
	c->seen.last = mem_array(extents, sizeof(*c->seen.last));
	c->seen.epoch_first = 1;
}

void tier_note_fini(struct tier_cache *c)
{
	mem_free(c->seen.last);
}

/* From the epoch before on. */
static void count_anew(struct tier_cache *c)
{
	struct tier_seen *s = &c->seen;
	uint64_t extents = c->tier->cfg.pass->sampler.extents;
	uint32_t off = (uint32_t)(s->before_first - 1);

	for (uint64_t i = 0; i < extents; i++)
		s->last[i] = s->last[i] > off ? s->last[i] - off : 0;
	s->before_first -= off;
	s->epoch_first -= off;
}

void tier_note_begin(struct tier_cache *c)
{
	c->seen.before_first = c->seen.epoch_first;
	c->seen.epoch_first += c->order.accesses;
	if (c->seen.epoch_first > TIER_EPOCH_MOST)
		count_anew(c);
	c->order = (struct tier_order){ 0 };
}

void tier_note_order(struct tier_cache *c, const struct tier_access *a, struct cache_counts *r)
{
	const struct orderwalk_at *at = &a->at;
	const struct extent *x = &a->extent;
	struct tier_order *o = &c->order;
	uint64_t *last = &c->last[at->rank - c->first_rank];
	uint64_t seen = c->seen.last[at->extent];
	uint64_t number = c->seen.epoch_first + o->accesses;
	double place = (double)o->accesses;
	double before = (double)seen - (double)c->seen.before_first;

	o->accesses++;
	o->follows += at->extent == *last + 1;
	*last = at->extent;
	if (seen >= c->seen.epoch_first)
		return;
	if (tier_is_own(c, at->rank)) {
		r->unique_samples += x->samples;
		r->footprint_bytes += dataset_extent_bytes(c->tier->cfg.pass->dataset, x);
	}
	if (seen >= c->seen.before_first) {
		o->pairs++;
		o->x += place;
		o->y += before;
		o->xx += place * place;
		o->yy += before * before;
		o->xy += place * before;
	}
	c->seen.last[at->extent] = (uint32_t)number;
}

void tier_end_epoch(struct tier_cache *c)
{
	struct cache_counts *r = tier_record_of(c, c->epoch);
	const struct tier_order *o = &c->order;

	r->rank_correlation = correlation(o);
	r->sequential_ratio = o->accesses ? (double)o->follows / (double)o->accesses : (double)NAN;
}
