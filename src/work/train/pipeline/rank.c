/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - an accelerator: its steps, waits, barriers, checkpoints and evaluations. */
#include "work/train/pipeline/pipeline_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "io/host.h"
#include "run/make/make.h"
#include "run/slot/slot.h"
#include "work/checkpoint/writer/writer.h"

void rank_collect_au(struct job_result *out, const struct rank *ranks, const struct job *job)
{
	struct ml_result *ml = &out->ml;
	uint64_t n = job->accelerators;
	double *au = mem_array(n, sizeof(*au)), au_sum = 0;
	uint64_t au_ranks = 0, wall_ns = 0, cut_ns = 0;
	bool has_compute = dist_mean(&job->compute_time) > 0;

	ml->accelerators = n;
	ml->accelerator = job->accelerator;
	for (uint64_t i = 0; i < n; i++) {
		const struct rank *r = &ranks[i];
		const struct rank_count *c = &r->count;

		ml->samples += count_get(&c->samples);
		ml->failed_samples += count_get(&c->failed_samples);
		ml->sample_bytes += count_get(&c->sample_bytes);
		ml->counted_steps += r->counted_steps;
		if (count_get(&c->steps) > ml->steps)
			ml->steps = count_get(&c->steps);
		if (count_get(&c->step_ns) > wall_ns)
			wall_ns = count_get(&c->step_ns);
		if (r->is_counting && r->cut_ns > cut_ns)
			cut_ns = r->cut_ns;
		au[i] = has_compute ? result_percent((double)r->counted_compute_ns,
						     (double)r->counted_wall_ns)
				    : (double)NAN;
		if (!isnan(au[i])) {
			au_sum += au[i];
			au_ranks++;
		}
	}
	ml->au_percent_per_accelerator = (struct metric_list){ au, n };
	ml->au_percent = au_ranks ? au_sum / (double)au_ranks : (double)NAN;
	if (!au_ranks)
		ml->au_unmeasured = has_compute ? "no step was counted" : "compute_time=0";
	ml->too_short = ml->counted_steps < FEW_STEPS * n;
	out->wall_seconds = (double)wall_ns / 1e9;
	ml->cut_seconds = (double)cut_ns / 1e9;
}

void rank_collect_slowest(struct slowest_rank *out, const struct rank *ranks, uint64_t n)
{
	uint64_t count = 0;
	double *means = mem_array(n, sizeof(*means));

	*out = (struct slowest_rank){ UINT64_MAX, (double)NAN, (double)NAN };
	for (uint64_t i = 0; i < n; i++) {
		const struct hist *stall = ranks[i].stall;

		if (stall->count == 0)
			continue;
		means[count] = hist_mean(stall);
		if (count == 0 || means[count] > out->stall_mean_ns) {
			out->rank = ranks[i].index;
			out->stall_mean_ns = means[count];
		}
		count++;
	}
	qsort(means, count, sizeof(*means), f64_compare);
	/* If the count is even, take the lower middle: with two ranks the slow one must not be the
	 * median. */
	if (count > 0)
		out->stall_median_ns = means[(count - 1) / 2];
	mem_free(means);
}

void rank_collect_time(struct time_percent *p, const struct rank *ranks, uint64_t n)
{
	double wall = 0, compute = 0, stall = 0, barrier = 0, oversleep = 0;
	double evaluation = 0, checkpoint = 0, host_barrier = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct rank_count *c = &ranks[i].count;

		wall += (double)count_get(&c->step_ns);
		evaluation += (double)count_get(&c->eval_ns);
		checkpoint += (double)count_get(&c->checkpoint_ns);
		compute += (double)count_get(&c->compute_ns);
		stall += (double)count_get(&c->stall_ns);
		barrier += (double)count_get(&c->barrier_ns);
		host_barrier += (double)count_get(&c->host_barrier_ns);
		oversleep += (double)count_get(&c->oversleep_ns);
	}
	double known =
		compute + stall + barrier + host_barrier + oversleep + evaluation + checkpoint;
	wall += evaluation + checkpoint;
	*p = (struct time_percent){
		.compute = result_percent(compute, wall),
		.stall = result_percent(stall, wall),
		.barrier = result_percent(barrier, wall),
		.host_barrier = result_percent(host_barrier, wall),
		.checkpoint = result_percent(checkpoint, wall),
		.evaluation = result_percent(evaluation, wall),
		.oversleep = result_percent(oversleep, wall),
		.other = result_percent(wall > known ? wall - known : 0, wall),
	};
}

/* ---- evaluations ---- */

/* Run all steps of an evaluation, or as many as the time limit allows. The ranks do not wait for
 * each other until the end. 0, or -EPIPE once closed. *stopped: the run is over. */
static int rank_eval(struct rank *r, const struct stage *at, bool *stopped)
{
	struct train *t = r->train;
	struct rank_count *c = &r->count;
	struct step s = { .end_ns = u64_max(r->end_ns, peers_passed_ns(&t->peers)) };
	uint64_t begin_ns = s.end_ns;

	r->pending = (struct token){ 0 };
	rank_step_limit(r, at, 0);
	for (uint64_t b = 0; b < at->pass->sampler.steps; b++) {
		if (train_wants_stop(t, 0, s.end_ns))
			break;
		s.begin_ns = s.end_ns;
		if (rank_step_compute(r, at, b, &s) < 0) {
			*stopped = true;
			break;
		}
		count_add(&c->eval_steps, 1);
		count_add(&c->eval_samples, token_delivered(&s.token));
		count_add(&c->eval_failed_samples, s.token.failed_samples);
		count_add(&c->eval_sample_bytes, s.token.sample_bytes);
		tracemarks_step(r, at, b, &s);
	}
	if (train_is_closed(t))
		return -EPIPE;
	if (*stopped)
		peers_cut(&t->peers);
	else if (t->job->barrier != BARRIER_NONE &&
		 peers_barrier(&t->peers, &train_decide_stop, t) < 0)
		return -EPIPE;
	r->end_ns = u64_max(s.end_ns, peers_passed_ns(&t->peers));
	count_add(&c->eval_ns, r->end_ns - begin_ns);
	tracemarks_stage(r, at, begin_ns);
	*stopped |= t->job->barrier != BARRIER_NONE ? atomic_load(&t->is_decided)
						    : train_wants_stop(t, 0, r->end_ns);
	return 0;
}

/* ---- checkpoints ---- */

/* Is a checkpoint due after this step? Steps and epochs are numbered from 1, and steps
 * consecutively across all epochs. */
static bool is_due(struct train *t, const struct stage *at, uint64_t batch, uint64_t end_ns)
{
	struct train_saves *s = &t->saves;
	const struct checkpoint_every *e = &s->every;
	uint64_t steps = at->pass->sampler.steps;
	uint64_t step = at->epoch * steps + batch + 1;

	if (!t->writer || !e->count)
		return false;
	if (e->unit == EVERY_STEPS)
		return step % e->count == 0;
	if (e->unit == EVERY_EPOCHS)
		return batch + 1 == steps && (at->epoch + 1) % e->count == 0;
	/* A barrier has agreed on this step, which ended at the barrier or is the first step after
	 * it. */
	if (t->hosts)
		return s->is_agreed;

	/* By time: agree on the step to save after. If it is not this step, the rank passes it. */
	pthread_mutex_lock(&s->lock);
	if (!s->due_ns)
		s->due_ns = atomic_load(&t->start_ns) + e->count;
	if (!s->agreed_step && end_ns >= s->due_ns)
		s->agreed_step = s->passed_step < step ? step : s->passed_step + 1;
	bool is_agreed = step == s->agreed_step;
	if (!is_agreed && step > s->passed_step)
		s->passed_step = step;
	pthread_mutex_unlock(&s->lock);
	return is_agreed;
}

/* The last rank at a barrier begins a checkpoint, unless the run is interrupted. */
static void begin_save(void *arg, uint64_t votes)
{
	struct train *t = arg;
	struct train_saves *s = &t->saves;
	struct mlgen_err err = { 0 };

	(void)votes;
	s->is_agreed = false;
	if (atomic_load(t->interrupted))
		return;
	s->due_ns = clock_now(t->clock) + s->every.count;
	s->has_begun = true;
	if (writer_begin_save(t->writer, s->epoch, s->step, &err) < 0)
		failure_set(t->failure, &err);
}

static const struct peers_decision decide_save = { .apply = begin_save };

/* The ranks are done with the checkpoint: record how long they waited, and decide whether to
 * stop. */
static void end_save(void *arg, uint64_t votes)
{
	struct train *t = arg;
	struct train_saves *s = &t->saves;

	if (s->has_begun)
		writer_note_stall(t->writer, s->snapshot_ns, s->wait_ns,
				  clock_now(t->clock) - s->stopped_ns);
	s->stopped_ns = UINT64_MAX;
	s->wait_ns = s->snapshot_ns = s->agreed_step = 0;
	s->has_begun = false;
	train_apply(t, votes);
}

static void begin_after_snapshots(void *arg, uint64_t votes)
{
	begin_save(arg, votes);
	end_save(arg, votes);
}

static const struct peers_decision decide_end = { train_vote, end_save };
static const struct peers_decision decide_after_snapshots = { train_vote, begin_after_snapshots };

/* Sleep until end_ns, or until the run is cut or interrupted. */
static void sleep_until(struct rank *r, uint64_t end_ns)
{
	struct train *t = r->train;

	if (end_ns > stop_at_ns(t->stop))
		end_ns = stop_at_ns(t->stop);
	for (;;) {
		uint32_t seen = eventcount_get(&r->wakeup);

		if (train_is_cut(t) || atomic_load(t->interrupted) || clock_now(t->clock) >= end_ns)
			return;
		eventcount_wait(&r->wakeup, t->clock, seen, end_ns);
	}
}

/* Wait for the previous checkpoint, and spend the time to copy this rank's state. An interruption
 * (-ECANCELED) is handled by the last rank, in begin_save. */
static int take_snapshot(struct rank *r)
{
	struct train *t = r->train;
	struct train_saves *s = &t->saves;
	uint64_t begin_ns = peers_passed_ns(&t->peers), waited_ns = begin_ns;
	uint64_t copy_ns = 0;

	if (t->job->snapshot_bandwidth && state_is_local(t->state, r->index)) {
		struct state_bytes bytes;

		state_rank_bytes(t->state, r->index, &bytes);
		copy_ns =
			(uint64_t)(1e9 * (double)bytes.total / (double)t->job->snapshot_bandwidth);
	}
	if (writer_is_busy(t->writer)) {
		if (writer_await(t->writer) == -EPIPE)
			return -EPIPE;
		waited_ns = clock_now(t->clock);
	}
	sleep_until(r, waited_ns + copy_ns);
	pthread_mutex_lock(&s->lock);
	s->wait_ns = u64_max(s->wait_ns, waited_ns - begin_ns);
	s->snapshot_ns = u64_max(s->snapshot_ns, copy_ns);
	pthread_mutex_unlock(&s->lock);
	return peers_barrier(&t->peers, &decide_after_snapshots, t);
}

/*
 * Save a checkpoint after a training step that ended at *end_ns, if one is due.
 * All ranks meet here, whatever barrier= says, and the last of them begins it:
 *
 *	sync	meet, begin; wait until it is committed; meet
 *	async	meet; wait for the previous checkpoint; copy a snapshot, each rank
 *		its own; meet, begin
 *
 * The ranks meet after the same step: the step of a given number, the last step of an epoch, or the
 * first step that no rank has passed when the first rank finds that the time has come. With several
 * processes it is the first step that ends at or after a barrier at which one of them votes for a
 * checkpoint. So all ranks go through all barriers in the same order, and may leave the run between
 * any two. No checkpoint begins once the run is interrupted.
 *
 * 0, or -EPIPE once closed. *end_ns becomes the time when the next step begins.
 */
static int rank_checkpoint(struct rank *r, const struct stage *at, uint64_t batch, uint64_t *end_ns)
{
	struct train *t = r->train;
	struct train_saves *s = &t->saves;
	bool is_async = t->job->checkpoint_mode == CHECKPOINT_ASYNC;
	uint64_t begin_ns = *end_ns;

	if (!is_due(t, at, batch, begin_ns))
		return 0;
	pthread_mutex_lock(&s->lock);
	s->epoch = at->epoch + 1;
	s->step = at->epoch * at->pass->sampler.steps + batch + 1;
	s->stopped_ns = u64_min(s->stopped_ns, begin_ns);
	pthread_mutex_unlock(&s->lock);
	int rc = peers_barrier(&t->peers, is_async ? NULL : &decide_save, t);
	if (rc < 0)
		return rc;
	if (is_async)
		rc = take_snapshot(r);
	else if (writer_await(t->writer) == -EPIPE)
		rc = -EPIPE;
	else
		rc = peers_barrier(&t->peers, &decide_end, t);
	if (rc < 0)
		return rc;
	*end_ns = peers_passed_ns(&t->peers);
	count_add(&r->count.checkpoint_ns, *end_ns - begin_ns);
	return 0;
}

/* ---- epochs ---- */

/* Time limit of the page-cache probe. A probe that is still running then, on a slow mount, ends as
 * if it had found cached data. */
#define PROBE_NS NS_PER_S

/* The first barrier is time zero. */
static void begin_time(void *arg, uint64_t votes)
{
	struct train *t = arg;

	(void)votes;
	if (t->watch)
		t->watch->begin(t->watched);
	atomic_store(&t->start_ns, clock_now(t->clock));
	atomic_store(&t->counting, t->job->ramp_time_ns == 0);
	if (t->job->runtime_ns)
		stop_at(t->stop, train_ramp_end_ns(t) + t->job->runtime_ns);
}

static const struct peers_decision decide_start = { .apply = begin_time };

/* Vote before an epoch: is anything cached? Before the first epoch, preparation may have looked
 * already. */
static uint64_t vote_for_drop(void *arg)
{
	struct train *t = arg;
	uint64_t end_ns = clock_now(t->clock) + PROBE_NS;

	if (!t->is_dropped)
		t->is_dropped =
			residency_is_nothing(t->dataset, t->drops, t->clock, end_ns) &&
			(!t->eval || residency_is_nothing(t->eval, t->drops, t->clock, end_ns));
	return t->is_dropped ? 0 : 1;
}

/* All processes drop if any of them found cached data, because they meet afterwards. */
static void apply_drop(void *arg, uint64_t votes)
{
	struct train *t = arg;
	bool drops = votes != 0;

	atomic_store(&t->dropping, drops);
	t->drops += drops;
	t->is_dropped = false;
}

static const struct peers_decision decide_drop = { vote_for_drop, apply_drop };

/* A vote bit in addition to those of train_vote. */
#define VOTE_SAVE (UINT64_C(1) << 8)

/* Vote of a process at a training barrier, if there are several processes: is a checkpoint by time
 * due? If any process votes for it, the barrier sets saves.is_agreed for all. There is no vote on
 * stopping at the barrier of an epoch. */
static uint64_t vote_at_epoch(void *arg)
{
	struct train *t = arg;
	struct train_saves *s = &t->saves;
	uint64_t due_ns = s->due_ns ? s->due_ns : atomic_load(&t->start_ns) + s->every.count;
	bool is_due = t->hosts && t->writer && s->every.count && s->every.unit == EVERY_TIME &&
		      clock_now(t->clock) >= due_ns;

	return is_due ? VOTE_SAVE : 0;
}

static void apply_at_epoch(void *arg, uint64_t votes)
{
	struct train *t = arg;

	t->saves.is_agreed = (votes & VOTE_SAVE) != 0;
}

static const struct peers_decision decide_epoch = { vote_at_epoch, apply_at_epoch };

/* Vote at the barrier of a step, which all ranks have finished. */
static uint64_t vote_at_step(void *arg)
{
	struct train *t = arg;

	t->barrier_steps++;
	return train_vote(t) | vote_at_epoch(t);
}

static void apply_at_step(void *arg, uint64_t votes)
{
	apply_at_epoch(arg, votes);
	train_apply(arg, votes);
}

static const struct peers_decision decide_step = { vote_at_step, apply_at_step };

/* Wait until all loaders of this rank have raised `counter` to `value`. */
static int await_loaders(struct rank *r, const _Atomic uint64_t *counter, uint64_t value)
{
	for (;;) {
		uint32_t seen = eventcount_get(&r->wakeup);

		if (train_is_cut(r->train))
			return -EPIPE;
		if (atomic_load(counter) >= value)
			return 0;
		eventcount_wait(&r->wakeup, r->train->clock, seen, stop_at_ns(r->train->stop));
	}
}

/* All ranks meet, their loaders drop the dataset from the page cache, and all meet again. */
static int drop_cache(struct rank *r)
{
	struct train *t = r->train;

	if (peers_barrier(&t->peers, &decide_drop, t) < 0)
		return -EPIPE;
	if (!atomic_load(&t->dropping))
		return 0;
	atomic_store(&r->loaders_dropped, 0);
	atomic_fetch_add(&r->drop_requests, 1);
	rank_wake_loaders(r, UINT64_MAX);
	if (!t->job->read_threads)
		loader_drop(&r->loaders[0]);
	if (await_loaders(r, &r->loaders_dropped, job_read_threads(t->job)) < 0)
		return -EPIPE;
	int rc = peers_barrier(&t->peers, NULL, NULL);
	atomic_store(&t->dropping, false);
	return rc;
}

/* The last rank of each process calls this before an epoch; one process per host empties the
 * caches. */
static uint64_t empty_caches(void *arg)
{
	struct train *t = arg;

	if (hosts_is_first_here(t->hosts))
		dropcaches_run("", &t->empty_err);
	return 0;
}

static const struct peers_decision decide_empty = { .vote = empty_caches };

/* Empty the page cache before an epoch as the job asks. */
static int drop_before(struct rank *r, uint64_t epoch)
{
	struct train *t = r->train;

	if (train_drops_before(t, epoch) && drop_cache(r) < 0)
		return -EPIPE;
	/* Before the first epoch the run itself has emptied the caches. */
	if (!job_touches_files(t->job) || epoch == 0 || t->job->drop_caches != DROP_CACHES_EPOCH)
		return 0;
	if (peers_barrier(&t->peers, &decide_empty, t) < 0)
		return -EPIPE;
	if (!t->empty_err.code)
		return 0;
	failure_set(t->failure, &t->empty_err);
	return -EPIPE;
}

/* Run a step, and the checkpoint after it if one is due. 0, or -EPIPE once closed or cut. */
static int run_step(struct rank *r, const struct stage *at, uint64_t batch, struct epoch_account *a,
		    struct step *s)
{
	struct train *t = r->train;

	if (rank_step_compute(r, at, batch, s) < 0)
		return -EPIPE;
	if (t->job->barrier == BARRIER_STEP) {
		if (peers_barrier(&t->peers, &decide_step, t) < 0) {
			s->end_ns = clock_now(t->clock);
			s->host_barrier_ns = 0;
			return -EPIPE;
		}
		s->end_ns = peers_passed_ns(&t->peers);
		s->host_barrier_ns = s->end_ns - peers_here_ns(&t->peers);
	}
	tracemarks_step(r, at, batch, s);
	rank_count_step(r, a, s);
	/* Can the required AU still be reached? The first epoch always runs to its end, so that its
	 * result covers all files. */
	double lost = (double)r->counted_wall_ns - (double)r->counted_compute_ns;
	if (!r->misses_au && a->epoch > 0 && lost > t->max_loss_ns) {
		r->misses_au = true;
		atomic_fetch_add(&t->ranks_missing_au, 1);
	}
	if (!r->is_counting && s->end_ns >= train_ramp_end_ns(t)) {
		rank_start_counting(r, a);
		s->end_ns = clock_now(t->clock);
	}
	s->begin_ns = s->end_ns; /* the next step begins here */
	a->is_whole = batch + 1 == at->pass->sampler.steps;
	return rank_checkpoint(r, at, batch, &s->end_ns);
}

/* Run the steps of an epoch until its end, a limit or the cut (*stopped). A step that was cut off
 * does not count. 0, or -EPIPE once closed. */
static int run_epoch(struct rank *r, const struct stage *at, struct epoch_account *a, bool *stopped)
{
	struct train *t = r->train;
	uint64_t steps = at->pass->sampler.steps, before = a->epoch * steps;
	/* Later epochs begin where the last one ended, or where all ranks met after it. */
	uint64_t begin_ns = a->epoch ? u64_max(r->end_ns, peers_passed_ns(&t->peers))
				     : atomic_load(&t->start_ns);
	struct step s = { .end_ns = begin_ns };

	r->pending = (struct token){ 0 };
	rank_step_limit(r, at, 0);
	for (uint64_t b = 0; b < steps && !*stopped; b++) {
		s.begin_ns = s.end_ns;
		*stopped = run_step(r, at, b, a, &s) < 0;
		if (train_is_closed(t))
			return -EPIPE;
		if (*stopped) {
			/* Part of the step's batch may have been read in this time. */
			uint64_t now_ns = clock_now(t->clock);

			if (now_ns > s.begin_ns)
				r->cut_ns = now_ns - s.begin_ns;
			peers_cut(&t->peers);
		} else {
			*stopped = t->job->barrier == BARRIER_STEP
					   ? atomic_load(&t->is_decided)
					   : train_wants_stop(t, before + b + 1, s.end_ns);
		}
	}
	r->end_ns = s.end_ns;
	tracemarks_stage(r, at, begin_ns);
	return 0;
}

/* Add the account of an epoch. Within ramp_time the account has no counts. */
static int end_epoch(struct rank *r, struct epoch_account *a)
{
	struct mlgen_err err = { 0 };

	if (a->extents == 0)
		return 0; /* cut before its first step was whole */
	if (!r->is_counting) {
		*a = (struct epoch_account){ .epoch = a->epoch,
					     .stall = a->stall,
					     .extents = a->extents,
					     .id_sum = a->id_sum,
					     .is_whole = a->is_whole };
		hist_reset(r->epoch_stall);
	}
	int rc = epochs_add(r->train->epochs, a, &err);
	if (rc < 0)
		failure_set(r->train->failure, &err);
	return rc;
}

/* Run an epoch of training: 0, 1 when the run is over, or -EPIPE once closed. */
static int train_epoch(struct rank *r, const struct stage *at)
{
	struct train *t = r->train;
	struct epoch_account a = { .epoch = at->epoch, .stall = r->epoch_stall };
	bool stopped = false;

	count_set(&r->count.epoch, at->epoch + 1);
	hist_reset(r->epoch_stall);
	if (drop_before(r, at->epoch) < 0 || rank_order_draw(r, at->epoch) < 0)
		return -EPIPE;
	if (at->epoch == 0 && peers_barrier(&t->peers, &decide_start, t) < 0)
		return -EPIPE;
	if (run_epoch(r, at, &a, &stopped) < 0 || end_epoch(r, &a) < 0)
		return -EPIPE;
	if (stopped)
		return 1;
	if (t->job->barrier == BARRIER_EPOCH && !train_is_last_epoch(t, at->epoch) &&
	    peers_barrier(&t->peers, &decide_epoch, t) < 0)
		return -EPIPE;
	return 0;
}

static void train_loop(struct rank *r)
{
	struct train *t = r->train;
	struct stage at = stage_first(&t->stages);
	bool stopped = false;

	r->is_counting = t->job->ramp_time_ns == 0;
	while (!stopped) {
		if (at.pass->is_eval) {
			if (rank_eval(r, &at, &stopped) < 0)
				return;
		} else if (train_epoch(r, &at) != 0) {
			return;
		}
		stage_next(&t->stages, &at);
		/* Evaluations after the last epoch still belong to the run. */
		if (!at.pass->is_eval && train_is_last_epoch(t, at.epoch - 1))
			return;
	}
}

/* Set the rank up and wait for its loaders. False: the run is over already. */
static bool get_ready(struct rank *r)
{
	struct train *t = r->train;
	struct mlgen_err err = { 0 };

	if (t->place->rank_cpus && host_set_cpus(t->place->rank_cpus, true, &err) < 0)
		failure_set(t->failure, &err);
	if (!t->job->read_threads && !loader_open(&r->loaders[0]))
		return false;
	tracemarks_open(r);
	if (await_loaders(r, &r->ready, job_read_threads(t->job)) < 0)
		return false;
	if (t->writer && writer_await_ready(t->writer) < 0)
		return false;
	sleep_until(r, t->start_after_ns); /* startdelay */
	return !train_is_closed(t) && !atomic_load(t->interrupted);
}

void rank_wake_loaders(struct rank *r, uint64_t limit)
{
	for (uint64_t i = 0; i < job_read_threads(r->train->job); i++) {
		struct loader *l = &r->loaders[i];

		if (limit == UINT64_MAX || atomic_load(&l->awaited_batch) < limit)
			eventcount_notify(&l->wakeup, r->train->clock);
	}
}

void *rank_main(void *arg)
{
	struct rank *r = arg;
	struct train *t = r->train;

	clock_join(t->clock);
	usage_begin(&r->usage);
	if (get_ready(r)) {
		usage_begin(&r->counted);
		train_loop(r);
		usage_end(&r->counted);
	}
	if (!r->is_counting)
		rank_reset_counts(r); /* the run ended within ramp_time */
	usage_end(&r->usage);
	if (r->trace && t->job->read_threads)
		trace_ring_end(r->trace);
	r->trace = NULL;
	if (!t->job->read_threads)
		loader_close(&r->loaders[0]);
	peers_leave(&t->peers);
	/* The last rank ends the loaders, and the checkpoint writer once its checkpoint is
	 * finished. */
	if (atomic_fetch_sub(&t->ranks_left, 1) == 1) {
		atomic_store(&t->end_ns, clock_now(t->clock));
		atomic_store(&t->finished, true);
		for (uint64_t i = 0; i < t->job->accelerators; i++)
			rank_wake_loaders(&t->ranks[i], UINT64_MAX);
		if (t->writer)
			writer_finish(t->writer);
	}
	clock_leave(t->clock);
	return NULL;
}
