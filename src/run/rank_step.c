/* SPDX-License-Identifier: Apache-2.0 */
/* rank_step.c - one step of a rank, and what is counted of it. */
#include "run/rank.h"

#include <errno.h>

#include "base/rng.h"
#include "base/util.h"
#include "run/loader.h"

/* ---- counts ---- */

void rank_account_init(struct rank *r)
{
	r->step = hist_new();
	r->first_step = hist_new();
	r->stall = hist_new();
	r->oversleep = hist_new();
	r->epoch_stall = hist_new();
	pthread_mutex_init(&r->books, NULL);
	if (r->train->job->ramp_time_ns)
		r->left_out_stall = hist_new();
}

void rank_account_fini(struct rank *r)
{
	hist_free(r->step);
	hist_free(r->first_step);
	hist_free(r->stall);
	hist_free(r->oversleep);
	hist_free(r->epoch_stall);
	hist_free(r->left_out_stall);
	pthread_mutex_destroy(&r->books);
}

/* Nothing was computed with a sample that was not read. */
static uint64_t useful_compute_ns(const struct step *s)
{
	double part;

	if (!s->token.failed_samples)
		return s->compute_ns;
	part = (double)token_delivered(&s->token) / (double)s->token.samples;
	return (uint64_t)((double)s->compute_ns * part);
}

static void add_counted_step(struct rank *r, struct epoch_account *a, const struct step *s)
{
	uint64_t wall = s->end_ns - s->begin_ns;
	uint64_t stall = s->taken_ns - s->begin_ns;
	uint64_t useful_ns = useful_compute_ns(s);

	hist_add(r->step, wall);
	hist_add(r->stall, stall);
	hist_add(r->epoch_stall, stall);
	r->counted_steps++;
	r->counted_compute_ns += useful_ns;
	r->counted_wall_ns += wall;
	a->counted_steps++;
	a->counted_compute_ns += useful_ns;
	a->counted_wall_ns += wall;
}

void rank_count_step(struct rank *r, struct epoch_account *a, const struct step *s)
{
	struct rank_count *c = &r->count;
	uint64_t late = s->woken_ns - s->taken_ns - s->compute_ns;

	count_add(&c->compute_ns, s->compute_ns);
	count_add(&c->stall_ns, s->taken_ns - s->begin_ns);
	count_add(&c->oversleep_ns, late);
	count_add(&c->barrier_ns, s->end_ns - s->woken_ns - s->others_ns);
	count_add(&c->host_barrier_ns, s->others_ns);
	count_add(&c->step_ns, s->end_ns - s->begin_ns);
	count_add(&c->useful_ns, useful_compute_ns(s));
	count_add(&c->samples, token_delivered(&s->token));
	count_add(&c->failed_samples, s->token.failed_samples);
	count_add(&c->sample_bytes, s->token.sample_bytes);
	count_add(&c->steps, 1);
	if (s->compute_ns)
		hist_add(r->oversleep, late);
	a->samples += token_delivered(&s->token);
	a->failed_samples += s->token.failed_samples;
	a->sample_bytes += s->token.sample_bytes;
	a->extents += s->token.extents;
	a->id_sum += s->token.id_sum;
	a->wall_ns += s->end_ns - s->begin_ns;
	if (a->steps++ > 0) {
		a->measured_compute_ns += s->woken_ns - s->taken_ns;
		add_counted_step(r, a, s);
	} else {
		a->first_wait_compute_ns = s->woken_ns - s->begin_ns;
		a->first_step_ns = s->end_ns - s->begin_ns;
		hist_add(r->first_step, a->first_step_ns);
	}
}

void rank_look_for_hope(struct rank *r, uint64_t epoch)
{
	double lost = (double)r->counted_wall_ns - (double)r->counted_compute_ns;

	if (r->is_hopeless || epoch == 0 || lost <= r->train->loss_most_ns)
		return;
	r->is_hopeless = true;
	atomic_fetch_add(&r->train->hopeless, 1);
}

/* Keep the counters that a running job shows (train_look). */
static void leave_out(struct rank *r)
{
	struct rank_count *to = &r->left_out, *from = &r->count;

	count_add(&to->samples, count_get(&from->samples));
	count_add(&to->sample_bytes, count_get(&from->sample_bytes));
	count_add(&to->useful_ns, count_get(&from->useful_ns));
	count_add(&to->step_ns, count_get(&from->step_ns));
	count_add(&to->stall_ns, count_get(&from->stall_ns));
	hist_merge(r->left_out_stall, r->stall);
}

void rank_forget(struct rank *r)
{
	struct rank_count *c = &r->count;
	_Atomic uint64_t *const counters[] = {
		&c->steps,           &c->samples,
		&c->sample_bytes,    &c->failed_samples,
		&c->compute_ns,      &c->stall_ns,
		&c->barrier_ns,      &c->useful_ns,
		&c->step_ns,         &c->oversleep_ns,
		&c->eval_steps,      &c->eval_ns,
		&c->eval_samples,    &c->eval_sample_bytes,
		&c->checkpoint_ns,   &c->eval_failed_samples,
		&c->host_barrier_ns,
	};

	pthread_mutex_lock(&r->books);
	if (r->left_out_stall)
		leave_out(r);
	for (unsigned i = 0; i < ARRAY_LEN(counters); i++)
		count_set(counters[i], 0);
	struct hist *const hists[] = { r->step, r->first_step, r->stall, r->oversleep,
				       r->epoch_stall };
	for (unsigned i = 0; i < ARRAY_LEN(hists); i++)
		hist_reset(hists[i]);
	pthread_mutex_unlock(&r->books);
	r->counted_steps = r->counted_compute_ns = r->counted_wall_ns = 0;
}

void rank_start_counting(struct rank *r, struct epoch_account *a)
{
	const struct train *t = r->train;

	if (t->watch)
		t->watch->begin_anew(t->watched);
	rank_forget(r);
	usage_begin(&r->counted);
	*a = (struct epoch_account){ .epoch = a->epoch,
				     .stall = r->epoch_stall,
				     .extents = a->extents,
				     .id_sum = a->id_sum };
	r->counts = true;
	atomic_store(&r->train->counting, true);
}

/* ---- steps ---- */

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

	if (!job_decodes_batches(j))
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
