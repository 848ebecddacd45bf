/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - an accelerator: its steps, what it waits for, and its barriers. */
#include "work/train/pipeline/pipeline_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "io/host.h"
#include "io/pagecache.h"
#include "run/make/make.h"
#include "run/slot/slot.h"
#include "work/checkpoint/saver/saver.h"

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
		if (r->counts && r->cut_ns > cut_ns)
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

/* Of the ranks' mean stalls, while each still has its own histogram. */
void rank_collect_slowest(struct slowest_rank *out, const struct rank *ranks, uint64_t all)
{
	uint64_t n = 0;
	double *means = mem_array(all, sizeof(*means));

	*out = (struct slowest_rank){ UINT64_MAX, (double)NAN, (double)NAN };
	for (uint64_t i = 0; i < all; i++) {
		const struct hist *stall = ranks[i].stall;

		if (stall->count == 0)
			continue;
		means[n] = hist_mean(stall);
		if (n == 0 || means[n] > out->stall_mean_ns) {
			out->rank = ranks[i].index;
			out->stall_mean_ns = means[n];
		}
		n++;
	}
	qsort(means, n, sizeof(*means), f64_compare);
	/* The lower one of two middles is taken: of two means, the slow one has no part in it. */
	if (n > 0)
		out->stall_median_ns = means[(n - 1) / 2];
	mem_free(means);
}

void rank_collect_time(struct time_percent *p, const struct rank *ranks, uint64_t n)
{
	double wall = 0, compute = 0, stall = 0, barrier = 0, oversleep = 0;
	double evaluation = 0, checkpoint = 0, others = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct rank_count *c = &ranks[i].count;

		wall += (double)count_get(&c->step_ns);
		evaluation += (double)count_get(&c->eval_ns);
		checkpoint += (double)count_get(&c->checkpoint_ns);
		compute += (double)count_get(&c->compute_ns);
		stall += (double)count_get(&c->stall_ns);
		barrier += (double)count_get(&c->barrier_ns);
		others += (double)count_get(&c->host_barrier_ns);
		oversleep += (double)count_get(&c->oversleep_ns);
	}
	double known = compute + stall + barrier + others + oversleep + evaluation + checkpoint;
	wall += evaluation + checkpoint;
	*p = (struct time_percent){
		.compute = result_percent(compute, wall),
		.stall = result_percent(stall, wall),
		.barrier = result_percent(barrier, wall),
		.host_barrier = result_percent(others, wall),
		.checkpoint = result_percent(checkpoint, wall),
		.evaluation = result_percent(evaluation, wall),
		.oversleep = result_percent(oversleep, wall),
		.other = result_percent(wall > known ? wall - known : 0, wall),
	};
}

void rank_collect_usage(struct usage *u, const struct rank *ranks, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		usage_add(u, &ranks[i].usage);
}

double rank_collect_cpu_seconds(const struct rank *ranks, uint64_t n)
{
	uint64_t ns = 0;

	for (uint64_t i = 0; i < n; i++)
		ns += ranks[i].counted.user_ns + ranks[i].counted.system_ns;
	return (double)ns / 1e9;
}

struct hist *rank_collect_hist(struct rank *ranks, uint64_t n, size_t member_off)
{
	struct hist *to = *(struct hist **)((char *)&ranks[0] + member_off);

	for (uint64_t i = 1; i < n; i++)
		hist_merge(to, *(struct hist **)((char *)&ranks[i] + member_off));
	return to;
}

/* ---- evaluations ---- */

static void add_eval_step(struct rank *r, const struct step *s)
{
	struct rank_count *c = &r->count;

	count_add(&c->eval_steps, 1);
	count_add(&c->eval_samples, token_delivered(&s->token));
	count_add(&c->eval_failed_samples, s->token.failed_samples);
	count_add(&c->eval_sample_bytes, s->token.sample_bytes);
}

/* All its steps, or until time is up, each rank for itself; then they wait for each other. 0, or
 * -EPIPE once closed. *stopped: the run is over. */
static int rank_eval(struct rank *r, const struct stage *at, bool *stopped)
{
	struct train *t = r->train;
	struct step s = { .end_ns = u64_max(r->end_ns, peers_passed_ns(&t->peers)) };
	uint64_t begin_ns = s.end_ns;

	r->have = (struct token){ 0 };
	rank_step_limit(r, at, 0);
	for (uint64_t b = 0; b < at->pass->sampler.steps; b++) {
		if (train_wants_stop(t, 0, s.end_ns))
			break;
		s.begin_ns = s.end_ns;
		if (rank_step_compute(r, at, b, &s) < 0) {
			*stopped = true;
			break;
		}
		add_eval_step(r, &s);
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
	count_add(&r->count.eval_ns, r->end_ns - begin_ns);
	tracemarks_stage(r, at, begin_ns);
	*stopped |= t->job->barrier != BARRIER_NONE ? atomic_load(&t->is_decided)
						    : train_wants_stop(t, 0, r->end_ns);
	return 0;
}

/* ---- checkpoints ---- */

/* Of a time: agree on a step, and go beyond this one or save after it. */
static bool is_time(struct train *t, uint64_t step, uint64_t end_ns)
{
	struct train_saves *s = &t->saves;
	bool is_due;

	pthread_mutex_lock(&s->lock);
	if (!s->due_ns)
		s->due_ns = atomic_load(&t->start_ns) + s->every.count;
	if (!s->agreed && end_ns >= s->due_ns)
		s->agreed = s->passed < step ? step : s->passed + 1;
	is_due = step == s->agreed;
	if (!is_due && step > s->passed)
		s->passed = step;
	pthread_mutex_unlock(&s->lock);
	return is_due;
}

/* Steps and epochs count from 1, steps through all epochs. */
static bool is_due(struct train *t, const struct stage *at, uint64_t batch, uint64_t end_ns)
{
	const struct checkpoint_every *e = &t->saves.every;
	uint64_t steps = at->pass->sampler.steps;
	uint64_t step = at->epoch * steps + batch + 1;

	if (!t->saver || !e->count)
		return false;
	if (e->unit == EVERY_STEPS)
		return step % e->count == 0;
	if (e->unit == EVERY_EPOCHS)
		return batch + 1 == steps && (at->epoch + 1) % e->count == 0;
	/* What was agreed on at a barrier holds for the step behind it. */
	return t->hosts ? t->saves.is_now : is_time(t, step, end_ns);
}

/* By the last here at a barrier of training, of several processes: is it time for one? Where it is
 * for any of them, saves.is_now is set by that barrier. */
/* A time is up for all processes when it is so for one. */
static bool rank_checkpoint_vote(struct train *t)
{
	struct train_saves *s = &t->saves;
	uint64_t due_ns = s->due_ns ? s->due_ns : atomic_load(&t->start_ns) + s->every.count;

	return t->hosts && t->saver && s->every.count && s->every.unit == EVERY_TIME &&
	       clock_now(t->clock) >= due_ns;
}

/* At a barrier. */
static void begin_save(void *arg, uint64_t votes)
{
	struct train *t = arg;
	struct train_saves *s = &t->saves;
	struct mlgen_err err = { 0 };

	(void)votes;
	s->is_now = false;
	if (atomic_load(t->interrupted))
		return;
	s->due_ns = clock_now(t->clock) + s->every.count;
	s->has_begun = true;
	if (saver_begin_save(t->saver, s->epoch, s->step, &err) < 0)
		failure_set(t->failure, &err);
}

static const struct peers_decision decide_save = { .apply = begin_save };

/* Of those who stood still: they go on, or time is up. */
static void end_save(void *arg, uint64_t votes)
{
	struct train *t = arg;
	struct train_saves *s = &t->saves;

	if (s->has_begun)
		saver_note_stall(t->saver, s->snapshot_ns, s->wait_ns,
				 clock_now(t->clock) - s->from_ns);
	s->from_ns = UINT64_MAX;
	s->wait_ns = s->snapshot_ns = s->agreed = 0;
	s->has_begun = false;
	train_apply(t, votes);
}

static void begin_behind_snapshots(void *arg, uint64_t votes)
{
	begin_save(arg, votes);
	end_save(arg, votes);
}

static const struct peers_decision decide_end = { train_vote, end_save };
static const struct peers_decision decide_behind_snapshots = { train_vote, begin_behind_snapshots };

/* It stands still from now on. */
static int rank_checkpoint_enter(struct rank *r, const struct stage *at, uint64_t batch,
				 uint64_t end_ns, bool is_async)
{
	struct train *t = r->train;
	struct train_saves *s = &t->saves;

	pthread_mutex_lock(&s->lock);
	s->epoch = at->epoch + 1;
	s->step = at->epoch * at->pass->sampler.steps + batch + 1;
	if (end_ns < s->from_ns)
		s->from_ns = end_ns;
	pthread_mutex_unlock(&s->lock);
	return peers_barrier(&t->peers, is_async ? NULL : &decide_save, t);
}

/* Until its state has been copied, or there is no more use in that. */
static void sleep_until(struct rank *r, uint64_t end_ns)
{
	struct train *t = r->train;

	if (end_ns > stop_at_ns(t->stop))
		end_ns = stop_at_ns(t->stop);
	for (;;) {
		uint32_t seen = bell_look(&r->filled);

		if (train_is_cut(t) || atomic_load(t->interrupted) || clock_now(t->clock) >= end_ns)
			return;
		bell_wait(&r->filled, t->clock, seen, end_ns);
	}
}

static uint64_t time_of_snapshot_ns(const struct rank *r)
{
	const struct train *t = r->train;
	struct state_bytes bytes;

	if (!t->job->snapshot_bandwidth || !state_is_local(t->state, r->index))
		return 0;
	state_rank_bytes(t->state, r->index, &bytes);
	return (uint64_t)(1e9 * (double)bytes.total / (double)t->job->snapshot_bandwidth);
}

/* -ECANCELED of an interruption is for the last to see, see begin_save. */
static int take_snapshot(struct rank *r)
{
	struct train *t = r->train;
	struct train_saves *s = &t->saves;
	uint64_t begin_ns = peers_passed_ns(&t->peers), waited_ns = begin_ns;
	uint64_t copy_ns = time_of_snapshot_ns(r);

	if (saver_is_busy(t->saver)) {
		if (saver_await(t->saver) == -EPIPE)
			return -EPIPE;
		waited_ns = clock_now(t->clock);
	}
	sleep_until(r, waited_ns + copy_ns);
	pthread_mutex_lock(&s->lock);
	s->wait_ns = u64_max(s->wait_ns, waited_ns - begin_ns);
	s->snapshot_ns = u64_max(s->snapshot_ns, copy_ns);
	pthread_mutex_unlock(&s->lock);
	return peers_barrier(&t->peers, &decide_behind_snapshots, t);
}

static int await_commit(struct rank *r)
{
	struct train *t = r->train;

	if (saver_await(t->saver) == -EPIPE)
		return -EPIPE;
	return peers_barrier(&t->peers, &decide_end, t);
}

/*
 * Behind each step of training, which ended at *end_ns. Where a checkpoint is
 * due after it, all ranks meet here, whatever barrier= says, and the last of
 * them begins it:
 *
 *	sync	meet, begin; wait until it is committed; meet
 *	async	meet; wait for the one before; a snapshot, each its own; meet,
 *		begin
 *
 * They meet after the same step: that of a number, the last of an epoch, or the
 * first that no rank has gone beyond when the first of them finds that the time
 * has come; of several processes the first behind a barrier at which one of them
 * does. So each goes through all barriers in the same order, and may leave
 * between any two. None begins once the run is interrupted.
 *
 * 0, or -EPIPE once closed. *end_ns is when the next step begins.
 */
static int rank_checkpoint(struct rank *r, const struct stage *at, uint64_t batch, uint64_t *end_ns)
{
	struct train *t = r->train;
	bool is_async = t->job->checkpoint_mode == CHECKPOINT_ASYNC;
	uint64_t begin_ns = *end_ns;
	int rc;

	if (!is_due(t, at, batch, begin_ns))
		return 0;
	rc = rank_checkpoint_enter(r, at, batch, begin_ns, is_async);
	if (rc == 0)
		rc = is_async ? take_snapshot(r) : await_commit(r);
	if (rc < 0)
		return rc;
	*end_ns = peers_passed_ns(&t->peers);
	count_add(&r->count.checkpoint_ns, *end_ns - begin_ns);
	return 0;
}

/* ---- epochs ---- */

/* A sample on a slow mount ends after so long, and counts as found. */
#define SAMPLE_NS NS_PER_S

/* At the first barrier: time zero. */
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

static bool is_nothing_cached(const struct train *t, const struct dataset *ds, uint64_t end_ns)
{
	return residency_is_nothing(ds, t->drops, t->clock, end_ns);
}

static const struct peers_decision decide_start = { .apply = begin_time };

/* Before an epoch: is there anything to drop? Preparation has just looked. */
static uint64_t vote_for_drop(void *arg)
{
	struct train *t = arg;
	uint64_t end_ns = clock_now(t->clock) + SAMPLE_NS;

	if (!t->is_dropped)
		t->is_dropped = is_nothing_cached(t, t->dataset, end_ns) &&
				(!t->eval || is_nothing_cached(t, t->eval, end_ns));
	return t->is_dropped ? 0 : 1;
}

/* Where anything is cached anywhere, all drop: they do it in step. */
static void apply_drop(void *arg, uint64_t votes)
{
	struct train *t = arg;
	bool drops = votes != 0;

	atomic_store(&t->dropping, drops);
	t->drops += drops;
	t->is_dropped = false;
}

static const struct peers_decision decide_drop = { vote_for_drop, apply_drop };

/* Beside those of train_vote. */
#define VOTE_SAVE (UINT64_C(1) << 8)

/* At a step barrier, for a step that all finish. */
static uint64_t vote_at_step(void *arg)
{
	struct train *t = arg;

	t->barrier_steps++;
	return train_vote(t) | (rank_checkpoint_vote(t) ? VOTE_SAVE : 0);
}

static void apply_at_step(void *arg, uint64_t votes)
{
	struct train *t = arg;

	t->saves.is_now = (votes & VOTE_SAVE) != 0;
	train_apply(t, votes);
}

static const struct peers_decision decide_step = { vote_at_step, apply_at_step };

/* Between epochs nobody decides to stop. */
static uint64_t vote_at_epoch(void *arg)
{
	return rank_checkpoint_vote(arg) ? VOTE_SAVE : 0;
}

static void apply_at_epoch(void *arg, uint64_t votes)
{
	struct train *t = arg;

	t->saves.is_now = (votes & VOTE_SAVE) != 0;
}

static const struct peers_decision decide_epoch = { vote_at_epoch, apply_at_epoch };

/* Wait until `counter`, which all loaders of this rank raise, is `value`. */
static int await_loaders(struct rank *r, const _Atomic uint64_t *counter, uint64_t value)
{
	for (;;) {
		uint32_t seen = bell_look(&r->filled);

		if (train_is_cut(r->train))
			return -EPIPE;
		if (atomic_load(counter) >= value)
			return 0;
		bell_wait(&r->filled, r->train->clock, seen, stop_at_ns(r->train->stop));
	}
}

/* All ranks meet, their loaders empty the cache, all meet again. */
static int drop_cache(struct rank *r)
{
	struct train *t = r->train;

	if (peers_barrier(&t->peers, &decide_drop, t) < 0)
		return -EPIPE;
	if (!atomic_load(&t->dropping))
		return 0;
	atomic_store(&r->dropped, 0);
	atomic_fetch_add(&r->drop, 1);
	rank_call(r, UINT64_MAX);
	if (!t->job->read_threads)
		loader_drop(&r->loaders[0]);
	if (await_loaders(r, &r->dropped, job_read_threads(t->job)) < 0)
		return -EPIPE;
	int rc = peers_barrier(&t->peers, NULL, NULL);
	atomic_store(&t->dropping, false);
	return rc;
}

/* By the last here before an epoch; once on each host. */
static uint64_t empty_caches(void *arg)
{
	struct train *t = arg;

	if (hosts_is_first_here(t->hosts))
		dropcaches_run("", &t->empty_err);
	return 0;
}

static const struct peers_decision decide_empty = { .vote = empty_caches };

/* What is in the page cache leaves it as the job asks. */
static int drop_before(struct rank *r, uint64_t epoch)
{
	struct train *t = r->train;

	if (train_drops_before(t, epoch) && drop_cache(r) < 0)
		return -EPIPE;
	if (!train_empties_before(t, epoch))
		return 0;
	if (peers_barrier(&t->peers, &decide_empty, t) < 0)
		return -EPIPE;
	if (!t->empty_err.code)
		return 0;
	failure_set(t->failure, &t->empty_err);
	return -EPIPE;
}

/* One step. 0, or -EPIPE once closed. */
static int run_step(struct rank *r, const struct stage *at, uint64_t batch, struct step *s)
{
	struct train *t = r->train;

	if (rank_step_compute(r, at, batch, s) < 0)
		return -EPIPE;
	if (t->job->barrier != BARRIER_STEP)
		return 0;
	int rc = peers_barrier(&t->peers, &decide_step, t);
	s->end_ns = rc < 0 ? clock_now(t->clock) : peers_passed_ns(&t->peers);
	s->others_ns = rc < 0 ? 0 : s->end_ns - peers_here_ns(&t->peers);
	return rc;
}

/* Where the last epoch ended, or behind what all waited for in between. */
static uint64_t begin_of_epoch_ns(const struct rank *r, uint64_t epoch)
{
	const struct train *t = r->train;

	return epoch ? u64_max(r->end_ns, peers_passed_ns(&t->peers)) : atomic_load(&t->start_ns);
}

/* A step, and the checkpoint behind it, where one is due. 0, or -EPIPE once closed or cut. */
static int run_whole_step(struct rank *r, const struct stage *at, uint64_t batch,
			  struct epoch_account *a, struct step *s)
{
	if (run_step(r, at, batch, s) < 0)
		return -EPIPE;
	tracemarks_step(r, at, batch, s);
	rank_count_step(r, a, s);
	rank_look_for_hope(r, a->epoch);
	if (!r->counts && s->end_ns >= train_ramp_end_ns(r->train)) {
		rank_start_counting(r, a);
		s->end_ns = clock_now(r->train->clock);
	}
	s->begin_ns = s->end_ns; /* of what comes behind it */
	a->is_whole = batch + 1 == at->pass->sampler.steps;
	return rank_checkpoint(r, at, batch, &s->end_ns);
}

/* It is none; but its time has passed, and some of it may have been read. */
static void cut_step(struct rank *r, const struct step *s)
{
	struct train *t = r->train;
	uint64_t now_ns = clock_now(t->clock);

	if (now_ns > s->begin_ns)
		r->cut_ns = now_ns - s->begin_ns;
	peers_cut(&t->peers);
}

/* All steps of an epoch, or until a limit is reached (*stopped), or it is cut: a step that is not
 * whole is none. 0, or -EPIPE once closed. */
static int run_epoch(struct rank *r, const struct stage *at, struct epoch_account *a, bool *stopped)
{
	struct train *t = r->train;
	struct step s = { .end_ns = begin_of_epoch_ns(r, a->epoch) };
	uint64_t steps = at->pass->sampler.steps, before = a->epoch * steps;
	uint64_t begin_ns = s.end_ns;

	r->have = (struct token){ 0 };
	rank_step_limit(r, at, 0);
	for (uint64_t b = 0; b < steps && !*stopped; b++) {
		s.begin_ns = s.end_ns;
		*stopped = run_whole_step(r, at, b, a, &s) < 0;
		if (train_is_closed(t))
			return -EPIPE;
		if (*stopped)
			cut_step(r, &s);
		else
			*stopped = t->job->barrier == BARRIER_STEP
					   ? atomic_load(&t->is_decided)
					   : train_wants_stop(t, before + b + 1, s.end_ns);
	}
	r->end_ns = s.end_ns;
	tracemarks_stage(r, at, begin_ns);
	return 0;
}

/* Hand the epoch in; an account within ramp_time shows no counts. */
static int end_epoch(struct rank *r, struct epoch_account *a)
{
	struct mlgen_err err = { 0 };

	if (a->extents == 0)
		return 0; /* cut before its first step was whole */
	if (!r->counts) {
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

/* An epoch of training: 0, 1 when the run is over, or -EPIPE once closed. */
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

/* Evaluations belong to the epoch before them, of the last one, too. */
static bool rank_is_over(const struct train *t, const struct stage *next)
{
	return !next->pass->is_eval && train_is_last_epoch(t, next->epoch - 1);
}

static void train_loop(struct rank *r)
{
	struct train *t = r->train;
	struct stage at = stage_first(&t->stages);
	bool stopped = false;

	r->counts = t->job->ramp_time_ns == 0;
	while (!stopped) {
		if (at.pass->is_eval) {
			if (rank_eval(r, &at, &stopped) < 0)
				return;
		} else if (train_epoch(r, &at) != 0) {
			return;
		}
		stage_next(&t->stages, &at);
		if (rank_is_over(t, &at))
			return;
	}
}

/* startdelay, which an interruption cuts short. */
static void await_start(struct rank *r)
{
	struct train *t = r->train;

	for (;;) {
		uint32_t seen = bell_look(&r->filled);

		if (train_is_closed(t) || atomic_load(t->interrupted) ||
		    clock_now(t->clock) >= t->start_after_ns)
			return;
		bell_wait(&r->filled, t->clock, seen, t->start_after_ns);
	}
}

/* False: there is nothing to do any more. */
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
	if (t->saver && saver_await_ready(t->saver) < 0)
		return false;
	await_start(r);
	return !train_is_closed(t) && !atomic_load(t->interrupted);
}

/* The last rank to leave sends the loaders home, and the saver, when it has finished. */
static void rank_leave(struct rank *r)
{
	struct train *t = r->train;

	peers_leave(&t->peers);
	if (atomic_fetch_sub(&t->ranks_left, 1) != 1)
		return;
	atomic_store(&t->end_ns, clock_now(t->clock));
	atomic_store(&t->finished, true);
	for (uint64_t i = 0; i < t->job->accelerators; i++)
		rank_call(&t->ranks[i], UINT64_MAX);
	if (t->saver)
		saver_finish(t->saver);
}

void rank_call(struct rank *r, uint64_t limit)
{
	uint64_t threads = job_read_threads(r->train->job);

	for (uint64_t i = 0; i < threads; i++) {
		struct loader *l = &r->loaders[i];

		if (limit == UINT64_MAX || atomic_load(&l->awaits) < limit)
			bell_ring(&l->go, r->train->clock);
	}
}

void *rank_main(void *arg)
{
	struct rank *r = arg;

	clock_join(r->train->clock);
	usage_begin(&r->usage);
	if (get_ready(r)) {
		usage_begin(&r->counted);
		train_loop(r);
		usage_end(&r->counted);
	}
	if (!r->counts)
		rank_forget(r); /* it was over before ramp_time was */
	usage_end(&r->usage);
	tracemarks_close(r);
	if (!r->train->job->read_threads)
		loader_close(&r->loaders[0]);
	rank_leave(r);
	clock_leave(r->train->clock);
	return NULL;
}
