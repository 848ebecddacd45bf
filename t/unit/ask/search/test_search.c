/* SPDX-License-Identifier: Apache-2.0 */
/* test_search.c - what the search finds behind noise, and in how few probes. */
#include <check.h>
#include <math.h>

#include "ask/search/search_internal.h"
#include "base/dist.h"
#include "suites.h"

#define LIMIT 90.0
#define ROWS(a) (int)(sizeof(a) / sizeof(*(a)))

/* Storage that is enough for `enough` accelerators at 100 %; what a run measures of that is off by
 * up to `noise` percent, and short probes flatter it. */
struct storage {
	double enough, noise, flattery;
	uint64_t possible; /* 0 = all */
	uint64_t seed, drawn;
	unsigned shorts, fulls;
};

static double au(struct storage *s, uint64_t n, bool is_full)
{
	double at_best = 100 * fmin(1, s->enough / (double)n);
	double off = s->noise * (2 * rng_f64(s->seed, RNG_TEST, s->drawn++) - 1);

	return at_best + off + (is_full ? 0 : s->flattery);
}

static struct search_answer find(struct search *s, struct storage *of)
{
	struct search_step step;

	while ((step = search_next(s)).what != SEARCH_END) {
		bool is_full = step.what == SEARCH_FULL;

		ck_assert_uint_ge(step.value, s->least);
		ck_assert_uint_le(step.value, s->most);
		of->fulls += is_full;
		of->shorts += !is_full;
		ck_assert_uint_lt(of->fulls + of->shorts, 200);
		if (of->possible && step.value > of->possible)
			search_set_impossible(s, step);
		else
			search_add_result(s, step, (au(of, step.value, is_full) - LIMIT) / LIMIT,
					  0);
	}
	return search_answer(s);
}

/* The most that 90 % allows. */
static uint64_t right_answer(double enough)
{
	return (uint64_t)floor(enough / (LIMIT / 100));
}

START_TEST(without_noise_it_is_what_arithmetic_says)
{
	double enough = 0.95 + 0.3701 * _i;
	struct storage of = { .enough = enough };
	struct search s;

	search_init(&s, 1, 65536);
	struct search_answer a = find(&s, &of);
	ck_assert(a.found);
	ck_assert_uint_eq(a.value, right_answer(enough));
	ck_assert_uint_eq(a.at_most, a.value);
	ck_assert(a.is_limited);
	ck_assert_uint_eq(a.limited_by, a.value + 1);
	/* Both sides by a full run, each once, but where it was too near. */
	ck_assert_ptr_nonnull(search_find(&s, a.value, true));
	ck_assert_ptr_nonnull(search_find(&s, a.value + 1, true));
	ck_assert(search_is_confirmed(&s));
	ck_assert_uint_le(of.fulls, 2 * SEARCH_RUNS);
	search_fini(&s);
}
END_TEST

/* Doubling and bisecting take two steps for each binary digit. */
START_TEST(few_probes_are_enough)
{
	struct storage of = { .enough = 5.5 };
	struct search s;

	search_init(&s, 1, 65536);
	struct search_answer a = find(&s, &of);
	ck_assert_uint_eq(a.value, 6);
	ck_assert_uint_eq(of.shorts, 6); /* 1 2 4 8 6 7 */
	ck_assert_uint_eq(of.fulls, 2);
	search_fini(&s);
}
END_TEST

/* The answer is right, or says between which two it cannot tell. */
START_TEST(noise_moves_it_by_one_at_most)
{
	double enough = 1 + 0.13 * (_i % 120);
	struct storage of = { .enough = enough, .noise = 1.5, .seed = (uint64_t)_i };
	struct search s;

	search_init(&s, 1, 65536);
	struct search_answer a = find(&s, &of);
	uint64_t want = right_answer(enough);
	ck_assert_uint_ge(a.at_most + 1, want);
	ck_assert_uint_le(a.value, want + 1);
	ck_assert_uint_le(of.fulls, 5 * SEARCH_RUNS);
	/* Far from the limit on both sides there is nothing to doubt. */
	double here = fmin(100, 100 * enough / (double)want);
	double next = 100 * enough / (double)(want + 1);
	if (here > LIMIT + 5 && next < LIMIT - 5) {
		ck_assert_uint_eq(a.value, want);
		ck_assert_uint_eq(a.at_most, want);
	}
	search_fini(&s);
}
END_TEST

/* Full runs that say both make it "5 or 6". */
START_TEST(it_says_when_it_cannot_tell)
{
	static const double at_six[] = { 89.4, 90.6, 89.7 };
	unsigned n = 0, i = 0;
	struct search_step step;
	struct search s;

	search_init(&s, 1, 64);
	while ((step = search_next(&s)).what != SEARCH_END && ++n < 40) {
		double got = step.value <= 5 ? 96 : 75;

		if (step.value == 6)
			got = step.what == SEARCH_FULL ? at_six[i++ % 3] : 87;
		search_add_result(&s, step, (got - LIMIT) / LIMIT, 0);
	}
	struct search_answer a = search_answer(&s);
	ck_assert_uint_eq(i, 3);
	ck_assert_uint_eq(a.value, 5);
	ck_assert_uint_eq(a.at_most, 6);
	ck_assert(a.is_limited);
	ck_assert_uint_eq(a.limited_by, 8); /* 7 was never tried */
	search_fini(&s);
}
END_TEST

/* Nothing larger is tried where it is known to fail, too, though it came nearer. */
START_TEST(what_falls_is_not_tried_further)
{
	struct search s;

	search_init(&s, 1, 64);
	s.falls = true;
	search_add_result(&s, (struct search_step){ SEARCH_SHORT, 1 }, -0.5, 0);
	struct search_step step = search_next(&s);
	ck_assert_int_eq(step.what, SEARCH_FULL);
	ck_assert_uint_eq(step.value, 1);
	search_add_result(&s, step, -0.4, 0);
	ck_assert_int_eq(search_next(&s).what, SEARCH_END);
	ck_assert(!search_answer(&s).found);
	ck_assert_uint_eq(search_answer(&s).limited_by, 1);
	ck_assert(search_is_confirmed(&s));
	s.falls = false;
	ck_assert_int_eq(search_next(&s).what, SEARCH_SHORT);
	search_fini(&s);
}
END_TEST

/* Short probes live on what was read ahead: full runs have the last word. */
START_TEST(full_runs_have_the_last_word)
{
	double enough = 20 + _i;
	struct storage of = { .enough = enough, .flattery = 12 };
	struct search s;

	search_init(&s, 1, 65536);
	struct search_answer a = find(&s, &of);
	ck_assert_uint_eq(a.value, right_answer(enough));
	ck_assert_uint_le(of.fulls, 20);
	search_fini(&s);
	of = (struct storage){ .enough = enough, .flattery = -9 };
	search_init(&s, 1, 65536);
	a = find(&s, &of);
	ck_assert_uint_eq(a.value, right_answer(enough));
	ck_assert_uint_le(of.fulls, 20);
	search_fini(&s);
}
END_TEST

/* Short jobs are run in full at once: the first number is, too. */
START_TEST(the_least_is_confirmed_where_none_holds)
{
	struct search s;
	struct search_step step;

	search_init(&s, 1, 64);
	while ((step = search_next(&s)).what != SEARCH_END) {
		double margin = step.value == 1 ? -0.6 : -0.8;

		ck_assert_uint_lt(s.trials.count, 9);
		search_add_result(&s, step, margin, 0);
		step.what = SEARCH_FULL;
		if (step.value == 2)
			search_add_result(&s, step, margin, 0);
	}
	ck_assert_ptr_nonnull(search_find(&s, 1, true));
	ck_assert(search_is_confirmed(&s));
	search_fini(&s);
}
END_TEST

START_TEST(nothing_may_hold)
{
	struct storage of = { .enough = 0.7 };
	struct search s;

	search_init(&s, 1, 65536);
	struct search_answer a = find(&s, &of);
	ck_assert(!a.found);
	ck_assert_uint_eq(a.value, 0);
	ck_assert_uint_eq(of.shorts, 2); /* is 2 any better? */
	ck_assert_uint_eq(of.fulls, 1);
	ck_assert_ptr_nonnull(search_find(&s, 1, true));
	search_fini(&s);
}
END_TEST

/* Threads, say: one is too few, sixteen are enough, from 100 on too many. Short jobs are run in
 * full at once. */
START_TEST(it_may_begin_to_hold_later)
{
	bool is_full_at_once = _i == 1;
	struct search s;
	struct search_step step;
	unsigned n = 0;

	search_init(&s, 1, 1024);
	while ((step = search_next(&s)).what != SEARCH_END && ++n < 60) {
		double v = (double)step.value;
		double got = v < 100 ? fmin(97, 8 * v) : 60;

		search_add_result(&s, step, (got - LIMIT) / LIMIT, 0);
		step.what = SEARCH_FULL;
		if (is_full_at_once)
			search_add_result(&s, step, (got - LIMIT) / LIMIT, 0);
	}
	struct search_answer a = search_answer(&s);
	ck_assert(a.found);
	ck_assert_uint_eq(a.value, 99);
	ck_assert_uint_eq(a.limited_by, 100);
	search_fini(&s);
}
END_TEST

static const struct {
	uint64_t least, most, possible;
	double enough;
	uint64_t answer;
	bool is_limited;
} ends[] = {
	{ 1, 8, 0, 1e9, 8, false },     { 1, 1, 0, 1e9, 1, false },
	{ 1, 100, 0, 1e9, 100, false }, { 1, 65536, 13, 1e9, 13, true },
	{ 1, 65536, 1, 1e9, 1, true },  { 4, 64, 0, 9, 10, true },
	{ 1, 65536, 13, 5, 5, true },
};

START_TEST(there_are_other_limits)
{
	struct storage of = { .enough = ends[_i].enough, .possible = ends[_i].possible };
	struct search s;

	search_init(&s, ends[_i].least, ends[_i].most);
	struct search_answer a = find(&s, &of);
	ck_assert(a.found);
	ck_assert_uint_eq(a.value, ends[_i].answer);
	ck_assert_int_eq(a.is_limited, ends[_i].is_limited);
	search_fini(&s);
}
END_TEST

START_TEST(nothing_may_be_possible)
{
	struct storage of = { .enough = 5, .possible = 1 };
	struct search s;

	search_init(&s, 2, 65536);
	struct search_answer a = find(&s, &of);
	ck_assert(!a.found);
	ck_assert_uint_eq(of.fulls, 0);
	search_fini(&s);
}
END_TEST

/* What a search that is stopped has found so far. */
START_TEST(it_can_be_asked_at_any_time)
{
	struct search s;

	search_init(&s, 1, 65536);
	ck_assert(!search_answer(&s).found);
	for (unsigned i = 0; i < 3; i++) {
		struct search_step step = search_next(&s);

		search_add_result(&s, step, 0.1, 0);
	}
	struct search_answer a = search_answer(&s);
	ck_assert(a.found);
	ck_assert_uint_eq(a.value, 4);
	ck_assert(!a.is_limited);
	ck_assert(!search_is_confirmed(&s));
	/* Both by full runs, but nobody knows what is between them. */
	search_add_result(&s, (struct search_step){ SEARCH_FULL, 4 }, 0.1, 0);
	search_add_result(&s, (struct search_step){ SEARCH_FULL, 8 }, -0.2, 0);
	ck_assert(!search_is_confirmed(&s));
	search_add_result(&s, (struct search_step){ SEARCH_FULL, 5 }, -0.1, 0);
	ck_assert(search_is_confirmed(&s));
	search_fini(&s);
}
END_TEST

Suite *suite_search(void)
{
	Suite *s = suite_create("search");
	TCase *t = tcase_create("search");

	tcase_add_loop_test(t, without_noise_it_is_what_arithmetic_says, 0, 200);
	tcase_add_test(t, few_probes_are_enough);
	tcase_add_loop_test(t, noise_moves_it_by_one_at_most, 0, 600);
	tcase_add_test(t, it_says_when_it_cannot_tell);
	tcase_add_test(t, what_falls_is_not_tried_further);
	tcase_add_loop_test(t, full_runs_have_the_last_word, 0, 40);
	tcase_add_test(t, the_least_is_confirmed_where_none_holds);
	tcase_add_test(t, nothing_may_hold);
	tcase_add_loop_test(t, it_may_begin_to_hold_later, 0, 2);
	tcase_add_loop_test(t, there_are_other_limits, 0, ROWS(ends));
	tcase_add_test(t, nothing_may_be_possible);
	tcase_add_test(t, it_can_be_asked_at_any_time);
	suite_add_tcase(s, t);
	return s;
}
