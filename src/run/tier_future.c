/* SPDX-License-Identifier: Apache-2.0 */
/* tier_future.c - when each unit of a cache tier is accessed next, by the order of this epoch and
 * the one after it. */
#include "run/tier_inside.h"

static uint64_t unit_of(const void *tier, uint64_t extent)
{
	const struct tier *t = tier;
	struct extent x;

	dataset_extent(t->plain.dataset, extent, &x);
	return tier_unit_of(&t->units, &x);
}

static struct nextuse_config config_of(const struct job *j, const struct pass *pass, uint64_t units)
{
	return (struct nextuse_config){
		.sampler = &pass->sampler,
		.end_rank = tier_ranks_of(j),
		.epochs = j->time_based ? UINT64_MAX : j->epochs,
		.units = units,
		.unit_of = unit_of,
	};
}

int tier_future_init(struct tier_cache *c, struct mlgen_err *err)
{
	const struct tier *t = c->tier;
	struct nextuse_config cfg = config_of(t->job, t->cfg.pass, t->units.count);

	cfg.first_rank = c->first_rank;
	cfg.end_rank = c->end_rank;
	cfg.arg = t;
	return nextuse_new(&c->future, &cfg, err);
}

uint64_t tier_future_bytes(const struct job *job, const struct pass *pass, uint64_t units)
{
	struct nextuse_config cfg = config_of(job, pass, units);

	return nextuse_state_bytes(&cfg);
}

void tier_future_begin(struct tier_cache *c, uint64_t epoch)
{
	nextuse_epoch(c->future, epoch);
	c->future_at = 0;
}

uint64_t tier_future_next(struct tier_cache *c)
{
	return c->future_at < nextuse_accesses(c->future) ? nextuse_at(c->future, c->future_at++)
							  : NEXTUSE_NEVER;
}
