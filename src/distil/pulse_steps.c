/* SPDX-License-Identifier: Apache-2.0 */
/* pulse_steps.c - what a rank's batches say of its steps: how far it has read ahead, and how long it computes. */
#include <math.h>

#include "base/mem.h"
#include "base/util.h"
#include "distil/pulse_inside.h"

/* Of an epoch: the window is looked for while little can have gone wrong. */
#define LOOKED_AT 12
#define WINDOWS_MOST 4096
/* Of a step: a batch is taken no earlier than by this arithmetic, but for this. */
#define LATE_PART 0.15
/* That say the same: else storage was in the way. */
#define WINDOW_PERCENT 40

static bool same_epoch(const struct pulse_batch *a, const struct pulse_batch *b)
{
	return a->epoch == b->epoch;
}

/* The step between two releases: both were waited for. */
static bool is_step(const struct pulse_batch *at, size_t i)
{
	return i > 0 && same_epoch(&at[i - 1], &at[i]) && at[i].is_idle &&
	       at[i - 1].is_idle && at[i].number == at[i - 1].number + 1 &&
	       at[i].start_ns > at[i - 1].start_ns;
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

/* Batches that have been taken by then, when each takes a step, and none is taken
 * before it was read. `taken` and *taken_ns: so far. */
static void take_until(const struct pulse_batch *at, size_t count, double step,
		       double until_ns, size_t *taken, double *taken_ns)
{
	while (*taken < count && same_epoch(&at[0], &at[*taken])) {
		double next = (double)at[*taken].end_ns;

		if (*taken && *taken_ns + step > next)
			next = *taken_ns + step;
		if (next > until_ns)
			return;
		*taken_ns = next;
		(*taken)++;
	}
}

/* One more batch was asked for as each was taken: what is asked for beyond. */
static void look_at_epoch(const struct pulse_batch *at, size_t count,
			  double step, uint32_t *votes)
{
	size_t taken = 0, looked = 0;
	double taken_ns = 0;

	for (size_t i = 1; i < count && looked < LOOKED_AT; i++) {
		if (!same_epoch(&at[0], &at[i]))
			return;
		if (!at[i].is_idle)
			continue;
		looked++;
		take_until(at, count, step,
			   (double)at[i].start_ns + LATE_PART * step + WAKE_NS,
			   &taken, &taken_ns);
		if (!taken || at[i].number + 1 < taken)
			continue;
		uint64_t window = at[i].number + 1 - taken;
		if (window && window < WINDOWS_MOST)
			votes[window]++;
	}
}

static void find_window(struct pulse *p, const struct pulse_batch *at,
			size_t count, double step)
{
	uint32_t *votes = mem_array(WINDOWS_MOST, sizeof(*votes));
	uint32_t most = 0;
	uint64_t all = 0;

	for (size_t i = 0; i < count; i++)
		if (i == 0 || !same_epoch(&at[i - 1], &at[i]))
			look_at_epoch(at + i, count - i, step, votes);
	for (uint32_t w = 1; w < WINDOWS_MOST; w++) {
		all += votes[w];
		if (votes[w] > votes[most])
			most = w;
	}
	if (all)
		p->window_percent = 100.0 * votes[most] / (double)all;
	if (p->window_percent >= WINDOW_PERCENT)
		p->window = most;
	mem_free(votes);
}

/* When the rank took the batch that let this one be read: had that been there for
 * a while? Else it may have waited for it. */
static bool was_ready(const struct pulse *p, const struct pulse_batch *at,
		      size_t i, double step)
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

static void keep_steps(struct pulse *p, const struct pulse_batch *at,
		       size_t count, double step)
{
	for (size_t i = 1; i < count; i++) {
		bool is_next = same_epoch(&at[i - 1], &at[i]);

		p->in_epoch += is_next && at[i].number > p->window;
		if (is_step(at, i) && was_ready(p, at, i, step))
			keep_step(p, step_of(at, i));
	}
}

/* A rank that reads by itself computes between two batches. */
static void keep_pauses(struct pulse *p, const struct pulse_batch *at,
			size_t count)
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

/* Between the end of the first batch and that of the last one a rank took all but
 * those that were read ahead. */
static double mean_step(const struct pulse *p, const struct pulse_batch *at,
			size_t count)
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

static void note_begun(struct pulse *p, const struct pulse_batch *at,
		       size_t count)
{
	p->begun =
		count < PULSE_BEGUN_MOST ? (uint32_t)count : PULSE_BEGUN_MOST;
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
		mem_array(count < PULSE_STEPS_MOST ? count : PULSE_STEPS_MOST,
			  sizeof(*p->step_ns));
	if (p->kind == PULSE_OWN) {
		keep_pauses(p, at, count);
	} else if (step > 0) {
		find_window(p, at, count, step);
		keep_steps(p, at, count, step);
	}
	p->bound_ns = mean_step(p, at, count);
	pulse_sort(p->step_ns, p->steps);
	note_begun(p, at, count);
}
