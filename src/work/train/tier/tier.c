/* SPDX-License-Identifier: Apache-2.0 */
/* tier.c - set up, start and end a cache tier, and collect its result. */
#include "work/train/tier/tier_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "job/job.h"

/* The units, limits and slots of a job's caches. */
struct tier_sizes {
	struct tier_units units;
	struct cache_config limits;
	uint64_t slot_bytes, slots;
};

/* Slots begin at whole blocks in files and where reads are direct. */
#define BLOCK_BYTES UINT64_C(4096)
#define SLOT_ALIGN UINT64_C(64)

/* Payload of the data set, or the size of its files with cache_unit=file. */
static uint64_t tier_data_bytes(const struct tier_units *u)
{
	struct dataset_totals totals;

	dataset_totals(u->plan->dataset, &totals);
	return u->kind == CACHE_FILES ? totals.bytes : totals.sample_bytes;
}

static uint64_t tier_cache_count(const struct job *j)
{
	return j->cache_scope == CACHE_SCOPE_RANK ? j->accelerators : 1;
}

uint64_t tier_ranks_of(const struct job *j)
{
	return job_cache_parts(j) > 1 ? job_all_accelerators(j) : j->accelerators;
}

static void tier_sizes_init(struct tier_sizes *s, const struct job *j, const struct pass *pass)
{
	uint64_t align = j->cache_directory || pass->plan.align_bytes ? BLOCK_BYTES : SLOT_ALIGN;
	const struct cache_size *size = &j->cache_size;
	struct cache_config *cfg = &s->limits;
	struct tier_units *u = &s->units;

	tier_units_init(u, &pass->plan, j);
	*cfg = (struct cache_config){ .policy = (enum job_cache)j->cache,
				      .units = u->count,
				      .capacity_bytes = UINT64_MAX,
				      .capacity_units = UINT64_MAX,
				      .seed = j->randseed };
	if (u->same_bytes)
		cfg->each_bytes = tier_cached_bytes(u, u->same_bytes);
	if (size->samples)
		cfg->capacity_units = divide_up(size->samples, u64_max(tier_unit_samples(u), 1));
	else if (size->percent > 0)
		cfg->capacity_bytes =
			(uint64_t)(size->percent / 100 * (double)u->stored_bytes + 0.5);
	else
		cfg->capacity_bytes = size->bytes;
	/* If units have the same size, capacity_bytes alone gives their number. */
	if (u->same_bytes && cfg->capacity_bytes < UINT64_MAX)
		cfg->capacity_units = u64_max(cfg->capacity_bytes / cfg->each_bytes, 1);

	uint64_t read_bytes = u->largest_bytes;
	uint64_t cached_bytes = tier_cached_bytes(u, read_bytes);
	s->slot_bytes = round_up(u64_max(u64_max(read_bytes, cached_bytes), 1), align);
	s->slots = cache_slots(&s->limits);
}

uint64_t tier_identity(const struct job *j, const struct pass *pass)
{
	struct tier_sizes s;

	tier_sizes_init(&s, j, pass);
	const uint64_t facts[] = {
		s.units.count,
		s.units.largest_bytes,
		s.units.same_bytes,
		s.limits.capacity_bytes,
		s.slot_bytes,
		s.slots,
		pass->sampler.ranks,
		pass->sampler.rank_extents,
		tier_data_bytes(&s.units),
	};
	return crc32_z(0, (const unsigned char *)facts, sizeof(facts));
}

/* Does it matter whether the bytes of a hit are present? Yes, if they are really stored, or
 * prefetched. */
static bool tier_has_slots(const struct job *j)
{
	return tier_backend_of(j)->stores_bytes || j->cache_prefetch;
}

bool tier_has_buffers(const struct job *j)
{
	const struct tier_backend *backend = tier_backend_of(j);

	return backend->buffers || (backend->stores_bytes && job_cache_parts(j) > 1);
}

/* Number of units of mean size that fit into the capacity in bytes. */
static double tier_units_that_fit(const struct tier_units *u, const struct cache_config *limits)
{
	double mean_bytes = (double)u->stored_bytes * u->factor / (double)u->count;

	return (double)limits->capacity_bytes / fmax(1, mean_bytes);
}

/* Number of slots that belong to this process. */
static uint64_t tier_slots_of(const struct job *j, uint64_t slots)
{
	return tier_local_slots(slots, job_cache_parts(j), job_cache_part(j));
}

uint64_t tier_stored_bytes(const struct job *j, const struct stages *stages)
{
	struct tier_units u;

	tier_units_init(&u, &stages->train.plan, j);
	return u.stored_bytes;
}

uint64_t tier_state_bytes(const struct job *j, const struct stages *stages)
{
	const struct pass *pass = &stages->train;
	uint64_t bytes, slot_bytes = 0;
	struct tier_sizes s;

	tier_sizes_init(&s, j, pass);
	/* If sizes differ, assume the mean, since only a run looks at every unit. */
	double fit = tier_units_that_fit(&s.units, &s.limits);
	if (!s.units.same_bytes && fit < (double)s.limits.capacity_units)
		s.limits.capacity_units = (uint64_t)ceil(fit);
	/* The policy reports its own memory; each slot adds its word and its checksum. */
	if (tier_has_slots(j))
		slot_bytes = sizeof(uint64_t);
	if (tier_backend_of(j)->stores_bytes && j->cache_verify)
		slot_bytes += sizeof(uint32_t);
	bytes = tier_decide_bytes(j, pass, &s.limits) +
		tier_cache_count(j) * tier_slots_of(j, cache_slots(&s.limits)) * slot_bytes;
	return bytes;
}

void tier_need(struct memneed *n, const struct job *j, const struct stages *stages)
{
	uint64_t caches = tier_cache_count(j);
	struct tier_sizes s;

	if (j->cache == CACHE_NONE)
		return;
	tier_sizes_init(&s, j, &stages->train);
	/* A background thread holds a unit, unless the cache in memory has it. */
	uint64_t thread_bytes = j->cache_directory ? s.slot_bytes : 0;
	uint64_t state = tier_state_bytes(j, stages);
	memneed_add(n, state, state);
	if (tier_backend_of(j) == &tier_memory) {
		uint64_t mapped = u64_product(tier_slots_of(j, s.slots), s.slot_bytes);
		uint64_t used =
			u64_min(mapped, divide_up(s.limits.capacity_bytes, job_cache_parts(j)));

		if (j->mem == MEM_HUGEPAGE)
			used = 0;
		memneed_add_for(n, "cache_size", u64_product(used, tier_cache_count(j)),
				u64_product(mapped, tier_cache_count(j)));
	}
	if (j->cache_prefetch) {
		uint64_t threads =
			u64_product(caches, tier_ahead_threads(j, j->accelerators / caches));

		memneed_threads(n, threads, 1u << 20);
		memneed_add(n, u64_product(threads, thread_bytes),
			    u64_product(threads, thread_bytes));
	}
	if (!tier_has_buffers(j))
		return;
	if (job_cache_parts(j) > 1) {
		memneed_threads(n, TIER_SERVERS, TIER_SERVER_BYTES);
		memneed_add(n, TIER_SERVERS * thread_bytes,
			    u64_product(TIER_SERVERS, s.slot_bytes));
	}
	uint64_t buffers = u64_product(s.slot_bytes,
				       j->accelerators * job_readers(j) * job_samples_at_once(j));
	memneed_add(n, buffers, buffers);
	if (!j->cache_directory || j->cache_fill != CACHE_FILL_ASYNC)
		return;
	/* A filler needs memory for its queue and for the unit that it writes. */
	uint64_t queue = u64_product(tier_filler_entries(j, s.slot_bytes) + 1, s.slot_bytes);
	queue = u64_product(queue, caches);
	memneed_threads(n, caches, 0);
	memneed_add_for(n, "cache_queue", queue, queue);
}

int tier_check(const struct job *j, const struct stages *stages, struct mlgen_err *err)
{
	struct tier_sizes s;

	if (j->cache == CACHE_NONE)
		return 0;

	/* Refuse combinations of options that a tier does not support. */
	const struct dataset *ds = stages->train.plan.dataset;
	bool is_decoded = j->cache_stage == CACHE_DECODED;
	if (j->cache_unit.kind == CACHE_PAGES && pages_check(ds, j->cache_unit.number, err) < 0)
		return err->code;
	if (is_decoded && j->cache_unit.kind != CACHE_SAMPLES)
		return mlgen_fail(err, -EINVAL,
				  "cache_stage: only samples can be decoded; use "
				  "cache_unit=sample, or cache_stage=raw");
	if (is_decoded && job_decodes_batches(j))
		return mlgen_fail(err, -EINVAL,
				  "cache_stage: decoded samples need no preprocess_time, and "
				  "loader=tfdata with preprocess=sleep spends it on whole batches; "
				  "use preprocess=burn, or another loader");
	if (j->cache_substitute == CACHE_SUBSTITUTE_GROUP && dataset_extents(ds) == ds->files)
		return mlgen_fail(err, -EINVAL,
				  "cache_substitute: group takes another sample of the same file, "
				  "but the files of %s are read whole; use cache_substitute=any",
				  ds->directory);

	tier_sizes_init(&s, j, &stages->train);
	if (s.limits.capacity_bytes < tier_cached_bytes(&s.units, s.units.largest_bytes) &&
	    s.units.same_bytes)
		return mlgen_fail(err, -EINVAL,
				  "cache_size: %" PRIu64
				  " bytes are less than one %s, which has %" PRIu64
				  "; set a larger size",
				  s.limits.capacity_bytes, tier_unit_word(&s.units),
				  tier_cached_bytes(&s.units, s.units.largest_bytes));
	if (!j->cache_directory)
		return 0;
	if (!job_touches_files(j))
		return mlgen_fail(err, -EINVAL,
				  "cache_directory: ioengine=%s touches no files; cache_latency= "
				  "and cache_bandwidth= simulate a cache",
				  j->engine->name);
	if (!(j->engine->caps & MLGEN_CAP(MLGEN_WRITE)))
		return mlgen_fail(
			err, -EINVAL,
			"cache_directory: ioengine=%s cannot write; use psync, libaio or io_uring",
			j->engine->name);
	return 0;
}

/* ---- results ---- */

static double ratio(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : (double)NAN;
}

/* Merge `of`, a mean over m accesses, into *to, a mean over n accesses. A NAN in `of` (unknown)
 * changes nothing. */
static void add_mean(double *to, double n, double of, double m)
{
	if (isnan(of) || !(m > 0))
		return;
	*to = isnan(*to) || !(n > 0) ? of : (*to * n + of * m) / (n + m);
}

static void counts_add(struct cache_counts *to, const struct cache_counts *of)
{
	double n = (double)to->accesses, m = (double)of->accesses;

	add_mean(&to->sequential_ratio, n, of->sequential_ratio, m);
	add_mean(&to->rank_correlation, n, of->rank_correlation, m);
	to->accesses += of->accesses;
	to->unique_samples += of->unique_samples;
	to->hits += of->hits;
	to->misses += of->misses;
	to->substitutions += of->substitutions;
	to->late_hits += of->late_hits;
	to->fills += of->fills;
	to->dropped_fills += of->dropped_fills;
	to->evictions += of->evictions;
	to->prefetches += of->prefetches;
	to->cache_bytes += of->cache_bytes;
	to->storage_bytes += of->storage_bytes;
	to->peer_hits += of->peer_hits;
	to->peer_bytes += of->peer_bytes;
	to->filled_bytes += of->filled_bytes;
	to->footprint_bytes += of->footprint_bytes;
}

static void counts_begin(struct cache_counts *c)
{
	*c = (struct cache_counts){ .sequential_ratio = (double)NAN,
				    .rank_correlation = (double)NAN };
}

static void counts_end(struct cache_counts *c)
{
	c->hit_ratio = ratio(c->hits, c->accesses);
	c->multiplicity = ratio(c->accesses, c->unique_samples);
}

/* A single rank has no list, since its counters are the totals. */
static void collect_ranks(const struct tier *t, struct cache_result *out)
{
	uint64_t n = t->job->accelerators;

	if (n == 1)
		return;
	struct cache_rank *ranks = mem_array(n, sizeof(*ranks));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t rank = t->caches[0].own_first + i;
		const struct tier_cache *c = tier_cache_of(t, rank);
		const struct tier_rank *r = &c->ranks[rank - c->own_first];

		ranks[i] = (struct cache_rank){
			.rank = rank,
			.accesses = r->accesses,
			.hits = r->hits,
			.misses = r->misses,
			.substitutions = r->substitutions,
			.hit_ratio = ratio(r->later_hits, r->later_accesses),
		};
	}
	out->ranks = (struct metric_list){ ranks, n };
}

void tier_result(struct tier *t, struct cache_result *out)
{
	const struct job *j = t->job;
	const struct stages stages = { .train = *t->cfg.pass };

	*out = (struct cache_result){
		.policy = cache_word(j->cache),
		.place = t->backend->name,
		.directory = j->cache_directory,
		/* A divided cache is counted once, in the process that holds part 0. */
		.caches = t->caches[0].part ? 0 : t->cache_count,
		.parts = t->caches[0].parts,
		.size_bytes = j->cache_size.samples ? UINT64_MAX : t->limits.capacity_bytes,
		.size_samples = j->cache_size.samples ? j->cache_size.samples : UINT64_MAX,
		.data_bytes = t->data_bytes,
		.state_bytes = tier_state_bytes(j, &stages),
		.hit_ns = t->hit_ns,
		.miss_ns = t->miss_ns,
		.peer_ns = t->peer_ns,
		.is_full = atomic_load(&t->is_full),
	};
	counts_begin(&out->all);

	uint64_t hits = 0, accesses = 0, draw_ns = 0;
	for (uint64_t i = 0; i < t->cache_count; i++) {
		struct tier_cache *c = &t->caches[i];

		if (c->has_begun)
			tier_end_epoch(c);
		for (uint64_t k = 0; k < c->own_end - c->own_first; k++) {
			hits += c->ranks[k].later_hits;
			accesses += c->ranks[k].later_accesses;
		}
		draw_ns += c->draw_ns;
		out->used_bytes += c->used_bytes;
		out->units += c->used_units;
		out->sent_bytes += c->sent_bytes;
		out->served_samples += c->served_samples;
		out->served_bytes += c->served_bytes;
		out->received_bytes += c->received_bytes;
		out->verified += c->verified;
		out->wrong += c->wrong;
		out->kept_units += c->restored_units;
		out->warm_units += c->warm_units;
	}
	out->hit_ratio = ratio(hits, accesses);
	out->draw_seconds = (double)draw_ns / 1e9;

	uint64_t count = 0;
	for (uint64_t i = 0; i < t->cache_count; i++)
		count = u64_max(count, t->caches[i].epochs_begun);
	count = u64_min(count, t->caches[0].record_count);
	struct cache_epoch *epochs = mem_array(count, sizeof(*epochs));
	for (uint64_t e = 0; e < count; e++) {
		struct cache_epoch *at = &epochs[e];

		at->epoch = e + 1;
		at->is_cold = e == 0 && out->kept_units + out->warm_units == 0;
		counts_begin(&at->counts);
		for (uint64_t i = 0; i < t->cache_count; i++)
			counts_add(&at->counts, &t->caches[i].records[e]);
		counts_end(&at->counts);
		counts_add(&out->all, &at->counts);
	}
	for (uint64_t i = 0; i < t->cache_count; i++)
		counts_add(&out->all, &t->caches[i].records[t->caches[i].record_count]);
	counts_end(&out->all);
	out->epochs = (struct metric_list){ epochs, count };

	collect_ranks(t, out);
}

unsigned tier_open_files(const struct job *j)
{
	return j->cache != CACHE_NONE && j->cache_directory && j->cache_layout == CACHE_LAYOUT_SLAB
		       ? 1
		       : 0;
}

/* ---- life cycle ---- */

static int open_cache(struct tier *t, uint64_t i, struct mlgen_err *err)
{
	struct tier_cache *c = &t->caches[i];
	const struct job *j = t->job;
	bool is_only = t->cache_count == 1;

	c->tier = t;
	c->folder.dir_fd = c->folder.lock_fd = -1;
	c->own_first = j->accelerators_before + (is_only ? 0 : i);
	c->own_end = c->own_first + (is_only ? j->accelerators : 1);
	c->parts = (uint32_t)job_cache_parts(j);
	c->part = (uint32_t)job_cache_part(j);
	/* A cache that all processes share decides the accesses of every rank of the job. */
	c->first_rank = c->parts > 1 ? 0 : c->own_first;
	c->end_rank = c->parts > 1 ? tier_ranks_of(j) : c->own_end;
	int rc = tier_decide_init(c, err);
	if (rc < 0)
		return rc;
	if (tier_has_slots(j))
		c->slots = mem_array(c->slot_count, sizeof(*c->slots));
	if (t->backend->stores_bytes && j->cache_verify)
		c->sums = mem_array(c->slot_count, sizeof(*c->sums));
	return t->backend->open ? t->backend->open(c, err) : 0;
}

int tier_new(struct tier **out, const struct tier_config *cfg, struct mlgen_err *err)
{
	struct tier *t = mem_zalloc(sizeof(*t));
	const struct job *j = cfg->job;
	struct tier_sizes s;
	int rc = 0;

	*out = t;
	t->cfg = *cfg;
	t->job = j;
	t->plain = cfg->pass->plan;
	t->plain.access = ACCESS_PLAIN;
	tier_sizes_init(&s, j, cfg->pass);
	t->units = s.units;
	t->units.plan = &t->plain;
	t->limits = s.limits;
	t->slot_bytes = s.slot_bytes;
	t->data_bytes = tier_data_bytes(&t->units);
	t->hot_units = t->limits.capacity_units;
	if (t->hot_units == UINT64_MAX)
		t->hot_units = (uint64_t)fmin(tier_units_that_fit(&t->units, &t->limits),
					      (double)t->units.count);
	perm_init(&t->ranking, t->units.count, j->randseed, UINT64_MAX);
	t->backend = tier_backend_of(j);
	t->hit_ns = hist_new();
	t->miss_ns = hist_new();
	t->peer_ns = hist_new();
	pthread_mutex_init(&t->lock, NULL);
	t->cache_count = tier_cache_count(j);
	t->caches = mem_array(t->cache_count, sizeof(*t->caches));
	for (uint64_t i = 0; i < t->cache_count && rc == 0; i++)
		rc = open_cache(t, i, err);
	if (rc == 0 && cfg->peers)
		rc = tier_server_start(&t->caches[0].server, &t->caches[0], cfg->peers, err);
	return rc;
}

struct tier_cache *tier_cache_of(const struct tier *t, uint64_t rank)
{
	for (uint64_t i = 0; i < t->cache_count; i++)
		if (rank >= t->caches[i].first_rank && rank < t->caches[i].end_rank)
			return &t->caches[i];
	return NULL;
}

static int close_cache(struct tier *t, struct tier_cache *c, struct mlgen_err *err)
{
	if (c->is_closed || !c->cache)
		return 0;
	c->is_closed = true;
	return t->backend->close ? t->backend->close(c, err) : 0;
}

void tier_free(struct tier *t)
{
	if (!t)
		return;
	for (uint64_t i = 0; i < t->cache_count; i++) {
		struct tier_cache *c = &t->caches[i];

		tier_server_free(c->server);
		close_cache(t, c, NULL);
		tier_filler_free(c->filler);
		if (c->warmer)
			tier_thread_fini(c->warmer);
		mem_free(c->warmer);
		tier_decide_fini(c);
		mem_free(c->slots);
		mem_free(c->sums);
	}
	mem_free(t->caches);
	hist_free(t->hit_ns);
	hist_free(t->miss_ns);
	hist_free(t->peer_ns);
	pthread_mutex_destroy(&t->lock);
	mem_free(t);
}

int tier_start(struct tier *t, struct mlgen_err *err)
{
	int rc = 0;

	/* No process starts before all of them have warmed up their caches. */
	tier_peers_wait(t->cfg.peers);
	t->has_started = true;
	for (uint64_t i = 0; i < t->cache_count && rc == 0; i++) {
		struct tier_cache *c = &t->caches[i];

		if (c->filler)
			rc = tier_filler_start(c->filler, err);
		if (rc == 0 && c->ahead)
			rc = tier_ahead_start(c->ahead, err);
	}
	return rc;
}

/* Count the bytes and units in use; in a divided cache only those in the slots of this process. */
static void count_used(struct tier_cache *c)
{
	uint64_t unit;

	if (c->parts == 1) {
		c->used_bytes = cache_used_bytes(c->cache);
		c->used_units = cache_units(c->cache);
		return;
	}
	tier_decide_rest(c);
	for (uint64_t s = c->part; s < c->all_slots; s += c->parts) {
		if (!cache_unit_in(c->cache, (uint32_t)s, &unit))
			continue;
		c->used_units++;
		c->used_bytes +=
			tier_cached_bytes(&c->tier->units, tier_unit_bytes(&c->tier->units, unit));
	}
}

int tier_end(struct tier *t, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < t->cache_count; i++) {
		struct tier_cache *c = &t->caches[i];

		if (c->ahead && !c->is_closed)
			rc = tier_ahead_end(c->ahead, err);
	}
	/* Serve the other processes until none of them makes any more requests. */
	if (t->caches[0].server) {
		if (t->has_started)
			tier_peers_wait(t->cfg.peers);
		else
			tier_peers_leave(t->cfg.peers);
		if (tier_server_end(t->caches[0].server, err) < 0)
			rc = err->code;
	}
	for (uint64_t i = 0; i < t->cache_count; i++) {
		struct tier_cache *c = &t->caches[i];

		if (c->filler && !c->is_closed && tier_filler_end(c->filler, err))
			rc = err->code;
		count_used(c);
		if (rc == 0)
			rc = close_cache(t, c, err);
	}
	return rc;
}

void tier_abort(struct tier *t)
{
	if (t)
		tier_peers_abort(t->cfg.peers);
}

void tier_decide_remaining(struct tier *t)
{
	for (uint64_t i = 0; t && i < t->cache_count; i++)
		tier_decide_rest(&t->caches[i]);
}

bool tier_holds(const void *tier, uint64_t rank, uint64_t extent)
{
	const struct tier *t = tier;
	const struct tier_cache *c = tier_cache_of(t, rank);
	struct extent x;

	if (!c)
		return false;
	dataset_extent(t->cfg.pass->dataset, extent, &x);
	return cache_find(c->cache, tier_unit_of(&t->units, &x)) != CACHE_NO_SLOT;
}

void tier_read_counters(const struct tier *t, uint64_t *accesses, uint64_t *hits)
{
	*accesses = count_get(&t->accesses);
	*hits = count_get(&t->hits);
}
