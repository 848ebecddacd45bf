/* SPDX-License-Identifier: Apache-2.0 */
/* miss_curve_count.c - count the accesses of a job's epochs and the hits of caches. */
#include "ask/curve/curve.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "data/cache/cache.h"
#include "data/order/order.h"
#include "job/job.h"

/* CACHE_HOT and CACHE_IMPORTANCE are missing: the first would need a ranking of the units, the
 * second their weights. LRU comes first, because a single pass counts its hits for all sizes. */
static const enum job_cache policies[] = {
	CACHE_LRU, CACHE_FIFO, CACHE_LFU, CACHE_RANDOM, CACHE_CLOCK, CACHE_MINIO, CACHE_BELADY,
};

/* Each access takes 4 bytes in `at` and 4 bytes in `next`. */
#define ACCESSES_MAX (UINT64_C(1) << 30)

/* The cache is told this many units before they are accessed. */
#define LOOKAHEAD 16u

struct counting {
	const struct job *job;
	const struct dataset *ds;
	struct sampler sampler;
	struct pages pages; /* cache_unit=page */
	uint64_t units, data_bytes;
	uint64_t *unit_bytes; /* NULL = all units have `each` bytes */
	uint64_t each;
	uint64_t sizes[MISS_CURVE_SIZES]; /* bytes, or units of `each` */
	/* The accessed units of one cache, and the next access of each. */
	uint32_t *at, *next;
	uint64_t count, cold; /* cold: accesses of the first epoch */
	size_t at_room, next_room;
};

/* ---- units ---- */

static bool is_by_file(const struct counting *c)
{
	return c->job->cache_unit.kind == CACHE_FILES;
}

static bool is_by_page(const struct counting *c)
{
	return c->job->cache_unit.kind == CACHE_PAGES;
}

static uint64_t unit_of(const void *arg, uint64_t extent)
{
	const struct counting *c = arg;
	struct extent x;

	if (!is_by_file(c) && !is_by_page(c))
		return extent;
	dataset_extent(c->ds, extent, &x);
	return is_by_file(c) ? x.file : pages_unit(&c->pages, &x);
}

static uint64_t bytes_of(const struct counting *c, uint64_t unit)
{
	bool is_page = is_by_page(c);
	uint64_t first = is_page ? pages_first(&c->pages, unit) : unit;
	uint64_t extents = is_page ? pages_extents(&c->pages, unit) : 1, bytes = 0;
	struct extent x;

	if (is_by_file(c))
		return dataset_file_bytes(c->ds, unit);
	for (uint64_t i = 0; i < extents; i++) {
		dataset_extent(c->ds, first + i, &x);
		bytes += dataset_extent_bytes(c->ds, &x);
	}
	return bytes;
}

static uint64_t held_bytes(const void *arg, uint64_t unit)
{
	return ((const struct counting *)arg)->unit_bytes[unit];
}

/* Units of equal size are counted instead of stored, which takes no memory. */
static void measure_units(struct counting *c)
{
	bool is_alike = true;

	c->units = is_by_file(c) ? c->ds->files : dataset_extents(c->ds);
	if (is_by_page(c)) {
		c->pages = pages_of(c->ds, c->job->cache_unit.number);
		c->units = c->pages.count;
	}
	c->unit_bytes = mem_array(c->units, sizeof(*c->unit_bytes));
	for (uint64_t u = 0; u < c->units; u++) {
		c->unit_bytes[u] = bytes_of(c, u);
		c->data_bytes += c->unit_bytes[u];
		is_alike = is_alike && c->unit_bytes[u] == c->unit_bytes[0];
	}
	c->each = c->unit_bytes[0];
	if (!is_alike || !c->each)
		return;
	mem_free(c->unit_bytes);
	c->unit_bytes = NULL;
}

static uint64_t size_bytes(const struct counting *c, unsigned size)
{
	/* Division comes first, because the product could overflow. */
	return c->data_bytes / MISS_CURVE_SIZES * (size + 1) +
	       c->data_bytes % MISS_CURVE_SIZES * (size + 1) / MISS_CURVE_SIZES;
}

/* ---- order ---- */

/* Append the accesses of an epoch and return their number. The steps= option of the job may end the
 * last epoch early. */
static uint64_t add_epoch(struct counting *c, const struct nextuse_config *cfg, uint64_t epoch)
{
	uint64_t steps = c->job->steps, first = c->count;
	uint64_t done = epoch * c->sampler.steps;
	struct orderwalk w;
	struct orderwalk_at at;

	orderwalk_begin(&w, &c->sampler, cfg->first_rank, cfg->end_rank, epoch);
	while (orderwalk_next(&w, &at) && (!steps || done + at.step < steps)) {
		c->at = mem_grow(c->at, &c->at_room, c->count + 1, sizeof(*c->at));
		c->at[c->count++] = (uint32_t)unit_of(c, at.extent);
	}
	orderwalk_end(&w);
	return c->count - first;
}

static int read_order(struct counting *c, uint64_t first_rank, uint64_t end_rank,
		      struct mlgen_err *err)
{
	const struct nextuse_config cfg = { .sampler = &c->sampler,
					    .first_rank = first_rank,
					    .end_rank = end_rank,
					    .epochs = c->job->epochs,
					    .units = c->units,
					    .unit_of = unit_of,
					    .arg = c };
	struct nextuse *n;
	int rc = nextuse_new(&n, &cfg, err);

	if (rc < 0)
		return rc;
	c->count = 0;
	for (uint64_t e = 0; e < c->job->epochs; e++) {
		uint64_t accesses = add_epoch(c, &cfg, e);

		if (!accesses)
			break;
		nextuse_epoch(n, e);
		c->next = mem_grow(c->next, &c->next_room, c->count, sizeof(*c->next));
		for (uint64_t i = 0; i < accesses; i++)
			c->next[c->count - accesses + i] =
				(uint32_t)u64_min(nextuse_at(n, i), UINT32_MAX);
		if (e == 0)
			c->cold = c->count;
		log_progress("miss-curve: epoch %" PRIu64 " of %" PRIu64, e + 1, c->job->epochs);
	}
	nextuse_free(n);
	return 0;
}

/* ---- hits ---- */

static int count_one(const struct counting *c, enum job_cache policy, uint64_t size, uint64_t *hits,
		     struct mlgen_err *err)
{
	const struct cache_config cfg = {
		.policy = policy,
		.units = c->units,
		.capacity_bytes = c->unit_bytes ? size : UINT64_MAX,
		.capacity_units = c->unit_bytes ? UINT64_MAX : size,
		.seed = c->job->randseed,
		.each_bytes = c->unit_bytes ? 0 : 1,
		.unit_bytes = held_bytes,
		.arg = c,
	};
	struct cache *cache;
	int rc = cache_new(&cache, &cfg, err);

	if (rc < 0)
		return rc;
	for (uint64_t i = 0; i < c->count; i++) {
		const struct cache_access a = { .unit = c->at[i], .next_use = c->next[i] };
		struct cache_answer answer;

		if (i % LOOKAHEAD == 0) {
			unsigned n = (unsigned)u64_min(LOOKAHEAD, c->count - i);
			uint64_t units[LOOKAHEAD];

			for (unsigned k = 0; k < n; k++)
				units[k] = c->at[i + k];
			cache_expect(cache, units, n);
		}
		cache_access(cache, &a, &answer);
		*hits += answer.is_hit && i >= c->cold;
	}
	cache_free(cache);
	return 0;
}

/* A cache too small for the largest unit is not covered by the single pass. */
static bool one_pass_suffices(const struct counting *c)
{
	uint64_t largest = c->unit_bytes ? 0 : 1;

	for (uint64_t u = 0; c->unit_bytes && u < c->units; u++)
		largest = u64_max(largest, c->unit_bytes[u]);
	return c->sizes[0] >= largest;
}

static int count_policy(const struct counting *c, enum job_cache policy, struct miss_point *points,
			struct mlgen_err *err)
{
	uint64_t hits[MISS_CURVE_SIZES] = { 0 };
	bool is_one_pass = policy == CACHE_LRU && one_pass_suffices(c);
	int rc = 0;

	if (is_one_pass) {
		const struct misscurve_config cfg = { c->units, c->sizes, MISS_CURVE_SIZES,
						      c->unit_bytes };
		struct misscurve *m = misscurve_new(&cfg);

		for (uint64_t i = 0; i < c->count; i++) {
			unsigned first = misscurve_touch(m, c->at[i]);

			for (unsigned s = first; i >= c->cold && s < cfg.count; s++)
				hits[s]++;
		}
		misscurve_free(m);
	}
	for (unsigned i = 0; i < MISS_CURVE_SIZES && !is_one_pass; i++) {
		log_progress("miss-curve: %s, size %u of %u", cache_word((int)policy), i + 1,
			     MISS_CURVE_SIZES);
		rc = count_one(c, policy, c->sizes[i], &hits[i], err);
		if (rc < 0)
			return rc;
	}
	for (unsigned i = 0; i < MISS_CURVE_SIZES; i++)
		points[i].hits += hits[i];
	return 0;
}

/* Each rank has a cache of its own, or all ranks share one. */
static int count_caches(struct counting *c, struct miss_curve *m, struct mlgen_err *err)
{
	struct miss_point *points = m->points.items;
	uint64_t ranks = c->job->accelerators;
	bool is_of_rank = c->job->cache_scope == CACHE_SCOPE_RANK;
	int rc = 0;

	m->caches = is_of_rank ? ranks : 1;
	for (uint64_t r = 0; r < m->caches && rc == 0; r++) {
		rc = read_order(c, r, is_of_rank ? r + 1 : ranks, err);
		m->accesses += c->count - u64_min(c->cold, c->count);
		for (size_t p = 0; p < ARRAY_LEN(policies) && rc == 0; p++)
			rc = count_policy(c, policies[p], points + p * MISS_CURVE_SIZES, err);
		log_progress("%s", ""); /* erases the progress line */
	}
	return rc;
}

int miss_curve_count(struct miss_curve *m, const struct job *j, const struct dataset *ds,
		     struct mlgen_err *err)
{
	const struct sampler_config cfg = sampler_config(j, j->accelerators);
	struct counting c = { .job = j, .ds = ds };

	if (j->cache_unit.kind == CACHE_PAGES && pages_check(ds, j->cache_unit.number, err) < 0)
		return err->code;
	if (j->shuffle.kind == SHUFFLE_IMPORTANCE)
		return mlgen_fail(err, -EINVAL,
				  "miss-curve: '%s' has shuffle=importance, whose order depends "
				  "on the losses of the previous epoch; run it with cache=POLICY "
				  "to see its hits",
				  j->name);
	if (j->epochs < 2)
		return mlgen_fail(err, -EINVAL,
				  "miss-curve: '%s' has one epoch, but hits are counted after "
				  "the first epoch; set epochs=2 or more",
				  j->name);
	int rc = sampler_init(&c.sampler, &cfg, ds, err);
	if (rc < 0)
		return rc;
	measure_units(&c);
	for (unsigned i = 0; i < MISS_CURVE_SIZES; i++)
		c.sizes[i] = c.unit_bytes ? size_bytes(&c, i) : size_bytes(&c, i) / c.each;
	*m = (struct miss_curve){ .job = j->name,
				  .data_bytes = c.data_bytes,
				  .units = c.units,
				  .epochs = j->epochs,
				  .hit_ns = (double)NAN,
				  .miss_ns = (double)NAN };

	struct miss_point *points =
		mem_array(ARRAY_LEN(policies) * MISS_CURVE_SIZES, sizeof(*points));

	for (size_t i = 0; i < ARRAY_LEN(policies) * MISS_CURVE_SIZES; i++) {
		unsigned size = (unsigned)(i % MISS_CURVE_SIZES);

		points[i] = (struct miss_point){
			.policy = cache_word((int)policies[i / MISS_CURVE_SIZES]),
			.size_percent = 100.0 * (size + 1) / MISS_CURVE_SIZES,
			.size_bytes = size_bytes(&c, size),
			.au_percent = (double)NAN,
		};
	}
	m->points = (struct metric_list){ points, ARRAY_LEN(policies) * MISS_CURVE_SIZES };

	double all = (double)j->epochs * (double)j->accelerators * (double)c.sampler.rank_extents;
	if (all > (double)ACCESSES_MAX || c.units > ACCESSES_MAX)
		rc = mlgen_fail(err, -EINVAL,
				"miss-curve: '%s' has %.3g accesses to %.3g units, but memory "
				"is limited to %.3g of each; use fewer epochs or a smaller "
				"scale",
				j->name, all, (double)c.units, (double)ACCESSES_MAX);
	if (rc == 0)
		rc = count_caches(&c, m, err);
	for (size_t i = 0; i < m->points.count; i++)
		points[i].hit_ratio =
			m->accesses ? (double)points[i].hits / (double)m->accesses : (double)NAN;
	mem_free(c.unit_bytes);
	mem_free(c.at);
	mem_free(c.next);
	return rc;
}

void miss_curve_fini(struct miss_curve *m)
{
	mem_free(m->points.items);
	*m = (struct miss_curve){ 0 };
}
