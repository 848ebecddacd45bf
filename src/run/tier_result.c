/* SPDX-License-Identifier: Apache-2.0 */
/* tier_result.c - what a cache tier did: epoch by epoch, rank by rank, and in all. */
#include <math.h>

#include "base/mem.h"
#include "base/util.h"
#include "job/job.h"
#include "run/tier_inside.h"

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
