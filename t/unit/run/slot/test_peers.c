/* SPDX-License-Identifier: Apache-2.0 */
/* test_peers.c - a barrier decides once, lets everyone through, and can be closed. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "run/slot/slot.h"

#define RANKS 4
#define ROUNDS 50

struct world {
	struct clock *clock;
	struct peers peers;
	unsigned decisions; /* written under the barrier's lock */
	_Atomic unsigned passed, refused;
	bool leaves;
};

static uint64_t vote(void *arg)
{
	struct world *w = arg;

	return w->decisions + 1;
}

static void decide(void *arg, uint64_t votes)
{
	struct world *w = arg;

	w->decisions++;
	ck_assert_uint_eq(votes, w->decisions);
}

static const struct peers_decision decision = { vote, decide };

static void *member(void *arg)
{
	struct world *w = arg;

	clock_join(w->clock);
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (peers_barrier(&w->peers, &decision, w) == -EPIPE)
			atomic_fetch_add(&w->refused, 1);
		else
			atomic_fetch_add(&w->passed, 1);
	}
	clock_leave(w->clock);
	return NULL;
}

static void *leaver(void *arg)
{
	struct world *w = arg;

	clock_join(w->clock);
	/* Let the others arrive first: time moves only when they wait. */
	clock_sleep_until(w->clock, 1000);
	if (w->leaves)
		peers_leave(&w->peers);
	else
		peers_close(&w->peers);
	clock_leave(w->clock);
	return NULL;
}

static void run_world(struct world *w, unsigned members, bool with_leaver)
{
	pthread_t threads[RANKS];
	unsigned n = 0;

	w->clock = clock_new_virtual(0);
	peers_init(&w->peers, w->clock, members + with_leaver);
	clock_expect(w->clock, members + with_leaver);
	for (unsigned i = 0; i < members; i++)
		pthread_create(&threads[n++], NULL, member, w);
	if (with_leaver)
		pthread_create(&threads[n++], NULL, leaver, w);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	peers_fini(&w->peers);
	clock_free(w->clock);
}

START_TEST(each_round_is_decided_once_and_passed_by_all)
{
	struct world w = { 0 };

	run_world(&w, RANKS, false);
	ck_assert_uint_eq(w.decisions, ROUNDS);
	ck_assert_uint_eq(w.passed, RANKS * ROUNDS);
	ck_assert_uint_eq(w.refused, 0);
}
END_TEST

START_TEST(a_member_that_leaves_is_not_waited_for)
{
	struct world w = { .leaves = true };

	run_world(&w, RANKS - 1, true);
	ck_assert_uint_eq(w.passed, (RANKS - 1) * ROUNDS);
	/* where all others waited it decides for them */
	ck_assert_uint_eq(w.decisions, ROUNDS);
}
END_TEST

START_TEST(closing_wakes_those_who_wait)
{
	struct world w = { 0 };

	run_world(&w, RANKS - 1, true);
	ck_assert_uint_eq(w.passed, 0);
	ck_assert_uint_eq(w.refused, (RANKS - 1) * ROUNDS);
	ck_assert_uint_eq(w.decisions, 0);
}
END_TEST

Suite *suite_peers(void);
Suite *suite_peers(void)
{
	Suite *s = suite_create("peers");
	TCase *tc = tcase_create("peers");

	tcase_add_test(tc, each_round_is_decided_once_and_passed_by_all);
	tcase_add_test(tc, a_member_that_leaves_is_not_waited_for);
	tcase_add_test(tc, closing_wakes_those_who_wait);
	suite_add_tcase(s, tc);
	return s;
}
