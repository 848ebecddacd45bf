/* SPDX-License-Identifier: Apache-2.0 */
/* tier_decide.c - which samples are kept, in the order in which they are asked for. */
#include "work/train/tier/tier_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/util.h"

static inline bool tier_is_own(const struct tier_cache *c, uint64_t rank)
{
	return rank >= c->own_first && rank < c->own_end;
}

/* Epochs with a record of their own; what comes later is in the sums. */
#define TIER_EPOCHS 1024u

/* ---- what is counted ---- */

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

/* Where an epoch is counted: in its own record, or in that of the rest. */
static struct cache_counts *tier_record_of(struct tier_cache *c, uint64_t epoch)
{
	return &c->records[u64_min(epoch, c->record_count)];
}

/* What was decided of an extent, for the epoch and the rank. */
static void tier_note_access(struct tier_cache *c, const struct extent *x,
			     const struct tier_decision *d, struct tier_rank *rank,
			     struct cache_counts *r)
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

/* Extents that were seen: 4 bytes each. An epoch begins. */
static void tier_note_init(struct tier_cache *c, uint64_t extents)
{
	c->seen.last = mem_array(extents, sizeof(*c->seen.last));
	c->seen.epoch_first = 1;
}

static void tier_note_fini(struct tier_cache *c)
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

static void tier_note_begin(struct tier_cache *c)
{
	c->seen.before_first = c->seen.epoch_first;
	c->seen.epoch_first += c->order.accesses;
	if (c->seen.epoch_first > TIER_EPOCH_MOST)
		count_anew(c);
	c->order = (struct tier_order){ 0 };
}

/* Where an extent stands in this epoch's order, and where it did before. */
static void tier_note_order(struct tier_cache *c, const struct tier_access *a,
			    struct cache_counts *r)
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

/* ---- what is given in place of a sample ---- */

/* Of a file that has more samples, so many neighbours are asked about. */
#define LOOKS_MOST 256u

/* Would it be kept, as far as is known before the access? */
/* One that turns newcomers away, decides itself what is worth a read. */
static bool tier_makes_room(const struct tier_cache *c, uint64_t unit)
{
	int policy = c->tier->job->cache;

	return policy == CACHE_IMPORTANCE || policy == CACHE_BELADY ||
	       cache_find(c->cache, unit) != CACHE_NO_SLOT || cache_has_room(c->cache, unit);
}

/* From any of the file's on. */
static bool find_in_file(const struct tier_cache *c, uint64_t file, uint64_t random, uint64_t *unit,
			 uint32_t *slot)
{
	const struct dataset *ds = c->tier->plain.dataset;
	uint64_t first = dataset_first_extent(ds, file);
	uint64_t count = dataset_first_extent(ds, file + 1) - first;

	for (uint64_t i = 0; i < u64_min(count, LOOKS_MOST); i++) {
		struct extent x;

		dataset_extent(ds, first + (random + i) % count, &x);
		*unit = tier_unit_of(&c->tier->units, &x);
		*slot = cache_find(c->cache, *unit);
		if (*slot != CACHE_NO_SLOT)
			return true;
	}
	return false;
}

/* What the cache has in place of a unit that is missed and would not be kept:
 * its unit and slot. False: nothing. */
static bool tier_substitute(struct tier_cache *c, const struct extent *x, uint64_t *unit,
			    uint32_t *slot)
{
	const struct job *j = c->tier->job;
	/* A file's worth of neighbours does not overflow. */
	uint64_t random = rng_u64(j->randseed, RNG_SUBSTITUTE, c->substituted++) >> 1;

	return j->cache_substitute == CACHE_SUBSTITUTE_ANY
		       ? cache_any(c->cache, random, unit, slot)
		       : find_in_file(c, x->file, random, unit, slot);
}

/* ---- decisions that wait for their rank ---- */

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

static uint64_t tier_ring_bytes(const struct job *j, const struct pass *pass)
{
	return ring_room(j, pass) * entry_bytes(j);
}

static void tier_ring_init(struct tier_ring *r, const struct tier *t)
{
	r->room = ring_room(t->job, t->cfg.pass);
	r->at = mem_array(r->room, sizeof(*r->at));
	if (t->job->cache_substitute != CACHE_SUBSTITUTE_NONE)
		r->substitutes = mem_array(r->room, sizeof(*r->substitutes));
}

static void tier_ring_fini(struct tier_ring *r)
{
	mem_free(r->at);
	mem_free(r->substitutes);
}

static void tier_ring_put(struct tier_ring *r, uint64_t number, const struct tier_decision *d)
{
	uint32_t word = d->generation | (d->is_hit ? ENTRY_HIT : 0) |
			(d->is_substituted ? ENTRY_SUBSTITUTED : 0);

	r->at[number % r->room] = (struct tier_entry){ d->slot, word };
	if (d->is_substituted)
		r->substitutes[number % r->room] = d->substitute;
	r->end = number + 1;
}

static struct tier_decision tier_ring_get(const struct tier_ring *r, uint64_t number)
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

/* ---- when each unit is accessed next ---- */

static uint64_t unit_of(const void *tier, uint64_t extent)
{
	const struct tier *t = tier;
	struct extent x;

	dataset_extent(t->plain.dataset, extent, &x);
	return tier_unit_of(&t->units, &x);
}

static struct nextuse_config config_of(const struct job *j, const struct pass *pass, uint64_t units)
{
	return (struct nextuse_config){
		.sampler = &pass->sampler,
		.end_rank = tier_ranks_of(j),
		.epochs = j->time_based ? UINT64_MAX : j->epochs,
		.units = units,
		.unit_of = unit_of,
	};
}

/* c->future; 0, or -errno with err. */
static int tier_future_init(struct tier_cache *c, struct mlgen_err *err)
{
	const struct tier *t = c->tier;
	struct nextuse_config cfg = config_of(t->job, t->cfg.pass, t->units.count);

	cfg.first_rank = c->first_rank;
	cfg.end_rank = c->end_rank;
	cfg.arg = t;
	return nextuse_new(&c->future, &cfg, err);
}

uint64_t tier_future_bytes(const struct job *job, const struct pass *pass, uint64_t units)
{
	struct nextuse_config cfg = config_of(job, pass, units);

	return nextuse_state_bytes(&cfg);
}

/* An epoch begins. */
static void tier_future_begin(struct tier_cache *c, uint64_t epoch)
{
	nextuse_epoch(c->future, epoch);
	c->future_at = 0;
}

/* Of the next access in its order. */
static uint64_t tier_future_next(struct tier_cache *c)
{
	return c->future_at < nextuse_accesses(c->future) ? nextuse_at(c->future, c->future_at++)
							  : NEXTUSE_NEVER;
}

/* ---- the accesses of an epoch ---- */

/*
 * What is known of a sample lies anywhere in memory, and who waits for one such place after the
 * other waits longer than all of the rest takes. The order is known: so some accesses are looked at
 * before the first of them is decided, and what they need is fetched side by side.
 */
static void look_ahead(struct tier_cache *c)
{
	const struct tier *t = c->tier;
	struct tier_walk *w = &c->walk;
	uint64_t units[TIER_COMING];

	w->next = w->end = 0;
	while (w->end < TIER_COMING) {
		struct tier_access *a = &w->coming[w->end];

		if (!orderwalk_next(&w->order, &a->at))
			break;
		dataset_extent(t->cfg.pass->dataset, a->at.extent, &a->extent);
		a->unit = tier_unit_of(&t->units, &a->extent);
		__builtin_prefetch(&c->seen.last[a->at.extent], 1);
		units[w->end++] = a->unit;
	}
	cache_expect(c->cache, units, w->end);
}

static void tier_walk_end(struct tier_cache *c)
{
	orderwalk_end(&c->walk.order);
	c->walk.next = c->walk.end = 0;
}

/* The accesses of an epoch, one by one; under c->lock. */
static void tier_walk_begin(struct tier_cache *c, uint64_t epoch)
{
	tier_walk_end(c);
	orderwalk_begin(&c->walk.order, &c->tier->cfg.pass->sampler, c->first_rank, c->end_rank,
			epoch);
}

/* The same, and it is still the next. */
static const struct tier_access *tier_walk_look(struct tier_cache *c)
{
	struct tier_walk *w = &c->walk;

	if (w->next == w->end)
		look_ahead(c);
	return w->next < w->end ? &w->coming[w->next] : NULL;
}

/* NULL: the epoch is over. It is there until the next one is asked for. */
static const struct tier_access *tier_walk_next(struct tier_cache *c)
{
	const struct tier_access *a = tier_walk_look(c);

	c->walk.next += a != NULL;
	return a;
}

/* ---- decisions ---- */

static const struct sampler *sampler_of(const struct tier_cache *c)
{
	return &c->tier->cfg.pass->sampler;
}

static bool asks_what_was_trained(const struct job *j)
{
	return j->cache_substitute != CACHE_SUBSTITUTE_NONE &&
	       j->shuffle.kind == SHUFFLE_IMPORTANCE;
}

uint64_t tier_decide_bytes(const struct job *j, const struct pass *pass,
			   const struct cache_config *limits)
{
	const struct sampler *s = &pass->sampler;
	uint64_t caches = j->cache_scope == CACHE_OF_RANK ? j->accelerators : 1;
	uint64_t ranks = tier_ranks_of(j);

	return j->accelerators * tier_ring_bytes(j, pass) +
	       caches * (cache_state_bytes(limits) + s->extents * sizeof(uint32_t)) +
	       (asks_what_was_trained(j) ? ranks * s->rank_extents * sizeof(uint32_t) : 0);
}

static void count_eviction(void *to, uint64_t unit, uint32_t slot)
{
	struct tier_cache *c = to;

	(void)unit;
	if (!tier_is_here(c, slot))
		return;
	c->all.evictions++;
	tier_record_of(c, c->epoch)->evictions++;
}

static uint64_t unit_bytes(const void *tier, uint64_t unit)
{
	const struct tier *t = tier;

	return tier_kept_bytes(&t->units, tier_unit_bytes(&t->units, unit));
}

/* Where each epoch's are told from the one's before. */
static int check_accesses(const struct tier_cache *c, struct mlgen_err *err)
{
	uint64_t accesses = (c->end_rank - c->first_rank) * sampler_of(c)->rank_extents;

	if (accesses < TIER_EPOCH_MOST)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "cache: the %" PRIu64 " accesses of an epoch are more than the %" PRIu32
			  " that can be told apart; use fewer files, or cache_scope=rank",
			  accesses, TIER_EPOCH_MOST);
}

int tier_decide_init(struct tier_cache *c, struct mlgen_err *err)
{
	const struct tier *t = c->tier;
	const struct job *j = t->job;
	struct cache_config cfg = t->limits;
	uint64_t ranks = c->end_rank - c->first_rank;
	uint64_t own = c->own_end - c->own_first;
	int rc = check_accesses(c, err);

	if (rc < 0)
		return rc;
	cfg.unit_bytes = unit_bytes;
	cfg.is_hot = tier_is_hot;
	cfg.arg = t;
	cfg.evicted = count_eviction;
	cfg.to = c;
	rc = cache_new(&c->cache, &cfg, err);
	if (rc < 0)
		return rc;
	pthread_mutex_init(&c->lock, NULL);
	c->all_slots = cache_slots(&cfg);
	c->slot_count = tier_slots_here(c->all_slots, c->parts, c->part);
	c->rings = mem_array(own, sizeof(*c->rings));
	c->last = mem_array(ranks, sizeof(*c->last));
	c->ranks = mem_array(own, sizeof(*c->ranks));
	if (asks_what_was_trained(j))
		c->trained = mem_array(ranks * sampler_of(c)->rank_extents, sizeof(*c->trained));
	for (uint64_t i = 0; i < own; i++)
		tier_ring_init(&c->rings[i], t);
	tier_note_init(c, sampler_of(c)->extents);
	c->record_count = j->time_based ? TIER_EPOCHS : u64_min(j->epochs, TIER_EPOCHS);
	c->records = mem_array(c->record_count + 1, sizeof(*c->records));
	if (j->cache_prefetch)
		c->ahead = tier_ahead_new(c);
	if (j->cache == CACHE_BELADY)
		return tier_future_init(c, err);
	return 0;
}

void tier_decide_fini(struct tier_cache *c)
{
	uint64_t own = c->own_end - c->own_first;

	if (!c->cache)
		return;
	for (uint64_t i = 0; c->rings && i < own; i++)
		tier_ring_fini(&c->rings[i]);
	mem_free(c->rings);
	mem_free(c->last);
	mem_free(c->ranks);
	mem_free(c->trained);
	tier_note_fini(c);
	mem_free(c->records);
	tier_walk_end(c);
	nextuse_free(c->future);
	tier_ahead_free(c->ahead);
	cache_free(c->cache);
	pthread_mutex_destroy(&c->lock);
}

static void begin_epoch(struct tier_cache *c, uint64_t epoch)
{
	uint64_t from_ns = clock_now(c->tier->cfg.clock);

	c->epoch = epoch;
	c->epochs_begun = epoch + 1;
	tier_note_begin(c);
	tier_walk_begin(c, epoch);
	for (uint64_t i = 0; i < c->own_end - c->own_first; i++) {
		struct tier_ring *r = &c->rings[i];

		r->starts[epoch % TIER_STARTS] = r->end;
	}
	for (uint64_t i = 0; i < c->end_rank - c->first_rank; i++)
		c->last[i] = UINT64_MAX - 1;
	if (c->future)
		tier_future_begin(c, epoch);
	if (c->ahead)
		tier_ahead_begin(c->ahead, epoch);
	c->draw_ns += clock_now(c->tier->cfg.clock) - from_ns;
}

/* Member by member into where it stays, here and below: a copy of what was just written in parts
 * waits for all that was written before. */
static void decide_substitute(struct tier_cache *c, const struct extent *x, struct tier_decision *d)
{
	uint64_t unit;
	uint32_t slot;

	if (!tier_substitute(c, x, &unit, &slot))
		return;
	d->slot = slot;
	d->generation = cache_generation(c->cache, slot) & TIER_GENERATION_MOST;
	d->is_substituted = true;
	d->substitute = (uint32_t)unit;
}

static void decide_access(struct tier_cache *c, const struct tier_access *of,
			  struct tier_decision *d)
{
	const struct tier *t = c->tier;
	struct cache_access a = { .unit = of->unit };
	struct cache_answer answer;

	if (t->cfg.weight)
		a.weight = t->cfg.weight(t->cfg.weights, of->extent.id);
	if (c->future)
		a.next_use = tier_future_next(c);
	cache_access(c->cache, &a, &answer);
	d->slot = answer.slot;
	d->generation = answer.generation & TIER_GENERATION_MOST;
	d->is_hit = answer.is_hit;
}

/* What is missed and is not to be kept may be another one that is there. */
static void decide(struct tier_cache *c, const struct tier_access *a, struct tier_decision *d)
{
	bool may_stand_in = c->tier->job->cache_substitute != CACHE_SUBSTITUTE_NONE;

	*d = (struct tier_decision){ .slot = CACHE_NO_SLOT };
	if (may_stand_in && !tier_makes_room(c, a->unit))
		decide_substitute(c, &a->extent, d);
	if (d->is_substituted)
		return;
	decide_access(c, a, d);
	if (may_stand_in && d->slot == CACHE_NO_SLOT)
		decide_substitute(c, &a->extent, d);
}

/* Of an order that follows from losses: whose they are. */
static void note_trained(struct tier_cache *c, const struct tier_access *a,
			 const struct tier_decision *d)
{
	uint64_t first = (a->at.rank - c->first_rank) * sampler_of(c)->rank_extents;
	struct extent other = a->extent;

	if (!c->trained)
		return;
	if (d->is_substituted)
		tier_unit_extent(&c->tier->units, d->substitute, &a->extent, &other);
	c->trained[first + a->at.position] = (uint32_t)other.id;
}

/* What is decided of this process's own waits until it is asked for. */
static void keep_own(struct tier_cache *c, const struct tier_access *a,
		     const struct tier_decision *d, struct cache_counts *r)
{
	uint64_t rank = a->at.rank - c->own_first;
	struct tier_ring *ring = &c->rings[rank];
	uint64_t start = ring->starts[c->epoch % TIER_STARTS];

	tier_note_access(c, &a->extent, d, &c->ranks[rank], r);
	tier_ring_put(ring, start + a->at.position, d);
}

/* False: the epoch is over. */
static bool decide_next(struct tier_cache *c)
{
	const struct tier_access *a = tier_walk_next(c);
	struct cache_counts *r;
	struct tier_decision d;

	if (!a)
		return false;
	if (c->ahead)
		tier_ahead_go_on(c->ahead);
	r = tier_record_of(c, c->epoch);
	decide(c, a, &d);
	tier_note_order(c, a, r);
	note_trained(c, a, &d);
	if (tier_is_own(c, a->at.rank))
		keep_own(c, a, &d, r);
	return true;
}

void tier_decide_rest(struct tier_cache *c)
{
	const struct tier_access *a;

	pthread_mutex_lock(&c->lock);
	while (c->has_begun && (a = tier_walk_look(c)) && !tier_is_own(c, a->at.rank))
		decide_next(c);
	pthread_mutex_unlock(&c->lock);
}

/* Of a rank, up to this number; the epoch may have to begin first. */
static void decide_until(struct tier_cache *c, const struct tier_ring *r, uint64_t epoch,
			 uint64_t end)
{
	if (!c->has_begun)
		begin_epoch(c, epoch);
	c->has_begun = true;
	while (c->epoch < epoch ||
	       (c->epoch == epoch && r->end < r->starts[epoch % TIER_STARTS] + end)) {
		if (decide_next(c))
			continue;
		if (c->epoch == epoch)
			break;
		tier_end_epoch(c);
		begin_epoch(c, c->epoch + 1);
	}
}

bool tier_decide_ahead(struct tier_cache *c, uint64_t extent, uint64_t number,
		       struct tier_decision *d)
{
	const struct tier *t = c->tier;
	struct cache_access a = { .next_use = number };
	struct cache_answer answer;
	struct extent x;

	dataset_extent(t->cfg.pass->dataset, extent, &x);
	a.unit = tier_unit_of(&t->units, &x);
	if (t->cfg.weight)
		a.weight = t->cfg.weight(t->cfg.weights, extent);
	cache_access(c->cache, &a, &answer);
	if (answer.is_hit || answer.slot == CACHE_NO_SLOT || !tier_is_here(c, answer.slot))
		return false;
	tier_record_of(c, c->epoch)->prefetches++;
	*d = (struct tier_decision){
		.unit = a.unit,
		.slot = answer.slot,
		.generation = answer.generation & TIER_GENERATION_MOST,
	};
	return true;
}

void tier_count_dropped(struct tier_cache *c)
{
	tier_record_of(c, c->epoch)->dropped_fills++;
}

bool tier_is_there(struct tier_cache *c, const struct tier_decision *d)
{
	uint64_t word = atomic_load_explicit(tier_word(c, d->slot), memory_order_relaxed);
	enum tier_slot_state s = tier_slot_state(word);

	return tier_slot_generation(word) > d->generation ||
	       (tier_slot_generation(word) == d->generation &&
		(s == SLOT_READY || s == SLOT_FILLING));
}

void tier_turn_to_epoch(struct tier_loader *l, uint64_t epoch)
{
	if (l->epoch == epoch)
		return;
	pthread_mutex_lock(&l->cache->lock);
	tier_count(l);
	pthread_mutex_unlock(&l->cache->lock);
	l->epoch = epoch;
}

/* With the best that an access of it could have. */
bool tier_decide_warm(struct tier_cache *c, uint64_t unit, struct tier_decision *d)
{
	struct cache_access a = { .unit = unit, .weight = 1 };
	struct cache_answer answer;

	if (c->future && !c->has_begun) {
		begin_epoch(c, 0);
		nextuse_look_first(c->future);
		c->has_begun = true;
	}
	if (c->future)
		a.next_use = nextuse_first(c->future, unit);
	cache_access(c->cache, &a, &answer);
	if (answer.is_hit || answer.slot == CACHE_NO_SLOT || !tier_is_here(c, answer.slot))
		return false;
	*d = (struct tier_decision){
		.unit = unit,
		.slot = answer.slot,
		.generation = answer.generation & TIER_GENERATION_MOST,
	};
	return true;
}

uint64_t tier_trained(const struct tier *t, const struct orderwalk_at *at)
{
	const struct tier_cache *c = t ? tier_cache_of(t, at->rank) : NULL;
	uint64_t rank = c ? at->rank - c->first_rank : 0;

	return c && c->trained ? c->trained[rank * sampler_of(c)->rank_extents + at->position]
			       : at->extent;
}

void tier_count(struct tier_loader *l)
{
	const struct tier_tally *y = &l->tally;
	struct tier_cache *c = l->cache;
	struct cache_counts *r = tier_record_of(c, l->epoch);

	r->late_hits += y->late_hits;
	r->fills += y->fills;
	r->dropped_fills += y->dropped_fills;
	r->cache_bytes += y->cache_bytes;
	r->storage_bytes += y->storage_bytes;
	r->filled_bytes += y->filled_bytes;
	r->peer_hits += y->peer_hits;
	r->peer_bytes += y->peer_bytes;
	c->sent_bytes += y->sent_bytes;
	c->served_samples += y->served_samples;
	c->served_bytes += y->served_bytes;
	c->received_bytes += y->received_bytes;
	c->verified += y->verified;
	c->wrong += y->wrong;
	count_add_shared(&l->tier->accesses, y->accesses);
	count_add_shared(&l->tier->hits, y->hits);
	l->tally = (struct tier_tally){ 0 };
}

static void tier_decide_take(struct tier_loader *l, const struct tier_ring *r, uint64_t epoch,
			     uint64_t begin, uint64_t end)
{
	uint64_t start = r->starts[epoch % TIER_STARTS];
	bool is_known = l->cache->epoch < epoch + TIER_STARTS;

	for (uint64_t i = begin; i < end; i++) {
		uint64_t number = start + i;

		l->taken[i - begin] =
			is_known && r->end - number <= r->room
				? tier_ring_get(r, number)
				: (struct tier_decision){ .slot = CACHE_NO_SLOT, .is_lost = true };
	}
	l->begin = begin;
	l->end = end;
	l->epoch = epoch;
}

const struct tier_decision *tier_decide(struct tier_loader *l, uint64_t epoch,
					struct sampler_epoch *order, uint64_t position)
{
	struct tier_cache *c = l->cache;
	struct tier_ring *r = &c->rings[l->rank - c->own_first];
	uint64_t batch, end;

	if (l->epoch == epoch && position >= l->begin && position < l->end)
		return &l->taken[position - l->begin];
	batch = sampler_batch_of(order, l->rank, position);
	end = u64_max(sampler_batch_start(order, l->rank, batch + 1), position + 1);
	end = u64_min(end, position + TIER_TAKEN);
	pthread_mutex_lock(&c->lock);
	tier_count(l);
	decide_until(c, r, epoch, end);
	tier_decide_take(l, r, epoch, position, end);
	pthread_mutex_unlock(&c->lock);
	return l->taken;
}
