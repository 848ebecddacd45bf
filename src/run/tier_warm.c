/* SPDX-License-Identifier: Apache-2.0 */
/* tier_warm.c - a part of a cache tier is filled before the run (cache_warm). */
#include <errno.h>
#include <string.h>

#include "run/tier_inside.h"

/* Its reads are one after the other: nothing of it is measured. */
#define WARM_DEPTH 1u

/* What fills one cache, on a thread of its own: an engine is its thread's. */
struct warmer {
	struct tier_cache *cache;
	struct worker worker;
	struct reader *reader;
	struct tier_loader *loader;
	struct mlgen_err err;
};

static bool is_warm(const struct tier_cache *c)
{
	const struct cache_config *limits = &c->tier->limits;
	double part = c->tier->job->cache_warm / 100;
	bool has_units = limits->capacity_units < UINT64_MAX;
	double used = has_units ? (double)cache_units(c->cache)
				: (double)cache_used_bytes(c->cache);
	double all = has_units ? (double)limits->capacity_units
			       : (double)limits->capacity_bytes;

	return used >= part * all;
}

static void extent_of(const struct tier *t, uint64_t unit, struct extent *x)
{
	dataset_extent(t->plain.dataset, tier_unit_first(&t->units, unit), x);
}

static int open_warmer(struct warmer *w, struct mlgen_err *err)
{
	struct tier *t = w->cache->tier;
	const struct worker_config cfg = {
		.place = t->cfg.place,
		.traced = t->cfg.traced,
		.role = "cache warmer",
		.io = { .job = t->cfg.engine_job,
			.clock = t->cfg.clock,
			.iodepth = WARM_DEPTH,
			.transfers = WARM_DEPTH,
			.files = 2,
			.buf_bytes = 1u << 20,
			.mem = MEM_MALLOC,
			.stop = t->cfg.stop },
	};
	int rc = worker_open(&w->worker, &cfg, err);

	if (rc < 0)
		return rc;
	w->reader = reader_new(w->worker.io, &w->worker.stat, 1, WARM_DEPTH);
	w->loader = tier_loader_new(t, w->cache->first_rank, 0, &w->worker,
				    w->reader, err);
	if (!w->loader)
		return err->code;
	w->loader->fills_itself = true;
	return 0;
}

/* Read from storage, and kept, as any miss is. */
static int fetch(struct warmer *w, const struct tier_decision *d,
		 const struct extent *x, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	const struct read_task *task;
	int rc;

	tier_miss(l, d, x);
	task = reader_finish_one(w->reader, &rc);
	if (!task)
		return mlgen_fail(err, rc, "cache_warm: cannot go on: %s",
				  strerror(-rc));
	if (task->error && task->error != -ECANCELED)
		reader_describe(task, "cache_warm", err);
	rc = tier_read_end(l, task, err);
	return task->error ? task->error : rc;
}

/* The lowest numbers first, as far as the policy takes them. */
static int fill(struct warmer *w, struct mlgen_err *err)
{
	struct tier_cache *c = w->cache;
	const struct tier *t = c->tier;
	struct tier_decision d;
	struct extent x;
	int rc = 0;

	for (uint64_t u = 0; u < t->units.count && rc == 0 && !is_warm(c);
	     u++) {
		extent_of(t, u, &x);
		if (!tier_decide_warm(c, u, &d))
			continue;
		c->warm_units++;
		if (t->place->keeps)
			rc = fetch(w, &d, &x, err);
		else if (c->slots)
			c->slots[d.slot] =
				tier_slot_word(d.generation, SLOT_READY);
	}
	return rc == -ECANCELED ? 0 : rc;
}

static void *warmer_main(void *warmer)
{
	struct warmer *w = warmer;
	struct clock *clock = w->cache->tier->cfg.clock;

	clock_join(clock);
	if (open_warmer(w, &w->err) == 0 && fill(w, &w->err) == 0)
		w->err.code = 0;
	if (w->loader && w->cache->tier->place->leave)
		w->cache->tier->place->leave(w->loader);
	worker_close(&w->worker);
	clock_leave(clock);
	return NULL;
}

static int warm(struct tier_cache *c, struct mlgen_err *err)
{
	struct warmer w = { .cache = c };
	struct clock *clock = c->tier->cfg.clock;
	int rc;

	worker_init(&w.worker);
	rc = worker_start(&w.worker.thread, clock, warmer_main, &w, err);
	clock_leave(clock);
	worker_join(&w.worker.thread);
	clock_expect(clock, 1);
	clock_join(clock);
	if (w.err.code) {
		rc = w.err.code;
		*err = w.err;
	}
	tier_loader_free(w.loader);
	reader_free(w.reader);
	worker_fini(&w.worker);
	return rc;
}

int tier_warm(struct tier *t, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < t->cache_count && rc == 0; i++)
		rc = warm(&t->caches[i], err);
	return rc;
}
