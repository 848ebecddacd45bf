/* SPDX-License-Identifier: Apache-2.0 */
/* spacing.c - every how many things a pause stands. */
#include "distil/spacing.h"

#include <math.h>

#include "base/mem.h"
#include "base/util.h"

/* A pause that is shorter says nothing: it is how a thread goes on. */
#define SHORT_NS 1000.0
/* By chance the best of all numbers has a t of up to 5 or so. */
#define T_SQUARE_LEAST 40.0
#define PAUSES_LEAST 3
/* A pause that is no fifth longer is none. */
#define APART_LEAST 0.2
/* Positions beyond take part as multiples no more. */
#define POSITIONS_MOST (UINT32_C(1) << 20)

struct spacing_sums {
	double n, sum;
};

struct all_pauses {
	struct spacing_sums *of; /* by position */
	uint32_t positions;
	double n, sum, squares;
};

static double pause_of(const struct spaced *s)
{
	return log(s->pause_ns > SHORT_NS ? s->pause_ns : SHORT_NS);
}

static void sum_up(struct all_pauses *a, const struct spaced *at, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (at[i].position < POSITIONS_MOST && at[i].position >= a->positions)
			a->positions = at[i].position + 1;
	a->of = mem_array(a->positions, sizeof(*a->of));
	for (size_t i = 0; i < count; i++) {
		double pause = pause_of(&at[i]);

		if (!at[i].position || at[i].position >= a->positions)
			continue;
		a->of[at[i].position].n++;
		a->of[at[i].position].sum += pause;
		a->n++;
		a->sum += pause;
		a->squares += pause * pause;
	}
}

/* The sum of squares between the multiples and the others; 0 = these have the longer pauses, or
 * there are too few. */
static double between(const struct all_pauses *a, uint32_t every)
{
	double n = 0, sum = 0, rest, apart;

	for (uint32_t i = every; i < a->positions; i += every) {
		n += a->of[i].n;
		sum += a->of[i].sum;
	}
	rest = a->n - n;
	if (n < PAUSES_LEAST || rest < 1)
		return 0;
	apart = sum / n - (a->sum - sum) / rest;
	return apart > APART_LEAST ? n * rest / a->n * apart * apart : 0;
}

struct spacing spacing_of(const struct spaced *at, size_t count)
{
	struct all_pauses a = { 0 };
	struct spacing best = { 0 };
	double all, most = 0;

	sum_up(&a, at, count);
	all = a.n > 0 ? a.squares - a.sum * a.sum / a.n : 0;
	for (uint32_t every = 2; all > 0 && every < a.positions; every++) {
		double b = between(&a, every);

		if (b > most) {
			most = b;
			best.every = every;
		}
	}
	mem_free(a.of);
	if (all <= 1e-9 * a.n)
		return (struct spacing){ 0 };
	best.explained = most / all < 1 ? most / all : 1;
	if (best.explained * (a.n - 2) < T_SQUARE_LEAST * (1 - best.explained))
		best = (struct spacing){ 0 };
	return best;
}
