/* SPDX-License-Identifier: Apache-2.0 */
/* rank_step.c - a step of an accelerator, and in which order it trains. */
#include "work/train/pipeline/pipeline_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/util.h"
#include "data/order/order.h"
#include "work/train/tier/tier.h"

void tracemarks_role(const struct loader *l, char role[TRACED_ROLE_BYTES])
{
	if (l->rank->train->job->read_threads)
		snprintf(role, TRACED_ROLE_BYTES, "loader %" PRIu64 " of rank %" PRIu64, l->index,
			 l->rank->index);
	else
		snprintf(role, TRACED_ROLE_BYTES, "rank %" PRIu64, l->rank->index);
}

void tracemarks_open(struct rank *r)
{
	char role[TRACED_ROLE_BYTES];

	if (!r->train->job->read_threads) {
		r->trace = r->loaders[0].worker.trace;
		return;
	}
	snprintf(role, sizeof(role), "rank %" PRIu64, r->index);
	r->trace = traced_ring(r->train->traced, role, 0);
}

void tracemarks_close(struct rank *r)
{
	if (r->trace && r->train->job->read_threads)
		trace_ring_end(r->trace);
	r->trace = NULL;
}

/* A sample of several files is named by its first; task->path is the last. */
static const char *path_of(const struct read_task *task, char path[PATH_MAX])
{
	const struct dataset *ds = task->dataset;

	return dataset_sample_parts(ds) > 1 &&
			       dataset_path(ds, task->extent.file, path, PATH_MAX) > 0
		       ? path
		       : task->path;
}

void tracemarks_sample(const struct loader *l, const struct read_task *task)
{
	const struct extent *x = &task->extent;
	char path[PATH_MAX];
	uint64_t end_ns = task->end_ns ? task->end_ns : io_last_ns(l->worker.io);
	const struct trace_mark mark = {
		.op = TRACE_SAMPLE,
		.start_ns = task->start_ns ? task->start_ns : end_ns,
		.end_ns = end_ns,
		.off = x->id,
		.len_bytes = dataset_extent_bytes(task->dataset, x),
		.result = (int64_t)l->rank->index,
		.text = path_of(task, path),
	};

	if (!task->error && x->samples)
		trace_ring_mark(l->worker.trace, &mark);
}

void tracemarks_step(const struct rank *r, const struct stage *at, uint64_t batch,
		     const struct step *s)
{
	struct trace_mark mark = {
		.op = TRACE_COMPUTE,
		.start_ns = s->taken_ns,
		.end_ns = s->woken_ns,
		.off = at->epoch * at->pass->sampler.steps + batch,
		.len_bytes = s->token.samples,
		.result = (int64_t)r->index,
	};

	if (!r->trace)
		return;
	if (s->compute_ns)
		trace_ring_mark(r->trace, &mark);
	mark.op = TRACE_STEP;
	mark.start_ns = s->begin_ns;
	mark.end_ns = s->end_ns;
	trace_ring_mark(r->trace, &mark);
}

void tracemarks_stage(const struct rank *r, const struct stage *at, uint64_t begin_ns)
{
	bool is_eval = at->pass->is_eval;
	struct trace_mark mark = {
		.op = TRACE_STAGE,
		.start_ns = begin_ns,
		.end_ns = u64_max(r->end_ns, begin_ns),
		.off = TRACE_UNKNOWN,
		.len_bytes = TRACE_UNKNOWN,
		.result = (int64_t)r->index,
		.text = is_eval ? "eval" : "train",
	};

	if (!r->trace)
		return;
	trace_ring_mark(r->trace, &mark);
	if (is_eval)
		return;
	mark.op = TRACE_EPOCH;
	mark.off = at->epoch;
	mark.text = NULL;
	trace_ring_mark(r->trace, &mark);
}

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
