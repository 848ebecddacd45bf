/* SPDX-License-Identifier: Apache-2.0 */
/* misscurve.c - what lru caches of several sizes would hit, in one pass. */
#include "data/cache/cache.h"

#include <stdbool.h>

#include "base/mem.h"
#include "base/util.h"

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
