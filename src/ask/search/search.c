/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - find the largest number for which a noisy condition still holds. */
#include "ask/search/search_internal.h"

#include <math.h>
#include <string.h>

enum search_verdict {
	SEARCH_UNKNOWN,
	SEARCH_HOLDS,
	SEARCH_FAILS,
	SEARCH_UNSURE, /* full runs disagree */
	SEARCH_IMPOSSIBLE,
};

/* The margin of a larger number must exceed the last margin by this much to count as nearer to the
 * limit. */
#define NEARER 0.02

static double mean(const struct search_trial *t)
{
	double sum = 0;

	for (unsigned i = 0; i < t->runs; i++)
		sum += t->margins[i];
	return sum / t->runs;
}

static enum search_verdict search_verdict(const struct search_trial *t)
{
	unsigned held = 0;

	if (!t)
		return SEARCH_UNKNOWN;
	if (t->is_impossible)
		return SEARCH_IMPOSSIBLE;
	for (unsigned i = 0; i < t->runs; i++)
		held += t->margins[i] >= 0;
	if (t->is_full && held && held < t->runs)
		return SEARCH_UNSURE;
	return mean(t) >= 0 ? SEARCH_HOLDS : SEARCH_FAILS;
}

static enum search_verdict verdict_at(const struct search *s, uint64_t value, bool is_full)
{
	return search_verdict(search_find(s, value, is_full));
}

/* Number of full runs that contradict the short ones. */
static unsigned contradictions(const struct search *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->trials.count; i++) {
		const struct search_trial *t = &s->trials.at[i];
		enum search_verdict of_short = verdict_at(s, t->value, false);
		enum search_verdict of_full = search_verdict(t);

		n += t->is_full && ((of_short == SEARCH_HOLDS && of_full != SEARCH_HOLDS) ||
				    (of_short == SEARCH_FAILS && of_full == SEARCH_HOLDS));
	}
	return n;
}

/* ---- bounds of the search ---- */

/* The largest number that holds, and the smallest above it that does not; 0 = none. */
struct bounds {
	uint64_t low, high;
};

/* The verdict on a number by its full runs or, if it has none, by its short runs. */
static enum search_verdict best_verdict(const struct search *s, const struct search_trial *t,
					bool only_full)
{
	if (t->is_impossible)
		return SEARCH_IMPOSSIBLE;
	if (!t->is_full && (only_full || verdict_at(s, t->value, true) != SEARCH_UNKNOWN))
		return SEARCH_UNKNOWN;
	return search_verdict(t);
}

static struct bounds search_bounds(const struct search *s, bool only_full)
{
	struct bounds b = { 0, 0 };

	for (size_t i = 0; i < s->trials.count; i++) {
		const struct search_trial *t = &s->trials.at[i];

		if (best_verdict(s, t, only_full) == SEARCH_HOLDS && t->value > b.low)
			b.low = t->value;
	}
	for (size_t i = 0; i < s->trials.count; i++) {
		const struct search_trial *t = &s->trials.at[i];
		enum search_verdict v = best_verdict(s, t, only_full);

		if (v > SEARCH_HOLDS && t->value > b.low && (!b.high || t->value < b.high))
			b.high = t->value;
	}
	return b;
}

static uint64_t twice(uint64_t value, uint64_t most)
{
	return value > most / 2 ? most : 2 * value;
}

static struct search_step step_of(enum search_what what, uint64_t value)
{
	return (struct search_step){ .what = what, .value = value };
}

/* ---- nothing holds yet ---- */

static const struct search_trial *search_largest(const struct search *s, uint64_t below)
{
	const struct search_trial *best = NULL;

	for (size_t i = 0; i < s->trials.count; i++)
		if (s->trials.at[i].value < below && (!best || s->trials.at[i].value > best->value))
			best = &s->trials.at[i];
	return best;
}

/* The number with the largest margin. */
static const struct search_trial *search_nearest(const struct search *s)
{
	const struct search_trial *best = NULL;

	for (size_t i = 0; i < s->trials.count; i++) {
		const struct search_trial *t = &s->trials.at[i];

		if (!t->is_impossible && (!best || mean(t) > mean(best)))
			best = t;
	}
	return best;
}

/* Do larger numbers come nearer to the limit? */
static bool rises(const struct search *s)
{
	const struct search_trial *last = search_largest(s, UINT64_MAX);
	const struct search_trial *before = last ? search_largest(s, last->value) : NULL;

	if (!last || last->is_impossible || last->value == s->most || s->falls)
		return false;
	return !before || mean(last) > mean(before) + fmax(NEARER, search_noise(s));
}

static struct search_step next_before_any_holds(const struct search *s)
{
	if (!s->trials.count)
		return step_of(SEARCH_SHORT, s->least);
	if (rises(s))
		return step_of(SEARCH_SHORT, twice(search_largest(s, UINT64_MAX)->value, s->most));
	const struct search_trial *best = search_nearest(s);
	if (best && !search_find(s, best->value, true))
		return step_of(SEARCH_FULL, best->value);
	return step_of(SEARCH_END, 0);
}

/* ---- between two numbers ---- */

static struct search_step confirm(const struct search *s, uint64_t value)
{
	if (!value || search_find(s, value, true))
		return step_of(SEARCH_END, 0);
	const struct search_trial *t = search_find(s, value, false);
	if (t && t->is_impossible)
		return step_of(SEARCH_END, 0);
	return step_of(SEARCH_FULL, value);
}

static struct search_step next_by_short_runs(const struct search *s, struct bounds b)
{
	if (!b.high && b.low < s->most)
		return step_of(SEARCH_SHORT, twice(b.low, s->most));
	if (b.high && b.high - b.low > 1)
		return step_of(SEARCH_SHORT, b.low + (b.high - b.low) / 2);
	struct search_step next = confirm(s, b.low);
	return next.what == SEARCH_END ? confirm(s, b.high) : next;
}

/* The next step once only full runs decide: start at the number that the short runs found, and go
 * on in strides that double. */
static struct search_step next_by_full_runs(const struct search *s, unsigned wrong)
{
	struct bounds b = search_bounds(s, true);
	uint64_t stride = wrong > 32 ? UINT32_MAX : 1ull << (wrong - 1);

	if (b.low && b.high)
		return b.high - b.low > 1 ? step_of(SEARCH_FULL, b.low + (b.high - b.low) / 2)
					  : step_of(SEARCH_END, 0);
	if (b.low)
		return b.low == s->most
			       ? step_of(SEARCH_END, 0)
			       : step_of(SEARCH_FULL,
					 s->most - b.low < stride ? s->most : b.low + stride);
	if (b.high == s->least)
		return step_of(SEARCH_END, 0);
	return step_of(SEARCH_FULL, b.high - s->least < stride ? s->least : b.high - stride);
}

/* The smallest number above `above` that does not surely hold; 0 = none. */
static uint64_t next_failed(const struct search *s, uint64_t above)
{
	uint64_t best = 0;

	for (size_t i = 0; i < s->trials.count; i++) {
		const struct search_trial *t = &s->trials.at[i];

		if (t->value > above && (!best || t->value < best) &&
		    best_verdict(s, t, false) > SEARCH_HOLDS)
			best = t->value;
	}
	return best;
}

/* ---- results ---- */

/* The trial of a step, which is added if it does not exist. */
static struct search_trial *trial(struct search *s, struct search_step of)
{
	bool is_full = of.what == SEARCH_FULL;
	const struct search_trial *t = search_find(s, of.value, is_full);

	if (t)
		return &s->trials.at[t - s->trials.at];
	vec_push(&s->trials, (struct search_trial){ .value = of.value, .is_full = is_full });
	return vec_last(&s->trials);
}

void search_init(struct search *s, uint64_t least, uint64_t most)
{
	*s = (struct search){ .least = least, .most = most };
}

void search_fini(struct search *s)
{
	vec_fini(&s->trials);
	memset(s, 0, sizeof(*s));
}

struct search_step search_next(const struct search *s)
{
	if (s->trials.count) {
		/* Only the last trial may need another run: noise that grows later does not reopen
		 * earlier decisions. */
		const struct search_trial *t = &s->trials.at[s->trials.count - 1];

		if (!t->is_impossible && t->runs < SEARCH_RUNS &&
		    fabs(mean(t)) <= fmax(search_noise(s), t->noise))
			return step_of(t->is_full ? SEARCH_FULL : SEARCH_SHORT, t->value);
	}
	unsigned wrong = contradictions(s);
	if (wrong)
		return next_by_full_runs(s, wrong);
	struct bounds b = search_bounds(s, false);
	return b.low ? next_by_short_runs(s, b) : next_before_any_holds(s);
}

void search_add_result(struct search *s, struct search_step step, double margin, double noise)
{
	struct search_trial *t = trial(s, step);

	if (t->runs < SEARCH_RUNS)
		t->margins[t->runs++] = margin;
	t->noise = fmax(t->noise, noise);
}

void search_set_impossible(struct search *s, struct search_step step)
{
	trial(s, step)->is_impossible = true;
}

struct search_answer search_answer(const struct search *s)
{
	struct bounds b = search_bounds(s, contradictions(s) > 0);
	struct search_answer a = { .found = b.low > 0,
				   .value = b.low,
				   .at_most = b.low,
				   .is_limited = b.high > 0,
				   .limited_by = b.high };

	while (a.is_limited && verdict_at(s, a.limited_by, true) == SEARCH_UNSURE) {
		a.at_most = a.limited_by;
		a.limited_by = next_failed(s, a.at_most);
		a.is_limited = a.limited_by > 0;
	}
	return a;
}

bool search_is_confirmed(const struct search *s)
{
	struct search_answer a = search_answer(s);
	uint64_t low = a.found ? a.value : a.limited_by;
	uint64_t high = a.is_limited ? a.limited_by : low;
	const struct search_trial *t = search_find(s, high, false);

	if (t && t->is_impossible)
		high = low;
	/* If the numbers above the answer are uncertain, no failure has to be confirmed. */
	if (!low || !search_find(s, low, true) || a.at_most > a.value)
		return low && search_find(s, low, true);
	bool is_next = !a.found || !a.is_limited || a.limited_by == low + 1;
	return is_next && search_find(s, high, true);
}

const struct search_trial *search_find(const struct search *s, uint64_t value, bool is_full)
{
	for (size_t i = 0; i < s->trials.count; i++)
		if (s->trials.at[i].value == value && s->trials.at[i].is_full == is_full)
			return &s->trials.at[i];
	return NULL;
}

double search_noise(const struct search *s)
{
	double noise = SEARCH_NOISE_LEAST;

	for (size_t i = 0; i < s->trials.count; i++) {
		const struct search_trial *t = &s->trials.at[i];
		double least = t->margins[0], most = t->margins[0];

		for (unsigned k = 1; k < t->runs; k++) {
			least = fmin(least, t->margins[k]);
			most = fmax(most, t->margins[k]);
		}
		noise = fmax(noise, most - least);
	}
	return noise;
}
