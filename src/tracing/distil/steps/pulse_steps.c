/* SPDX-License-Identifier: Apache-2.0 */
/* pulse_steps.c - what a rank's batches say of its steps: how far it reads ahead, and how long it
 * computes. */
#include "tracing/distil/steps/steps_internal.h"

#include <math.h>

#include "base/mem.h"

enum { PULSE_STEPS_MOST = 1 << 16, PULSE_BEGUN_MOST = 4096 };

/* Of an epoch: the window is looked for while little can have gone wrong. */
#define LOOKED_AT 12
#define WINDOWS_MOST 4096
/* Of a step: a batch is taken no earlier than by this arithmetic, but for this. */
#define LATE_PART 0.15
/* Percentage of batches that must agree; otherwise storage was in the way. */
#define WINDOW_PERCENT 40
/* Workers are no more batches ahead than so many each, where their order says it. */
#define ROUNDS_MOST 4
#define AGAINST_PERCENT 50

static bool same_epoch(const struct pulse_batch *a, const struct pulse_batch *b)
{
	return a->epoch == b->epoch;
}

/* The step between two releases: both were waited for. */
static bool is_step(const struct pulse_batch *at, size_t i)
{
	return i > 0 && same_epoch(&at[i - 1], &at[i]) && at[i].is_idle && at[i - 1].is_idle &&
	       at[i].number == at[i - 1].number + 1 && at[i].start_ns > at[i - 1].start_ns;
}

static double step_of(const struct pulse_batch *at, size_t i)
{
	return (double)(at[i].start_ns - at[i - 1].start_ns);
}

/* The middle of all of them, be it that some waited for a batch. NaN = none. */
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

/* Batches of an epoch that have been taken so far. */
struct taking {
	double first_ns; /* no earlier than that is the first */
	double step_ns;
	size_t taken;
	double taken_ns; /* the last of them */
};

/* And until then, when each takes a step, and none is taken before it was read. */
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

/* When a reader of the epoch began first that had waited. */
static double first_go(const struct pulse_batch *at, size_t count)
{
	double first = (double)INFINITY;

	for (size_t i = 0; i < count && same_epoch(&at[0], &at[i]); i++)
		if (at[i].is_idle)
			first = fmin(first, (double)at[i].start_ns);
	return first;
}

/* Votes for a window. */
struct voting {
	uint32_t *votes; /* by window */
	uint64_t looked;
	double off_ns;   /* from a batch that was taken to who goes on, the sum */
	uint32_t window; /* that most say; 0 = none */
	double percent;
};

/* One more batch was asked for as each was taken: what is asked for beyond. */
static void look_at_epoch(struct voting *v, const struct pulse_batch *at, size_t count, double step,
			  bool is_late)
{
	struct taking t = { .step_ns = step };
	size_t looked = 0;

	if (is_late)
		t.first_ns = first_go(at, count);
	for (size_t i = 1; i < count && looked < LOOKED_AT; i++) {
		if (!same_epoch(&at[0], &at[i]))
			return;
		if (!at[i].is_idle)
			continue;
		looked++;
		take_until(&t, at, count, (double)at[i].start_ns + LATE_PART * step + WAKE_NS);
		if (!t.taken || at[i].number + 1 < t.taken)
			continue;
		uint64_t window = at[i].number + 1 - t.taken;
		if (!window || window >= WINDOWS_MOST)
			continue;
		v->votes[window]++;
		v->looked++;
		v->off_ns += fabs((double)at[i].start_ns - t.taken_ns);
	}
}

/* The first batch of an epoch is taken when it was read; or later, as where a loader has to begin,
 * when the first reader goes on that had waited. */
static struct voting vote(const struct pulse_batch *at, size_t count, double step, bool is_late)
{
	struct voting v = { 0 };

	v.votes = mem_array(WINDOWS_MOST, sizeof(*v.votes));
	for (size_t i = 0; i < count; i++)
		if (i == 0 || !same_epoch(&at[i - 1], &at[i]))
			look_at_epoch(&v, at + i, count - i, step, is_late);
	for (uint32_t w = 1; w < WINDOWS_MOST; w++)
		if (v.votes[w] > v.votes[v.window])
			v.window = w;
	if (v.looked) {
		v.percent = 100.0 * v.votes[v.window] / (double)v.looked;
		v.off_ns /= (double)v.looked;
	}
	mem_free(v.votes);
	return v;
}

/* Late, if more of what is looked at says so; or as much of it, and it is nearer to that by far,
 * and each worker is as far ahead as the others. */
static void find_window(struct pulse *p, const struct pulse_batch *at, size_t count, double step)
{
	struct voting now = vote(at, count, step, false);
	struct voting late = vote(at, count, step, true);
	bool is_nearer = late.percent >= now.percent && now.off_ns > WAKE_NS &&
			 late.off_ns < now.off_ns / 2 &&
			 late.window % (p->workers ? p->workers : 1) == 0;
	bool is_late = late.percent > now.percent || is_nearer;
	const struct voting *v = is_late ? &late : &now;

	p->window_percent = v->percent;
	if (v->percent >= WINDOW_PERCENT)
		p->window = v->window;
}

/* Of batches that none but a rank that takes one lets begin, two were begun so near each other, or
 * the later one first, as it takes none: behind less than half a step. */
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
 * Each of PyTorch's workers is as many batches ahead as the others. It hands its first one on
 * through shared memory, which takes tens of ms when it is the first: the pause before its second
 * batch is none of waiting for the rank, though it looks so. So it takes more rounds of all workers
 * than votes say, as long as the order in most epochs is against it.
 */
static void raise_window(struct pulse *p, const struct pulse_batch *at, size_t count, double step)
{
	uint32_t round = p->workers, window = round;
	double against = 100;

	if (p->kind != PULSE_WORKER || round < 2 || !p->window)
		return;
	while (window < p->window)
		window += round;
	for (; window <= ROUNDS_MOST * round; window += round) {
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

/* How long a batch is read, in the middle. */
static double usual_read(const struct pulse_batch *at, size_t count)
{
	double *ns = mem_array(count, sizeof(*ns)), middle;

	for (size_t i = 0; i < count; i++)
		ns[i] = (double)(at[i].end_ns - at[i].start_ns);
	pulse_sort(ns, count);
	middle = pulse_quantile(ns, count, 0.5);
	mem_free(ns);
	return middle;
}

/* The first batch of an epoch was taken when the one went on that is `window` behind it. */
static double late_first(const struct pulse *p, const struct pulse_batch *at, size_t count)
{
	double *late = mem_array(count, sizeof(*late)), middle;
	double read = usual_read(at, count);
	size_t n = 0;

	for (size_t i = 0; p->window && i + p->window < count; i++) {
		const struct pulse_batch *next = &at[i + p->window];

		if (!at[i].number && same_epoch(&at[i], next) && next->is_idle)
			late[n++] = (double)next->start_ns - (double)at[i].start_ns - read;
	}
	pulse_sort(late, n);
	middle = n ? pulse_quantile(late, n, 0.5) : 0;
	mem_free(late);
	return fmax(middle, 0);
}

/* When the rank took the batch that let this one be read: had that been there for a while? Else it
 * may have waited for it. */
static bool was_ready(const struct pulse *p, const struct pulse_batch *at, size_t i, double step)
{
	const struct pulse_batch *taken;
	double while_ns = fmax(0.02 * step, WAKE_NS);

	if (!p->window)
		return true;
	if (i < p->window || !same_epoch(&at[i - p->window], &at[i]))
		return false;
	taken = &at[i - p->window];
	return (double)taken->end_ns + while_ns < (double)at[i].start_ns;
}

static void keep_step(struct pulse *p, double step)
{
	if (p->steps < PULSE_STEPS_MOST)
		p->step_ns[p->steps++] = step;
}

static void keep_steps(struct pulse *p, const struct pulse_batch *at, size_t count, double step)
{
	for (size_t i = 1; i < count; i++) {
		bool is_next = same_epoch(&at[i - 1], &at[i]);

		p->in_epoch += is_next && at[i].number > p->window;
		if (is_step(at, i) && was_ready(p, at, i, step))
			keep_step(p, step_of(at, i));
	}
}

/* A rank that reads by itself computes between two batches. */
static void keep_pauses(struct pulse *p, const struct pulse_batch *at, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (!same_epoch(&at[i - 1], &at[i]))
			continue;
		p->in_epoch++;
		keep_step(p, (double)at[i].start_ns - (double)at[i - 1].end_ns);
	}
}

/* Readers are so many batches ahead, or are thought to be. */
static size_t batches_ahead(const struct pulse *p)
{
	if (p->kind == PULSE_OWN)
		return 0;
	return p->window ? p->window : 2 * (size_t)p->workers;
}

/* Between the end of the first batch and that of the last one a rank took all but those that were
 * read ahead. */
static double mean_step(const struct pulse *p, const struct pulse_batch *at, size_t count)
{
	size_t ahead = batches_ahead(p), first = 0;
	double ns = 0, steps = 0;

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

static void note_begun(struct pulse *p, const struct pulse_batch *at, size_t count)
{
	p->begun = count < PULSE_BEGUN_MOST ? (uint32_t)count : PULSE_BEGUN_MOST;
	p->begun_ns = mem_array(p->begun, sizeof(*p->begun_ns));
	for (uint32_t i = 0; i < p->begun; i++)
		p->begun_ns[i] = at[i].is_idle ? at[i].start_ns : 0;
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
		keep_pauses(p, at, count);
	} else if (step > 0) {
		find_window(p, at, count, step);
		raise_window(p, at, count, step);
		keep_steps(p, at, count, step);
		p->first_late_ns = late_first(p, at, count);
	}
	p->bound_ns = mean_step(p, at, count);
	pulse_sort(p->step_ns, p->steps);
	note_begun(p, at, count);
}
