/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_every.c - find how often a training run saves checkpoints. */
#include "tracing/distil/saves/saves_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

/*
 * The cadence is a number of steps if the steps between checkpoints differ by at most this part.
 * Otherwise the cadence is a time, if the times between checkpoints differ by at most TIMES_APART.
 */
#define STEPS_APART 0.1
#define TIMES_APART 0.05

struct epoch {
	uint64_t start_ns, end_ns;
};

struct cadence {
	struct checkpoint_cadence *c;
	const struct saves *s;
	const struct distil *d;
	uint32_t party;
	struct epoch *epochs; /* training stages of the party */
	uint32_t epoch_count;
	double batch;       /* samples per step, all ranks together; 0 = unknown */
	double epoch_steps; /* 0 = unknown */
};

/* ---- epochs ---- */

/* Number of epochs whose reads had ended by `ns`. */
static uint32_t epochs_before(const struct cadence *g, uint64_t ns)
{
	uint32_t n = 0;

	while (n < g->epoch_count && g->epochs[n].end_ns <= ns)
		n++;
	return n;
}

/* Did the checkpoint begin between two epochs, or after the last one? */
static bool is_between(const struct cadence *g, const struct save *s)
{
	uint32_t n = epochs_before(g, s->start_ns);

	return n > 0 && (n == g->epoch_count || g->epochs[n].start_ns >= s->start_ns);
}

/* Epochs between checkpoints; 0 = the number varies. */
static uint32_t epochs_each(const struct cadence *g)
{
	uint32_t each = epochs_before(g, g->s->at[0].start_ns);

	if (each == 0)
		return 0;
	for (uint32_t i = 0; i < g->s->count; i++)
		if (!is_between(g, &g->s->at[i]) ||
		    epochs_before(g, g->s->at[i].start_ns) != (i + 1) * each)
			return 0;
	/* After this many epochs, there would have been another checkpoint. */
	return g->epoch_count >= (g->s->count + 1) * each ? 0 : each;
}

/* ---- steps ---- */

/* The median of a list, and the largest relative distance from it. */
static double median(double *list, uint32_t n, double *apart)
{
	qsort(list, n, sizeof(*list), f64_compare);
	double m = list[n / 2];
	*apart = m > 0 ? fmax(list[n - 1] - m, m - list[0]) / m : (double)INFINITY;
	return m;
}

static double samples_per_visit(const struct cadence *g)
{
	assert(g->d->found);
	double visits = g->d->found[g->party].visits_per_sample;

	return visits > 0 ? 1 / visits : 1;
}

/* Steps before a checkpoint, by markers or by reads. */
static double steps_before(const struct cadence *g, const struct save *s)
{
	if (g->s->has_steps)
		return (double)s->steps;
	if (g->batch <= 0)
		return 0;
	return s->samples * samples_per_visit(g) / g->batch;
}

/* The median time between checkpoints, and the largest relative distance from it. */
static double gap_ns(const struct cadence *g, double *apart)
{
	const struct saves *s = g->s;
	double *list = mem_array((size_t)s->count + 1, sizeof(*list)), m;
	uint32_t n = 0;

	for (uint32_t i = 1; i < s->count; i++)
		list[n++] = (double)(s->at[i].start_ns - s->at[i - 1].start_ns);
	if (n == 0)
		list[n++] = (double)(s->at[0].start_ns - g->d->start_ns);
	m = median(list, n, apart);
	if (n < 2)
		*apart = (double)INFINITY;
	mem_free(list);
	return m;
}

static void set_time(struct checkpoint_cadence *c, double ns, const char *why)
{
	char text[UNITS_TEXT_BYTES];
	double digits = pow(10, floor(log10(fmax(ns, 1))) - 2);

	units_format_time(text, (uint64_t)(round(ns / digits) * digits));
	snprintf(c->value, sizeof(c->value), "%s", text);
	snprintf(c->why, sizeof(c->why), "%s", why);
	c->sure = DISTIL_GUESS;
}

static void set_steps(struct checkpoint_cadence *c, double steps, const char *why)
{
	uint64_t n = steps < 1 ? 1 : (uint64_t)llround(steps);

	snprintf(c->value, sizeof(c->value), "%" PRIu64 " step%s", n, plural(n));
	snprintf(c->why, sizeof(c->why), "%s", why);
}

/* Limit the steps between checkpoints to values that give the number of checkpoints. Reads alone
 * are not exact, because workers are an unknown number of steps ahead. */
static double clamp_steps(const struct cadence *g, double steps)
{
	double all = g->epoch_steps * g->epoch_count;
	double n = (double)g->s->count;

	if (all < n || g->s->left_out)
		return steps;
	double least = floor(all / (n + 1)) + 1, most = floor(all / n);
	return least > most ? steps : fmin(fmax(round(steps), least), most);
}

static bool find_steps(struct cadence *g)
{
	const struct saves *s = g->s;
	double *list = mem_array((size_t)s->count + 1, sizeof(*list)), apart, steps;
	uint32_t n = 0;

	/* Workers read ahead before the first checkpoint, so the reads before it are ignored. */
	if (s->has_steps || s->count == 1)
		list[n++] = steps_before(g, &s->at[0]);
	for (uint32_t i = 1; i < s->count; i++)
		list[n++] = steps_before(g, &s->at[i]) - steps_before(g, &s->at[i - 1]);
	steps = median(list, n, &apart);
	mem_free(list);
	if (steps <= 0)
		return false;
	if (s->has_steps && apart == 0) {
		set_steps(g->c, steps, "according to markers, this many steps precede each");
		g->c->sure = DISTIL_SURE;
		return true;
	}
	/* Steps that are derived from reads are exact to one or two steps. */
	if (apart > STEPS_APART + 2 / steps)
		return false;
	set_steps(g->c, s->has_steps ? steps : clamp_steps(g, steps),
		  s->has_steps ? "median number of steps between them"
			       : "this many samples are read between them");
	g->c->sure = s->count > 1 ? DISTIL_LIKELY : DISTIL_GUESS;
	return true;
}

/* ---- epochs, steps or time ---- */

static bool find_whole_epochs(struct cadence *g)
{
	uint32_t each = epochs_each(g);

	if (!each)
		return false;
	snprintf(g->c->value, sizeof(g->c->value), "%" PRIu32 " epoch%s", each, plural(each));
	g->c->sure = g->s->count > 1 ? DISTIL_SURE : DISTIL_LIKELY;
	if (g->epoch_steps > 0)
		snprintf(g->c->why, sizeof(g->c->why),
			 "each follows the last read of an epoch, and the interval in epochs is "
			 "%" PRIu32 "; %.0f steps would be equal",
			 each, each * g->epoch_steps);
	else
		snprintf(g->c->why, sizeof(g->c->why),
			 "each follows the last read of an epoch, and the interval in epochs is "
			 "%" PRIu32,
			 each);
	return true;
}

static bool find_times(struct cadence *g)
{
	double apart, ns = gap_ns(g, &apart);

	if (apart > TIMES_APART || ns <= 0)
		return false;
	set_time(g->c, ns, "they begin at regular times, but not at regular steps");
	g->c->sure = DISTIL_LIKELY;
	return true;
}

/* Assume that the checkpoints are evenly spread over all steps. */
static bool find_by_count(struct cadence *g)
{
	double all = g->epoch_steps * g->epoch_count;

	if (g->s->has_steps || all < g->s->count)
		return false;
	set_steps(g->c, clamp_steps(g, all / g->s->count),
		  "this many fit into the steps of all epochs; neither the samples nor the times "
		  "between them are regular");
	g->c->sure = DISTIL_GUESS;
	return true;
}

void checkpoint_every_find(struct checkpoint_cadence *c, const struct saves *s,
			   const struct distil *d, uint32_t party)
{
	struct cadence g = { .c = c, .s = s, .d = d, .party = party };

	*c = (struct checkpoint_cadence){ 0 };

	g.epochs = mem_array((size_t)d->stage_count + 1, sizeof(*g.epochs));
	for (uint32_t i = 0; i < d->stage_count; i++) {
		const struct distil_stage *t = &d->stages[i];

		if (t->kind != STAGE_TRAIN || t->party != party || t->number > d->stage_count ||
		    t->start_ns > t->end_ns)
			continue;
		struct epoch *e = &g.epochs[t->number];
		if (e->end_ns == 0)
			e->start_ns = t->start_ns;
		e->start_ns = u64_min(e->start_ns, t->start_ns);
		e->end_ns = u64_max(e->end_ns, t->end_ns);
		g.epoch_count = (uint32_t)u64_max(g.epoch_count, t->number + 1);
	}

	if (party < d->parties && d->found) {
		const struct distil_results *f = &d->found[party];
		double samples = (double)f->num_files * (double)u64_max(1, f->samples_per_file);

		g.batch = (double)f->batch_size * (double)u64_max(1, f->accelerators);
		if (g.batch > 0)
			g.epoch_steps = floor(samples / g.batch);
	}
	if (!find_whole_epochs(&g) && !find_steps(&g) && !find_by_count(&g) && !find_times(&g)) {
		double apart, ns = gap_ns(&g, &apart);

		set_time(g.c, ns > 0 ? ns : (double)NS_PER_S,
			 "median time between them; neither steps nor times are regular");
	}
	mem_free(g.epochs);

	/* Find whether training goes on during a checkpoint. Reads that only fill the prefetch are
	 * no evidence. */
	uint64_t within = 0, steps = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		within += s->at[i].samples_within;
		steps += s->at[i].steps_within;
	}
	if (s->has_steps) {
		c->is_async = 2 * steps > s->count;
		c->async_sure = DISTIL_SURE;
		return;
	}
	c->async_sure = DISTIL_LIKELY;
	if (party >= d->parties || !d->found || g.batch <= 0)
		return;
	const struct distil_results *f = &d->found[party];
	double ahead =
		g.batch * (double)u64_max(1, f->read_threads) * (double)u64_max(1, f->prefetch);
	c->is_async = (double)within * samples_per_visit(&g) > (double)s->count * (ahead + g.batch);
}
