/* SPDX-License-Identifier: Apache-2.0 */
/* plan_classes.c - which ranks of a job save the same, and what all of them do. */
#include "report/plan_classes.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"

/* Ranks that are alike; the last range of them is first to last. */
struct kind {
	struct plan_ranks of;
	struct buf ranges;
	uint64_t first, last;
};

struct kinds {
	struct kind *at;
	size_t count, room; /* vec.h */
	size_t recent;
};

static void end_range(struct kind *k)
{
	buf_addf(&k->ranges, "%s%" PRIu64, k->ranges.len ? "," : "", k->first);
	if (k->last > k->first)
		buf_addf(&k->ranges, "-%" PRIu64, k->last);
}

static bool is_alike(const struct plan_ranks *a, const struct plan_ranks *b)
{
	return a->model_bytes == b->model_bytes && a->optimizer_bytes == b->optimizer_bytes &&
	       a->files == b->files;
}

/* Neighbours are alike, mostly: the kind of the rank before is tried first. There are few: stages
 * differ by a layer, and the first and the last. */
static struct kind *find_kind(struct kinds *all, const struct plan_ranks *rank)
{
	if (all->count && is_alike(&all->at[all->recent].of, rank))
		return &all->at[all->recent];
	for (all->recent = 0; all->recent < all->count; all->recent++)
		if (is_alike(&all->at[all->recent].of, rank))
			return &all->at[all->recent];
	vec_push(all, (struct kind){ .of = *rank });
	return vec_last(all);
}

static void add_to_kind(struct kinds *all, const struct plan_ranks *what, uint64_t rank)
{
	struct kind *k = find_kind(all, what);
	bool is_next = k->of.count && rank == k->last + 1;

	if (k->of.count && !is_next)
		end_range(k);
	if (!is_next)
		k->first = rank;
	k->last = rank;
	k->of.count++;
}

static void take_kinds(struct plan_checkpoint *c, struct kinds *all)
{
	struct plan_ranks *items = mem_array(all->count, sizeof(*items));

	for (size_t i = 0; i < all->count; i++) {
		end_range(&all->at[i]);
		items[i] = all->at[i].of;
		items[i].ranks = buf_take(&all->at[i].ranges);
	}
	c->classes = (struct metric_list){ items, all->count };
	vec_fini(all);
}

static void look_at_rank(struct plan_ranks *of, const struct shard_set *set, uint64_t rank)
{
	struct state_bytes b;

	state_rank_bytes(set->state, rank, &b);
	*of = (struct plan_ranks){
		.model_bytes = b.model,
		.optimizer_bytes = b.optimizer,
		.bytes = b.total,
		.files = shard_files(set, rank),
	};
}

void plan_classes_count(struct plan_checkpoint *c, const struct shard_set *set)
{
	const struct state *s = set->state;
	struct kinds all = { 0 };

	c->parameters = state_parameters(s);
	c->ranks = s->ranks;
	c->tensor_parallel = s->tensor_parallel;
	c->pipeline_parallel = s->pipeline_parallel;
	c->data_parallel = s->data_parallel;
	c->local_ranks = state_locals(s);
	for (uint64_t rank = 0; rank < s->ranks; rank++) {
		struct plan_ranks of;

		look_at_rank(&of, set, rank);
		add_to_kind(&all, &of, rank);
		c->model_bytes += of.model_bytes;
		c->optimizer_bytes += of.optimizer_bytes;
		c->bytes += of.bytes;
		c->files += of.files;
		if (state_is_local(s, rank)) {
			c->local_bytes += of.bytes;
			c->local_files += of.files;
		}
	}
	take_kinds(c, &all);
}

void plan_classes_fini(struct plan_checkpoint *c)
{
	struct plan_ranks *items = c->classes.items;

	for (size_t i = 0; i < c->classes.count; i++)
		mem_free(items[i].ranks);
	mem_free(items);
	c->classes = (struct metric_list){ 0 };
}
