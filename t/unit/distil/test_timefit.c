/* SPDX-License-Identifier: Apache-2.0 */
/* test_timefit.c - times come back as the distribution of an option. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "tracing/distil/steps/steps_internal.h"
#include "suites.h"

enum { TIMES = 4000 };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct timefit fit_of(const char *text)
{
	double *times = mem_array(TIMES, sizeof(*times));
	struct mlgen_err err = { 0 };
	struct timefit fit;
	struct dist d;

	ck_assert_int_eq(dist_parse(&d, text, DIST_NS, "s", 1024, &err), 0);
	for (uint64_t i = 0; i < TIMES; i++)
		times[i] = (double)dist_draw(&d, 3, 4, i);
	qsort(times, TIMES, sizeof(*times), by_size);
	timefit(&fit, times, TIMES);
	mem_free(times);
	return fit;
}

static const struct {
	const char *text;
	enum dist_kind kind;
	double mean_ns, stdev_ns;
} written[] = {
	{ "323ms", DIST_CONST, 323e6, 0 },
	{ "normal:100ms:1ms", DIST_CONST, 100e6, 0 },
	{ "normal:100ms:10ms", DIST_NORMAL, 100e6, 10e6 },
	{ "uniform:50ms:150ms", DIST_UNIFORM, 100e6, 28.87e6 },
	{ "lognormal:10ms:6ms", DIST_LOGNORMAL, 10e6, 6e6 },
	{ "exponential:20ms", DIST_EXPONENTIAL, 20e6, 20e6 },
	{ "gamma:2:10ms", DIST_GAMMA, 20e6, 14.14e6 },
};

START_TEST(times_come_back_as_their_distribution)
{
	const char *text = written[_i].text;
	struct timefit fit = fit_of(text);

	ck_assert_msg(fit.dist.kind == written[_i].kind, "%s: kind %d", text, (int)fit.dist.kind);
	ck_assert_msg(fabs(dist_mean(&fit.dist) / written[_i].mean_ns - 1) < 0.04, "%s: mean %g",
		      text, dist_mean(&fit.dist));
	ck_assert_msg(fabs(dist_stdev(&fit.dist) - written[_i].stdev_ns) <=
			      0.06 * written[_i].stdev_ns,
		      "%s: stdev %g", text, dist_stdev(&fit.dist));
	ck_assert_double_lt(fit.off_percent, 3);
}
END_TEST

/* Half of the sleeps ended when they should have, the others on a busy host. */
START_TEST(a_constant_is_seen_behind_what_held_it_up)
{
	double times[100];
	struct buf text = { 0 };
	struct timefit fit;

	for (int i = 0; i < 100; i++)
		times[i] = i < 50 ? 30e6 + i * 1e3 : 30e6 + (i - 49) * 8e5;
	timefit(&fit, times, 100);
	dist_format(&text, &fit.dist, DIST_NS);
	ck_assert_int_eq(fit.dist.kind, DIST_CONST);
	ck_assert_double_eq_tol(fit.dist.a, 30e6, 0.003 * 30e6);
	ck_assert_str_ne(buf_str(&text), "");
	buf_fini(&text);
}
END_TEST

/* A few that stood still for long are no part of what the others vary by. */
START_TEST(what_was_held_up_makes_no_deviation)
{
	double *times = mem_array(TIMES, sizeof(*times));
	struct dist d = { .kind = DIST_LOGNORMAL, .a = 10e6, .b = 3e6 };
	struct timefit fit;

	for (uint64_t i = 0; i < TIMES; i++)
		times[i] = (double)dist_draw(&d, 3, 4, i) * (i % 125 ? 1 : 20);
	qsort(times, TIMES, sizeof(*times), by_size);
	timefit(&fit, times, TIMES);
	mem_free(times);
	ck_assert_int_eq(fit.dist.kind, DIST_LOGNORMAL);
	ck_assert_double_eq_tol(fit.dist.a, 10e6, 0.5e6);
	ck_assert_double_eq_tol(fit.dist.b, 3e6, 0.5e6);
	/* ... of which nothing is hidden. */
	ck_assert(fit.mean_ns > 11e6 && fit.stdev_ns > 10e6);
}
END_TEST

Suite *suite_timefit(void)
{
	Suite *s = suite_create("timefit");
	TCase *times = tcase_create("timefit");

	tcase_add_loop_test(times, times_come_back_as_their_distribution, 0, ARRAY_LEN(written));
	tcase_add_test(times, a_constant_is_seen_behind_what_held_it_up);
	tcase_add_test(times, what_was_held_up_makes_no_deviation);
	suite_add_tcase(s, times);
	return s;
}
