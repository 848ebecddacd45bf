/* SPDX-License-Identifier: Apache-2.0 */
/* tier.c - see tier.h. */
#include "run/tier.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "run/loader.h"
#include "run/tier_ahead.h"
#include "run/tier_filler.h"
#include "run/tier_folder.h"

/* In files, and where reads are direct, slots begin at whole blocks. */
#define BLOCK_BYTES UINT64_C(4096)
#define SLOT_ALIGN UINT64_C(64)

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t data_bytes(const struct tier_units *u)
{
	struct dataset_totals totals;

	if (u->same_bytes)
		return u->same_bytes * u->count;
	dataset_totals(u->plan->dataset, &totals);
	return u->kind == CACHE_FILES ? totals.bytes : totals.sample_bytes;
}

/* Of a unit, as it is kept. */
static double mean_bytes(const struct tier_units *u)
{
	return (double)data_bytes(u) * u->factor / (double)u->count;
}

static uint64_t cache_count(const struct job *j)
{
	return j->cache_scope == CACHE_OF_RANK ? j->accelerators : 1;
}

/* Of samples, those of a unit count together. */
static uint64_t units_of(const struct tier_units *u, uint64_t samples)
{
	uint64_t each = tier_unit_samples(u);

	return each ? divide_up(samples, each) : samples;
}

static struct cache_config limits_of(const struct job *j,
				     const struct tier_units *u)
{
	const struct cache_size *size = &j->cache_size;
	struct cache_config cfg = { .policy = (enum job_cache)j->cache,
				    .units = u->count,
				    .capacity_bytes = UINT64_MAX,
				    .capacity_units = UINT64_MAX,
				    .seed = j->randseed };

	if (u->same_bytes)
		cfg.each_bytes = tier_kept_bytes(u, u->same_bytes);
	if (size->samples)
		cfg.capacity_units = units_of(u, size->samples);
	else if (size->percent > 0)
		cfg.capacity_bytes =
			(uint64_t)(size->percent / 100 * (double)data_bytes(u) +
				   0.5);
	else
		cfg.capacity_bytes = size->bytes;
	/* Equal ones are as many as fit, whatever is asked of them. */
	if (u->same_bytes && cfg.capacity_bytes < UINT64_MAX)
		cfg.capacity_units =
			u64_max(cfg.capacity_bytes / cfg.each_bytes, 1);
	return cfg;
}

static uint64_t slot_bytes_of(const struct job *j, const struct tier_units *u)
{
	uint64_t align = j->cache_directory || u->plan->align_bytes
				 ? BLOCK_BYTES
				 : SLOT_ALIGN;

	uint64_t most =
		u64_max(u->largest_bytes, tier_kept_bytes(u, u->largest_bytes));

	return u64_max(divide_up(most, align), 1) * align;
}

/* Of one whose limits are known. */
struct sizes_of_tier {
	struct tier_units units;
	struct cache_config limits;
	uint64_t slot_bytes, slots;
};

static void size_up(struct sizes_of_tier *s, const struct job *j,
		    const struct pass *pass)
{
	tier_units_init(&s->units, &pass->plan, j);
	s->limits = limits_of(j, &s->units);
	s->slot_bytes = slot_bytes_of(j, &s->units);
	s->slots = cache_slots(&s->limits);
}

/* Where it counts whether bytes are there. */
static bool tier_has_slots(const struct job *j)
{
	return tier_place_of(j)->keeps || j->cache_prefetch;
}

/* Of units that differ, so many as fit of the mean size: who looks at each of
 * them is the run. */
static void expect_slots(struct sizes_of_tier *s)
{
	double mean = mean_bytes(&s->units);
	double fit = (double)s->limits.capacity_bytes / fmax(1, mean);

	if (!s->units.same_bytes && fit < (double)s->limits.capacity_units)
		s->limits.capacity_units = (uint64_t)ceil(fit);
	s->slots = cache_slots(&s->limits);
}

/* Of a slot, beside what the policy has of it: its word, and a checksum. */
static uint64_t slot_state_bytes(const struct job *j)
{
	bool has_sum = tier_place_of(j)->keeps && j->cache_verify;

	return tier_has_slots(j)
		       ? sizeof(uint64_t) + (has_sum ? sizeof(uint32_t) : 0)
		       : 0;
}

uint64_t tier_state_bytes(const struct job *j, const struct stages *stages)
{
	const struct pass *pass = &stages->train;
	struct sizes_of_tier s;
	uint64_t bytes;

	size_up(&s, j, pass);
	expect_slots(&s);
	bytes = tier_decide_bytes(j, pass, &s.limits) +
		cache_count(j) * s.slots * slot_state_bytes(j);
	if (j->cache == CACHE_BELADY)
		bytes += tier_future_bytes(j, pass, s.units.count);
	return bytes;
}

static void need_memory(struct memneed *n, const struct job *j,
			const struct sizes_of_tier *s)
{
	uint64_t mapped = times(s->slots, s->slot_bytes);
	uint64_t used = u64_min(mapped, s->limits.capacity_bytes);

	if (j->mem == MEM_HUGEPAGE)
		used = 0;
	memneed_add(n, times(used, cache_count(j)),
		    times(mapped, cache_count(j)));
}

void tier_need(struct memneed *n, const struct job *j,
	       const struct stages *stages)
{
	uint64_t state, buffers;
	struct sizes_of_tier s;

	if (j->cache == CACHE_NONE)
		return;
	size_up(&s, j, &stages->train);
	state = tier_state_bytes(j, stages);
	memneed_add(n, state, state);
	if (tier_place_of(j) == &tier_memory)
		need_memory(n, j, &s);
	if (j->cache_prefetch) {
		uint64_t caches = cache_count(j);
		uint64_t threads =
			times(caches,
			      tier_ahead_threads(j, j->accelerators / caches));
		uint64_t each = j->cache_directory ? s.slot_bytes : 0;

		memneed_threads(n, threads, 1u << 20);
		memneed_add(n, times(threads, each), times(threads, each));
	}
	if (!j->cache_directory)
		return;
	buffers = times(s.slot_bytes, j->accelerators * job_readers(j) *
					      job_samples_at_once(j));
	if (j->cache_fill == CACHE_FILL_ASYNC) {
		buffers += times(cache_count(j),
				 tier_filler_bytes(j, s.slot_bytes));
		memneed_threads(n, cache_count(j), 0);
	}
	memneed_add(n, buffers, buffers);
}

static int check_engine(const struct job *j, struct mlgen_err *err)
{
	if (!job_touches_files(j))
		return mlgen_fail(err, -EINVAL,
				  "cache_directory: ioengine=%s touches no "
				  "files; cache_latency= and cache_bandwidth= "
				  "play a cache",
				  j->engine->name);
	if (!(j->engine->caps & MLGEN_CAP(MLGEN_WRITE)))
		return mlgen_fail(err, -EINVAL,
				  "cache_directory: ioengine=%s cannot write; "
				  "use psync, libaio or io_uring",
				  j->engine->name);
	return 0;
}

/* What a tier here does not do. */
static int check_options(const struct job *j, const struct dataset *ds,
			 struct mlgen_err *err)
{
	bool is_decoded = j->cache_stage == CACHE_DECODED;

	if (j->cache_unit.kind == CACHE_PAGES &&
	    pages_check(ds, j->cache_unit.number, err) < 0)
		return err->code;
	if (is_decoded && j->cache_unit.kind != CACHE_SAMPLES)
		return mlgen_fail(err, -EINVAL,
				  "cache_stage: what is decoded are samples; "
				  "use cache_unit=sample, or cache_stage=raw");
	if (is_decoded && loader_decodes_batches(j))
		return mlgen_fail(err, -EINVAL,
				  "cache_stage: decoded samples need no "
				  "preprocess_time, and loader=tfdata with "
				  "preprocess=sleep spends it on whole "
				  "batches; use preprocess=burn, or another "
				  "loader");
	if (j->cache_substitute == CACHE_SUBSTITUTE_GROUP &&
	    dataset_extents(ds) == ds->files)
		return mlgen_fail(err, -EINVAL,
				  "cache_substitute: group takes another "
				  "sample of the same file, and the files of "
				  "%s are read whole; use "
				  "cache_substitute=any",
				  ds->directory);
	return 0;
}

int tier_check(const struct job *j, const struct stages *stages,
	       struct mlgen_err *err)
{
	struct sizes_of_tier s;
	int rc;

	if (j->cache == CACHE_NONE)
		return 0;
	rc = check_options(j, stages->train.plan.dataset, err);
	if (rc < 0)
		return rc;
	size_up(&s, j, &stages->train);
	if (s.limits.capacity_bytes <
		    tier_kept_bytes(&s.units, s.units.largest_bytes) &&
	    s.units.same_bytes)
		return mlgen_fail(
			err, -EINVAL,
			"cache_size: %" PRIu64
			" bytes are less than one %s, which has "
			"%" PRIu64 "; make it larger",
			s.limits.capacity_bytes, tier_unit_word(&s.units),
			tier_kept_bytes(&s.units, s.units.largest_bytes));
	return j->cache_directory ? check_engine(j, err) : 0;
}

bool tier_is_hot(const void *tier, uint64_t unit)
{
	const struct tier *t = tier;

	return perm_at(&t->ranking, unit) < t->hot_units;
}

/* As many as fit, of the mean size. */
static uint64_t count_hot(const struct tier *t)
{
	double fit = (double)t->limits.capacity_bytes /
		     fmax(1, mean_bytes(&t->units));

	return t->limits.capacity_units < UINT64_MAX
		       ? t->limits.capacity_units
		       : (uint64_t)fmin(fit, (double)t->units.count);
}

static int open_cache(struct tier *t, uint64_t i, struct mlgen_err *err)
{
	struct tier_cache *c = &t->caches[i];
	uint64_t ranks = t->job->accelerators;
	bool is_one = t->cache_count == 1;
	int rc;

	c->tier = t;
	c->folder.dir_fd = c->folder.lock_fd = -1;
	c->first_rank = t->job->accelerators_before + (is_one ? 0 : i);
	c->end_rank = c->first_rank + (is_one ? ranks : 1);
	rc = tier_decide_init(c, err);
	if (rc < 0)
		return rc;
	if (tier_has_slots(t->job))
		c->slots = mem_array(c->slot_count, sizeof(*c->slots));
	if (t->place->keeps && t->job->cache_verify)
		c->sums = mem_array(c->slot_count, sizeof(*c->sums));
	return t->place->open ? t->place->open(c, err) : 0;
}

int tier_new(struct tier **out, const struct tier_config *cfg,
	     struct mlgen_err *err)
{
	struct tier *t = mem_zalloc(sizeof(*t));
	const struct job *j = cfg->job;
	struct sizes_of_tier s;
	int rc = 0;

	*out = t;
	t->cfg = *cfg;
	t->job = j;
	t->plain = cfg->pass->plan;
	t->plain.access = ACCESS_PLAIN;
	size_up(&s, j, cfg->pass);
	t->units = s.units;
	t->units.plan = &t->plain;
	t->limits = s.limits;
	t->slot_bytes = s.slot_bytes;
	t->data_bytes = data_bytes(&t->units);
	t->hot_units = count_hot(t);
	perm_init(&t->ranking, t->units.count, j->randseed, UINT64_MAX);
	t->place = tier_place_of(j);
	t->hit_ns = hist_new();
	t->miss_ns = hist_new();
	pthread_mutex_init(&t->lock, NULL);
	t->cache_count = cache_count(j);
	t->caches = mem_array(t->cache_count, sizeof(*t->caches));
	for (uint64_t i = 0; i < t->cache_count && rc == 0; i++)
		rc = open_cache(t, i, err);
	return rc;
}

struct tier_cache *tier_cache_of(const struct tier *t, uint64_t rank)
{
	for (uint64_t i = 0; i < t->cache_count; i++)
		if (rank >= t->caches[i].first_rank &&
		    rank < t->caches[i].end_rank)
			return &t->caches[i];
	return NULL;
}

static int close_cache(struct tier *t, struct tier_cache *c,
		       struct mlgen_err *err)
{
	if (c->is_closed || !c->cache)
		return 0;
	c->is_closed = true;
	return t->place->close ? t->place->close(c, err) : 0;
}

void tier_free(struct tier *t)
{
	if (!t)
		return;
	for (uint64_t i = 0; i < t->cache_count; i++) {
		struct tier_cache *c = &t->caches[i];

		close_cache(t, c, NULL);
		tier_decide_fini(c);
		mem_free(c->slots);
		mem_free(c->sums);
	}
	mem_free(t->caches);
	hist_free(t->hit_ns);
	hist_free(t->miss_ns);
	pthread_mutex_destroy(&t->lock);
	mem_free(t);
}

int tier_start(struct tier *t, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < t->cache_count && rc == 0; i++) {
		struct tier_cache *c = &t->caches[i];

		if (c->filler)
			rc = tier_filler_start(c->filler, err);
		if (rc == 0 && c->ahead)
			rc = tier_ahead_start(c->ahead, err);
	}
	return rc;
}

int tier_end(struct tier *t, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < t->cache_count; i++) {
		struct tier_cache *c = &t->caches[i];

		if (c->ahead && !c->is_closed)
			rc = tier_ahead_end(c->ahead, err);
		if (c->filler && !c->is_closed &&
		    tier_filler_end(c->filler, err))
			rc = err->code;
		c->used_bytes = cache_used_bytes(c->cache);
		c->used_units = cache_units(c->cache);
		if (rc == 0)
			rc = close_cache(t, c, err);
	}
	return rc;
}

bool tier_has(const void *tier, uint64_t rank, uint64_t extent)
{
	const struct tier *t = tier;
	const struct tier_cache *c = tier_cache_of(t, rank);
	struct extent x;

	if (!c)
		return false;
	dataset_extent(t->cfg.pass->dataset, extent, &x);
	return cache_find(c->cache, tier_unit_of(&t->units, &x)) !=
	       CACHE_NO_SLOT;
}

void tier_look(const struct tier *t, uint64_t *accesses, uint64_t *hits)
{
	*accesses = count_get(&t->accesses);
	*hits = count_get(&t->hits);
}
