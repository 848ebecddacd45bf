/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop.c - sleeps that a stop ends: set by somebody, or by its time. */
#include <check.h>
#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "suites.h"

#define START UINT64_C(1000)
#define HOUR_NS UINT64_C(3600000000000)

struct scene {
	struct clock *c;
	struct stop stop;
	uint64_t deadline_ns, woke_ns;
	bool is_exact, slept;
};

static void *sleep_in(void *arg)
{
	struct scene *s = arg;
	uint64_t late_ns = 0;

	clock_join(s->c);
	s->slept = s->is_exact ? stop_sleep_exactly(&s->stop, s->c, s->deadline_ns, &late_ns) >=
					 s->deadline_ns
			       : stop_sleep_until(&s->stop, s->c, s->deadline_ns);
	s->woke_ns = clock_now(s->c);
	clock_leave(s->c);
	return NULL;
}

/* Sleeps on a thread of its own; set after so many ns (0 = never). */
static void play(struct scene *s, uint64_t set_ns)
{
	pthread_t thread;

	s->c = clock_new_virtual(START);
	clock_expect(s->c, 2);
	clock_join(s->c);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_in, s), 0);
	if (set_ns) {
		clock_sleep_until(s->c, START + set_ns);
		stop_set(&s->stop, s->c);
	}
	clock_leave(s->c);
	pthread_join(thread, NULL);
	clock_free(s->c);
}

START_TEST(a_sleep_ends_when_it_is_set)
{
	struct scene s = { .deadline_ns = START + HOUR_NS, .is_exact = _i };

	play(&s, 500);
	ck_assert(!s.slept);
	ck_assert_uint_eq(s.woke_ns, START + 500);
}
END_TEST

START_TEST(none_begins_once_it_is_set)
{
	struct scene s = { .deadline_ns = START + HOUR_NS, .is_exact = _i, .stop.is_set = 1 };

	play(&s, 0);
	ck_assert(!s.slept);
	ck_assert_uint_eq(s.woke_ns, START);
}
END_TEST

/* What ends with the time has its time; a ns more has not. */
START_TEST(its_time_ends_what_goes_beyond_it)
{
	struct scene s = { .deadline_ns = START + 700 + (uint64_t)(_i / 2),
			   .is_exact = _i % 2,
			   .stop.at_ns = START + 700 };

	play(&s, 0);
	ck_assert_uint_eq(s.slept, _i / 2 == 0);
	ck_assert_uint_eq(s.woke_ns, START + 700);
}
END_TEST

START_TEST(without_one_it_is_a_sleep)
{
	struct clock *c = clock_new_virtual(START);
	uint64_t late_ns = 0;

	clock_join(c);
	ck_assert(stop_sleep_until(NULL, c, START + 9));
	ck_assert_uint_eq(stop_sleep_exactly(NULL, c, START + 20, &late_ns), START + 20);
	ck_assert(!stop_is_due(NULL, UINT64_MAX - 1));
	clock_leave(c);
	clock_free(c);
}
END_TEST

START_TEST(it_has_come_when_set_or_at_its_time)
{
	struct stop s = { .at_ns = 70 };

	ck_assert(!stop_is_due(&s, 69));
	ck_assert(stop_is_due(&s, 70));
	ck_assert(!stop_is_set(&s));
	s.is_set = 1;
	ck_assert(stop_is_due(&s, 0));
}
END_TEST

/* In real time: an hour ends at once. */
START_TEST(the_machines_clock_knows_it_too)
{
	struct scene s = { .is_exact = _i };
	pthread_t thread;

	s.c = clock_new_real();
	s.deadline_ns = clock_now(s.c) + HOUR_NS;
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_in, &s), 0);
	sched_yield();
	stop_set(&s.stop, s.c);
	pthread_join(thread, NULL);
	ck_assert(!s.slept);
	clock_free(s.c);
}
END_TEST

Suite *suite_stop(void)
{
	Suite *s = suite_create("stop");
	TCase *t = tcase_create("stop");

	tcase_add_loop_test(t, a_sleep_ends_when_it_is_set, 0, 2);
	tcase_add_loop_test(t, none_begins_once_it_is_set, 0, 2);
	tcase_add_loop_test(t, its_time_ends_what_goes_beyond_it, 0, 4);
	tcase_add_test(t, without_one_it_is_a_sleep);
	tcase_add_test(t, it_has_come_when_set_or_at_its_time);
	tcase_add_loop_test(t, the_machines_clock_knows_it_too, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
