/* SPDX-License-Identifier: Apache-2.0 */
/* misscurve.c - hit ratios of caches of given sizes: shares, pages, and the curve of lru. */
#include "data/cache/cache_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- valid page sizes of a data set ---- */

static double extent_bytes(const struct dataset *ds)
{
	return dataset_mean_file_bytes(ds) / (double)dataset_first_extent(ds, 1);
}

int pages_check(const struct dataset *ds, uint64_t size_bytes, struct mlgen_err *err)
{
	double file_bytes = dataset_mean_file_bytes(ds);

	if (ds->found || ds->extents_differ)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: pages need files with the same number of samples, "
				  "and the files of %s differ; use sample or file",
				  ds->directory);
	if (dataset_first_extent(ds, 1) == 1)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page holds several samples of a file, but the "
				  "files of %s are read whole; use sample",
				  ds->directory);
	if ((double)size_bytes < extent_bytes(ds))
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page of %" PRIu64
				  " bytes is smaller than one read of %.0f bytes; use a size from "
				  "there to the %.0f bytes of a file, or sample",
				  size_bytes, extent_bytes(ds), file_bytes);
	if ((double)size_bytes > file_bytes)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page of %" PRIu64
				  " bytes is larger than a file, which has %.0f; use a size from "
				  "%.0f to there, or file",
				  size_bytes, file_bytes, extent_bytes(ds));
	return 0;
}

/* ---- share of a data set that a cache holds, and its hit ratio ---- */

/* Bisections until the interval is as small as a double can resolve. */
#define HALVINGS 60

void cacheshare_of(struct cacheshare *c, const struct job *j, const struct dataset *ds,
		   uint64_t stored_bytes)
{
	const struct cache_size *size = &j->cache_size;
	double samples = (double)dataset_samples(ds);
	double factor = j->cache_stage == CACHE_DECODED ? j->cache_decoded_factor : 1;
	double all = (double)stored_bytes * factor;

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

/* The hit ratio of random replacement is the h for which kept^2 = h (DESIGN.md). */
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
		return share < 1 ? share + (1 - share) * log1p(-share) : 1;
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

bool cacheshare_applies(const struct job *j)
{
	return j->shuffle.kind == SHUFFLE_SAMPLE && j->cache_unit.kind == CACHE_SAMPLES &&
	       j->cache_substitute == CACHE_SUBSTITUTE_NONE && !j->cache_hits_first &&
	       !j->cache_prefetch && !(j->cache_warm > 0) && !j->cache_persist &&
	       (j->cache_scope != CACHE_SCOPE_RANK || j->accelerators == 1);
}

/* ---- lru caches of several sizes in one pass ---- */

/*
 * A moment is the number of a touch, from 0; each unit has the moment of its last touch. The bytes
 * touched since are a sum over moments: those within a block are added one by one, and whole blocks
 * by a Fenwick tree, which is small enough for the CPU's caches. When no moments are left, those in
 * use are renumbered from 0.
 */
#define BLOCK 32

struct misscurve {
	struct misscurve_config cfg;
	uint32_t *last;  /* moment of a unit, + 1; 0 = not touched */
	uint32_t *units; /* indexed by moment */
	uint64_t *bytes; /* indexed by moment; 0 = no unit's last touch */
	uint64_t *sums;  /* Fenwick tree over blocks, from index 1 */
	uint64_t all_bytes;
	uint32_t moments, next, blocks;
};

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

/* Sums are modulo 2^64, so bytes are removed by adding their negative. */
static void misscurve_add(struct misscurve *m, uint32_t moment, uint64_t bytes)
{
	m->bytes[moment] += bytes;
	m->all_bytes += bytes;
	for (uint32_t i = moment / BLOCK + 1; i <= m->blocks; i += i & -i)
		m->sums[i] += bytes;
}

/* Return the bytes of all moments up to and including this one. */
static uint64_t sum_to(const struct misscurve *m, uint32_t moment)
{
	uint64_t sum = 0;

	for (uint32_t i = moment / BLOCK; i; i -= i & -i)
		sum += m->sums[i];
	for (uint32_t i = moment / BLOCK * BLOCK; i <= moment; i++)
		sum += m->bytes[i];
	return sum;
}

/* Renumber the moments in use from 0, and rebuild the tree. */
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
	for (uint32_t b = 1; b <= m->blocks; b++) {
		m->sums[b] = 0;
		for (uint32_t i = 0; i < BLOCK; i++)
			m->sums[b] += m->bytes[(b - 1) * BLOCK + i];
	}
	for (uint32_t b = 1; b <= m->blocks; b++)
		if (b + (b & -b) <= m->blocks)
			m->sums[b + (b & -b)] += m->sums[b];
}

unsigned misscurve_touch(struct misscurve *m, uint64_t unit)
{
	unsigned first = m->cfg.count;
	uint64_t bytes = m->cfg.unit_bytes ? m->cfg.unit_bytes[unit] : 1;

	if (m->next == m->moments)
		renumber(m);
	if (m->last[unit]) {
		uint32_t moment = m->last[unit] - 1;
		uint64_t since = m->all_bytes - sum_to(m, moment);

		for (first = 0; first < m->cfg.count; first++)
			if (m->cfg.sizes[first] >= since + bytes)
				break;
		misscurve_add(m, moment, -bytes);
	}
	m->units[m->next] = (uint32_t)unit;
	misscurve_add(m, m->next, bytes);
	m->last[unit] = ++m->next;
	return first;
}
