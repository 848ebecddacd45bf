/* SPDX-License-Identifier: Apache-2.0 */
/* run_look.c - what the main thread asks of a run, or tells it, while it goes on; see run.h. */
#include <math.h>

#include "io/noise.h"
#include "run/activity.h"
#include "run/rates.h"
#include "run/run_inside.h"

void run_interrupt(struct run *r)
{
	bool was = atomic_exchange(&r->shared.interrupted, true);

	if (!was && !atomic_load(&r->shared.has_heard))
		hosts_tell(r->shared.cfg.hosts, NULL);
	for (size_t i = 0; i < r->shared.cfg.count; i++) {
		stop_set(&r->slots[i].progress.stop, r->shared.cfg.clock);
		if (slot_is_working(&r->slots[i]))
			r->slots[i].does->wake(&r->slots[i]);
	}
}

void run_each_call(const struct run *r, slot_tell *tell, void *arg)
{
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		slot_each_call(&r->slots[i], clock_now(r->shared.cfg.clock), tell, arg);
}

bool run_has_started(const struct run *r)
{
	bool has = atomic_load(&r->shared.has_started);

	/* Whatever a thread meets while it is set up comes before the start. */
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		has |= slot_has_begun(&r->slots[i]);
	return has;
}

static enum live_phase work_of(const struct slot *s)
{
	const struct workload *w = job_work(s->job);

	if (!s->does->start)
		return LIVE_PREPARE;
	if (w->is_plain)
		return LIVE_IO;
	return w->has_accelerators ? LIVE_TRAIN : LIVE_CHECKPOINT;
}

void run_look(const struct run *r, size_t i, struct live *live)
{
	const struct slot *s = &r->slots[i];

	/* Once: it may end while it is looked at, and what it did must not vanish. */
	int phase = atomic_load(&s->phase);
	bool has_worked = atomic_load(&s->work_begin_ns) != 0;

	live_reset(live);
	live->job_name = s->job->name;
	live->phase = (enum live_phase)phase;
	live->now_ns = clock_now(r->shared.cfg.clock);
	live->left_ns = UINT64_MAX;
	live->done_percent = (double)NAN;
	live->work = work_of(s);
	live->has_worked = has_worked;
	live->files_done = count_get(&s->progress.files_done);
	live->files_total = count_get(&s->progress.files_total);
	live->bytes_done = count_get(&s->progress.bytes_done);
	live->bytes_total = count_get(&s->progress.bytes_total);
	if (slot_works_in(phase) || (phase == LIVE_DONE && has_worked))
		s->does->look(s, live);
	/* All checkpoints are alike. */
	if (live->checkpoint > 0)
		live->checkpoint_moved = (live->checkpoint - 1) * live->checkpoint_bytes;
	live->checkpoint_moved += live->checkpoint_done;
}

struct others *run_others(const struct run *r)
{
	return r->others;
}

void run_tick(struct run *r)
{
	uint64_t now_ns = clock_now(r->shared.cfg.clock);
	double mhz = noise_clock_mhz("");
	struct energy_counts unused;

	/* Before its counters go round. */
	energy_read(&r->energy, &unused);
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		if (slot_is_working(&r->slots[i]) && slot_has_begun(&r->slots[i]))
			rates_tick(&r->slots[i], now_ns, mhz);
}
