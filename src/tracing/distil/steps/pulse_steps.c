/* SPDX-License-Identifier: Apache-2.0 */
/* pulse_steps.c - find how far a rank reads ahead and how long its steps are, from its batches. */
#include "tracing/distil/steps/steps_internal.h"

#include <math.h>

#include "base/mem.h"

enum { PULSE_STEPS_MOST = 1 << 16, PULSE_BEGUN_MOST = 4096 };

/* Number of idle batches per epoch that vote for a window. The votes of later batches would depend
 * on more assumptions. */
#define VOTES_PER_EPOCH 12
#define WINDOWS_MOST 4096
/* A batch may be taken earlier than calculated by this part of a step. */
#define LATE_PART 0.15
/* Percentage of batches that must agree on a window; if fewer agree, storage held up the
 * workers. */
#define WINDOW_PERCENT 40
/* The order of batches raises the window to at most this many batches per worker. */
#define ROUNDS_MAX 4
#define AGAINST_PERCENT 50

static bool same_epoch(const struct pulse_batch *a, const struct pulse_batch *b)
{
	return a->epoch == b->epoch;
}

/* Is the time between two batches a step? Workers must have waited for the rank before both. */
static bool is_step(const struct pulse_batch *at, size_t i)
{
	return i > 0 && same_epoch(&at[i - 1], &at[i]) && at[i].is_idle && at[i - 1].is_idle &&
	       at[i].number == at[i - 1].number + 1 && at[i].start_ns > at[i - 1].start_ns;
}

static double step_of(const struct pulse_batch *at, size_t i)
{
	return (double)(at[i].start_ns - at[i - 1].start_ns);
}

/* The median step, including steps that may have waited for a batch. NaN = there are none. */
static double usual_step(const struct pulse_batch *at, size_t count)
{
	double *step = mem_array(count, sizeof(*step)), middle;
	size_t n = 0;

	for (size_t i = 1; i < count; i++)
		if (is_step(at, i))
			step[n++] = step_of(at, i);
	pulse_sort(step, n);
	middle = pulse_quantile(step, n, 0.5);
	mem_free(step);
	return middle;
}

/* Number of batches of an epoch that the rank has taken so far. */
struct taking {
	double first_ns; /* the first batch is not taken before this time */
	double step_ns;
	size_t taken;
	double taken_ns; /* when the last of these batches was taken */
};

/* Take batches until a time. A batch takes one step, and is not taken before it was read. */
static void take_until(struct taking *t, const struct pulse_batch *at, size_t count,
		       double until_ns)
{
	while (t->taken < count && same_epoch(&at[0], &at[t->taken])) {
		double next = (double)at[t->taken].end_ns;

		if (!t->taken && t->first_ns > next)
			next = t->first_ns;
		if (t->taken && t->taken_ns + t->step_ns > next)
			next = t->taken_ns + t->step_ns;
		if (next > until_ns)
			return;
		t->taken_ns = next;
		t->taken++;
	}
}

/* Votes for a window. */
struct voting {
	uint32_t *votes; /* indexed by window */
	uint64_t batches;
	double off_ns;   /* mean time from taking a batch to the start of the batch it allowed */
	uint32_t window; /* the window with the most votes; 0 = none */
	double percent;
};

/* Each batch that the rank takes allows another batch to be read. The window of an idle batch is
 * therefore its number + 1, less the batches taken until its start. */
static void vote_epoch(struct voting *v, const struct pulse_batch *at, size_t count, double step,
		       bool is_late)
{
	struct taking t = { .step_ns = step };
	size_t idle = 0;

	if (is_late) {
		t.first_ns = (double)INFINITY;
		for (size_t i = 0; i < count && same_epoch(&at[0], &at[i]); i++)
			if (at[i].is_idle)
				t.first_ns = fmin(t.first_ns, (double)at[i].start_ns);
	}
	for (size_t i = 1; i < count && idle < VOTES_PER_EPOCH; i++) {
		if (!same_epoch(&at[0], &at[i]))
			return;
		if (!at[i].is_idle)
			continue;
		idle++;
		take_until(&t, at, count, (double)at[i].start_ns + LATE_PART * step + WAKE_NS);
		if (!t.taken || at[i].number + 1 < t.taken)
			continue;
		uint64_t window = at[i].number + 1 - t.taken;
		if (!window || window >= WINDOWS_MOST)
			continue;
		v->votes[window]++;
		v->batches++;
		v->off_ns += fabs((double)at[i].start_ns - t.taken_ns);
	}
}

/*
 * Vote over all epochs. The rank takes the first batch of an epoch as soon as the batch was read.
 * With `is_late`, the rank takes it when the first idle worker continues, for example because a
 * loader has to start.
 */
static struct voting vote(const struct pulse_batch *at, size_t count, double step, bool is_late)
{
	struct voting v = { 0 };

	v.votes = mem_array(WINDOWS_MOST, sizeof(*v.votes));
	for (size_t i = 0; i < count; i++)
		if (i == 0 || !same_epoch(&at[i - 1], &at[i]))
			vote_epoch(&v, at + i, count - i, step, is_late);
	for (uint32_t w = 1; w < WINDOWS_MOST; w++)
		if (v.votes[w] > v.votes[v.window])
			v.window = w;
	if (v.batches) {
		v.percent = 100.0 * v.votes[v.window] / (double)v.batches;
		v.off_ns /= (double)v.batches;
	}
	mem_free(v.votes);
	return v;
}

/* Does the order of an epoch rule out that batches `from` to `to` waited for the rank? The rank
 * takes batches at least half a step apart and in order; two batches that started closer, or in
 * reverse order, did not wait. */
static bool is_against(const struct pulse_batch *at, size_t count, uint64_t from, uint64_t to,
		       double step)
{
	for (size_t i = 1; i < count && same_epoch(&at[0], &at[i]); i++) {
		const struct pulse_batch *a = &at[i - 1], *b = &at[i];
		double apart = (double)b->start_ns - (double)a->start_ns;

		if (a->number >= from && a->number < to && a->is_idle && b->is_idle &&
		    apart < step / 2)
			return true;
	}
	return false;
}

static double against_percent(const struct pulse_batch *at, size_t count, uint64_t from,
			      uint64_t to, double step)
{
	uint64_t epochs = 0, against = 0;

	for (size_t i = 0; i < count; i++) {
		if (i && same_epoch(&at[i - 1], &at[i]))
			continue;
		epochs++;
		against += is_against(at + i, count - i, from, to, step);
	}
	return epochs ? 100.0 * (double)against / (double)epochs : 0;
}

/*
 * All PyTorch workers read the same number of batches ahead. A worker hands its first batch on
 * through shared memory, which takes tens of ms the first time. The pause before its second batch
 * looks as if the worker waited for the rank, although it did not. Therefore raise the window by
 * whole rounds of all workers, as long as the order in most epochs rules out the smaller window.
 */
static void raise_window(struct pulse *p, const struct pulse_batch *at, size_t count, double step)
{
	uint32_t round = p->workers, window = round;
	double against = 100;

	if (p->kind != PULSE_WORKER || round < 2 || !p->window)
		return;
	while (window < p->window)
		window += round;
	for (; window <= ROUNDS_MAX * round; window += round) {
		against = against_percent(at, count, window, window + round, step);
		if (against < AGAINST_PERCENT)
			break;
	}
	if (against >= AGAINST_PERCENT || window <= p->window)
		return;
	against = against_percent(at, count, window - round, window, step);
	if (against < AGAINST_PERCENT)
		return;
	p->window = window;
	p->order_percent = against;
}

/* The median delay of an epoch's first batch. The rank took that batch when the batch `window`
 * places later was begun. */
static double late_first(const struct pulse *p, const struct pulse_batch *at, size_t count)
{
	double *ns = mem_array(count, sizeof(*ns)), *late = mem_array(count, sizeof(*late));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		ns[i] = (double)(at[i].end_ns - at[i].start_ns);
	pulse_sort(ns, count);
	double read = pulse_quantile(ns, count, 0.5);
	mem_free(ns);

	for (size_t i = 0; p->window && i + p->window < count; i++) {
		const struct pulse_batch *next = &at[i + p->window];

		if (!at[i].number && same_epoch(&at[i], next) && next->is_idle)
			late[n++] = (double)next->start_ns - (double)at[i].start_ns - read;
	}
	pulse_sort(late, n);
	double middle = n ? pulse_quantile(late, n, 0.5) : 0;
	mem_free(late);
	return fmax(middle, 0);
}

/* A batch may be read once the rank has taken an earlier batch. Had that earlier batch been
 * complete for a while? If not, the rank may have waited for it. */
static bool was_ready(const struct pulse *p, const struct pulse_batch *at, size_t i, double step)
{
	double while_ns = fmax(0.02 * step, WAKE_NS);

	if (!p->window)
		return true;
	if (i < p->window || !same_epoch(&at[i - p->window], &at[i]))
		return false;
	const struct pulse_batch *taken = &at[i - p->window];
	return (double)taken->end_ns + while_ns < (double)at[i].start_ns;
}

static void add_step(struct pulse *p, double step)
{
	if (p->steps < PULSE_STEPS_MOST)
		p->step_ns[p->steps++] = step;
}

/* The mean step of all epochs. Between the end of the first batch and the end of the last one, the
 * rank took all batches but those that were read ahead: the window, or presumably two per worker.
 */
static double mean_step(const struct pulse *p, const struct pulse_batch *at, size_t count)
{
	size_t ahead = p->window ? p->window : 2 * (size_t)p->workers, first = 0;
	double ns = 0, steps = 0;

	if (p->kind == PULSE_OWN)
		ahead = 0;
	for (size_t i = 1; i <= count; i++) {
		size_t read = i - 1 - first;

		if (i < count && same_epoch(&at[first], &at[i]))
			continue;
		if (at[i - 1].end_ns > at[first].end_ns && read > ahead) {
			ns += (double)(at[i - 1].end_ns - at[first].end_ns);
			steps += (double)(read - ahead);
		}
		first = i;
	}
	return steps > 0 ? ns / steps : (double)NAN;
}

void pulse_steps(struct pulse *p, const struct pulse_batch *at, size_t count)
{
	double step = usual_step(at, count);

	p->batches = count;
	for (size_t i = 0; i < count; i++)
		p->idle += at[i].is_idle;
	p->step_ns =
		mem_array(count < PULSE_STEPS_MOST ? count : PULSE_STEPS_MOST, sizeof(*p->step_ns));
	if (p->kind == PULSE_OWN) {
		/* A rank that reads by itself computes between two batches. */
		for (size_t i = 1; i < count; i++) {
			if (!same_epoch(&at[i - 1], &at[i]))
				continue;
			p->in_epoch++;
			add_step(p, (double)at[i].start_ns - (double)at[i - 1].end_ns);
		}
	} else if (step > 0) {
		struct voting now = vote(at, count, step, false);
		struct voting late = vote(at, count, step, true);
		bool is_nearer = late.percent >= now.percent && now.off_ns > WAKE_NS &&
				 late.off_ns < now.off_ns / 2 &&
				 late.window % (p->workers ? p->workers : 1) == 0;
		bool is_late = late.percent > now.percent || is_nearer;
		const struct voting *v = is_late ? &late : &now;

		/*
		 * Assume that first batches are late if this makes more votes agree. If equally
		 * many agree, assume it if the times are much closer and the window is the same
		 * number of batches for each worker.
		 */
		p->window_percent = v->percent;
		if (v->percent >= WINDOW_PERCENT)
			p->window = v->window;

		raise_window(p, at, count, step);

		for (size_t i = 1; i < count; i++) {
			bool is_next = same_epoch(&at[i - 1], &at[i]);

			p->in_epoch += is_next && at[i].number > p->window;
			if (is_step(at, i) && was_ready(p, at, i, step))
				add_step(p, step_of(at, i));
		}

		p->first_late_ns = late_first(p, at, count);
	}
	p->bound_ns = mean_step(p, at, count);
	pulse_sort(p->step_ns, p->steps);
	p->begun = count < PULSE_BEGUN_MOST ? (uint32_t)count : PULSE_BEGUN_MOST;
	p->begun_ns = mem_array(p->begun, sizeof(*p->begun_ns));
	for (uint32_t i = 0; i < p->begun; i++)
		p->begun_ns[i] = at[i].is_idle ? at[i].start_ns : 0;
}
