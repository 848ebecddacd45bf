/* SPDX-License-Identifier: Apache-2.0 */
/* test_exchange.c - what each process says all of them get, and who goes in the middle of it holds
 * up nobody. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "hosts/hosts.h"
#include "star_rig.h"
#include "suites.h"

static void nobody_passed(void *arg, uint64_t votes)
{
	(void)arg;
	(void)votes;
}

static void nobody_closed(void *arg)
{
	(void)arg;
}

static const struct hosts_waiter nobody = { nobody_passed, nobody_closed };

static struct hosts_channel *open_one(struct member *m)
{
	return hosts_channel_open(m->hosts, hosts_reserve_channels(m->hosts, 1), &nobody, NULL);
}

static void end_one(struct member *m, struct hosts_channel *c)
{
	struct mlgen_err err = { 0 };
	int rc = hosts_barrier(m->hosts, &err);

	(void)rc; /* where one is gone: it is */
	hosts_channel_detach(c);
}

/* So many bytes of a rank in a round: none, some, more than a socket takes. */
static size_t bytes_of(unsigned rank, unsigned round)
{
	if (round % 3 == rank % 3)
		return 0;
	return round == 50 ? 3000000 + rank : 1000 * rank + round;
}

static void check_part(const struct buf *all, unsigned rank, unsigned round)
{
	size_t n = 0, want = bytes_of(rank, round);
	const char *part = hosts_part(all, rank, &n);

	ck_assert_ptr_nonnull(part);
	ck_assert_uint_eq(n, want);
	for (size_t i = 0; i < n; i += 997)
		ck_assert_int_eq(part[i], (char)('a' + rank + i % 5));
	if (n)
		ck_assert_int_eq(part[n - 1], (char)('a' + rank + (n - 1) % 5));
}

/* Beside it there is a barrier of all, now and then. */
static void say_much(struct member *m)
{
	struct hosts_channel *c = open_one(m);
	char *mine = malloc(4000000);
	struct buf all = { 0 };

	for (size_t i = 0; i < 4000000; i++)
		mine[i] = (char)('a' + m->rank + i % 5);
	for (unsigned round = 0; round < 100; round++) {
		if (round % 20 == 0)
			ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
		ck_assert_int_eq(hosts_exchange(c, mine, bytes_of(m->rank, round), &all), 0);
		for (unsigned rank = 0; rank < RANKS; rank++)
			check_part(&all, rank, round);
	}
	buf_fini(&all);
	free(mine);
	end_one(m, c);
}

START_TEST(each_gets_what_all_have_said)
{
	struct member m[RANKS] = { 0 };

	run_members(m, say_much);
	for (unsigned i = 0; i < RANKS; i++)
		ck_assert_msg(m[i].met == 0, "%s", m[i].err.text);
}
END_TEST

/* Who does what in the place of saying something. */
enum { CLOSES, LEAVES, LEFT, DIES, WAYS };

static void go_away(struct member *m, struct hosts_channel *c, int how)
{
	if (how == CLOSES)
		hosts_channel_close(c);
	else if (how != DIES)
		hosts_channel_leave(c);
	else if (m->rank)
		shutdown(m->hosts->peers[0].fd, SHUT_RDWR);
	else
		for (unsigned i = 0; i < RANKS - 1; i++)
			shutdown(m->hosts->peers[i].fd, SHUT_RDWR);
}

static unsigned who;
static int way;
static struct hosts_channel *middle; /* rank 0's */

/* All others have said theirs, and wait. */
static void await_others(void)
{
	unsigned said = 0;

	while (said < RANKS - 1) {
		pthread_mutex_lock(&middle->calls);
		said = middle->said_count;
		pthread_mutex_unlock(&middle->calls);
		sched_yield();
	}
}

static void all_but_one(struct member *m)
{
	struct hosts_channel *c = open_one(m);
	struct buf all = { 0 };

	if (m->rank == 0)
		middle = c;
	ck_assert_int_eq(hosts_exchange(c, "x", 1, &all), 0);
	if (m->rank == who && way == LEFT)
		go_away(m, c, way);
	ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
	if (m->rank != who) {
		ck_assert_int_eq(hosts_exchange(c, "y", 1, &all), -EPIPE);
	} else if (way != LEFT) {
		await_others();
		go_away(m, c, way);
	}
	buf_fini(&all);
	end_one(m, c);
}

/* Rank 0, in the middle of the star, and one at its end. */
START_TEST(who_goes_away_is_not_waited_for)
{
	struct member m[RANKS] = { 0 };

	who = _i / WAYS ? 2 : 0;
	way = _i % WAYS;
	run_members(m, all_but_one);
	for (unsigned i = 0; i < RANKS; i++)
		ck_assert_msg(m[i].met == 0, "%s", m[i].err.text);
}
END_TEST

Suite *suite_exchange(void)
{
	Suite *s = suite_create("exchange");
	TCase *t = tcase_create("exchange");

	tcase_set_timeout(t, 20);
	tcase_add_test(t, each_gets_what_all_have_said);
	tcase_add_loop_test(t, who_goes_away_is_not_waited_for, 0, 2 * WAYS);
	suite_add_tcase(s, t);
	return s;
}
