/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_every.c - how often a training of a trace saves. */
#include "tracing/distil/saves/saves_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

/* Steps between checkpoints may differ by such a part and are still a number of steps; by more, and
 * their times are alike, it is a time. */
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
	struct epoch *epochs; /* of its stages */
	uint32_t epoch_count;
	double batch;       /* samples of a step, of all ranks; 0 = not known */
	double epoch_steps; /* 0 = not known */
};

/* ---- epochs ---- */

static void find_epochs(struct cadence *g)
{
	const struct distil *d = g->d;

	g->epochs = mem_array((size_t)d->stage_count + 1, sizeof(*g->epochs));
	for (uint32_t i = 0; i < d->stage_count; i++) {
		const struct distil_stage *t = &d->stages[i];
		struct epoch *e;

		if (t->kind != STAGE_TRAIN || t->party != g->party || t->number > d->stage_count ||
		    t->start_ns > t->end_ns)
			continue;
		e = &g->epochs[t->number];
		if (e->end_ns == 0)
			e->start_ns = t->start_ns;
		e->start_ns = u64_min(e->start_ns, t->start_ns);
		e->end_ns = u64_max(e->end_ns, t->end_ns);
		g->epoch_count = (uint32_t)u64_max(g->epoch_count, t->number + 1);
	}
}

/* Epochs whose reads were over when it began. */
static uint32_t epochs_before(const struct cadence *g, uint64_t ns)
{
	uint32_t n = 0;

	while (n < g->epoch_count && g->epochs[n].end_ns <= ns)
		n++;
	return n;
}

/* Is it between two epochs, or behind the last? */
static bool is_between(const struct cadence *g, const struct save *s)
{
	uint32_t n = epochs_before(g, s->start_ns);

	return n > 0 && (n == g->epoch_count || g->epochs[n].start_ns >= s->start_ns);
}

/* Epochs between checkpoints, if that is always the same; else 0. */
static uint32_t epochs_each(const struct cadence *g)
{
	uint32_t each = epochs_before(g, g->s->at[0].start_ns);

	if (each == 0)
		return 0;
	for (uint32_t i = 0; i < g->s->count; i++)
		if (!is_between(g, &g->s->at[i]) ||
		    epochs_before(g, g->s->at[i].start_ns) != (i + 1) * each)
			return 0;
	/* After more epochs there would have been another checkpoint. */
	return g->epoch_count >= (g->s->count + 1) * each ? 0 : each;
}

static void find_batch(struct cadence *g)
{
	const struct distil_found *f;
	double samples;

	if (g->party >= g->d->parties || !g->d->found)
		return;
	f = &g->d->found[g->party];
	g->batch = (double)f->batch_size * (double)u64_max(1, f->accelerators);
	samples = (double)f->num_files * (double)u64_max(1, f->samples_per_file);
	if (g->batch > 0)
		g->epoch_steps = floor(samples / g->batch);
}

/* ---- steps ---- */

/* The middle one, and how far the outermost are from it. */
static double middle(double *list, uint32_t n, double *apart)
{
	double m;

	qsort(list, n, sizeof(*list), f64_compare);
	m = list[n / 2];
	*apart = m > 0 ? fmax(list[n - 1] - m, m - list[0]) / m : (double)INFINITY;
	return m;
}

static double samples_of_visit(const struct cadence *g)
{
	double n = g->d->found[g->party].visits_per_sample;

	return n > 0 ? 1 / n : 1;
}

/* Steps that had been taken when it began, as far as its reads say. */
static double steps_before(const struct cadence *g, const struct save *s)
{
	if (g->s->has_steps)
		return (double)s->steps;
	if (g->batch <= 0)
		return 0;
	return s->samples * samples_of_visit(g) / g->batch;
}

/* Between two of them; the first has readers that run ahead before it. */
static double *list_steps(const struct cadence *g, uint32_t *count)
{
	const struct saves *s = g->s;
	double *list = mem_array((size_t)s->count + 1, sizeof(*list));
	uint32_t n = 0;

	if (s->has_steps || s->count == 1)
		list[n++] = steps_before(g, &s->at[0]);
	for (uint32_t i = 1; i < s->count; i++)
		list[n++] = steps_before(g, &s->at[i]) - steps_before(g, &s->at[i - 1]);
	*count = n;
	return list;
}

static double seconds_apart(const struct cadence *g, double *apart)
{
	const struct saves *s = g->s;
	double *list = mem_array((size_t)s->count + 1, sizeof(*list)), m;
	uint32_t n = 0;

	for (uint32_t i = 1; i < s->count; i++)
		list[n++] = (double)(s->at[i].start_ns - s->at[i - 1].start_ns);
	if (n == 0)
		list[n++] = (double)(s->at[0].start_ns - g->d->start_ns);
	m = middle(list, n, apart);
	if (n < 2)
		*apart = (double)INFINITY;
	mem_free(list);
	return m;
}

static void say_time(struct checkpoint_cadence *c, double ns, const char *why)
{
	char text[UNITS_TEXT_BYTES];
	double digits = pow(10, floor(log10(fmax(ns, 1))) - 2);

	units_put_time(text, (uint64_t)(round(ns / digits) * digits));
	snprintf(c->value, sizeof(c->value), "%s", text);
	snprintf(c->why, sizeof(c->why), "%s", why);
	c->sure = DISTIL_GUESS;
}

static void say_steps(struct checkpoint_cadence *c, double steps, const char *why)
{
	uint64_t n = steps < 1 ? 1 : (uint64_t)llround(steps);

	snprintf(c->value, sizeof(c->value), "%" PRIu64 " step%s", n, plural(n));
	snprintf(c->why, sizeof(c->why), "%s", why);
}

/* So many come out of all steps there are: reads run ahead of them, by an unknown number of
 * steps. */
static double clamp(const struct cadence *g, double steps)
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
	uint32_t count;
	double apart, *list = list_steps(g, &count);
	double steps = middle(list, count, &apart);

	mem_free(list);
	if (steps <= 0)
		return false;
	if (g->s->has_steps && apart == 0) {
		say_steps(g->c, steps, "as many steps, by their markers, are in front of each");
		g->c->sure = DISTIL_SURE;
		return true;
	}
	/* By reads alone it is to a step or two. */
	if (apart > STEPS_APART + 2 / steps)
		return false;
	say_steps(g->c, g->s->has_steps ? steps : clamp(g, steps),
		  g->s->has_steps ? "the middle of the steps between them"
				  : "as many samples are read between them");
	g->c->sure = g->s->count > 1 ? DISTIL_LIKELY : DISTIL_GUESS;
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
			 "each follows the last read of an epoch, and there is one for every "
			 "%" PRIu32 "; %.0f steps would be the same",
			 each, each * g->epoch_steps);
	else
		snprintf(g->c->why, sizeof(g->c->why),
			 "each follows the last read of an epoch, and there is one for every "
			 "%" PRIu32,
			 each);
	return true;
}

static bool find_times(struct cadence *g)
{
	double apart, ns = seconds_apart(g, &apart);

	if (apart > TIMES_APART || ns <= 0)
		return false;
	say_time(g->c, ns, "they begin as far apart in time, and not in steps");
	g->c->sure = DISTIL_LIKELY;
	return true;
}

/* Spread the checkpoints evenly over all steps. */
static bool find_by_count(struct cadence *g)
{
	double all = g->epoch_steps * g->epoch_count;

	if (g->s->has_steps || all < g->s->count)
		return false;
	say_steps(g->c, clamp(g, all / g->s->count),
		  "this many fit into the steps of all epochs; neither samples nor times between "
		  "them are alike");
	g->c->sure = DISTIL_GUESS;
	return true;
}

static void find_any(struct cadence *g)
{
	double apart, ns = seconds_apart(g, &apart);

	say_time(g->c, ns > 0 ? ns : (double)NS_PER_S,
		 "the middle of the times between them; neither steps nor times are alike");
}

/* Does training go on while it is written? What loaders read ahead is no sign of it. */
static void find_async(struct cadence *g)
{
	const struct distil_found *f;
	uint64_t within = 0, steps = 0;
	double ahead = 0;

	for (uint32_t i = 0; i < g->s->count; i++) {
		within += g->s->at[i].samples_within;
		steps += g->s->at[i].steps_within;
	}
	if (g->s->has_steps) {
		g->c->is_async = 2 * steps > g->s->count;
		g->c->async_sure = DISTIL_SURE;
		return;
	}
	g->c->async_sure = DISTIL_LIKELY;
	if (g->party >= g->d->parties || !g->d->found || g->batch <= 0)
		return;
	f = &g->d->found[g->party];
	ahead = g->batch * (double)u64_max(1, f->read_threads) * (double)u64_max(1, f->prefetch);
	g->c->is_async =
		(double)within * samples_of_visit(g) > (double)g->s->count * (ahead + g->batch);
}

void checkpoint_every_find(struct checkpoint_cadence *c, const struct saves *s,
			   const struct distil *d, uint32_t party)
{
	struct cadence g = { .c = c, .s = s, .d = d, .party = party };

	*c = (struct checkpoint_cadence){ 0 };
	find_epochs(&g);
	find_batch(&g);
	if (!find_whole_epochs(&g) && !find_steps(&g) && !find_by_count(&g) && !find_times(&g))
		find_any(&g);
	find_async(&g);
	mem_free(g.epochs);
}
