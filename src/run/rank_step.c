/* SPDX-License-Identifier: Apache-2.0 */
/* rank_step.c - see rank_step.h. */
#include "run/rank_step.h"

#include <errno.h>

#include "base/rng.h"
#include "base/util.h"
#include "run/loader.h"
#include "run/rank.h"

/* May the next stage be read while this one is not over? */
static bool runs_on(const struct train *t, const struct stage *at)
{
	return loader_model(t->job)->runs_on && stage_runs_on(&t->stages, at) &&
	       !train_is_last_epoch(t, at->epoch) && !train_drops_before(t, at->epoch + 1);
}

/* The first batch that may not be read yet, when so many of a stage have been taken. An epoch can
 * be shorter than what is read ahead. */
static uint64_t limit_of(const struct train *t, const struct stage *at, uint64_t batches)
{
	uint64_t limit = at->first_batch + batches + at->pass->window;
	struct stage last = *at;

	while (limit > stage_end_batch(&last) && runs_on(t, &last))
		stage_next(&t->stages, &last);
	return limit < stage_end_batch(&last) ? limit : stage_end_batch(&last);
}

/* A buffer that shuffles is full, or holds all that is left, when a batch is drawn from it. */
static uint64_t samples_to_draw_from(const struct rank *r, const struct stage *at, uint64_t batch)
{
	const struct sampler *s = &at->pass->sampler;
	uint64_t need = sampler_batch_samples(s, batch);
	uint64_t buffer = pass_shuffle_buffer(r->train->job, at->pass);
	uint64_t left = sampler_rank_samples(s) - batch * s->batch;

	return need + buffer < left ? need + buffer : left;
}

/* decode_threads batches are decoded at a time, in turn: each from when it was whole and the one
 * decode_threads before it was done. When this one is. */
static uint64_t rank_step_decode(struct rank *r, const struct stage *at, uint64_t batch,
				 const struct token *token)
{
	const struct job *j = r->train->job;
	uint64_t number = at->first_batch + batch;
	uint64_t *free_ns = &r->decoded_ns[number % j->decode_threads];

	if (!loader_decodes_batches(j))
		return token->ready_ns;
	*free_ns = u64_max(*free_ns, token->ready_ns) +
		   token->samples *
			   dist_draw(&j->preprocess_time, j->randseed, RNG_PREPROCESS, number);
	return *free_ns;
}

/* Its time is the later of begin_ns and when it was ready, if it was there when this thread looked,
 * and when it is decoded, if that takes longer: how long the thread took to wake is no stall. */
static int take_batch(struct rank *r, const struct stage *at, uint64_t batch, struct step *s)
{
	struct train *t = r->train;
	const struct loader_model *model = loader_model(t->job);
	uint64_t need = samples_to_draw_from(r, at, batch);
	uint64_t whole_ns, decoded_ns;
	bool waits = false;

	for (;; waits = true) {
		uint32_t seen = bell_look(&r->filled);

		model->collect(r, at, batch, need);
		if (r->have.samples >= need)
			break;
		if (train_is_cut(t))
			return -EPIPE;
		if (!waits)
			count_set(&r->count.waiting_since_ns, clock_now(t->clock));
		bell_wait(&r->filled, t->clock, seen, stop_at_ns(t->stop));
	}
	whole_ns = waits ? clock_now(t->clock) : s->begin_ns;
	token_take(&r->have, sampler_batch_samples(&at->pass->sampler, batch), &s->token);
	decoded_ns = rank_step_decode(r, at, batch, &s->token);
	if (decoded_ns > clock_now(t->clock) && !stop_sleep_until(t->stop, t->clock, decoded_ns))
		return -EPIPE;
	count_set(&r->count.waiting_since_ns, 0);
	s->taken_ns = u64_max(whole_ns, decoded_ns);
	return 0;
}

static uint64_t draw_compute_ns(const struct rank *r, const struct stage *at, uint64_t batch)
{
	const struct job *j = r->train->job;
	const struct dist *d = at->pass->is_eval ? &j->eval_time : &j->compute_time;
	uint64_t stream = at->pass->is_eval ? RNG_EVAL : RNG_COMPUTE;

	return dist_draw(d, j->randseed, (stream << 32) + r->index,
			 at->epoch * at->pass->sampler.steps + batch);
}

void rank_step_limit(struct rank *r, const struct stage *at, uint64_t batches)
{
	uint64_t limit = limit_of(r->train, at, batches);

	atomic_store(&r->limit, limit);
	rank_call(r, limit);
}

int rank_step_compute(struct rank *r, const struct stage *at, uint64_t batch, struct step *s)
{
	struct train *t = r->train;
	uint64_t end_ns;

	count_set(&r->count.step, batch + 1);
	if (take_batch(r, at, batch, s) < 0)
		return -EPIPE;
	rank_step_limit(r, at, batch + 1);
	s->compute_ns = draw_compute_ns(r, at, batch);
	end_ns = s->woken_ns = s->taken_ns + s->compute_ns;
	if (s->compute_ns)
		s->woken_ns = stop_sleep_exactly(t->stop, t->clock, end_ns, &r->late_ns);
	if (s->woken_ns < end_ns)
		return -EPIPE;
	s->end_ns = s->woken_ns;
	return 0;
}
