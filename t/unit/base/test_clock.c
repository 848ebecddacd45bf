/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - waiting and waking, in virtual time to the nanosecond. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "suites.h"

#define START UINT64_C(1000)
#define MS UINT64_C(1000000)

/* What the threads of one test share. */
struct shared {
	struct clock *c;
	_Atomic uint32_t word;
	_Atomic uint32_t order; /* how many have woken so far */
};

struct sleeper {
	struct shared *s;
	uint64_t ns; /* deadline or pause */
	uint64_t woke_ns;
	uint32_t place;
	int result;
	unsigned waits; /* how often a wait returned */
	pthread_t thread;
};

/* Expected before: time must stand until the last of a test has joined. */
static void start(struct sleeper *t, struct shared *s, void *(*body)(void *))
{
	t->s = s;
	ck_assert_int_eq(pthread_create(&t->thread, NULL, body, t), 0);
}

static void note(struct sleeper *t)
{
	t->woke_ns = clock_now(t->s->c);
	t->place = atomic_fetch_add(&t->s->order, 1);
}

static void *sleep_once(void *arg)
{
	struct sleeper *t = arg;

	clock_join(t->s->c);
	clock_sleep_until(t->s->c, t->ns);
	note(t);
	clock_leave(t->s->c);
	return NULL;
}

START_TEST(sleepers_wake_in_order_at_exact_times)
{
	struct shared s = { .c = clock_new_virtual(START) };
	struct sleeper t[3] = { { .ns = START + 30 * MS },
				{ .ns = START + 10 * MS },
				{ .ns = START + 20 * MS + 1 } };
	static const uint32_t places[3] = { 2, 0, 1 };

	clock_expect(s.c, 3);
	for (int i = 0; i < 3; i++)
		start(&t[i], &s, sleep_once);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i].thread, NULL);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(t[i].woke_ns, t[i].ns);
		ck_assert_uint_eq(t[i].place, places[i]);
	}
	ck_assert_uint_eq(clock_now(s.c), START + 30 * MS);
	clock_free(s.c);
}
END_TEST

START_TEST(a_deadline_in_the_past_costs_no_time)
{
	struct clock *c = clock_new_virtual(START);
	_Atomic uint32_t word = 0;
	uint64_t late = 0;

	clock_join(c);
	clock_sleep_until(c, START);
	clock_sleep_until(c, 0);
	ck_assert_uint_eq(clock_sleep_exactly(c, START - 1, &late), START);
	ck_assert_int_eq(clock_wait(c, &word, 0, START), -ETIMEDOUT);
	ck_assert_uint_eq(clock_now(c), START);
	ck_assert_uint_eq(clock_sleep_exactly(c, START + 5, &late), START + 5);
	ck_assert_uint_eq(late, 0);
	clock_leave(c);
	clock_free(c);
}
END_TEST

START_TEST(a_wait_on_a_changed_word_returns_at_once)
{
	struct clock *c = clock_new_virtual(START);
	_Atomic uint32_t word = 1;

	clock_join(c);
	ck_assert_int_eq(clock_wait(c, &word, 0, CLOCK_NEVER), 0);
	ck_assert_uint_eq(clock_now(c), START);
	clock_leave(c);
	clock_free(c);
}
END_TEST

START_TEST(a_wait_times_out_at_its_deadline)
{
	struct clock *c = clock_new_virtual(START);
	_Atomic uint32_t word = 0;

	clock_join(c);
	ck_assert_int_eq(clock_wait(c, &word, 0, START + 7), -ETIMEDOUT);
	ck_assert_uint_eq(clock_now(c), START + 7);
	clock_leave(c);
	clock_free(c);
}
END_TEST

static void *wait_for_word(void *arg)
{
	struct sleeper *t = arg;

	clock_join(t->s->c);
	while (atomic_load(&t->s->word) == 0 && t->result == 0) {
		t->result = clock_wait(t->s->c, &t->s->word, 0, t->ns);
		t->waits++;
	}
	note(t);
	clock_leave(t->s->c);
	return NULL;
}

static void *wake_later(void *arg)
{
	struct sleeper *t = arg;

	clock_join(t->s->c);
	clock_sleep_until(t->s->c, t->ns);
	atomic_store(&t->s->word, 1);
	clock_wake(t->s->c, &t->s->word);
	/* The woken run from now on: no time may pass for them. */
	clock_sleep_until(t->s->c, t->ns + 1000 * MS);
	note(t);
	clock_leave(t->s->c);
	return NULL;
}

START_TEST(a_wake_ends_all_waits_at_that_moment)
{
	struct shared s = { .c = clock_new_virtual(START) };
	struct sleeper waits[3] = { { .ns = CLOCK_NEVER },
				    { .ns = CLOCK_NEVER },
				    { .ns = START + 50 * MS } };
	struct sleeper wakes = { .ns = START + 5 * MS };

	clock_expect(s.c, 4);
	for (int i = 0; i < 3; i++)
		start(&waits[i], &s, wait_for_word);
	start(&wakes, &s, wake_later);
	for (int i = 0; i < 3; i++) {
		pthread_join(waits[i].thread, NULL);
		ck_assert_int_eq(waits[i].result, 0);
		ck_assert_uint_eq(waits[i].woke_ns, START + 5 * MS);
	}
	pthread_join(wakes.thread, NULL);
	ck_assert_uint_eq(wakes.place, 3);
	ck_assert_uint_eq(wakes.woke_ns, START + 1005 * MS);
	clock_free(s.c);
}
END_TEST

START_TEST(a_wake_passes_by_who_waits_for_another_word)
{
	struct shared a = { .c = clock_new_virtual(START) };
	struct shared b = { .c = a.c };
	struct sleeper waits_a = { .ns = START + 9 * MS };
	struct sleeper waits_b = { .ns = CLOCK_NEVER };
	struct sleeper wakes_b = { .ns = START + MS };

	clock_expect(a.c, 3);
	start(&waits_a, &a, wait_for_word);
	start(&waits_b, &b, wait_for_word);
	start(&wakes_b, &b, wake_later);
	pthread_join(waits_a.thread, NULL);
	pthread_join(waits_b.thread, NULL);
	pthread_join(wakes_b.thread, NULL);
	ck_assert_int_eq(waits_a.result, -ETIMEDOUT);
	ck_assert_uint_eq(waits_a.waits, 1);
	ck_assert_uint_eq(waits_a.woke_ns, START + 9 * MS);
	ck_assert_uint_eq(waits_b.woke_ns, START + MS);
	clock_free(a.c);
}
END_TEST

START_TEST(time_stands_while_a_thread_is_expected)
{
	struct shared s = { .c = clock_new_virtual(START) };
	struct sleeper early = { .ns = START + MS };
	struct sleeper late = { .ns = START + 2 * MS };

	clock_expect(s.c, 2);
	start(&early, &s, sleep_once);
	for (int i = 0; i < 1000; i++) {
		sched_yield();
		ck_assert_uint_eq(clock_now(s.c), START);
	}
	start(&late, &s, sleep_once);
	pthread_join(early.thread, NULL);
	pthread_join(late.thread, NULL);
	ck_assert_uint_eq(early.woke_ns, START + MS);
	ck_assert_uint_eq(late.woke_ns, START + 2 * MS);
	clock_free(s.c);
}
END_TEST

START_TEST(equal_deadlines_wake_one_after_the_other)
{
	struct shared s = { .c = clock_new_virtual(START) };
	struct sleeper t[8];

	clock_expect(s.c, 8);
	for (int i = 0; i < 8; i++) {
		t[i] = (struct sleeper){ .ns = START + MS };
		start(&t[i], &s, sleep_once);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i].thread, NULL);
		ck_assert_uint_eq(t[i].woke_ns, START + MS);
	}
	clock_free(s.c);
}
END_TEST

/* Two threads hand a token back and forth, a pause before each turn. */
#define TURNS 2000

static void *play(void *arg)
{
	struct sleeper *t = arg;
	struct clock *c = t->s->c;
	uint32_t mine = t->place;

	clock_join(c);
	for (uint32_t turn = mine; turn < TURNS; turn += 2) {
		uint32_t now;

		while ((now = atomic_load(&t->s->word)) != turn)
			clock_wait(c, &t->s->word, now, CLOCK_NEVER);
		clock_sleep_until(c, clock_now(c) + t->ns);
		atomic_store(&t->s->word, turn + 1);
		clock_wake(c, &t->s->word);
	}
	clock_leave(c);
	return NULL;
}

START_TEST(no_wake_is_lost_in_virtual_time)
{
	struct shared s = { .c = clock_new_virtual(0) };
	struct sleeper a = { .ns = 3, .place = 0 }, b = { .ns = 5, .place = 1 };

	clock_expect(s.c, 2);
	start(&a, &s, play);
	start(&b, &s, play);
	pthread_join(a.thread, NULL);
	pthread_join(b.thread, NULL);
	ck_assert_uint_eq(clock_now(s.c), TURNS / 2 * (3 + 5));
	clock_free(s.c);
}
END_TEST

START_TEST(no_wake_is_lost_in_real_time)
{
	struct shared s = { .c = clock_new_real() };
	struct sleeper a = { .ns = 0, .place = 0 }, b = { .ns = 0, .place = 1 };

	start(&a, &s, play);
	start(&b, &s, play);
	pthread_join(a.thread, NULL);
	pthread_join(b.thread, NULL);
	ck_assert_uint_eq(s.word, TURNS);
	clock_free(s.c);
}
END_TEST

START_TEST(all_waiting_for_ever_is_a_deadlock)
{
	struct clock *c = clock_new_virtual(START);
	_Atomic uint32_t word = 0;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	clock_join(c);
	clock_wait(c, &word, 0, CLOCK_NEVER);
}
END_TEST

START_TEST(leaving_others_to_wait_for_ever_is_a_deadlock)
{
	struct shared s = { .c = clock_new_virtual(START) };
	struct sleeper t = { .ns = CLOCK_NEVER };

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	clock_join(s.c);
	clock_expect(s.c, 1);
	start(&t, &s, wait_for_word);
	clock_leave(s.c);
	pthread_join(t.thread, NULL);
}
END_TEST

START_TEST(real_time_is_never_early)
{
	struct clock *c = clock_new_real();
	_Atomic uint32_t word = 0;
	uint64_t late = 0;

	clock_join(c);
	ck_assert_int_eq(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 1);
	for (int i = 0; i < 20; i++) {
		uint64_t deadline = clock_now(c) + MS / 5;
		uint64_t woke = clock_sleep_exactly(c, deadline, &late);

		ck_assert_uint_ge(woke, deadline);
		ck_assert_uint_le(late, MS);
	}
	ck_assert_uint_gt(late, 0);
	uint64_t deadline = clock_now(c) + MS / 5;
	clock_sleep_until(c, deadline);
	ck_assert_uint_ge(clock_now(c), deadline);
	deadline = clock_now(c) + MS / 5;
	while (clock_wait(c, &word, 0, deadline) == 0)
		;
	ck_assert_uint_ge(clock_now(c), deadline);
	ck_assert_int_eq(clock_wait(c, &word, 1, CLOCK_NEVER), 0);
	ck_assert_int_eq(clock_wait(c, &word, 0, 0), -ETIMEDOUT);
	clock_wake(c, &word);
	clock_leave(c);
	clock_free(c);
}
END_TEST

Suite *suite_clock(void)
{
	Suite *s = suite_create("clock");
	TCase *tc = tcase_create("clock");

	tcase_add_test(tc, sleepers_wake_in_order_at_exact_times);
	tcase_add_test(tc, a_deadline_in_the_past_costs_no_time);
	tcase_add_test(tc, a_wait_on_a_changed_word_returns_at_once);
	tcase_add_test(tc, a_wait_times_out_at_its_deadline);
	tcase_add_test(tc, a_wake_ends_all_waits_at_that_moment);
	tcase_add_test(tc, a_wake_passes_by_who_waits_for_another_word);
	tcase_add_test(tc, time_stands_while_a_thread_is_expected);
	tcase_add_test(tc, equal_deadlines_wake_one_after_the_other);
	tcase_add_test(tc, no_wake_is_lost_in_virtual_time);
	tcase_add_test(tc, no_wake_is_lost_in_real_time);
	tcase_add_test_raise_signal(tc, all_waiting_for_ever_is_a_deadlock, SIGABRT);
	tcase_add_test_raise_signal(tc, leaving_others_to_wait_for_ever_is_a_deadlock, SIGABRT);
	tcase_add_test(tc, real_time_is_never_early);
	suite_add_tcase(s, tc);
	return s;
}
