/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring.c - tokens come out in order, whole, and split exactly. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "work/train/pipeline/pipeline.h"

START_TEST(first_in_first_out)
{
	struct ring *r = ring_new(5);
	struct token t;

	ck_assert(!ring_pop(r, 0, 0, &t));
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 5; i++)
			ring_push(r, &(struct token){ .samples = i });
		for (uint64_t i = 0; i < 5; i++) {
			ck_assert(ring_pop(r, 0, 0, &t));
			ck_assert_uint_eq(t.samples, i);
		}
		ck_assert(!ring_pop(r, 0, 0, &t));
	}
	ring_free(r);
	ring_free(NULL);
}
END_TEST

START_TEST(taking_splits_samples_and_bytes)
{
	struct token have = { .samples = 10, .sample_bytes = 1000, .id_sum = 45, .extents = 2 };
	struct token out;

	token_split(&have, 4, &out);
	ck_assert_uint_eq(out.samples, 4);
	ck_assert_uint_eq(out.sample_bytes, 400);
	ck_assert_uint_eq(out.id_sum, 45);
	ck_assert_uint_eq(out.extents, 2);
	ck_assert_uint_eq(have.samples, 6);
	ck_assert_uint_eq(have.sample_bytes, 600);
	ck_assert_uint_eq(have.extents, 0);
	token_split(&have, 6, &out);
	ck_assert_uint_eq(out.samples, 6);
	ck_assert_uint_eq(have.samples, 0);
	ck_assert_uint_eq(have.sample_bytes, 0);
}
END_TEST

START_TEST(what_failed_goes_with_the_first_part_and_has_no_bytes)
{
	struct token have = { .samples = 10, .failed_samples = 6, .sample_bytes = 400 };
	struct token out;

	token_split(&have, 4, &out);
	ck_assert_uint_eq(token_delivered(&out), 0);
	ck_assert_uint_eq(out.sample_bytes, 0);
	ck_assert_uint_eq(have.failed_samples, 2);
	token_split(&have, 3, &out);
	ck_assert_uint_eq(token_delivered(&out), 1);
	ck_assert_uint_eq(out.sample_bytes, 100);
	token_split(&have, 3, &out);
	ck_assert_uint_eq(out.failed_samples, 0);
	ck_assert_uint_eq(out.sample_bytes, 300);
	have = (struct token){ .samples = 2, .failed_samples = 2 };
	token_split(&have, 1, &out);
	ck_assert_uint_eq(have.failed_samples, 1);
}
END_TEST

static void push(struct ring *r, uint64_t stage, uint64_t samples)
{
	ring_push(r, &(struct token){ .samples = samples, .stage = stage });
}

START_TEST(what_was_left_of_stages_before_is_dropped)
{
	struct ring *r = ring_new(6);
	struct token t;

	push(r, 0, 1);
	push(r, 0, 2);
	push(r, 2, 3);
	push(r, 2, 4);
	ck_assert(ring_pop(r, 0, 0, &t));
	ck_assert_uint_eq(t.samples, 1);
	/* of stage 1 there is none, and the second of stage 0 is gone */
	ck_assert(!ring_pop(r, 1, 0, &t));
	ck_assert(!ring_pop(r, 0, 0, &t));
	ck_assert(ring_pop(r, 2, 0, &t));
	ck_assert_uint_eq(t.samples, 3);
	push(r, 3, 5);
	ck_assert(ring_pop(r, 3, 0, &t));
	ck_assert_uint_eq(t.samples, 5);
	ring_free(r);
}
END_TEST

START_TEST(those_of_later_stages_wait)
{
	struct ring *r = ring_new(2);
	struct token t;

	push(r, 5, 1);
	push(r, 6, 2);
	for (uint64_t stage = 0; stage < 5; stage++)
		ck_assert(!ring_pop(r, stage, 0, &t));
	ck_assert(ring_pop(r, 5, 0, &t));
	ck_assert(!ring_pop(r, 5, 0, &t));
	ck_assert(ring_pop(r, 6, 0, &t));
	ck_assert_uint_eq(t.samples, 2);
	ring_free(r);
}
END_TEST

START_TEST(those_of_later_batches_wait)
{
	struct ring *r = ring_new(3);
	struct token t;

	ring_push(r, &(struct token){ .samples = 1, .batch = 3 });
	ring_push(r, &(struct token){ .samples = 2, .batch = 5 });
	push(r, 1, 3);
	ck_assert(!ring_pop(r, 0, 2, &t));
	ck_assert(ring_pop(r, 0, 4, &t));
	ck_assert_uint_eq(t.samples, 1);
	ck_assert(!ring_pop(r, 0, 4, &t));
	/* a stage that is over has no order any more */
	ck_assert(ring_pop(r, 1, 0, &t));
	ck_assert_uint_eq(t.samples, 3);
	ring_free(r);
}
END_TEST

/* Dropped ones give their room back: a ring of two takes any number. */
START_TEST(what_is_dropped_leaves_its_room)
{
	struct ring *r = ring_new(2);
	struct token t;

	for (uint64_t stage = 0; stage < 20; stage += 2) {
		push(r, stage, 1);
		push(r, stage, 1);
		ck_assert(!ring_pop(r, stage + 1, 0, &t));
	}
	ring_free(r);
}
END_TEST

START_TEST(what_is_added_is_ready_with_its_last)
{
	struct token sum = { 0 }, out;

	token_add(&sum, &(struct token){ 3, 1, 30, 7, 1, 500, 4, 0 });
	token_add(&sum, &(struct token){ 2, 2, 20, 1, 2, 400, 4, 0 });
	ck_assert_uint_eq(sum.samples, 5);
	ck_assert_uint_eq(sum.failed_samples, 3);
	ck_assert_uint_eq(sum.sample_bytes, 50);
	ck_assert_uint_eq(sum.id_sum, 8);
	ck_assert_uint_eq(sum.extents, 3);
	ck_assert_uint_eq(sum.ready_ns, 500);
	token_split(&sum, 4, &out);
	ck_assert_uint_eq(out.ready_ns, 500);
	ck_assert_uint_eq(sum.ready_ns, 500);
	ck_assert_uint_eq(out.sample_bytes + sum.sample_bytes, 50);
}
END_TEST

#define MANY 100000u

START_TEST(a_full_ring_adds_what_is_alike)
{
	struct ring *r = ring_new(RING_TOKENS + 3);
	uint64_t sum = 0, n = 0;
	struct token t;

	for (uint64_t i = 0; i < MANY; i++)
		ring_push(r, &(struct token){ .samples = 1, .id_sum = i });
	push(r, 1, 5);
	push(r, 1, 6);
	ring_push(r, &(struct token){ .samples = 7, .stage = 1, .batch = 1 });
	for (; ring_pop(r, 0, 0, &t); n++)
		sum += t.samples + t.id_sum;
	ck_assert_uint_eq(n, RING_TOKENS);
	ck_assert_uint_eq(sum, MANY + (uint64_t)MANY * (MANY - 1) / 2);
	ck_assert(ring_pop(r, 1, 0, &t));
	ck_assert_uint_eq(t.samples, 11);
	ck_assert(ring_pop(r, 1, 1, &t));
	ck_assert_uint_eq(t.samples, 7);
	ck_assert(!ring_pop(r, 1, 1, &t));
	ring_free(r);
}
END_TEST

struct two_sides {
	struct ring *ring;
	_Atomic uint64_t rings; /* of the producer's eventcount */
	pthread_t consumer;
};

static void *produce(void *arg)
{
	struct two_sides *s = arg;

	for (uint64_t i = 0; i < MANY; i++) {
		ring_push(s->ring, &(struct token){ .samples = 1, .id_sum = i });
		atomic_fetch_add(&s->rings, 1);
	}
	return NULL;
}

/* The consumer is now behind, now at the newest one. */
START_TEST(nothing_is_lost_between_two_threads)
{
	struct two_sides s = { .ring = ring_new(RING_TOKENS + 2) };
	uint64_t samples = 0, sum = 0, seen = 0;
	pthread_t producer;
	struct token t;

	ck_assert_int_eq(pthread_create(&producer, NULL, produce, &s), 0);
	while (samples < MANY) {
		seen = atomic_load(&s.rings);
		while (ring_pop(s.ring, 0, 0, &t)) {
			samples += t.samples;
			sum += t.id_sum;
		}
		if (samples == MANY)
			break;
		/* the suite's time limit ends a wait for what was lost */
		while (atomic_load(&s.rings) == seen)
			sched_yield();
	}
	ck_assert_uint_eq(samples, MANY);
	ck_assert_uint_eq(sum, (uint64_t)MANY * (MANY - 1) / 2);
	pthread_join(producer, NULL);
	ring_free(s.ring);
}
END_TEST

#define PUSHES (10 * MANY)

static void nap(int signal)
{
	(void)signal;
	nanosleep(&(struct timespec){ .tv_nsec = 150000 }, NULL);
}

/* Until everything is pushed, stop the consumer again and again, wherever it happens to be. */
static void *interrupt(void *arg)
{
	struct two_sides *s = arg;

	while (atomic_load(&s->rings) < PUSHES) {
		pthread_kill(s->consumer, SIGUSR1);
		nanosleep(&(struct timespec){ .tv_nsec = 400000 }, NULL);
	}
	return NULL;
}

static void *produce_slowly(void *arg)
{
	struct two_sides *s = arg;

	for (uint64_t i = 0; i < PUSHES; i++) {
		ring_push(s->ring, &(struct token){ .samples = 1, .id_sum = i });
		atomic_fetch_add(&s->rings, 1);
		for (unsigned pause = 0; pause < 300; pause++)
			atomic_load(&s->rings);
	}
	return NULL;
}

/* A consumer that loses its CPU while it takes a token that was the newest. */
START_TEST(a_consumer_that_is_stopped_costs_no_room)
{
	struct two_sides s = { .ring = ring_new(RING_TOKENS + 2) };
	uint64_t samples = 0, sum = 0;
	pthread_t producer, interrupter;
	struct token t;

	s.consumer = pthread_self();
	ck_assert(signal(SIGUSR1, nap) != SIG_ERR);
	ck_assert_int_eq(pthread_create(&interrupter, NULL, interrupt, &s), 0);
	ck_assert_int_eq(pthread_create(&producer, NULL, produce_slowly, &s), 0);
	while (samples < PUSHES) {
		while (ring_pop(s.ring, 0, 0, &t)) {
			samples += t.samples;
			sum += t.id_sum;
		}
	}
	ck_assert_uint_eq(sum, (uint64_t)PUSHES * (PUSHES - 1) / 2);
	pthread_join(producer, NULL);
	pthread_join(interrupter, NULL);
	ring_free(s.ring);
}
END_TEST

Suite *suite_ring(void);
Suite *suite_ring(void)
{
	Suite *s = suite_create("ring");
	TCase *tc = tcase_create("ring");

	tcase_add_test(tc, first_in_first_out);
	tcase_add_test(tc, taking_splits_samples_and_bytes);
	tcase_add_test(tc, what_failed_goes_with_the_first_part_and_has_no_bytes);
	tcase_add_test(tc, what_was_left_of_stages_before_is_dropped);
	tcase_add_test(tc, those_of_later_stages_wait);
	tcase_add_test(tc, those_of_later_batches_wait);
	tcase_add_test(tc, what_is_dropped_leaves_its_room);
	tcase_add_test(tc, what_is_added_is_ready_with_its_last);
	tcase_add_test(tc, a_full_ring_adds_what_is_alike);
	tcase_add_test(tc, nothing_is_lost_between_two_threads);
	tcase_add_test(tc, a_consumer_that_is_stopped_costs_no_room);
	tcase_set_timeout(tc, 120); /* the thread sanitizer takes a tenth of that */
	suite_add_tcase(s, tc);
	return s;
}
