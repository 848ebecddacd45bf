/* SPDX-License-Identifier: Apache-2.0 */
/* test_score_parts.c - each figure of a score, from profiles filled by hand. */
#include <check.h>
#include <math.h>

#include "base/util.h"
#include "tracing/score/score_internal.h"
#include "score_parts_rig.h"
#include "suites.h"

/* ---- numbers ---- */

START_TEST(counts_are_apart_by_a_part_of_the_real_one)
{
	uint64_t *x = (uint64_t *)((char *)&a + counts[_i].off);
	uint64_t *y = (uint64_t *)((char *)&b + counts[_i].off);

	check_unknown(counts[_i].name, counts[_i].why);
	*y = 5;
	check_is(counts[_i].name, 1); /* all of it is too much */
	*x = 4;
	check_is(counts[_i].name, .25);
	*y = 0;
	check_is(counts[_i].name, 1);
}
END_TEST

START_TEST(threads_and_their_shares_are_apart)
{
	check_unknown("threads", "no thread moved a byte");
	b.workers = 1;
	check_is("threads", 1);
	a.workers = 1;
	check_is("threads", 0);
	b.workers = 0;
	check_is("threads", 1);
	a.workers = 4;
	b.workers = 6;
	check_is("threads", .5);
	a.gini = .25;
	b.gini = .125;
	check_is("Gini of threads", .125);
	a.gini = NONE;
	check_unknown("Gini of threads", "no thread moved a byte");
}
END_TEST

START_TEST(operations_are_compared_by_their_shares)
{
	check_unknown("operations: mix", "no operation");
	b.calls = 4;
	b.operations[TRACE_READ] = 4;
	check_is("operations: mix", 1);
	a.calls = 2;
	a.operations[TRACE_READ] = 1;
	a.operations[TRACE_FAULT - 1] = 1;
	check_is("operations: mix", .5);
	b.calls = 0;
	check_is("operations: mix", 1);
}
END_TEST

START_TEST(accesses_in_sequence_are_a_share_of_those_behind_another)
{
	const char *none = "no access follows another in the same file";

	check_unknown("in sequence", none);
	a.followed = 8;
	a.sequential = 6;
	check_unknown("in sequence", none);
	b.followed = 4;
	b.sequential = 1;
	check_is("in sequence", .5);
}
END_TEST

START_TEST(a_time_that_is_not_known_is_no_distance)
{
	check_unknown("time of the phase", "the time of the phase is not known");
	check_unknown("bandwidth: mean", "the time of the phase is not known");
	a.duration_ns = 10;
	check_unknown("time of the phase", "the time of the phase is not known");
	b.duration_ns = 15;
	check_is("time of the phase", .5);
	a.duration_ns = 0;
	check_unknown("time of the phase", "the time of the phase is not known");
	a.duration_ns = 10;
	a.read_bytes = 60;
	a.written_bytes = 40;
	b.read_bytes = 200;
	b.written_bytes = 25;
	check_is("bandwidth: mean", .5);
}
END_TEST

START_TEST(hits_are_what_did_not_come_into_the_cache)
{
	const char *none = "additions to the page cache were not recorded";

	a.read_bytes = b.read_bytes = 100;
	a.cache_bytes = 25;
	b.cache_bytes = 75;
	check_unknown("cache hits", none);
	a.has_cache = true;
	check_unknown("cache hits", none);
	b.has_cache = true;
	check_is("cache hits", .5);
	/* Read ahead, and never read. */
	b.cache_bytes = 150;
	check_is("cache hits", .75);
	b.read_bytes = 0;
	check_unknown("cache hits", none);
}
END_TEST

/* ---- distributions ---- */

START_TEST(distributions_are_apart_by_their_shares)
{
	struct spread *x = (struct spread *)((char *)&a + spreads[_i].off);
	struct spread *y = (struct spread *)((char *)&b + spreads[_i].off);
	const char *name = spreads[_i].name;

	check_unknown(name, spreads[_i].neither);
	spread_add(y, 7, 1);
	if (spreads[_i].one)
		check_unknown(name, spreads[_i].one);
	else
		check_is(name, 1);
	spread_add(x, 7, 3);
	check_is(name, 0);
	spread_add(x, 9, 1);
	check_is(name, .25);
	spread_fini(y);
	*y = (struct spread){ 0 };
	if (spreads[_i].one)
		check_unknown(name, spreads[_i].one);
	else
		check_is(name, 1);
}
END_TEST

/* What is exact and what is in classes would never meet. */
START_TEST(both_are_in_classes_where_one_is)
{
	for (uint64_t i = 0; i <= SPREAD_EXACT; i++)
		spread_add(&a.read_sizes, 1 + i, 1);
	spread_add(&a.read_sizes, 1000003, 1000000000);
	spread_add(&b.read_sizes, 1000003, 1);
	ck_assert(!spread_is_exact(&a.read_sizes));
	ck_assert_double_lt(look("read size: D").value, .001);
	for (uint64_t i = 0; i <= SPREAD_EXACT; i++)
		spread_add(&b.write_sizes, 1 + i, 1);
	spread_add(&b.write_sizes, 1000003, 1000000000);
	spread_add(&a.write_sizes, 1000003, 1);
	ck_assert_double_lt(look("write size: D").value, .001);
}
END_TEST

static const struct {
	const char *name;
	size_t off;
	const char *why;
} logs[] = {
	{ "read size: W1, log2", offsetof(struct profile_phase, read_sizes),
	  "one trace read nothing" },
	{ "write size: W1, log2", offsetof(struct profile_phase, write_sizes),
	  "one trace wrote nothing" },
	{ "seek: W1, log2", offsetof(struct profile_phase, seeks), "one trace has no seeks" },
};

START_TEST(sizes_are_apart_by_their_powers_of_two)
{
	struct spread *x = (struct spread *)((char *)&a + logs[_i].off);
	struct spread *y = (struct spread *)((char *)&b + logs[_i].off);

	check_unknown(logs[_i].name, logs[_i].why);
	spread_add(y, 8, 1);
	check_unknown(logs[_i].name, logs[_i].why);
	spread_add(x, 0, 1); /* as 1 */
	check_is(logs[_i].name, 3);
	spread_add(x, 16, 1);
	check_is(logs[_i].name, 2);
}
END_TEST

START_TEST(steps_are_apart_at_half_and_nearly_all)
{
	check_unknown("step: p50", "no steps are marked");
	check_unknown("step: p95", "no steps are marked");
	for (uint64_t i = 1; i <= 20; i++) {
		spread_add(&a.steps, i, 1);
		spread_add(&b.steps, i <= 10 ? 2 * i : 3 * i, 1);
	}
	check_is("step: p50", 1);
	check_is("step: p95", 2);
}
END_TEST

static void add_steps(struct profile_phase *p, uint64_t ns, unsigned count)
{
	while (count--)
		spread_add(&p->steps, ns, 1);
}

/* Steps of 100, and one of 300 in the candidate: its 95th percentile of 17. */
START_TEST(a_percentile_of_few_steps_varies_by_chance)
{
	struct score_distance d;

	add_steps(&a, 100, 17);
	add_steps(&b, 100, 16);
	add_steps(&b, 300, 1);
	d = look("step: p95");
	ck_assert_double_eq_tol(d.value, 2, EXACT);
	ck_assert_double_eq_tol(d.at_least, 2, EXACT);
	ck_assert_double_eq_tol(look("step: p50").at_least, 0, EXACT);
	/* Nearly all of a thousand are no chance. */
	add_steps(&a, 100, 1000);
	add_steps(&b, 300, 1000);
	d = look("step: p95");
	ck_assert_double_eq_tol(d.value, 2, EXACT);
	ck_assert_double_eq_tol(d.at_least, 0, EXACT);
}
END_TEST

START_TEST(one_time_more_of_few_is_chance)
{
	static const struct {
		uint64_t real;
		double at_least;
	} rows[] = { { 0, 0 }, { 1, .5 }, { 3, .5 }, { 17, 2. / 17 }, { 1000, .002 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		a.inflight.idle_count = rows[i].real;
		b.inflight.idle_count = rows[i].real + 1;
		ck_assert_double_eq_tol(look("idle: times").at_least, rows[i].at_least, EXACT);
	}
	a.inflight.idle_count = 17;
	b.inflight.idle_count = 18;
	ck_assert(look("idle: times").value < look("idle: times").at_least);
	b.inflight.idle_count = 0;
	ck_assert(look("idle: times").value > look("idle: times").at_least);
}
END_TEST

START_TEST(times_between_calls_are_apart_by_a_part_of_their_mean)
{
	const char *none = "no time between the calls of a thread";

	check_unknown("think time: W1 of mean", none);
	spread_add(&a.think, 0, 1);
	spread_add(&b.think, 5, 1);
	check_unknown("think time: W1 of mean", none);
	spread_add(&a.think, 2, 1);
	check_is("think time: W1 of mean", 4);
	spread_add(&a.think, 6, 2);
	check_is("think time: W1 of mean", 2.5 / 3.5);
}
END_TEST

/* ---- the table ---- */

/* As mlgen(1), COMPARING TRACES, has them. */
static const struct {
	unsigned metric;
	const char *name;
	double distilled, preset;
} rows[] = {
	{ 1, "operations: mix", .03, .01 },
	{ 2, "bytes read", .02, .005 },
	{ 2, "bytes written", .02, .005 },
	{ 3, "read size: D", .05, .02 },
	{ 3, "read size: W1, log2", .25, .1 },
	{ 3, "write size: D", .05, .02 },
	{ 3, "write size: W1, log2", .25, .1 },
	{ 4, "files", .05, .02 },
	{ 4, "file size: D", .05, .02 },
	{ 4, "samples a file: D", .05, .02 },
	{ 5, "in sequence", .02, .01 },
	{ 5, "seek: W1, log2", .5, NONE },
	{ 6, "coverage", .02, 0 },
	{ 6, "visits an epoch", .05, 0 },
	{ 6, "order of two rounds", .05, NONE },
	{ 6, "order of the first", .05, NONE },
	{ 7, "miss ratios", .03, .01 },
	{ 8, "think time: W1 of mean", .1, .02 },
	{ 8, "idle: times", .03, NONE },
	{ 8, "idle: time", .05, NONE },
	{ 9, "step: p50", .1, .05 },
	{ 9, "step: p95", .15, .1 },
	{ 9, "time of the phase", .1, .05 },
	{ 10, "in flight: D", .1, .05 },
	{ 10, "Gini of threads", .05, .02 },
	{ 10, "threads", .05, NONE },
	{ 11, "bandwidth: 1 - r", .2, .1 },
	{ 11, "bandwidth: ln of CoVs", .22314355131420976, NONE },
	{ 11, "bandwidth: mean", .05, NONE },
	{ 12, "cache hits", .05, .03 },
	{ 12, "block size: D", .15, .1 },
};

static bool is_same(double x, double y)
{
	return isnan(x) ? isnan(y) : fabs(x - y) < EXACT;
}

START_TEST(thresholds_are_those_of_the_manual)
{
	size_t n = ARRAY_LEN(rows);

	ck_assert_ptr_null(score_parts[n].name);
	for (size_t i = 0; i < n; i++) {
		const struct score_part *p = &score_parts[i];

		ck_assert_uint_eq(p->metric, rows[i].metric);
		ck_assert_str_eq(p->name, rows[i].name);
		ck_assert(is_same(p->distilled, rows[i].distilled));
		ck_assert(is_same(p->preset, rows[i].preset));
		ck_assert(score_is_timed(p->metric) == (p->metric >= 8));
	}
}
END_TEST

Suite *suite_score_parts(void)
{
	Suite *s = suite_create("score_parts");
	TCase *t = tcase_create("score_parts");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, counts_are_apart_by_a_part_of_the_real_one, 0, ARRAY_LEN(counts));
	tcase_add_test(t, threads_and_their_shares_are_apart);
	tcase_add_test(t, operations_are_compared_by_their_shares);
	tcase_add_test(t, accesses_in_sequence_are_a_share_of_those_behind_another);
	tcase_add_test(t, a_time_that_is_not_known_is_no_distance);
	tcase_add_test(t, hits_are_what_did_not_come_into_the_cache);
	tcase_add_loop_test(t, distributions_are_apart_by_their_shares, 0, ARRAY_LEN(spreads));
	tcase_add_test(t, both_are_in_classes_where_one_is);
	tcase_add_loop_test(t, sizes_are_apart_by_their_powers_of_two, 0, ARRAY_LEN(logs));
	tcase_add_test(t, steps_are_apart_at_half_and_nearly_all);
	tcase_add_test(t, a_percentile_of_few_steps_varies_by_chance);
	tcase_add_test(t, one_time_more_of_few_is_chance);
	tcase_add_test(t, times_between_calls_are_apart_by_a_part_of_their_mean);
	tcase_add_test(t, thresholds_are_those_of_the_manual);
	suite_add_tcase(s, t);
	return s;
}
