/* SPDX-License-Identifier: Apache-2.0 */
/* tier_warm.c - a part of a cache tier is filled before the run (cache_warm). */
#include <errno.h>

#include "run/tier_thread.h"

static bool is_warm(const struct tier_cache *c)
{
	const struct cache_config *limits = &c->tier->limits;
	double part = c->tier->job->cache_warm / 100;
	bool has_units = limits->capacity_units < UINT64_MAX;
	double used =
		has_units ? (double)cache_units(c->cache) : (double)cache_used_bytes(c->cache);
	double all = has_units ? (double)limits->capacity_units : (double)limits->capacity_bytes;

	return used >= part * all;
}

static void extent_of(const struct tier *t, uint64_t unit, struct extent *x)
{
	dataset_extent(t->plain.dataset, tier_unit_first(&t->units, unit), x);
}

/* Read from storage, and kept, as any miss is. */
static int fetch(struct tier_thread *th, const struct tier_decision *d, const struct extent *x)
{
	const struct read_task *task;
	int rc;

	tier_miss(th->loader, d, x);
	if (tier_thread_finish(th, "cache_warm", &task) < 0)
		return th->err.code;
	if (task->error && task->error != -ECANCELED)
		reader_describe(task, "cache_warm", &th->err);
	rc = tier_read_end(th->loader, task, &th->err);
	return task->error ? task->error : rc;
}

/* The lowest numbers first, as far as the policy takes them. */
static void fill(struct tier_thread *th)
{
	struct tier_cache *c = th->cache;
	const struct tier *t = c->tier;
	struct tier_decision d;
	struct extent x;
	int rc = 0;

	for (uint64_t u = 0; u < t->units.count && rc == 0 && !is_warm(c); u++) {
		extent_of(t, u, &x);
		if (!tier_decide_warm(c, u, &d))
			continue;
		c->warm_units++;
		if (t->place->keeps)
			rc = fetch(th, &d, &x);
		else if (c->slots)
			*tier_word(c, d.slot) = tier_slot_word(d.generation, SLOT_READY);
	}
}

/* On a thread of its own, since an engine is its thread's. */
static int warm(struct tier_cache *c, struct mlgen_err *err)
{
	struct tier_thread th = { .cache = c,
				  .role = "cache warmer",
				  .files = 2,
				  .buf_bytes = 1u << 20,
				  .may_stop = true,
				  .fills_itself = true,
				  .is_not_counted = true,
				  .work = fill };
	struct clock *clock = c->tier->cfg.clock;
	int rc, met;

	tier_thread_init(&th);
	rc = tier_thread_start(&th, err);
	clock_leave(clock);
	met = tier_thread_join(&th, err);
	clock_expect(clock, 1);
	clock_join(clock);
	tier_thread_fini(&th);
	return rc ? rc : met;
}

int tier_warm(struct tier *t, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < t->cache_count && rc == 0; i++)
		rc = warm(&t->caches[i], err);
	return rc;
}
