/* SPDX-License-Identifier: Apache-2.0 */
/* tier_decide.c - decide hits, slots and evictions in the order of the accesses. */
#include "work/train/tier/tier_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"

static inline bool tier_is_own(const struct tier_cache *c, uint64_t rank)
{
	return rank >= c->own_first && rank < c->own_end;
}

/* Number of epochs with a record of their own; later epochs share one. */
#define TIER_EPOCHS 1024u

/* ---- counters ---- */

/* The record of an epoch, which may be the shared one. */
static struct cache_counts *tier_record_of(struct tier_cache *c, uint64_t epoch)
{
	return &c->records[u64_min(epoch, c->record_count)];
}

/* Count a decision for the epoch and for the rank. */
static void count_access(struct tier_cache *c, const struct extent *x,
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

static void note_epoch(struct tier_cache *c)
{
	struct tier_seen *s = &c->seen;

	s->previous_first = s->epoch_first;
	s->epoch_first += c->order.accesses;
	c->order = (struct tier_order){ 0 };
	if (s->epoch_first <= TIER_EPOCH_ACCESSES_MAX)
		return;
	/* Renumber the accesses from the start of the previous epoch. */
	uint32_t off = (uint32_t)(s->previous_first - 1);
	for (uint64_t i = 0; i < c->tier->cfg.pass->sampler.extents; i++)
		s->last[i] = s->last[i] > off ? s->last[i] - off : 0;
	s->previous_first -= off;
	s->epoch_first -= off;
}

/* Record the position of an extent in the order of this epoch, and its position in the previous
 * epoch. */
static void note_order(struct tier_cache *c, const struct tier_access *a, struct cache_counts *r)
{
	const struct orderwalk_at *at = &a->at;
	const struct extent *x = &a->extent;
	struct tier_order *o = &c->order;
	uint64_t *last = &c->last[at->rank - c->first_rank];
	uint64_t seen = c->seen.last[at->extent];
	uint64_t number = c->seen.epoch_first + o->accesses;
	double position = (double)o->accesses;
	double before = (double)seen - (double)c->seen.previous_first;

	o->accesses++;
	o->follows += at->extent == *last + 1;
	*last = at->extent;
	if (seen >= c->seen.epoch_first)
		return;
	if (tier_is_own(c, at->rank)) {
		r->unique_samples += x->samples;
		r->footprint_bytes += dataset_extent_bytes(c->tier->cfg.pass->dataset, x);
	}
	if (seen >= c->seen.previous_first) {
		o->pairs++;
		o->x += position;
		o->y += before;
		o->xx += position * position;
		o->yy += before * before;
		o->xy += position * before;
	}
	c->seen.last[at->extent] = (uint32_t)number;
}

void tier_end_epoch(struct tier_cache *c)
{
	struct cache_counts *r = tier_record_of(c, c->epoch);
	const struct tier_order *o = &c->order;
	double n = o->pairs;
	double xx = n * o->xx - o->x * o->x, yy = n * o->yy - o->y * o->y;

	/* Rank correlation of the extents that two epochs have in common. The positions of a
	 * permutation are their own ranks. */
	r->rank_correlation = n < 2 || !(xx > 0) || !(yy > 0)
				      ? (double)NAN
				      : (n * o->xy - o->x * o->y) / sqrt(xx * yy);
	r->sequential_ratio = o->accesses ? (double)o->follows / (double)o->accesses : (double)NAN;
}

/* ---- substitutes ---- */

/* Maximum number of samples of a file that are looked up. */
#define LOOKUPS_MAX 256u

/* True if the unit would be kept, as far as can be known before the access. Policies that reject
 * new units decide by themselves which units are worth a read. */
static bool tier_makes_room(const struct tier_cache *c, uint64_t unit)
{
	int policy = c->tier->job->cache;

	return policy == CACHE_IMPORTANCE || policy == CACHE_BELADY ||
	       cache_find(c->cache, unit) != CACHE_NO_SLOT || cache_has_room(c->cache, unit);
}

/* Find a cached unit of a file, starting at a random extent. */
static bool find_in_file(const struct tier_cache *c, uint64_t file, uint64_t random, uint64_t *unit,
			 uint32_t *slot)
{
	const struct dataset *ds = c->tier->plain.dataset;
	uint64_t first = dataset_first_extent(ds, file);
	uint64_t count = dataset_first_extent(ds, file + 1) - first;

	for (uint64_t i = 0; i < u64_min(count, LOOKUPS_MAX); i++) {
		struct extent x;

		dataset_extent(ds, first + (random + i) % count, &x);
		*unit = tier_unit_of(&c->tier->units, &x);
		*slot = cache_find(c->cache, *unit);
		if (*slot != CACHE_NO_SLOT)
			return true;
	}
	return false;
}

/* ---- rings of decisions that wait for their rank ---- */

/* Number of batches in a ring beyond those that may be read ahead: the current batch, one for a
 * rank that is a step late, and one for partial batches. */
#define BATCHES_BEYOND 3u

/* Flags above the generation. */
#define ENTRY_HIT (UINT32_C(1) << 30)
#define ENTRY_SUBSTITUTED (UINT32_C(1) << 31)

/* True if one accelerator, or one of its read threads, may be an epoch ahead of another. Plain
 * loaders deliver whatever comes first. */
static bool may_drift(const struct job *j)
{
	bool shares = j->accelerators > 1 && j->cache_scope != CACHE_SCOPE_RANK;

	return (shares && j->barrier != BARRIER_STEP) ||
	       (j->read_threads > 1 &&
		(j->loader == LOADER_PLAIN || (j->loader == LOADER_TFDATA && !j->deterministic)));
}

/* Number of decisions on a rank that may wait until it asks for them. */
static uint64_t ring_room(const struct job *j, const struct pass *pass)
{
	const struct sampler *s = &pass->sampler;
	uint64_t of_batch = s->batch / s->extent_samples + 2;
	uint64_t ahead = (pass->window + BATCHES_BEYOND) * of_batch;
	uint64_t epochs = 0;

	/* Ranks that drift apart meet at the end of each epoch, or (barrier=none) never. */
	if (may_drift(j))
		epochs = j->accelerators > 1 && j->barrier == BARRIER_NONE ? 2 : 1;
	/* Batches have any number of extents. */
	if (s->extents_differ)
		epochs = 2;
	return ahead + epochs * s->rank_extents;
}

static void tier_ring_add(struct tier_ring *r, uint64_t number, const struct tier_decision *d)
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
		.generation = e.word & TIER_GENERATION_MAX,
		.is_hit = e.word & ENTRY_HIT,
		.is_substituted = is_substituted,
		.substitute = is_substituted ? r->substitutes[number % r->room] : 0,
	};
}

/* ---- next use of each unit (belady) ---- */

static uint64_t unit_of(const void *tier, uint64_t extent)
{
	const struct tier *t = tier;
	struct extent x;

	dataset_extent(t->plain.dataset, extent, &x);
	return tier_unit_of(&t->units, &x);
}

static struct nextuse_config future_config(const struct job *j, const struct pass *pass,
					   uint64_t units)
{
	return (struct nextuse_config){
		.sampler = &pass->sampler,
		.end_rank = tier_ranks_of(j),
		.epochs = j->time_based ? UINT64_MAX : j->epochs,
		.units = units,
		.unit_of = unit_of,
	};
}

/* ---- the accesses of an epoch ---- */

/*
 * The state of a sample may be anywhere in memory, and CPU cache misses that are waited for one by
 * one take longer than everything else here. Since the order is known, a few upcoming accesses are
 * looked up together, and their memory is prefetched.
 */
static void walk_refill(struct tier_cache *c)
{
	const struct tier *t = c->tier;
	struct tier_walk *w = &c->walk;
	uint64_t units[TIER_UPCOMING];

	w->next = w->end = 0;
	while (w->end < TIER_UPCOMING) {
		struct tier_access *a = &w->upcoming[w->end];

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

/* The next access of the epoch, which is not consumed; NULL: the epoch is over. */
static const struct tier_access *tier_walk_peek(struct tier_cache *c)
{
	struct tier_walk *w = &c->walk;

	if (w->next == w->end)
		walk_refill(c);
	return w->next < w->end ? &w->upcoming[w->next] : NULL;
}

/* ---- decisions ---- */

static const struct sampler *sampler_of(const struct tier_cache *c)
{
	return &c->tier->cfg.pass->sampler;
}

static bool needs_trained(const struct job *j)
{
	return j->cache_substitute != CACHE_SUBSTITUTE_NONE &&
	       j->shuffle.kind == SHUFFLE_IMPORTANCE;
}

uint64_t tier_decide_bytes(const struct job *j, const struct pass *pass,
			   const struct cache_config *limits)
{
	const struct sampler *s = &pass->sampler;
	uint64_t caches = j->cache_scope == CACHE_SCOPE_RANK ? j->accelerators : 1;
	uint64_t ranks = tier_ranks_of(j), entry_bytes = sizeof(struct tier_entry);
	struct nextuse_config future = future_config(j, pass, limits->units);
	uint64_t future_bytes = 0;

	if (j->cache_substitute != CACHE_SUBSTITUTE_NONE)
		entry_bytes += sizeof(uint32_t);
	/* Memory to know when each unit is accessed next. */
	if (j->cache == CACHE_BELADY)
		future_bytes = nextuse_state_bytes(&future);
	return future_bytes + j->accelerators * ring_room(j, pass) * entry_bytes +
	       caches * (cache_state_bytes(limits) + s->extents * sizeof(uint32_t)) +
	       (needs_trained(j) ? ranks * s->rank_extents * sizeof(uint32_t) : 0);
}

static void count_eviction(void *to, uint64_t unit, uint32_t slot)
{
	struct tier_cache *c = to;

	(void)unit;
	if (!tier_slot_is_local(c, slot))
		return;
	c->all.evictions++;
	tier_record_of(c, c->epoch)->evictions++;
}

/* True if cache=hot keeps the unit. */
static bool is_hot(const void *tier, uint64_t unit)
{
	const struct tier *t = tier;

	return perm_at(&t->ranking, unit) < t->hot_units;
}

static uint64_t unit_bytes(const void *tier, uint64_t unit)
{
	const struct tier *t = tier;

	return tier_cached_bytes(&t->units, tier_unit_bytes(&t->units, unit));
}

int tier_decide_init(struct tier_cache *c, struct mlgen_err *err)
{
	const struct tier *t = c->tier;
	const struct job *j = t->job;
	struct cache_config cfg = t->limits;
	uint64_t ranks = c->end_rank - c->first_rank;
	uint64_t own = c->own_end - c->own_first;
	uint64_t accesses = ranks * sampler_of(c)->rank_extents;

	if (accesses >= TIER_EPOCH_ACCESSES_MAX)
		return mlgen_fail(err, -EINVAL,
				  "cache: the %" PRIu64
				  " accesses of an epoch are more than the supported %" PRIu32
				  "; use fewer files, or cache_scope=rank",
				  accesses, TIER_EPOCH_ACCESSES_MAX);
	cfg.unit_bytes = unit_bytes;
	cfg.is_hot = is_hot;
	cfg.arg = t;
	cfg.evicted = count_eviction;
	cfg.to = c;
	int rc = cache_new(&c->cache, &cfg, err);
	if (rc < 0)
		return rc;
	pthread_mutex_init(&c->lock, NULL);
	c->all_slots = cache_slots(&cfg);
	c->slot_count = tier_local_slots(c->all_slots, c->parts, c->part);
	c->rings = mem_array(own, sizeof(*c->rings));
	c->last = mem_array(ranks, sizeof(*c->last));
	c->ranks = mem_array(own, sizeof(*c->ranks));
	if (needs_trained(j))
		c->trained = mem_array(ranks * sampler_of(c)->rank_extents, sizeof(*c->trained));
	for (uint64_t i = 0; i < own; i++) {
		struct tier_ring *r = &c->rings[i];

		r->room = ring_room(j, t->cfg.pass);
		r->at = mem_array(r->room, sizeof(*r->at));
		if (j->cache_substitute != CACHE_SUBSTITUTE_NONE)
			r->substitutes = mem_array(r->room, sizeof(*r->substitutes));
	}
	c->seen.last = mem_array(sampler_of(c)->extents, sizeof(*c->seen.last));
	c->seen.epoch_first = 1;
	c->record_count = j->time_based ? TIER_EPOCHS : u64_min(j->epochs, TIER_EPOCHS);
	c->records = mem_array(c->record_count + 1, sizeof(*c->records));
	if (j->cache_prefetch)
		c->ahead = tier_ahead_new(c);
	if (j->cache != CACHE_BELADY)
		return 0;
	struct nextuse_config future = future_config(j, t->cfg.pass, t->units.count);
	future.first_rank = c->first_rank;
	future.end_rank = c->end_rank;
	future.arg = t;
	return nextuse_new(&c->future, &future, err);
}

void tier_decide_fini(struct tier_cache *c)
{
	uint64_t own = c->own_end - c->own_first;

	if (!c->cache)
		return;
	for (uint64_t i = 0; c->rings && i < own; i++) {
		mem_free(c->rings[i].at);
		mem_free(c->rings[i].substitutes);
	}
	mem_free(c->rings);
	mem_free(c->last);
	mem_free(c->ranks);
	mem_free(c->trained);
	mem_free(c->seen.last);
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
	note_epoch(c);
	tier_walk_end(c);
	orderwalk_begin(&c->walk.order, sampler_of(c), c->first_rank, c->end_rank, epoch);
	for (uint64_t i = 0; i < c->own_end - c->own_first; i++) {
		struct tier_ring *r = &c->rings[i];

		r->starts[epoch % TIER_EPOCH_STARTS] = r->end;
	}
	for (uint64_t i = 0; i < c->end_rank - c->first_rank; i++)
		c->last[i] = UINT64_MAX - 1;
	if (c->future) {
		nextuse_epoch(c->future, epoch);
		c->future_at = 0;
	}
	if (c->ahead)
		tier_ahead_begin(c->ahead, epoch);
	c->draw_ns += clock_now(c->tier->cfg.clock) - from_ns;
}

/* Members of *d are set one by one, here and below: copying a struct that was just written in parts
 * stalls until all earlier writes are done. */
static void decide_substitute(struct tier_cache *c, const struct extent *x, struct tier_decision *d)
{
	const struct job *j = c->tier->job;
	/* Shifted, so that adding an index within a file does not overflow. */
	uint64_t unit, random = rng_u64(j->randseed, RNG_SUBSTITUTE, c->substituted++) >> 1;
	uint32_t slot;

	if (j->cache_substitute == CACHE_SUBSTITUTE_ANY
		    ? !cache_any(c->cache, random, &unit, &slot)
		    : !find_in_file(c, x->file, random, &unit, &slot))
		return;
	d->slot = slot;
	d->generation = cache_generation(c->cache, slot) & TIER_GENERATION_MAX;
	d->is_substituted = true;
	d->substitute = (uint32_t)unit;
}

/* A unit that is missed and would not be kept may be replaced by a cached one. */
static void decide(struct tier_cache *c, const struct tier_access *of, struct tier_decision *d)
{
	const struct tier *t = c->tier;
	bool may_substitute = t->job->cache_substitute != CACHE_SUBSTITUTE_NONE;
	struct cache_access a = { .unit = of->unit };
	struct cache_answer answer;

	*d = (struct tier_decision){ .slot = CACHE_NO_SLOT };
	if (may_substitute && !tier_makes_room(c, of->unit))
		decide_substitute(c, &of->extent, d);
	if (d->is_substituted)
		return;
	if (t->cfg.weight)
		a.weight = t->cfg.weight(t->cfg.weights, of->extent.id);
	if (c->future)
		a.next_use = c->future_at < nextuse_accesses(c->future)
				     ? nextuse_at(c->future, c->future_at++)
				     : NEXTUSE_NEVER;
	cache_access(c->cache, &a, &answer);
	d->slot = answer.slot;
	d->generation = answer.generation & TIER_GENERATION_MAX;
	d->is_hit = answer.is_hit;
	if (may_substitute && d->slot == CACHE_NO_SLOT)
		decide_substitute(c, &of->extent, d);
}

/* An order that depends on losses has to know which extents were trained on. */
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

/* Decide the next access. A decision on a rank of this process is added to the rank's ring. False:
 * the epoch is over. */
static bool decide_next(struct tier_cache *c)
{
	const struct tier_access *a = tier_walk_peek(c);
	struct tier_decision d;

	if (!a)
		return false;
	c->walk.next++;
	if (c->ahead)
		tier_ahead_advance(c->ahead);
	struct cache_counts *r = tier_record_of(c, c->epoch);
	decide(c, a, &d);
	note_order(c, a, r);
	note_trained(c, a, &d);
	if (!tier_is_own(c, a->at.rank))
		return true;
	uint64_t own = a->at.rank - c->own_first;
	struct tier_ring *ring = &c->rings[own];
	count_access(c, &a->extent, &d, &c->ranks[own], r);
	tier_ring_add(ring, ring->starts[c->epoch % TIER_EPOCH_STARTS] + a->at.position, &d);
	return true;
}

void tier_decide_rest(struct tier_cache *c)
{
	const struct tier_access *a;

	pthread_mutex_lock(&c->lock);
	while (c->has_begun && (a = tier_walk_peek(c)) && !tier_is_own(c, a->at.rank))
		decide_next(c);
	pthread_mutex_unlock(&c->lock);
}

/* Decide all accesses up to position `end` of a rank's epoch, and begin the epoch if necessary. */
static void decide_until(struct tier_cache *c, const struct tier_ring *r, uint64_t epoch,
			 uint64_t end)
{
	if (!c->has_begun)
		begin_epoch(c, epoch);
	c->has_begun = true;
	while (c->epoch < epoch ||
	       (c->epoch == epoch && r->end < r->starts[epoch % TIER_EPOCH_STARTS] + end)) {
		if (decide_next(c))
			continue;
		if (c->epoch == epoch)
			break;
		tier_end_epoch(c);
		begin_epoch(c, c->epoch + 1);
	}
}

/* Access a unit before its batch. True, with *d, if the unit was added in a slot of this
 * process. */
static bool decide_early(struct tier_cache *c, const struct cache_access *a,
			 struct tier_decision *d)
{
	struct cache_answer answer;

	cache_access(c->cache, a, &answer);
	if (answer.is_hit || answer.slot == CACHE_NO_SLOT || !tier_slot_is_local(c, answer.slot))
		return false;
	*d = (struct tier_decision){
		.unit = a->unit,
		.slot = answer.slot,
		.generation = answer.generation & TIER_GENERATION_MAX,
	};
	return true;
}

bool tier_decide_ahead(struct tier_cache *c, uint64_t extent, uint64_t number,
		       struct tier_decision *d)
{
	const struct tier *t = c->tier;
	struct cache_access a = { .next_use = number };
	struct extent x;

	dataset_extent(t->cfg.pass->dataset, extent, &x);
	a.unit = tier_unit_of(&t->units, &x);
	if (t->cfg.weight)
		a.weight = t->cfg.weight(t->cfg.weights, extent);
	if (!decide_early(c, &a, d))
		return false;
	tier_record_of(c, c->epoch)->prefetches++;
	return true;
}

void tier_count_dropped(struct tier_cache *c)
{
	tier_record_of(c, c->epoch)->dropped_fills++;
}

bool tier_is_obsolete(struct tier_cache *c, const struct tier_decision *d)
{
	uint64_t word = atomic_load_explicit(tier_word(c, d->slot), memory_order_relaxed);
	enum tier_slot_state s = tier_slot_state(word);

	return tier_slot_generation(word) > d->generation ||
	       (tier_slot_generation(word) == d->generation &&
		(s == SLOT_READY || s == SLOT_FILLING));
}

void tier_set_epoch(struct tier_loader *l, uint64_t epoch)
{
	if (l->epoch == epoch)
		return;
	pthread_mutex_lock(&l->cache->lock);
	tier_flush_tally(l);
	pthread_mutex_unlock(&l->cache->lock);
	l->epoch = epoch;
}

/* The access gets the highest weight and the earliest next use that any access to the unit can
 * have. */
bool tier_decide_warm(struct tier_cache *c, uint64_t unit, struct tier_decision *d)
{
	struct cache_access a = { .unit = unit, .weight = 1 };

	if (c->future && !c->has_begun) {
		begin_epoch(c, 0);
		nextuse_find_first(c->future);
		c->has_begun = true;
	}
	if (c->future)
		a.next_use = nextuse_first(c->future, unit);
	return decide_early(c, &a, d);
}

uint64_t tier_trained(const struct tier *t, const struct orderwalk_at *at)
{
	const struct tier_cache *c = t ? tier_cache_of(t, at->rank) : NULL;
	uint64_t rank = c ? at->rank - c->first_rank : 0;

	return c && c->trained ? c->trained[rank * sampler_of(c)->rank_extents + at->position]
			       : at->extent;
}

void tier_flush_tally(struct tier_loader *l)
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

const struct tier_decision *tier_decide(struct tier_loader *l, uint64_t epoch,
					struct sampler_epoch *order, uint64_t position)
{
	struct tier_cache *c = l->cache;
	const struct tier_ring *r = &c->rings[l->rank - c->own_first];

	if (l->epoch == epoch && position >= l->begin && position < l->end)
		return &l->decisions[position - l->begin];
	uint64_t batch = sampler_batch_of(order, l->rank, position);
	uint64_t end = u64_max(sampler_batch_start(order, l->rank, batch + 1), position + 1);
	end = u64_min(end, position + TIER_FETCH_MAX);
	pthread_mutex_lock(&c->lock);
	tier_flush_tally(l);
	decide_until(c, r, epoch, end);
	uint64_t start = r->starts[epoch % TIER_EPOCH_STARTS];
	bool has_start = c->epoch < epoch + TIER_EPOCH_STARTS;
	for (uint64_t i = position; i < end; i++)
		l->decisions[i - position] =
			has_start && r->end - (start + i) <= r->room
				? tier_ring_get(r, start + i)
				: (struct tier_decision){ .slot = CACHE_NO_SLOT, .is_lost = true };
	pthread_mutex_unlock(&c->lock);
	l->begin = position;
	l->end = end;
	l->epoch = epoch;
	return l->decisions;
}
