/* SPDX-License-Identifier: Apache-2.0 */
/* tier.c - a cache tier: made, run, and what it did. */
#include "run/tier.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "job/job.h"
#include "run/tier_inside.h"

/* ---- what it did ---- */

static double ratio(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : (double)NAN;
}

/* A mean over accesses; what is not known says nothing. */
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

static uint64_t epochs_of(const struct tier *t)
{
	uint64_t most = 0;

	for (uint64_t i = 0; i < t->cache_count; i++)
		most = u64_max(most, t->caches[i].epochs_begun);
	return u64_min(most, t->caches[0].record_count);
}

static void collect_epochs(struct tier *t, struct cache_result *out)
{
	uint64_t n = epochs_of(t);
	struct cache_epoch *epochs = mem_array(n, sizeof(*epochs));

	for (uint64_t e = 0; e < n; e++) {
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
	out->epochs = (struct metric_list){ epochs, n };
}

static const struct tier_rank *rank_of(const struct tier *t, uint64_t rank)
{
	const struct tier_cache *c = tier_cache_of(t, rank);

	return &c->ranks[rank - c->own_first];
}

/* One alone is what all of them is. */
static void collect_ranks(const struct tier *t, struct cache_result *out)
{
	uint64_t n = t->job->accelerators;
	struct cache_rank *ranks;

	if (n == 1)
		return;
	ranks = mem_array(n, sizeof(*ranks));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t rank = t->caches[0].own_first + i;
		const struct tier_rank *r = rank_of(t, rank);

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

static void collect_caches(struct tier *t, struct cache_result *out)
{
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
		out->kept_units += c->kept_units;
		out->warm_units += c->warm_units;
	}
	out->hit_ratio = ratio(hits, accesses);
	out->draw_seconds = (double)draw_ns / 1e9;
}

void tier_result(struct tier *t, struct cache_result *out)
{
	const struct job *j = t->job;
	const struct stages stages = { .train = *t->cfg.pass };

	*out = (struct cache_result){
		.policy = cache_word(j->cache),
		.place = t->place->name,
		.directory = j->cache_directory,
		/* Of all of them one, of those that have parts of it. */
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
	collect_caches(t, out);
	collect_epochs(t, out);
	collect_ranks(t, out);
}

unsigned tier_open_files(const struct job *j)
{
	return j->cache != CACHE_NONE && j->cache_directory && j->cache_layout == CACHE_LAYOUT_SLAB
		       ? 1
		       : 0;
}

/* ---- tiers ---- */

bool tier_is_hot(const void *tier, uint64_t unit)
{
	const struct tier *t = tier;

	return perm_at(&t->ranking, unit) < t->hot_units;
}

/* As many as fit, of the mean size. */
static uint64_t count_hot(const struct tier *t)
{
	double fit = (double)t->limits.capacity_bytes / fmax(1, tier_mean_bytes(&t->units));

	return t->limits.capacity_units < UINT64_MAX ? t->limits.capacity_units
						     : (uint64_t)fmin(fit, (double)t->units.count);
}

/* Whose accesses it decides: those of all, where it is that of all. */
static void set_ranks(struct tier_cache *c, const struct job *j, uint64_t i)
{
	bool is_one = c->tier->cache_count == 1;

	c->own_first = j->accelerators_before + (is_one ? 0 : i);
	c->own_end = c->own_first + (is_one ? j->accelerators : 1);
	c->first_rank = c->own_first;
	c->end_rank = c->own_end;
	c->parts = (uint32_t)job_cache_parts(j);
	c->part = (uint32_t)job_cache_part(j);
	if (c->parts == 1)
		return;
	c->first_rank = 0;
	c->end_rank = tier_ranks_of(j);
}

static int open_cache(struct tier *t, uint64_t i, struct mlgen_err *err)
{
	struct tier_cache *c = &t->caches[i];
	int rc;

	c->tier = t;
	c->folder.dir_fd = c->folder.lock_fd = -1;
	set_ranks(c, t->job, i);
	rc = tier_decide_init(c, err);
	if (rc < 0)
		return rc;
	if (tier_has_slots(t->job))
		c->slots = mem_array(c->slot_count, sizeof(*c->slots));
	if (t->place->keeps && t->job->cache_verify)
		c->sums = mem_array(c->slot_count, sizeof(*c->sums));
	return t->place->open ? t->place->open(c, err) : 0;
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
	tier_size_up(&s, j, cfg->pass);
	t->units = s.units;
	t->units.plan = &t->plain;
	t->limits = s.limits;
	t->slot_bytes = s.slot_bytes;
	t->data_bytes = tier_data_bytes(&t->units);
	t->hot_units = count_hot(t);
	perm_init(&t->ranking, t->units.count, j->randseed, UINT64_MAX);
	t->place = tier_place_of(j);
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
	return t->place->close ? t->place->close(c, err) : 0;
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

	/* What was to be there before the run is there in all of them. */
	tier_peers_await(t->cfg.peers);
	t->has_met = true;
	for (uint64_t i = 0; i < t->cache_count && rc == 0; i++) {
		struct tier_cache *c = &t->caches[i];

		if (c->filler)
			rc = tier_filler_start(c->filler, err);
		if (rc == 0 && c->ahead)
			rc = tier_ahead_start(c->ahead, err);
	}
	return rc;
}

/* Of one that is divided, what is in its slots here. */
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
			tier_kept_bytes(&c->tier->units, tier_unit_bytes(&c->tier->units, unit));
	}
}

/* Of others nobody is sent away who still asks. */
static int end_server(struct tier *t, struct mlgen_err *err)
{
	struct tier_cache *c = &t->caches[0];

	if (!c->server)
		return 0;
	if (t->has_met)
		tier_peers_await(t->cfg.peers);
	else
		tier_peers_leave(t->cfg.peers);
	return tier_server_end(c->server, err);
}

int tier_end(struct tier *t, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < t->cache_count; i++) {
		struct tier_cache *c = &t->caches[i];

		if (c->ahead && !c->is_closed)
			rc = tier_ahead_end(c->ahead, err);
	}
	if (end_server(t, err) < 0)
		rc = err->code;
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

void tier_close(struct tier *t)
{
	if (t)
		tier_peers_cut(t->cfg.peers);
}

void tier_end_order(struct tier *t)
{
	for (uint64_t i = 0; t && i < t->cache_count; i++)
		tier_decide_rest(&t->caches[i]);
}

bool tier_has(const void *tier, uint64_t rank, uint64_t extent)
{
	const struct tier *t = tier;
	const struct tier_cache *c = tier_cache_of(t, rank);
	struct extent x;

	if (!c)
		return false;
	dataset_extent(t->cfg.pass->dataset, extent, &x);
	return cache_find(c->cache, tier_unit_of(&t->units, &x)) != CACHE_NO_SLOT;
}

void tier_look(const struct tier *t, uint64_t *accesses, uint64_t *hits)
{
	*accesses = count_get(&t->accesses);
	*hits = count_get(&t->hits);
}
