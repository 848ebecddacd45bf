/* SPDX-License-Identifier: Apache-2.0 */
/* rank_order.c - an order that follows from losses, or from what a cache has, is drawn before its
 * epoch. */
#include "run/rank.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/order/order.h"
#include "run/tier.h"

/* What all processes say at a time: whole steps, as many as fit, but at least one. */
#define TURN_BYTES 131072u

/* What is learnt of an epoch, some steps at a time. */
struct lesson {
	struct train *t;
	uint64_t epoch;
	struct sampler_epoch order; /* for the bounds of batches */
	struct orderwalk walk;      /* of the ranks that are known here */
	struct orderwalk_at at;
	bool has_next;
	uint64_t first_step, end_step;
	struct buf mine, all;
	uint64_t *batch;
};

/* What one process says of these steps: step by step, rank by rank. */
struct part {
	const char *at;
	uint64_t ranks;
};

static uint64_t positions(struct lesson *l, uint64_t first, uint64_t end)
{
	return sampler_batch_start(&l->order, 0, end) - sampler_batch_start(&l->order, 0, first);
}

static void begin_lesson(struct lesson *l, struct train *t, uint64_t epoch)
{
	const struct sampler *s = &t->stages.train.sampler;
	struct sampler_ranks known = sampler_ranks_known(t->job);

	*l = (struct lesson){ .t = t, .epoch = epoch };
	sampler_epoch(&l->order, s, epoch);
	orderwalk_begin(&l->walk, s, known.first, known.end, epoch);
	l->has_next = orderwalk_next(&l->walk, &l->at);
	l->batch = mem_array(s->batch, sizeof(*l->batch));
}

static void end_lesson(struct lesson *l)
{
	orderwalk_end(&l->walk);
	buf_fini(&l->mine);
	buf_fini(&l->all);
	mem_free(l->batch);
}

/* False: there are no more. */
static bool next_steps(struct lesson *l)
{
	const struct sampler *s = &l->t->stages.train.sampler;
	uint64_t of_step = s->ranks * s->batch * sizeof(uint32_t);

	l->first_step = l->end_step;
	l->end_step += u64_max(TURN_BYTES / of_step, 1);
	l->end_step = u64_min(l->end_step, s->steps);
	return l->first_step < s->steps;
}

/* What the ranks here have computed on in these steps. */
static void say(struct lesson *l)
{
	buf_reset(&l->mine);
	while (l->has_next && l->at.step < l->end_step) {
		uint32_t extent = (uint32_t)tier_trained(l->t->tier, &l->at);

		buf_addn(&l->mine, (const char *)&extent, sizeof(extent));
		l->has_next = orderwalk_next(&l->walk, &l->at);
	}
}

static void train_on(struct lesson *l, struct part *p, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint32_t extent;

		memcpy(&extent, p->at, sizeof(extent));
		p->at += sizeof(extent);
		l->batch[i] = extent;
	}
	if (count)
		importance_trained(l->t->importance, l->epoch, l->batch, (unsigned)count);
}

/* Ranks of a process that is before another one come before that one's. */
static void hear(struct lesson *l, struct part *parts, unsigned count)
{
	for (uint64_t step = l->first_step; step < l->end_step; step++) {
		uint64_t of_batch = positions(l, step, step + 1);

		for (unsigned i = 0; i < count; i++)
			for (uint64_t r = 0; r < parts[i].ranks; r++)
				train_on(l, &parts[i], of_batch);
	}
}

static void hear_all(struct lesson *l, unsigned count)
{
	uint64_t of_rank = positions(l, l->first_step, l->end_step) * sizeof(uint32_t);
	struct part *parts = mem_array(count, sizeof(*parts));
	uint64_t ranks = 0;

	for (unsigned i = 0; i < count && of_rank; i++) {
		size_t n;

		parts[i].at = hosts_part(&l->all, i, &n);
		parts[i].ranks = n / of_rank;
		ranks += parts[i].ranks;
	}
	assert(!of_rank || ranks == l->t->stages.train.sampler.ranks);
	hear(l, parts, count);
	mem_free(parts);
}

/* Are there ranks of which it is not known here what they were trained on? */
static bool has_to_ask(const struct train *t)
{
	struct sampler_ranks known = sampler_ranks_known(t->job);

	return t->importance && known.end - known.first < t->stages.train.sampler.ranks;
}

/* 0, or -EPIPE: the training ends, here or in another process. */
static int tell(struct lesson *l, bool has_others)
{
	struct train *t = l->t;

	if (!has_others)
		return hosts_gather(NULL, l->mine.s, l->mine.len, &l->all, NULL);
	return train_is_cut(t) ? -EPIPE
			       : peers_exchange(&t->peers, l->mine.s, l->mine.len, &l->all);
}

/* All that was computed on in an epoch that every rank has finished. 0, or -EPIPE. */
static int learn(struct train *t, uint64_t epoch)
{
	bool asks = has_to_ask(t);
	struct lesson l;
	int rc = 0;

	begin_lesson(&l, t, epoch);
	while (rc == 0 && next_steps(&l)) {
		say(&l);
		rc = tell(&l, asks);
		if (rc == 0)
			hear_all(&l, asks ? hosts_total(t->hosts) : 1);
	}
	end_lesson(&l);
	return rc;
}

/* By the last here at the barrier before an epoch; with the same losses every process draws the
 * same. */
static uint64_t draw_order(void *arg)
{
	struct train *t = arg;
	uint64_t from_ns = clock_now(t->clock), epoch = t->orders_drawn;

	tier_end_order(t->tier);
	if (t->importance && epoch > 0 && !has_to_ask(t))
		learn(t, epoch - 1);
	if (t->importance)
		importance_draw(t->importance, epoch, t->in_cache, t->cache);
	if (t->hits_first)
		hitsfirst_draw(t->hits_first, epoch, t->in_cache, t->cache);
	t->orders_drawn = epoch + 1;
	t->draw_ns += clock_now(t->clock) - from_ns;
	return 0;
}

static const struct peers_decision decide_order = { .vote = draw_order };

static uint64_t nobody_has_asked(void *arg)
{
	struct train *t = arg;

	atomic_store(&t->has_asked, false);
	return 0;
}

static const struct peers_decision decide_to_ask = { .vote = nobody_has_asked };

/* Once all ranks of all processes have finished the epoch, one rank of each tells the others. Not
 * behind the barrier's lock, where nothing may wait. */
static int ask_others(struct train *t)
{
	uint64_t from_ns;

	if (peers_barrier(&t->peers, &decide_to_ask, t) < 0)
		return -EPIPE;
	if (atomic_exchange(&t->has_asked, true))
		return 0;
	from_ns = clock_now(t->clock);
	if (learn(t, t->orders_drawn - 1) < 0) {
		peers_cut(&t->peers);
		return -EPIPE;
	}
	t->draw_ns += clock_now(t->clock) - from_ns;
	return 0;
}

int rank_order_draw(struct rank *r, uint64_t epoch)
{
	struct train *t = r->train;
	bool has_order = t->importance || t->hits_first;

	if (has_order && epoch > 0 && has_to_ask(t) && ask_others(t) < 0)
		return -EPIPE;
	return has_order ? peers_barrier(&t->peers, &decide_order, t) : 0;
}
