/* SPDX-License-Identifier: Apache-2.0 */
/* rank_checkpoint.c - see rank_checkpoint.h. */
#include "run/rank_checkpoint.h"

#include <errno.h>

#include "base/util.h"
#include "run/saver.h"

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

/* A time is up for all processes when it is so for one. */
bool rank_checkpoint_vote(struct train *t)
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

int rank_checkpoint(struct rank *r, const struct stage *at, uint64_t batch, uint64_t *end_ns)
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
