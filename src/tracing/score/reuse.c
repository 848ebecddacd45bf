/* SPDX-License-Identifier: Apache-2.0 */
/* reuse.c - how much else was touched since the same was touched last. */
#include "tracing/score/reuse.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

/*
 * Each block that is remembered has the moment of its last touch; moments are numbers from 0, and a
 * tree of sums (Fenwick's) counts those in use. When there are none left, those in use move to the
 * front.
 */
struct block_seen {
	uint64_t key;
	uint64_t moment; /* + 1; 0 = free */
};

struct reuse {
	struct block_seen *blocks; /* by hash */
	uint64_t *keys;            /* by moment */
	bool *is_used;
	uint32_t *sums;
	uint32_t size, moments; /* of blocks, of moments */
	uint32_t most, count, next;
	unsigned shift; /* one of 2^shift blocks is looked at */
};

/* The last step of splitmix64. */
static uint64_t hash_of(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

struct reuse *reuse_new(uint32_t most)
{
	struct reuse *r = mem_zalloc(sizeof(*r));

	r->most = most;
	r->size = 2 * most;
	r->moments = 2 * most;
	r->blocks = mem_array(r->size, sizeof(*r->blocks));
	r->keys = mem_array(r->moments, sizeof(*r->keys));
	r->is_used = mem_array(r->moments, sizeof(*r->is_used));
	r->sums = mem_array((size_t)r->moments + 1, sizeof(*r->sums));
	return r;
}

void reuse_free(struct reuse *r)
{
	if (!r)
		return;
	mem_free(r->blocks);
	mem_free(r->keys);
	mem_free(r->is_used);
	mem_free(r->sums);
	mem_free(r);
}

static struct block_seen *find_block(const struct reuse *r, uint64_t key)
{
	uint64_t i = hash_of(key) & (r->size - 1);

	while (r->blocks[i].moment && r->blocks[i].key != key)
		i = (i + 1) & (r->size - 1);
	return &r->blocks[i];
}

/* ---- the tree ---- */

static void tree_add(struct reuse *r, uint32_t moment, int by)
{
	for (uint32_t i = moment + 1; i <= r->moments; i += i & -i)
		r->sums[i] += (uint32_t)by;
}

/* In use, up to and with this one. */
static uint32_t tree_sum(const struct reuse *r, uint32_t moment)
{
	uint32_t sum = 0;

	for (uint32_t i = moment + 1; i; i -= i & -i)
		sum += r->sums[i];
	return sum;
}

static bool is_looked_at(const struct reuse *r, uint64_t key)
{
	/* The lowest bits choose the slot. */
	return r->shift == 0 || hash_of(key) >> (64 - r->shift) == 0;
}

/* Moments anew, from 0, of the blocks that are still looked at. */
static void renumber(struct reuse *r)
{
	uint32_t had = r->next;

	memset(r->blocks, 0, r->size * sizeof(*r->blocks));
	memset(r->sums, 0, ((size_t)r->moments + 1) * sizeof(*r->sums));
	r->next = r->count = 0;
	for (uint32_t i = 0; i < had; i++) {
		uint64_t key = r->keys[i];
		bool stays = r->is_used[i] && is_looked_at(r, key);

		r->is_used[i] = false;
		if (!stays)
			continue;
		*find_block(r, key) = (struct block_seen){ key, UINT64_C(1) + r->next };
		r->keys[r->next] = key;
		r->is_used[r->next] = true;
		tree_add(r, r->next, 1);
		r->next++;
		r->count++;
	}
}

static void make_room(struct reuse *r)
{
	if (r->next < r->moments && r->count < r->most)
		return;
	while (r->count >= r->most && r->shift < 63) {
		r->shift++;
		renumber(r);
	}
	if (r->next == r->moments)
		renumber(r);
}

uint64_t reuse_touch(struct reuse *r, uint64_t key, uint64_t *distance)
{
	struct block_seen *b;

	make_room(r);
	if (!is_looked_at(r, key))
		return 0;
	b = find_block(r, key);
	*distance = REUSE_COLD;
	if (b->moment) {
		uint32_t last = (uint32_t)(b->moment - 1);

		*distance = (uint64_t)(r->count - tree_sum(r, last)) << r->shift;
		tree_add(r, last, -1);
		r->is_used[last] = false;
	} else {
		r->count++;
	}
	*b = (struct block_seen){ key, UINT64_C(1) + r->next };
	r->keys[r->next] = key;
	r->is_used[r->next] = true;
	tree_add(r, r->next++, 1);
	return UINT64_C(1) << r->shift;
}

uint64_t reuse_blocks(const struct reuse *r)
{
	return (uint64_t)r->count << r->shift;
}
