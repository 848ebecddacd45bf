/* SPDX-License-Identifier: Apache-2.0 */
/* sampler_runs.c - runs of neighbours in any order, and what is in them shuffled in windows. */
#include "data/order/order_internal.h"

#include "base/rng.h"
#include "base/util.h"

/*
 * shuffle=pages and chunks. Runs of as many extents stand in an order of their own, but for a
 * shorter last one, which stands anywhere between them; so many runs are a window, and within it
 * its extents have any order. All of it follows from formulas: where the short run stands is known,
 * and in front of it and behind it all is as long.
 *
 * FFCV draws from a buffer of pages that slides instead (libffcv/ffcv
 * traversal_order/quasi_random.py); pages of a window come into it and leave it together here.
 */

/* What the windows of an epoch draw from. */
static uint64_t runs_seed(const struct sampler *s, uint64_t epoch)
{
	return rng_u64(s->seed, RNG_RUNS, epoch);
}

static uint64_t whole_runs(const struct sampler *s)
{
	return s->extents / s->run_extents;
}

static uint64_t short_extents(const struct sampler *s)
{
	return s->extents % s->run_extents;
}

void sampler_runs_epoch(struct sampler_epoch *e, uint64_t epoch)
{
	const struct sampler *s = e->sampler;

	perm_init(&e->perm, whole_runs(s), s->seed, epoch);
	e->drawn_seed = runs_seed(s, epoch);
	e->short_at = short_extents(s) ? rng_u64(e->drawn_seed, RNG_RUNS, 0) % (whole_runs(s) + 1)
				       : UINT64_MAX;
}

/* The extents that the short run lacks; 0 = there is none. */
static uint64_t lack(const struct sampler *s)
{
	return short_extents(s) ? s->run_extents - short_extents(s) : 0;
}

static uint64_t window_extents(const struct sampler *s)
{
	return s->run_extents * s->window_runs;
}

/* Where a window begins in the order. */
static uint64_t window_start(const struct sampler_epoch *e, uint64_t window)
{
	const struct sampler *s = e->sampler;
	uint64_t runs = window * s->window_runs;

	return u64_min(runs * s->run_extents - (runs > e->short_at ? lack(s) : 0), s->extents);
}

static uint64_t window_of(const struct sampler_epoch *e, uint64_t at)
{
	uint64_t n = window_extents(e->sampler), window = at / n;

	return at < window_start(e, window + 1) ? window : window + 1;
}

static void take_window(struct sampler_epoch *e, uint64_t window)
{
	struct sampler_window *w = &e->window;

	if (w->is_known && w->number == window)
		return;
	w->is_known = true;
	w->number = window;
	w->start = window_start(e, window);
	/* 0 is where the short run stands. */
	perm_init(&w->perm, window_start(e, window + 1) - w->start, e->drawn_seed, window + 1);
}

/* The run that stands at a place of the order of runs. */
static uint64_t run_at(const struct sampler_epoch *e, uint64_t place)
{
	if (place == e->short_at)
		return whole_runs(e->sampler);
	return perm_at(&e->perm, place - (place > e->short_at));
}

/* Which extent would stand there, were only the runs shuffled. */
static uint64_t unshuffled(const struct sampler_epoch *e, uint64_t at)
{
	const struct sampler *s = e->sampler;
	bool is_behind =
		e->short_at != UINT64_MAX && at >= e->short_at * s->run_extents + short_extents(s);

	at += is_behind ? lack(s) : 0;
	return run_at(e, at / s->run_extents) * s->run_extents + at % s->run_extents;
}

uint64_t sampler_runs_at(struct sampler_epoch *e, uint64_t at)
{
	take_window(e, window_of(e, at));
	return unshuffled(e, e->window.start + perm_at(&e->window.perm, at - e->window.start));
}
