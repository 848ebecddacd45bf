/* SPDX-License-Identifier: Apache-2.0 */
/* train_look.c - see train_look.h. */
#include "work/train/train_look.h"

#include "run/slot.h"
#include "run/tier.h"

static uint64_t epoch_steps(const struct slot *s)
{
	return s->train.stages.train.sampler.steps;
}

static uint64_t train_left_ns(const struct slot *s, const struct live *live)
{
	const struct job *j = s->job;
	uint64_t start = atomic_load(&s->train.start_ns), left = UINT64_MAX;

	if (!start)
		return left;
	if (j->runtime_ns) {
		uint64_t end = start + j->ramp_time_ns + j->runtime_ns;

		left = end > live->now_ns ? end - live->now_ns : 0;
	}
	uint64_t done = (live->epoch - 1) * epoch_steps(s) + live->step - 1;
	uint64_t all = j->steps;
	if (!j->time_based && (!all || j->epochs * epoch_steps(s) < all))
		all = j->epochs * epoch_steps(s);
	if (all > done && done > 0) {
		double ns = (double)(live->now_ns - start) / (double)done * (double)(all - done);

		if (ns < (double)left)
			left = (uint64_t)ns;
	}
	return left;
}

static void look_at_counts(const struct rank_count *c, struct live *live)
{
	live->samples += count_get(&c->samples);
	live->sample_bytes += count_get(&c->sample_bytes);
	live->compute_ns += count_get(&c->useful_ns);
	live->step_ns += count_get(&c->step_ns);
	live->stall_ns += count_get(&c->stall_ns);
}

static void look_at_rank(struct rank *r, struct live *live)
{
	uint64_t since = count_get(&r->count.waiting_since_ns);

	pthread_mutex_lock(&r->books);
	look_at_counts(&r->count, live);
	look_at_counts(&r->left_out, live);
	if (live->stall)
		hist_gather(live->stall, r->stall);
	if (live->stall && r->left_out_stall)
		hist_gather(live->stall, r->left_out_stall);
	pthread_mutex_unlock(&r->books);
	if (since && live->now_ns > since && live->now_ns - since > live->waiting_ns)
		live->waiting_ns = live->now_ns - since;
}

void train_look(const struct slot *s, struct live *live)
{
	const struct train *t = &s->train;

	live->epoch = count_get(&t->ranks[0].count.epoch);
	live->epochs = s->job->time_based ? 0 : s->job->epochs;
	live->step = count_get(&t->ranks[0].count.step);
	live->steps = epoch_steps(s);
	for (uint64_t i = 0; i < s->job->accelerators; i++)
		look_at_rank(&t->ranks[i], live);
	slot_look_at_workers(s, live);
	live->io_bytes = live->io_moved[0] + live->io_moved[1];
	if (live->phase == LIVE_TRAIN && !atomic_load(&t->start_ns))
		live->phase = LIVE_WAIT; /* startdelay */
	live->left_ns = train_left_ns(s, live);
	train_look_at_saves(t, live);
	if (t->tier)
		tier_look(t->tier, &live->accesses, &live->hits);
	if (atomic_load(&t->dropping))
		live->phase = LIVE_DROP;
}
