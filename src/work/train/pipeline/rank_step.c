/* SPDX-License-Identifier: Apache-2.0 */
/* rank_step.c - a step of an accelerator: its counts, trace marks and drawn orders. */
#include "work/train/pipeline/pipeline_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "data/order/order.h"
#include "work/train/tier/tier.h"

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

void tracemarks_sample(const struct loader *l, const struct read_task *task)
{
	const struct extent *x = &task->extent;
	const struct dataset *ds = task->dataset;
	char path[PATH_MAX];
	/* A sample of several files is named after its first file; task->path is the last. */
	bool has_first =
		dataset_sample_parts(ds) > 1 && dataset_path(ds, x->file, path, PATH_MAX) > 0;
	uint64_t end_ns = task->end_ns ? task->end_ns : io_last_ns(l->worker.io);
	const struct trace_mark mark = {
		.op = TRACE_SAMPLE,
		.start_ns = task->start_ns ? task->start_ns : end_ns,
		.end_ns = end_ns,
		.off = x->id,
		.len_bytes = dataset_extent_bytes(ds, x),
		.result = (int64_t)l->rank->index,
		.text = has_first ? path : task->path,
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

/* ---- orders that follow from losses, or from the contents of a cache ---- */

/* Bytes that all processes exchange at a time: as many whole steps as fit, but at least one
 * step. */
#define EXCHANGE_BYTES 131072u

/* The samples that an epoch has computed on, exchanged and learnt a few steps at a time. */
struct learning {
	struct train *t;
	uint64_t epoch;
	struct sampler_epoch order; /* has the bounds of batches */
	struct orderwalk walk;      /* visits the ranks that this process knows */
	struct orderwalk_at at;
	bool has_next;
	struct buf mine, all;
	uint64_t *batch;
};

/* Samples of one process in these steps: step by step, rank by rank. */
struct process_samples {
	const char *at;
	uint64_t ranks;
};

/* Number of samples of one rank in these steps. */
static uint64_t rank_positions(struct learning *l, uint64_t first, uint64_t end)
{
	return sampler_batch_start(&l->order, 0, end) - sampler_batch_start(&l->order, 0, first);
}

static void learn_batch(struct learning *l, struct process_samples *p, uint64_t count)
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

/* Learn the samples of all processes in these steps. The processes are in the order of their
 * ranks. */
static void learn_steps(struct learning *l, uint64_t first, uint64_t end, unsigned processes)
{
	uint64_t rank_bytes = rank_positions(l, first, end) * sizeof(uint32_t), ranks = 0;
	struct process_samples *samples = mem_array(processes, sizeof(*samples));

	for (unsigned i = 0; i < processes && rank_bytes; i++) {
		size_t n;

		samples[i].at = hosts_part(&l->all, i, &n);
		samples[i].ranks = n / rank_bytes;
		ranks += samples[i].ranks;
	}
	assert(!rank_bytes || ranks == l->t->stages.train.sampler.ranks);
	for (uint64_t step = first; step < end; step++) {
		uint64_t count = rank_positions(l, step, step + 1);

		for (unsigned i = 0; i < processes; i++)
			for (uint64_t r = 0; r < samples[i].ranks; r++)
				learn_batch(l, &samples[i], count);
	}
	mem_free(samples);
}

/* Are there ranks whose samples this process does not know? */
static bool needs_exchange(const struct train *t)
{
	struct sampler_ranks known = sampler_ranks_known(t->job);

	return t->importance && known.end - known.first < t->stages.train.sampler.ranks;
}

/* Learn all samples of an epoch that every rank has finished. 0, or -EPIPE: the training ends, here
 * or in another process. */
static int learn_epoch(struct train *t, uint64_t epoch)
{
	const struct sampler *s = &t->stages.train.sampler;
	struct sampler_ranks known = sampler_ranks_known(t->job);
	uint64_t step_bytes = s->ranks * s->batch * sizeof(uint32_t);
	uint64_t steps = u64_max(EXCHANGE_BYTES / step_bytes, 1);
	struct learning l = { .t = t, .epoch = epoch };
	bool exchanges = needs_exchange(t);
	int rc = 0;

	sampler_epoch(&l.order, s, epoch);
	orderwalk_begin(&l.walk, s, known.first, known.end, epoch);
	l.has_next = orderwalk_next(&l.walk, &l.at);
	l.batch = mem_array(s->batch, sizeof(*l.batch));
	for (uint64_t first = 0; first < s->steps && rc == 0; first += steps) {
		uint64_t end = u64_min(first + steps, s->steps);

		/* The samples that the known ranks have computed on up to this step. */
		buf_reset(&l.mine);
		while (l.has_next && l.at.step < end) {
			uint32_t extent = (uint32_t)tier_trained(l.t->tier, &l.at);

			buf_addn(&l.mine, (const char *)&extent, sizeof(extent));
			l.has_next = orderwalk_next(&l.walk, &l.at);
		}

		if (!exchanges)
			rc = hosts_gather(NULL, l.mine.s, l.mine.len, &l.all, NULL);
		else if (train_is_cut(t))
			rc = -EPIPE;
		else
			rc = peers_exchange(&t->peers, l.mine.s, l.mine.len, &l.all);
		if (rc == 0)
			learn_steps(&l, first, end, exchanges ? hosts_total(t->hosts) : 1);
	}
	orderwalk_end(&l.walk);
	buf_fini(&l.mine);
	buf_fini(&l.all);
	mem_free(l.batch);
	return rc;
}

/* The last rank at the barrier before an epoch draws the order of the epoch. With the same losses
 * every process draws the same order. */
static uint64_t draw_order(void *arg)
{
	struct train *t = arg;
	uint64_t from_ns = clock_now(t->clock), epoch = t->orders_drawn;

	tier_decide_remaining(t->tier);
	if (t->importance && epoch > 0 && !needs_exchange(t))
		learn_epoch(t, epoch - 1);
	if (t->importance)
		importance_draw(t->importance, epoch, t->in_cache, t->cache);
	if (t->hits_first)
		hitsfirst_draw(t->hits_first, epoch, t->in_cache, t->cache);
	t->orders_drawn = epoch + 1;
	t->draw_ns += clock_now(t->clock) - from_ns;
	return 0;
}

static const struct peers_decision decide_order = { .vote = draw_order };

static uint64_t reset_exchange(void *arg)
{
	struct train *t = arg;

	atomic_store(&t->exchange_claimed, false);
	return 0;
}

static const struct peers_decision decide_exchange = { .vote = reset_exchange };

/* Exchange the samples of an epoch once all ranks of all processes have finished it. One rank of
 * each process does this, outside the barrier's lock, because no thread may wait under that
 * lock. */
static int exchange_epoch(struct train *t)
{
	if (peers_barrier(&t->peers, &decide_exchange, t) < 0)
		return -EPIPE;
	if (atomic_exchange(&t->exchange_claimed, true))
		return 0;
	uint64_t from_ns = clock_now(t->clock);
	if (learn_epoch(t, t->orders_drawn - 1) < 0) {
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

	if (has_order && epoch > 0 && needs_exchange(t) && exchange_epoch(t) < 0)
		return -EPIPE;
	return has_order ? peers_barrier(&t->peers, &decide_order, t) : 0;
}

/* ---- counts ---- */

void rank_count_step(struct rank *r, struct epoch_account *a, const struct step *s)
{
	struct rank_count *c = &r->count;
	uint64_t late = s->woken_ns - s->taken_ns - s->compute_ns;
	uint64_t wall = s->end_ns - s->begin_ns;
	uint64_t stall = s->taken_ns - s->begin_ns;
	uint64_t useful_ns = s->compute_ns; /* on the samples that were read */

	if (s->token.failed_samples) {
		double part = (double)token_delivered(&s->token) / (double)s->token.samples;

		useful_ns = (uint64_t)((double)s->compute_ns * part);
	}
	count_add(&c->compute_ns, s->compute_ns);
	count_add(&c->stall_ns, stall);
	count_add(&c->oversleep_ns, late);
	count_add(&c->barrier_ns, s->end_ns - s->woken_ns - s->host_barrier_ns);
	count_add(&c->host_barrier_ns, s->host_barrier_ns);
	count_add(&c->step_ns, wall);
	count_add(&c->useful_ns, useful_ns);
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
	a->wall_ns += wall;
	if (a->steps++ > 0) {
		a->measured_compute_ns += s->woken_ns - s->taken_ns;
		hist_add(r->step, wall);
		hist_add(r->stall, stall);
		hist_add(r->epoch_stall, stall);
		r->counted_steps++;
		r->counted_compute_ns += useful_ns;
		r->counted_wall_ns += wall;
		a->counted_steps++;
		a->counted_compute_ns += useful_ns;
		a->counted_wall_ns += wall;
	} else {
		a->first_wait_compute_ns = s->woken_ns - s->begin_ns;
		a->first_step_ns = wall;
		hist_add(r->first_step, a->first_step_ns);
	}
}

void rank_reset_counts(struct rank *r)
{
	struct rank_count *c = &r->count, *ramp = &r->ramp_count;
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

	pthread_mutex_lock(&r->counts_lock);
	/* The status line shows these counters, which must not fall (train_live). */
	if (r->ramp_stall) {
		count_add(&ramp->samples, count_get(&c->samples));
		count_add(&ramp->sample_bytes, count_get(&c->sample_bytes));
		count_add(&ramp->useful_ns, count_get(&c->useful_ns));
		count_add(&ramp->step_ns, count_get(&c->step_ns));
		count_add(&ramp->stall_ns, count_get(&c->stall_ns));
		hist_merge(r->ramp_stall, r->stall);
	}
	for (unsigned i = 0; i < ARRAY_LEN(counters); i++)
		count_set(counters[i], 0);
	struct hist *const hists[] = { r->step, r->first_step, r->stall, r->oversleep,
				       r->epoch_stall };
	for (unsigned i = 0; i < ARRAY_LEN(hists); i++)
		hist_reset(hists[i]);
	pthread_mutex_unlock(&r->counts_lock);
	r->counted_steps = r->counted_compute_ns = r->counted_wall_ns = 0;
}

void rank_start_counting(struct rank *r, struct epoch_account *a)
{
	const struct train *t = r->train;

	if (t->watch)
		t->watch->ramp_ended(t->watched);
	rank_reset_counts(r);
	usage_begin(&r->counted);
	*a = (struct epoch_account){ .epoch = a->epoch,
				     .stall = r->epoch_stall,
				     .extents = a->extents,
				     .id_sum = a->id_sum };
	r->is_counting = true;
	atomic_store(&r->train->counting, true);
}

/* ---- steps ---- */

/* May the next stage be read while this one is not over? */
static bool runs_on(const struct train *t, const struct stage *at)
{
	return loader_model(t->job)->runs_on && stage_runs_on(&t->stages, at) &&
	       !train_is_last_epoch(t, at->epoch) && !train_drops_before(t, at->epoch + 1);
}

/* Time when a batch is decoded. Up to decode_threads batches are decoded at a time, in turn.
 * Decoding of batch n starts when the batch is whole and batch n - decode_threads is done. */
static uint64_t decode_batch_ns(struct rank *r, const struct stage *at, uint64_t batch,
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

/* Take a batch. s->taken_ns is the time when the batch was ready and decoded, but not before
 * s->begin_ns or, after a wait, before this thread saw the batch. */
static int take_batch(struct rank *r, const struct stage *at, uint64_t batch, struct step *s)
{
	struct train *t = r->train;
	const struct loader_model *model = loader_model(t->job);
	const struct sampler *order = &at->pass->sampler;
	uint64_t samples = sampler_batch_samples(order, batch);
	uint64_t left = sampler_rank_samples(order) - batch * order->batch;
	/* The shuffle buffer must be full, or contain all samples that are left. */
	uint64_t need = u64_min(samples + pass_shuffle_buffer(t->job, at->pass), left);
	bool waits = false;

	for (;; waits = true) {
		uint32_t seen = eventcount_get(&r->wakeup);

		model->collect(r, at, batch, need);
		if (r->pending.samples >= need)
			break;
		if (train_is_cut(t))
			return -EPIPE;
		if (!waits)
			count_set(&r->count.waiting_since_ns, clock_now(t->clock));
		eventcount_wait(&r->wakeup, t->clock, seen, stop_at_ns(t->stop));
	}
	uint64_t whole_ns = waits ? clock_now(t->clock) : s->begin_ns;
	token_split(&r->pending, samples, &s->token);
	uint64_t decoded_ns = decode_batch_ns(r, at, batch, &s->token);
	if (decoded_ns > clock_now(t->clock) && !stop_sleep_until(t->stop, t->clock, decoded_ns))
		return -EPIPE;
	count_set(&r->count.waiting_since_ns, 0);
	s->taken_ns = u64_max(whole_ns, decoded_ns);
	return 0;
}

void rank_step_limit(struct rank *r, const struct stage *at, uint64_t batches)
{
	uint64_t limit = at->first_batch + batches + at->pass->window;
	struct stage last = *at;

	/* An epoch can be shorter than the window. */
	while (limit > stage_end_batch(&last) && runs_on(r->train, &last))
		stage_next(&r->train->stages, &last);
	limit = u64_min(limit, stage_end_batch(&last));
	atomic_store(&r->limit, limit);
	rank_wake_loaders(r, limit);
}

int rank_step_compute(struct rank *r, const struct stage *at, uint64_t batch, struct step *s)
{
	struct train *t = r->train;
	const struct job *j = t->job;
	bool is_eval = at->pass->is_eval;
	uint64_t stream = is_eval ? RNG_EVAL : RNG_COMPUTE, end_ns;

	count_set(&r->count.step, batch + 1);
	if (take_batch(r, at, batch, s) < 0)
		return -EPIPE;
	rank_step_limit(r, at, batch + 1);
	s->compute_ns =
		dist_draw(is_eval ? &j->eval_time : &j->compute_time, j->randseed,
			  (stream << 32) + r->index, at->epoch * at->pass->sampler.steps + batch);
	end_ns = s->woken_ns = s->taken_ns + s->compute_ns;
	if (s->compute_ns)
		s->woken_ns = stop_sleep_exactly(t->stop, t->clock, end_ns, &r->late_ns);
	if (s->woken_ns < end_ns)
		return -EPIPE;
	s->end_ns = s->woken_ns;
	return 0;
}
