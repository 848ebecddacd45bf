/* SPDX-License-Identifier: Apache-2.0 */
/* misscurve.c - how often caches of given sizes would hit: shares, pages, and the curve of lru. */
#include "data/cache/cache_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- which sizes pages of a data set can have ---- */

static double extent_bytes(const struct dataset *ds)
{
	return dataset_mean_file_bytes(ds) / (double)dataset_first_extent(ds, 1);
}

int pages_check(const struct dataset *ds, uint64_t size_bytes, struct mlgen_err *err)
{
	double file_bytes = dataset_mean_file_bytes(ds);

	if (ds->found || ds->extents_differ)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: pages are of files that have as many samples each, "
				  "and those of %s differ; use sample or file",
				  ds->directory);
	if (dataset_first_extent(ds, 1) == 1)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page has several of a file, and the files of %s "
				  "are read whole; use sample",
				  ds->directory);
	if ((double)size_bytes < extent_bytes(ds))
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page of %" PRIu64
				  " bytes holds not one of what is read together, which has %.0f; "
				  "a size from there to the %.0f of a file, or sample",
				  size_bytes, extent_bytes(ds), file_bytes);
	if ((double)size_bytes > file_bytes)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page of %" PRIu64
				  " bytes is larger than a file, which has %.0f; a size from %.0f "
				  "to there, or file",
				  size_bytes, file_bytes, extent_bytes(ds));
	return 0;
}

/* ---- how much of a data set a cache holds, and how often that is a hit ---- */

/* Bisections until the interval is as small as a double can tell. */
#define HALVINGS 60

static double kept_factor(const struct job *j)
{
	return j->cache_stage == CACHE_DECODED ? j->cache_decoded_factor : 1;
}

void cacheshare_of(struct cacheshare *c, const struct job *j, const struct dataset *ds,
		   uint64_t stored_bytes)
{
	const struct cache_size *size = &j->cache_size;
	double samples = (double)dataset_samples(ds);
	double all = (double)stored_bytes * kept_factor(j);

	*c = (struct cacheshare){ .bytes = UINT64_MAX, .samples = UINT64_MAX };
	if (size->samples) {
		c->samples = size->samples;
		c->asked = (double)size->samples / samples;
	} else {
		double bytes = size->bytes ? (double)size->bytes
					   : (double)stored_bytes * size->percent / 100;

		c->bytes = (uint64_t)bytes;
		c->asked = all > 0 ? bytes / all : (double)NAN;
	}
	c->share = fmin(c->asked, 1);
	c->held_bytes = c->share * all;
}

static double hits_of_lru(double c)
{
	return c < 1 ? c + (1 - c) * log1p(-c) : 1;
}

/* What a hit ratio leaves of itself where any of what is there may go: its fixed point is that of
 * random replacement. */
static double hits_of_random(double c)
{
	double low = 0, high = 1;

	for (unsigned i = 0; i < HALVINGS; i++) {
		double h = (low + high) / 2, s = (1 - h) / c;
		double kept = s > 0 ? -expm1(-s) / s : 1;

		*(kept * kept > h ? &low : &high) = h;
	}
	return low;
}

double cacheshare_hits(enum job_cache policy, double share)
{
	if (!(share > 0 && share <= 1))
		return (double)NAN;
	switch (policy) {
	case CACHE_MINIO:
	case CACHE_HOT:
		return share;
	case CACHE_LRU:
		return hits_of_lru(share);
	case CACHE_RANDOM:
		return share < 1 ? hits_of_random(share) : 1;
	default:
		return (double)NAN;
	}
}

double cacheshare_for(enum job_cache policy, double hit_ratio)
{
	double low = 0, high = 1;

	if (!(hit_ratio >= 0 && hit_ratio <= 1) || isnan(cacheshare_hits(policy, 0.5)))
		return (double)NAN;
	for (unsigned i = 0; i < HALVINGS; i++) {
		double c = (low + high) / 2;

		*(cacheshare_hits(policy, c) < hit_ratio ? &low : &high) = c;
	}
	return high;
}

bool cacheshare_holds_for(const struct job *j)
{
	return j->shuffle.kind == SHUFFLE_SAMPLE && j->cache_unit.kind == CACHE_SAMPLES &&
	       j->cache_substitute == CACHE_SUBSTITUTE_NONE && !j->cache_hits_first &&
	       !j->cache_prefetch && !(j->cache_warm > 0) && !j->cache_persist &&
	       (j->cache_scope != CACHE_OF_RANK || j->accelerators == 1);
}

/* ---- what lru caches of several sizes would hit, in one pass ---- */

/*
 * Moments are numbers from 0, and each unit has that of its last touch. What was touched since is a
 * sum over moments: those of a block one by one, which lie side by side, and whole blocks by a tree
 * of sums (Fenwick's), which is small enough for a CPU's cache. When there are no moments left,
 * those in use move to the front.
 */
#define BLOCK 32

struct misscurve {
	struct misscurve_config cfg;
	uint32_t *last;  /* moment of a unit, + 1; 0 = not touched */
	uint32_t *units; /* by moment */
	uint64_t *bytes; /* by moment; 0 = nobody's last */
	uint64_t *sums;  /* of blocks, from 1 */
	uint64_t all_bytes;
	uint32_t moments, next, blocks;
};

static uint64_t bytes_of(const struct misscurve *m, uint64_t unit)
{
	return m->cfg.unit_bytes ? m->cfg.unit_bytes[unit] : 1;
}

struct misscurve *misscurve_new(const struct misscurve_config *cfg)
{
	struct misscurve *m = mem_zalloc(sizeof(*m));

	m->cfg = *cfg;
	m->moments = (uint32_t)round_up(2 * cfg->units + 1, BLOCK);
	m->blocks = m->moments / BLOCK;
	m->last = mem_array(cfg->units, sizeof(*m->last));
	m->units = mem_array(m->moments, sizeof(*m->units));
	m->bytes = mem_array(m->moments, sizeof(*m->bytes));
	m->sums = mem_array((size_t)m->blocks + 1, sizeof(*m->sums));
	return m;
}

void misscurve_free(struct misscurve *m)
{
	if (!m)
		return;
	mem_free(m->last);
	mem_free(m->units);
	mem_free(m->bytes);
	mem_free(m->sums);
	mem_free(m);
}

/* Modulo 2^64, so that what goes is added as its negative. */
static void misscurve_add(struct misscurve *m, uint32_t moment, uint64_t bytes)
{
	m->bytes[moment] += bytes;
	m->all_bytes += bytes;
	for (uint32_t i = moment / BLOCK + 1; i <= m->blocks; i += i & -i)
		m->sums[i] += bytes;
}

/* Up to and with this moment. */
static uint64_t sum_to(const struct misscurve *m, uint32_t moment)
{
	uint64_t sum = 0;

	for (uint32_t i = moment / BLOCK; i; i -= i & -i)
		sum += m->sums[i];
	for (uint32_t i = moment / BLOCK * BLOCK; i <= moment; i++)
		sum += m->bytes[i];
	return sum;
}

/* Sums of blocks anew, each of what it has and of those that it is above. */
static void sum_blocks(struct misscurve *m)
{
	for (uint32_t b = 1; b <= m->blocks; b++) {
		m->sums[b] = 0;
		for (uint32_t i = 0; i < BLOCK; i++)
			m->sums[b] += m->bytes[(b - 1) * BLOCK + i];
	}
	for (uint32_t b = 1; b <= m->blocks; b++)
		if (b + (b & -b) <= m->blocks)
			m->sums[b + (b & -b)] += m->sums[b];
}

static void renumber(struct misscurve *m)
{
	uint32_t had = m->next;

	m->next = 0;
	for (uint32_t i = 0; i < had; i++) {
		uint32_t unit = m->units[i];
		uint64_t bytes = m->bytes[i];

		m->bytes[i] = 0;
		if (m->last[unit] != i + 1)
			continue;
		m->units[m->next] = unit;
		m->bytes[m->next] = bytes;
		m->last[unit] = ++m->next;
	}
	sum_blocks(m);
}

/* The first that holds so many bytes. */
static unsigned first_size(const struct misscurve *m, uint64_t bytes)
{
	unsigned i = 0;

	while (i < m->cfg.count && m->cfg.sizes[i] < bytes)
		i++;
	return i;
}

unsigned misscurve_touch(struct misscurve *m, uint64_t unit)
{
	unsigned first = m->cfg.count;
	uint64_t bytes = bytes_of(m, unit);

	if (m->next == m->moments)
		renumber(m);
	if (m->last[unit]) {
		uint32_t moment = m->last[unit] - 1;
		uint64_t since = m->all_bytes - sum_to(m, moment);

		first = first_size(m, since + bytes);
		misscurve_add(m, moment, -bytes);
	}
	m->units[m->next] = (uint32_t)unit;
	misscurve_add(m, m->next, bytes);
	m->last[unit] = ++m->next;
	return first;
}
