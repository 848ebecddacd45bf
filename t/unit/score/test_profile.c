/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c - a trace becomes a profile: its series, steps and phases. */
#include "describe_rig.h"
#include "tracing/score/score_internal.h"
#include "suites.h"

#define SECOND UINT64_C(1000000) /* in us */

static struct profile profile;

static void forget(void)
{
	profile_fini(&profile);
	tear_down();
}

static const struct profile_phase *profiled(void)
{
	ck_assert_int_eq(trace_writer_finish(rig.w, NULL, &err), 0);
	rig.w = NULL;
	ck_assert_msg(profile_trace(&profile, rig.path, true, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(profile.count, 1);
	return &profile.phases[0];
}

START_TEST(bytes_of_a_second_are_one_value)
{
	uint32_t f = file("/data/x");
	const struct profile_phase *p;

	put_read(10 * SECOND, 1, f, 0, 100);
	put_read(10 * SECOND + 900000, 1, f, 100, 20);
	put_read(13 * SECOND, 1, f, 120, 7);
	p = profiled();
	ck_assert_uint_eq(p->series_step_ns, NS_PER_S);
	ck_assert_uint_eq(p->series_count, 4);
	ck_assert(p->series[0] == 120 && p->series[1] == 0);
	ck_assert(p->series[3] == 7);
}
END_TEST

/* 65,536 of them are kept; then each is of two. */
START_TEST(a_series_of_a_day_has_longer_seconds)
{
	uint32_t f = file("/data/x");
	const struct profile_phase *p;

	put_read(0, 1, f, 0, 1);
	put_read(1 * SECOND, 1, f, 0, 2);
	put_read(40000 * SECOND, 1, f, 0, 4);
	put_read(65535 * SECOND, 1, f, 0, 8);
	put_read(65536 * SECOND, 1, f, 0, 16);
	put_read(80000 * SECOND, 1, f, 0, 32);
	p = profiled();
	ck_assert_uint_eq(p->series_step_ns, 2 * NS_PER_S);
	ck_assert_uint_eq(p->series_count, 40001);
	ck_assert(p->series[0] == 3);
	ck_assert(p->series[20000] == 4);
	ck_assert(p->series[32767] == 8);
	ck_assert(p->series[32768] == 16);
	ck_assert(p->series[40000] == 32);
}
END_TEST

Suite *suite_profile(void)
{
	Suite *s = suite_create("profile");
	TCase *t = tcase_create("profile");

	tcase_add_checked_fixture(t, set_up, forget);
	tcase_add_test(t, bytes_of_a_second_are_one_value);
	tcase_add_test(t, a_series_of_a_day_has_longer_seconds);
	suite_add_tcase(s, t);
	return s;
}
