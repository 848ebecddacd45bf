/* SPDX-License-Identifier: Apache-2.0 */
/* tier.c - see tier.h. */
#include "run/tier.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "run/tier_ahead.h"
#include "run/tier_filler.h"
#include "run/tier_folder.h"
#include "run/tier_server.h"

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
