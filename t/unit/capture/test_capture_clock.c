/* SPDX-License-Identifier: Apache-2.0 */
/* test_capture_clock.c - lines of strace while the time of day is set, to the second on the clock
 * that is not. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "suites.h"
#include "tracing/capture/capture_internal.h"

#define S NS_PER_S
#define DAY (UINT64_C(20000) * 86400 * S) /* the distance at first */
#define HOUR (3600 * S)

static struct capture_clock c;

static void begin(void)
{
	capture_clock_init(&c, DAY);
}

/* Where on CLOCK_MONOTONIC a line that was written at `wall_ns` is. */
static uint64_t at(uint64_t wall_ns, uint64_t now_ns)
{
	const struct capture_stamp stamp = { .wall_ns = wall_ns };

	return wall_ns - capture_clock_offset(&c, &stamp, now_ns);
}

/* The same of one with the time at which its call began. */
static uint64_t began(uint64_t wall_ns, uint64_t now_ns)
{
	const struct capture_stamp stamp = { wall_ns, true };

	return wall_ns - capture_clock_offset(&c, &stamp, now_ns);
}

START_TEST(lines_are_where_they_were_written)
{
	ck_assert_uint_eq(at(DAY + 5 * S, 6 * S), 5 * S);
	capture_clock_drained(&c, 10 * S);
	ck_assert_uint_eq(at(DAY + 11 * S, 12 * S), 11 * S);
	/* One that was kept from being written for a while changes nothing. */
	ck_assert_uint_eq(at(DAY + 9 * S, 13 * S), 9 * S);
	ck_assert_uint_eq(at(DAY + 13 * S, 13 * S), 13 * S);
}
END_TEST

/* By an hour, forward and back: of what is in the pipe some is of before. */
START_TEST(each_line_is_of_the_time_of_day_that_it_was_written_by)
{
	uint64_t set = _i ? DAY - HOUR : DAY + HOUR;

	capture_clock_drained(&c, 10 * S);
	ck_assert_uint_eq(at(DAY + 11 * S, 14 * S), 11 * S);
	capture_clock_observe(&c, set);
	ck_assert_uint_eq(at(DAY + 12 * S, 14 * S), 12 * S);
	ck_assert_uint_eq(at(set + 13 * S, 14 * S), 13 * S);
	ck_assert_uint_eq(at(set + 14 * S, 14 * S), 14 * S);
	capture_clock_drained(&c, 15 * S);
	ck_assert_uint_eq(at(set + 16 * S, 16 * S), 16 * S);
}
END_TEST

START_TEST(a_step_shows_in_lines_before_the_host_is_looked_at)
{
	uint64_t set = _i ? DAY - HOUR : DAY + HOUR;

	capture_clock_drained(&c, 10 * S);
	ck_assert_uint_eq(at(DAY + 11 * S, 12 * S), 11 * S);
	/* It is not known how late it was read: as early as it can be. */
	ck_assert_uint_eq(at(set + 12 * S, 12 * S), 11 * S);
	ck_assert_uint_eq(at(set + 13 * S, 13 * S), 12 * S);
}
END_TEST

START_TEST(small_steps_are_seen_when_nothing_is_on_its_way)
{
	uint64_t set = _i ? DAY - S / 20 : DAY + S / 20;

	capture_clock_observe(&c, set);
	capture_clock_drained(&c, 10 * S);
	ck_assert_uint_eq(at(set + 60 * S, 61 * S), 60 * S);
}
END_TEST

/* It was written when the other half came. */
START_TEST(calls_that_last_over_a_step_began_before_it)
{
	uint64_t set = _i ? DAY - HOUR : DAY + HOUR;

	ck_assert_uint_eq(began(DAY + 5 * S, 8 * S), 5 * S);
	capture_clock_drained(&c, 10 * S);
	capture_clock_observe(&c, set);
	ck_assert_uint_eq(began(DAY + 9 * S, 13 * S), 9 * S);
	ck_assert_uint_eq(began(set + 11 * S, 13 * S), 11 * S);
	ck_assert_uint_eq(at(set + 12 * S, 13 * S), 12 * S);
	ck_assert_uint_eq(began(DAY + 7 * S, 14 * S), 7 * S);
	ck_assert_uint_eq(began(set + 13 * S, 14 * S), 13 * S);
	/* A whole call whose end, by the clock it began by, is now. */
	capture_clock_drained(&c, 20 * S);
	ck_assert_uint_eq(at(DAY + 21 * S, 21 * S), 21 * S);
	ck_assert_uint_eq(at(set + 22 * S, 22 * S), 22 * S);
	/* One that began two hours ago, and long behind the step. */
	capture_clock_drained(&c, 3 * HOUR);
	ck_assert_uint_eq(began(set + HOUR, 3 * HOUR), HOUR);
}
END_TEST

START_TEST(looks_at_two_clocks_are_never_quite_at_once)
{
	capture_clock_observe(&c, DAY + S / 2000);
	capture_clock_drained(&c, 10 * S);
	ck_assert_uint_eq(at(DAY + 11 * S, 12 * S), 11 * S);
}
END_TEST

static const struct {
	const char *line;
	uint64_t wall_ns;
	bool is_earlier;
} lines[] = {
	{ "7 1600000000.5 read(3, \"\", 1) = 0 <0.25>", 750000000, false },
	{ "7 1600000000.5 read(3,  <unfinished ...>", 500000000, true },
	{ "7 1600000000.5 <... read resumed>\"\", 1) = 0 <0.25>", 500000000, false },
	{ "7 1600000000.5 +++ exited with 0 +++", 500000000, false },
};

START_TEST(a_line_says_when_it_was_written)
{
	char line[128];
	struct capture_stamp stamp;

	snprintf(line, sizeof(line), "%s", lines[_i].line);
	stamp = capture_stamp_parse(line, strlen(line));
	ck_assert_uint_eq(stamp.wall_ns, 1600000000 * S + lines[_i].wall_ns);
	ck_assert_int_eq(stamp.is_earlier, lines[_i].is_earlier);
}
END_TEST

START_TEST(a_line_without_a_time_says_nothing)
{
	char line[] = "strace: Process 7 attached";

	ck_assert_uint_eq(capture_stamp_parse(line, strlen(line)).wall_ns, 0);
}
END_TEST

Suite *suite_capture_clock(void)
{
	Suite *s = suite_create("capture_clock");
	TCase *t = tcase_create("capture_clock");

	tcase_add_checked_fixture(t, begin, NULL);
	tcase_add_test(t, lines_are_where_they_were_written);
	tcase_add_loop_test(t, each_line_is_of_the_time_of_day_that_it_was_written_by, 0, 2);
	tcase_add_loop_test(t, a_step_shows_in_lines_before_the_host_is_looked_at, 0, 2);
	tcase_add_loop_test(t, small_steps_are_seen_when_nothing_is_on_its_way, 0, 2);
	tcase_add_loop_test(t, calls_that_last_over_a_step_began_before_it, 0, 2);
	tcase_add_test(t, looks_at_two_clocks_are_never_quite_at_once);
	tcase_add_loop_test(t, a_line_says_when_it_was_written, 0, (int)ARRAY_LEN(lines));
	tcase_add_test(t, a_line_without_a_time_says_nothing);
	suite_add_tcase(s, t);
	return s;
}
