/* SPDX-License-Identifier: Apache-2.0 */
/* rates.c - see rates.h. */
#include "run/rates.h"

#include <math.h>

#include "run/activity.h"

static void add_rate(struct rate_series *r, uint64_t counter, double seconds)
{
	double rate = (double)(counter - r->last) / seconds;

	if (counter < r->last)
		return; /* ramp_time ended: it began anew */
	if (r->rates.count == 0 || rate < r->min)
		r->min = rate;
	if (rate > r->max)
		r->max = rate;
	moments_add(&r->rates, rate);
}

/* `is_first`: there is no interval yet, only where the counters stand. */
static void add_rates(struct rate_set *set, const uint64_t bytes[2], const uint64_t ios[2],
		      double seconds, bool is_first)
{
	for (unsigned d = 0; d < 2; d++) {
		if (!is_first) {
			add_rate(&set->bytes[d], bytes[d], seconds);
			add_rate(&set->ios[d], ios[d], seconds);
		}
		set->bytes[d].last = bytes[d];
		set->ios[d].last = ios[d];
	}
}

/* Each worker of a job that reports them one by one. */
static void tick_workers(const struct slot *s, double seconds, bool is_first)
{
	struct worker *w;

	for (uint64_t i = 0; (w = s->does->worker(s, i)); i++) {
		if (atomic_load(&w->has_ended))
			continue;
		const uint64_t bytes[] = { slot_worker_bytes(w, 0), slot_worker_bytes(w, 1) };
		const uint64_t ios[] = { slot_worker_ios(w, 0), slot_worker_ios(w, 1) };
		add_rates(&w->rates, bytes, ios, seconds, is_first);
	}
}

/* While its CPUs work: later they are idle, and slower. */
static void tick_clock(struct slot *s, double mhz)
{
	if (isnan(mhz))
		return;
	s->mhz_sum += mhz;
	s->mhz_looks++;
}

void rates_tick(struct slot *s, uint64_t now_ns, double mhz)
{
	double seconds = (double)(now_ns - s->last_tick_ns) / 1e9;
	const uint64_t bytes[] = { slot_io_bytes(s, 0), slot_io_bytes(s, 1) };
	const uint64_t ios[] = { slot_ios(s, 0), slot_ios(s, 1) };
	/* An interval lies in the window, or it is none. */
	bool is_first =
		!s->last_tick_ns || !slot_counts(s) || s->last_tick_ns < span_begin_ns(&s->span);

	add_rates(&s->rates, bytes, ios, seconds, is_first);
	if (s->does->records(s) > 1)
		tick_workers(s, seconds, is_first);
	if (slot_counts(s))
		tick_clock(s, mhz);
	s->last_tick_ns = now_ns;
}
