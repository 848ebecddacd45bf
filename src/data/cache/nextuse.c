/* SPDX-License-Identifier: Apache-2.0 */
/* nextuse.c - when what is accessed now is accessed next: what belady has to know. */
#include "data/cache/cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

#define NEVER UINT32_MAX /* in memory, where indexes have 32 bits */
#define COMING 16        /* units that are looked at together */

struct nextuse {
	struct nextuse_config cfg;
	uint32_t *next; /* by access: index from this epoch's first on */
	/* By unit: its last access, + 1; 0 = none open. Between epochs its first one, where that
	 * was looked for. */
	uint32_t *last;
	uint64_t count, room, before, epoch;
	uint64_t open; /* units that have not come again, or not yet at all */
	bool has_begun;
};

/* Of the ranks' epoch, rounded up where extents have different samples. */
static uint64_t most_accesses(const struct nextuse_config *cfg)
{
	uint64_t ranks = cfg->end_rank - cfg->first_rank;

	return ranks * cfg->sampler->rank_extents;
}

uint64_t nextuse_state_bytes(const struct nextuse_config *cfg)
{
	return sizeof(struct nextuse) + (most_accesses(cfg) + cfg->units) * sizeof(uint32_t);
}

int nextuse_new(struct nextuse **out, const struct nextuse_config *cfg, struct mlgen_err *err)
{
	struct nextuse *n;

	*out = NULL;
	if (cfg->sampler->shuffle == SHUFFLE_IMPORTANCE)
		return mlgen_fail(err, -EINVAL,
				  "cache=belady: with shuffle=importance the order of an epoch "
				  "follows from the losses of the one before, and nobody knows it "
				  "ahead; cache=importance");
	if (most_accesses(cfg) >= NEVER / 4)
		return mlgen_fail(err, -EINVAL,
				  "cache=belady: an epoch of %" PRIu64
				  " accesses is more than the %" PRIu32
				  " that can be told apart; cache=lru",
				  most_accesses(cfg), NEVER / 4);
	n = mem_zalloc(sizeof(*n));
	n->cfg = *cfg;
	n->room = most_accesses(cfg);
	n->next = mem_array(n->room, sizeof(*n->next));
	n->last = mem_array(cfg->units, sizeof(*n->last));
	*out = n;
	return 0;
}

void nextuse_free(struct nextuse *n)
{
	if (!n)
		return;
	mem_free(n->next);
	mem_free(n->last);
	mem_free(n);
}

static uint64_t unit_of(const struct nextuse *n, uint64_t extent)
{
	return n->cfg.unit_of ? n->cfg.unit_of(n->cfg.arg, extent) : extent;
}

/* Where extents differ, epochs are not all as long. */
static void make_room(struct nextuse *n)
{
	size_t room = n->room;

	n->next = mem_grow(n->next, &room, n->count + 1, sizeof(*n->next));
	n->room = room;
}

/* An access of index `index` from this epoch's first on; `last` of its unit. */
typedef void visit_fn(struct nextuse *n, uint32_t *last, uint64_t index);

/*
 * All accesses of an epoch, from this index on; the end. Units lie anywhere in memory: some are
 * looked at side by side, as in cache_expect.
 */
static uint64_t walk(struct nextuse *n, uint64_t epoch, uint64_t index, visit_fn *visit)
{
	uint32_t *coming[COMING];
	unsigned count;
	struct orderwalk w;
	struct orderwalk_at at;

	orderwalk_begin(&w, n->cfg.sampler, n->cfg.first_rank, n->cfg.end_rank, epoch);
	do {
		for (count = 0; count < COMING && orderwalk_next(&w, &at); count++) {
			coming[count] = &n->last[unit_of(n, at.extent)];
			__builtin_prefetch(coming[count], 1);
		}
		for (unsigned i = 0; i < count; i++)
			if (*coming[i])
				__builtin_prefetch(&n->next[*coming[i] - 1], 1);
		for (unsigned i = 0; i < count; i++)
			visit(n, coming[i], index++);
	} while (count == COMING);
	orderwalk_end(&w);
	return index;
}

/* What was accessed last is so again here. */
static void close_last(struct nextuse *n, const uint32_t *last, uint64_t index)
{
	if (*last)
		n->next[*last - 1] = (uint32_t)index;
}

/* In this epoch: one closes the one before of its unit, and is open. */
static void visit_this(struct nextuse *n, uint32_t *last, uint64_t index)
{
	make_room(n);
	close_last(n, last, index);
	n->open += !*last;
	n->next[n->count++] = NEVER;
	*last = (uint32_t)n->count;
}

/* The first access of a unit in a following epoch closes what is open. */
static void visit_following(struct nextuse *n, uint32_t *last, uint64_t index)
{
	close_last(n, last, index);
	n->open -= *last != 0;
	*last = 0;
}

static void visit_first(struct nextuse *n, uint32_t *last, uint64_t index)
{
	n->open -= !*last;
	if (!*last)
		*last = (uint32_t)index + 1;
}

/* Walk the epochs from `epoch` on, which begins at `index`, while there are open units. */
static void walk_on(struct nextuse *n, uint64_t epoch, uint64_t index, visit_fn *visit)
{
	uint64_t end = epoch + u64_min(NEXTUSE_EPOCHS, n->cfg.epochs - epoch);

	for (; epoch < end && n->open && index < NEVER - n->room; epoch++)
		index = walk(n, epoch, index, visit);
}

static void forget_last(struct nextuse *n)
{
	memset(n->last, 0, n->cfg.units * sizeof(*n->last));
}

void nextuse_epoch(struct nextuse *n, uint64_t epoch)
{
	if (n->has_begun)
		n->before += n->count;
	n->has_begun = true;
	n->epoch = epoch;
	/* What was not closed is open no more. */
	forget_last(n);
	n->count = n->open = 0;
	walk(n, epoch, 0, visit_this);
	walk_on(n, epoch + 1, n->count, visit_following);
}

uint64_t nextuse_accesses(const struct nextuse *n)
{
	return n->count;
}

uint64_t nextuse_at(const struct nextuse *n, uint64_t index)
{
	uint32_t next = n->next[index];

	return next == NEVER ? NEXTUSE_NEVER : n->before + next;
}

void nextuse_look_first(struct nextuse *n)
{
	forget_last(n);
	n->open = n->cfg.units;
	walk_on(n, n->epoch, 0, visit_first);
}

uint64_t nextuse_first(const struct nextuse *n, uint64_t unit)
{
	uint32_t first = n->last[unit];

	return first ? n->before + first - 1 : NEXTUSE_NEVER;
}
