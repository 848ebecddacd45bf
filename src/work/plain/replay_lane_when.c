/* SPDX-License-Identifier: Apache-2.0 */
/* replay_lane_when.c - when a worker of a replay may go on: for the others, its time and its
 * turn. */
#include "base/util.h"
#include "work/plain/replay_lane_inside.h"

/* Of trace: further ahead of the slowest a worker waits. */
#define AHEAD_NS NS_PER_S
/* Between two looks at what nobody rings for. */
#define LOOK_NS UINT64_C(1000000)
/* A wait for completions ends late by less than this, on a host that is not busy: the rest of a
 * pause is spent looking. */
#define SPIN_NS UINT64_C(50000)

/* ---- waiting ---- */

/* Until then, or until something comes back. */
static void lane_wait(struct lane *l, uint64_t until_ns)
{
	if (lane_in_flight(l))
		lane_reap(l, 1, u64_min(until_ns, l->s->end_ns));
	else
		stream_nap(l->s, until_ns);
}

/* The same to the point, with completions taken as they come. */
static void lane_wait_exactly(struct lane *l, uint64_t until_ns)
{
	uint64_t now = lane_now(l);

	if (!lane_in_flight(l)) {
		stream_nap(l->s, until_ns);
		return;
	}
	if (until_ns > now + SPIN_NS)
		lane_reap(l, 1, until_ns - SPIN_NS);
	else
		lane_reap(l, 0, now);
	/* Where time stands still for those who look (clock.h). */
	if (lane_now(l) == now)
		lane_wait(l, until_ns);
}

static bool lane_is_over(const struct lane *l)
{
	return stream_is_over(l->s) || (l->s->end_ns != UINT64_MAX && lane_now(l) >= l->s->end_ns);
}

/* ---- for what ---- */

static uint64_t slowest_ns(const struct lane *l)
{
	uint64_t least = UINT64_MAX;

	for (uint64_t i = 0; i < l->s->all->count; i++)
		least = u64_min(least,
				atomic_load_explicit(&l->all->positions[i], memory_order_relaxed));
	return least;
}

static bool is_ahead(struct lane *l, uint64_t start_ns)
{
	uint64_t slowest;

	if (start_ns <= l->limit_ns)
		return false;
	slowest = slowest_ns(l);
	l->limit_ns = slowest > UINT64_MAX - AHEAD_NS ? UINT64_MAX : slowest + AHEAD_NS;
	return start_ns > l->limit_ns;
}

/* For those that are more than a second of the trace behind. */
static void await_others(struct lane *l, uint64_t start_ns)
{
	uint64_t begin;

	atomic_store_explicit(&l->all->positions[l->s->index], start_ns, memory_order_relaxed);
	if (!is_ahead(l, start_ns))
		return;
	begin = lane_now(l);
	while (is_ahead(l, start_ns) && !lane_is_over(l))
		lane_wait(l, lane_now(l) + LOOK_NS);
	l->told.waits++;
	l->told.wait_ns += lane_now(l) - begin;
}

static uint64_t scaled(const struct lane *l, uint64_t ns)
{
	return (uint64_t)((double)ns * l->ns_per_ns);
}

/* When it is due; 0 = at once. */
static uint64_t due_of(const struct lane *l, const struct replay_op *op)
{
	switch (l->s->all->job->replay_time) {
	case REPLAY_FIXED:
		return lane_start_ns(l) + scaled(l, op->start_ns);
	case REPLAY_THINK:
		return op->think_ns
			       ? u64_max(l->last_ns, lane_start_ns(l)) + scaled(l, op->think_ns)
			       : 0;
	default:
		return 0;
	}
}

static void await_due(struct lane *l, uint64_t due_ns)
{
	if (!due_ns)
		return;
	while (lane_now(l) < due_ns && !lane_is_over(l))
		lane_wait_exactly(l, due_ns);
	/* Not the end of the one before: it may lie before this one was due. */
	io_wake(stream_io(l->s));
}

static struct replay_turns *turns_of(const struct lane *l, const struct replay_op *op)
{
	if (!l->all->turns)
		return NULL;
	return &l->all->turns[l->s->all->job->replay_order == REPLAY_BY_FILE ? op->file : 0];
}

static bool is_turn(struct replay_turns *t, const struct replay_op *op)
{
	return atomic_load(&t->begun) == op->turn && op->turn - atomic_load(&t->done) <= op->beside;
}

static void await_turn(struct lane *l, struct replay_turns *t, const struct replay_op *op)
{
	while (!lane_is_over(l)) {
		uint32_t seen = bell_look(&l->all->go_on);

		if (is_turn(t, op))
			break;
		if (lane_in_flight(l))
			lane_reap(l, 1, lane_now(l) + LOOK_NS);
		else
			bell_wait(&l->all->go_on, l->s->all->clock, seen, lane_now(l) + LOOK_NS);
	}
	io_wake(stream_io(l->s));
	atomic_store(&t->begun, op->turn + 1);
	bell_ring(&l->all->go_on, l->s->all->clock);
}

void lane_next(struct lane *l, const struct replay_op *op)
{
	struct replay_turns *turns = turns_of(l, op);
	uint64_t due_ns;

	lane_flush_before(l, op->start_ns);
	await_others(l, op->start_ns);
	lane_reap_to(l, (unsigned)u64_min(op->under_way, l->s->depth - 1));
	due_ns = due_of(l, op);
	await_due(l, due_ns);
	if (turns)
		await_turn(l, turns, op);
	if (lane_is_over(l))
		return;
	lane_begin(l, op, turns, l->s->all->job->replay_time == REPLAY_FIXED ? due_ns : 0);
}
