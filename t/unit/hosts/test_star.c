/* SPDX-License-Identifier: Apache-2.0 */
/* test_star.c - processes played by threads meet over loopback: what they say arrives, and who goes
 * is missed. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "hosts/hosts_internal.h"
#include "star_rig.h"

static void talk(struct member *m)
{
	struct buf b = { 0 };
	uint64_t all;
	size_t n;

	for (unsigned round = 0; round < 100; round++) {
		ck_assert_int_eq(hosts_vote(m->hosts, 1u << m->rank, &all, &m->err), 0);
		ck_assert_uint_eq(all, 15);
	}
	/* Two on end: a fast one is ahead of those that are waited for. */
	for (unsigned round = 0; round < 2; round++) {
		char *mine = calloc(1, 100000 + m->rank);

		memset(mine, 'a' + (int)m->rank, 100000 + m->rank);
		ck_assert_int_eq(hosts_gather(m->hosts, mine, 100000 + m->rank, &b, &m->err), 0);
		for (unsigned i = 0; i < RANKS && m->rank == 0; i++) {
			const char *part = hosts_part(&b, i, &n);

			ck_assert_uint_eq(n, 100000 + i);
			ck_assert_int_eq(part[n - 1], 'a' + (int)i);
		}
		free(mine);
	}
	buf_reset(&b);
	buf_add(&b, m->rank ? "not this" : "what rank 0 has");
	ck_assert_int_eq(hosts_broadcast(m->hosts, &b, &m->err), 0);
	ck_assert_str_eq(buf_str(&b), "what rank 0 has");
	buf_fini(&b);
}

START_TEST(test_votes_parts_and_words_arrive)
{
	struct member m[RANKS] = { 0 };

	run_members(m, talk);
	for (unsigned i = 0; i < RANKS; i++)
		ck_assert_msg(m[i].met == 0, "%s", m[i].err.text);
}
END_TEST

/* The first of them to have enough ends it for all. */
static void vote_aside(struct member *m)
{
	struct ballot *b = ballot_open(m->hosts, hosts_reserve_channels(m->hosts, 1));
	uint64_t all = 0;
	int rc = 0;

	for (unsigned round = 0; round < 50; round++) {
		/* What is done together goes on beside it. */
		if (round == 25)
			ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
		ck_assert_int_eq(ballot_vote(b, m->rank ? 0 : UINT64_MAX - round, &all), 0);
		ck_assert_uint_eq(all, UINT64_MAX - round);
	}
	if (m->rank == 2)
		ballot_close(b);
	else
		rc = ballot_vote(b, 1, &all);
	ck_assert_int_eq(rc, m->rank == 2 ? 0 : -EPIPE);
	ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
	ballot_free(b);
}

START_TEST(test_a_ballot_is_held_beside_what_is_done_together)
{
	struct member m[RANKS] = { 0 };
	uint64_t all;

	run_members(m, vote_aside);
	ck_assert_int_eq(ballot_vote(NULL, 5, &all), 0);
	ck_assert_uint_eq(all, 5);
}
END_TEST

static void fail_some(struct member *m)
{
	struct mlgen_err err = { 0 };
	int rc = 0;

	ck_assert_int_eq(hosts_agree(m->hosts, 0, &err), 0);
	if (m->rank >= 2)
		rc = mlgen_fail(&err, m->rank == 2 ? -ENOSPC : -EIO, "disk %u is full", m->rank);
	rc = hosts_agree(m->hosts, rc, &err);
	ck_assert_int_eq(rc, m->rank == 3 ? -EIO : -ENOSPC);
	if (m->rank < 2)
		ck_assert_ptr_nonnull(strstr(err.text, "(rank 2): disk 2"));
	/* Who passes it on is not named as well. */
	if (m->rank == 3)
		err = (struct mlgen_err){ 0 };
	rc = hosts_agree(m->hosts, m->rank == 3 ? 0 : -ENOSPC, &err);
	ck_assert_int_eq(rc, -ENOSPC);
	if (m->rank == 3)
		ck_assert_str_eq(strstr(err.text, "(rank"), "(rank 2): disk 2 is full");
}

START_TEST(test_the_lowest_that_failed_has_failed_for_all)
{
	struct member m[RANKS] = { 0 };

	run_members(m, fail_some);
}
END_TEST

START_TEST(test_another_version_is_refused_by_all)
{
	struct member m[RANKS] = { [2] = { .version = "2" } };

	run_members(m, talk);
	for (unsigned i = 0; i < RANKS; i++) {
		ck_assert_int_eq(m[i].met, -EINVAL);
		ck_assert_ptr_nonnull(strstr(m[i].err.text, "(rank 2) has mlgen 2"));
	}
}
END_TEST

/* Rank 2's connection breaks while the others wait for it. */
static void lose_one(struct member *m)
{
	struct mlgen_err err = { 0 };
	struct buf all = { 0 };
	size_t n;

	hosts_set_activity(m->hosts, "dancing");
	ck_assert_int_eq(hosts_barrier(m->hosts, &err), 0);
	if (m->rank == 2) {
		shutdown(m->hosts->peers[0].fd, SHUT_RDWR);
		return;
	}
	ck_assert_int_eq(hosts_barrier(m->hosts, &err), -EPIPE);
	ck_assert_ptr_nonnull(strstr(err.text, "(rank 2) was lost"));
	ck_assert_ptr_nonnull(strstr(err.text, "dancing"));
	ck_assert(hosts_is_lost(m->hosts));
	ck_assert_int_eq(hosts_gather(m->hosts, "x", 1, &all, &err), 0);
	if (m->rank == 0) {
		ck_assert_ptr_nonnull(hosts_part(&all, 1, &n));
		ck_assert_ptr_null(hosts_part(&all, 2, &n));
		ck_assert_ptr_nonnull(hosts_part(&all, 3, &n));
	}
	ck_assert_int_eq(hosts_broadcast(m->hosts, &all, &err), -EPIPE);
	buf_fini(&all);
}

START_TEST(test_one_that_is_gone_is_named_and_the_others_go_on_to_the_gather)
{
	struct member m[RANKS] = { 0 };

	run_members(m, lose_one);
}
END_TEST

struct party {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned passed;
	uint64_t votes;
	bool is_closed;
};

static void party_passed(void *arg, uint64_t votes)
{
	struct party *p = arg;

	pthread_mutex_lock(&p->lock);
	p->passed++;
	p->votes = votes;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void party_closed(void *arg)
{
	struct party *p = arg;

	pthread_mutex_lock(&p->lock);
	p->is_closed = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static const struct hosts_waiter party_waiter = { party_passed, party_closed };

static bool await_round(struct party *p, unsigned round)
{
	pthread_mutex_lock(&p->lock);
	while (p->passed < round && !p->is_closed)
		pthread_cond_wait(&p->changed, &p->lock);
	bool has_passed = p->passed >= round;
	pthread_mutex_unlock(&p->lock);
	return has_passed;
}

/* Rank 3 leaves after ten rounds, rank 1 closes after twenty. */
static void dance(struct member *m)
{
	struct party p = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	uint32_t number = hosts_reserve_channels(m->hosts, 2) + 1;
	struct hosts_channel *c = NULL;

	ck_assert_uint_eq(number, 2);
	c = hosts_channel_open(m->hosts, number, &party_waiter, &p);
	for (unsigned round = 1; round <= 20; round++) {
		if (m->rank == 3 && round > 10)
			break;
		hosts_channel_arrive(c, 1u << m->rank);
		ck_assert(await_round(&p, round));
		ck_assert_uint_eq(p.votes, round > 10 ? 7 : 15);
		if (m->rank == 3 && round == 10)
			hosts_channel_leave(c);
	}
	if (m->rank == 1)
		hosts_channel_close(c);
	else if (m->rank != 3)
		hosts_channel_arrive(c, 0);
	if (m->rank != 3)
		ck_assert(!await_round(&p, 21));
	hosts_channel_detach(c);
}

START_TEST(test_a_channel_passes_without_who_left_and_can_be_closed)
{
	struct member m[RANKS] = { 0 };

	run_members(m, dance);
}
END_TEST

struct talker {
	unsigned rank, said;
};

static void put_words(void *arg, struct buf *to)
{
	struct talker *t = arg;

	buf_addf(to, "%u says %u", t->rank, ++t->said);
}

static void expect_answer(struct survey *s, unsigned rank, const char *text)
{
	struct buf b = { 0 };

	ck_assert_int_eq(survey_answer(s, rank, &b), text != NULL);
	ck_assert_str_eq(buf_str(&b), text ? text : "");
	buf_fini(&b);
}

#define LONG_NS (60 * NS_PER_S)

/* Rank 3 ends before the first question, rank 2 before the second. */
static void be_asked(struct member *m)
{
	struct talker t = { .rank = m->rank };
	struct survey *s =
		survey_open(m->hosts, hosts_reserve_channels(m->hosts, 1), put_words, &t);

	if (m->rank == 3)
		survey_end(s);
	if (m->rank == 0)
		expect_answer(s, 1, NULL);
	ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
	survey_ask(s, LONG_NS);
	if (m->rank == 0) {
		expect_answer(s, 1, "1 says 1");
		expect_answer(s, 3, "3 says 1");
		ck_assert(!survey_is_over(s));
	}
	ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
	if (m->rank == 2)
		survey_end(s);
	ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
	survey_ask(s, LONG_NS);
	if (m->rank == 0) {
		expect_answer(s, 1, "1 says 2");
		expect_answer(s, 2, "2 says 2");
		expect_answer(s, 3, "3 says 1");
	}
	ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
	survey_end(s);
	ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
	ck_assert(survey_is_over(s));
	survey_free(s);
}

START_TEST(test_others_answer_when_asked_and_once_more_at_their_end)
{
	struct member m[RANKS] = { 0 };

	run_members(m, be_asked);
	ck_assert(survey_is_over(NULL));
	survey_ask(NULL, LONG_NS);
	expect_answer(NULL, 1, NULL);
}
END_TEST

static const struct {
	const char *set[6]; /* name, value, ... */
	enum launcher_mpi mpi;
	unsigned total;
	int rc;
} environments[] = {
	{ { NULL }, LAUNCHER_NONE, 1, 0 },
	{ { "OMPI_COMM_WORLD_SIZE", "1", "OMPI_COMM_WORLD_RANK", "0" }, LAUNCHER_NONE, 1, 0 },
	{ { "OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_RANK", "3" }, LAUNCHER_OPENMPI, 4, 0 },
	{ { "PMI_SIZE", "2", "PMI_RANK", "1" }, LAUNCHER_MPICH, 2, 0 },
	{ { "SLURM_STEP_NUM_TASKS", "1", "SLURM_PROCID", "0" }, LAUNCHER_NONE, 1, 0 },
	{ { "SLURM_STEP_NUM_TASKS", "2", "SLURM_PROCID", "1", "PMIX_RANK", "1" },
	  LAUNCHER_OPENMPI,
	  2,
	  0 },
	{ { "SLURM_STEP_NUM_TASKS", "2", "SLURM_PROCID", "1", "PMI_FD", "5" },
	  LAUNCHER_MPICH,
	  2,
	  0 },
	{ { "SLURM_STEP_NUM_TASKS", "2", "SLURM_PROCID", "1" }, LAUNCHER_NONE, 2, -EINVAL },
	{ { "SLURM_NTASKS", "8", "SLURM_PROCID", "0" }, LAUNCHER_NONE, 1, 0 },
};

START_TEST(test_the_environment_says_whose_library_it_is)
{
	static const char *const known[] = { "OMPI_COMM_WORLD_SIZE",
					     "OMPI_COMM_WORLD_RANK",
					     "PMI_SIZE",
					     "PMI_RANK",
					     "PMI_FD",
					     "PMIX_RANK",
					     "SLURM_STEP_NUM_TASKS",
					     "SLURM_PROCID",
					     "SLURM_NTASKS" };
	struct mlgen_err err = { 0 };
	struct launcher l;

	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		unsetenv(known[i]);
	for (unsigned i = 0; i < 6 && environments[_i].set[i]; i += 2)
		setenv(environments[_i].set[i], environments[_i].set[i + 1], 1);
	ck_assert_int_eq(launcher_detect(&l, &err), environments[_i].rc);
	ck_assert_int_eq(l.mpi, environments[_i].mpi);
	ck_assert_uint_eq(l.total, environments[_i].total);
	if (err.code)
		ck_assert_ptr_nonnull(strstr(err.text, "--mpi=pmi"));
}
END_TEST

/* ---- who comes to a port ---- */

#define WORD UINT64_C(0x1122334455667788)

static uint64_t greeted[8];
static unsigned greeted_count;

static bool note_greeting(void *who, int fd, uint64_t rank)
{
	(void)who;
	if (rank == 7)
		return false;
	greeted[greeted_count++] = rank;
	close(fd);
	return true;
}

static int port_open(struct greeter *g)
{
	struct hello mine = { .port = 0 };
	int fd = addresses_listen(&mine, 0);

	ck_assert_int_ge(fd, 0);
	greeter_init(g, fd, WORD, note_greeting, NULL);
	greeted_count = 0;
	return mine.port;
}

static int knock_at(int port)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void greet(int fd, uint64_t token, uint64_t rank, size_t bytes)
{
	const struct greeting said = { .token = token, .rank = rank };

	ck_assert_int_eq(send(fd, &said, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

static void close_port(struct greeter *g)
{
	greeter_fini(g);
	close(g->listener);
}

START_TEST(test_a_stranger_who_says_little_holds_up_nobody)
{
	struct greeter g;
	int port = port_open(&g), slow = knock_at(port), ours;

	greet(slow, WORD, 1, 1);
	for (int i = 0; i < 2; i++)
		greeter_poll(&g, 0);
	ck_assert_uint_eq(g.count, 1);
	ours = knock_at(port);
	greet(ours, WORD, 3, sizeof(struct greeting));
	for (int i = 0; i < 2; i++)
		greeter_poll(&g, 1000);
	ck_assert_uint_eq(greeted_count, 1);
	ck_assert_uint_eq(greeted[0], 3);
	ck_assert_uint_eq(g.count, 1);
	close(slow);
	close(ours);
	close_port(&g);
}
END_TEST

START_TEST(test_a_greeting_has_one_deadline_and_its_sender_is_named)
{
	struct greeter g;
	char text[128];
	int port = port_open(&g), slow = knock_at(port);

	ck_assert_str_eq(greeter_print_strangers(&g, text, sizeof(text)), "");
	g.patience_ns = UINT64_C(1000000000000);
	greeter_poll(&g, 1000);
	ck_assert_uint_eq(g.count, 1);
	/* However often it says something: its time is that of its coming. */
	g.guests[0].until_ns = star_now_ns();
	greet(slow, WORD, 1, 1);
	greeter_poll(&g, 1000);
	ck_assert_uint_eq(g.count, 0);
	ck_assert_str_eq(greeter_print_strangers(&g, text, sizeof(text)),
			 "; 1 connection, the last from 127.0.0.1, was not from this job");
	close(slow);
	close_port(&g);
}
END_TEST

/* A byte each 5 ms, until somebody has closed the other end. */
static void *trickle(void *fd)
{
	while (send(*(int *)fd, "x", 1, MSG_NOSIGNAL) == 1)
		(void)poll(NULL, 0, 5);
	return NULL;
}

START_TEST(test_what_comes_in_parts_has_one_deadline)
{
	const struct timeval patience = { .tv_usec = 50000 };
	pthread_t thread;
	char to[200];
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	pthread_create(&thread, NULL, trickle, &fds[1]);
	ck_assert(!connect_read(fds[0], to, sizeof(to)));
	ck_assert_int_eq(errno, EWOULDBLOCK);
	close(fds[0]);
	pthread_join(thread, NULL);
	close(fds[1]);
}
END_TEST

START_TEST(test_who_does_not_know_the_word_or_is_not_expected_has_to_go)
{
	struct greeter g;
	int port = port_open(&g);
	int fds[] = { knock_at(port), knock_at(port), knock_at(port) };

	greet(fds[0], WORD + 1, 1, sizeof(struct greeting));
	greet(fds[1], WORD, 7, sizeof(struct greeting));
	close(fds[2]);
	while (g.strangers < 3)
		greeter_poll(&g, 1000);
	ck_assert_uint_eq(greeted_count, 0);
	ck_assert_uint_eq(g.count, 0);
	close(fds[0]);
	close(fds[1]);
	close_port(&g);
}
END_TEST

START_TEST(test_of_more_strangers_than_places_the_oldest_has_to_go)
{
	struct greeter g;
	int port = port_open(&g), fds[GREETER_PLACES + 2], ours;

	g.patience_ns = UINT64_C(1000000000000);
	for (unsigned i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = knock_at(port);
		greeter_poll(&g, 1000);
	}
	ck_assert_uint_eq(g.count, GREETER_PLACES);
	ck_assert_uint_eq(g.strangers, 2);
	ours = knock_at(port);
	greet(ours, WORD, 1, sizeof(struct greeting));
	while (!greeted_count)
		greeter_poll(&g, 1000);
	ck_assert_uint_eq(greeted[0], 1);
	for (unsigned i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	close(ours);
	close_port(&g);
}
END_TEST

Suite *suite_star(void);

Suite *suite_star(void)
{
	Suite *s = suite_create("star");
	TCase *t = tcase_create("star");

	tcase_add_test(t, test_votes_parts_and_words_arrive);
	tcase_add_test(t, test_a_ballot_is_held_beside_what_is_done_together);
	tcase_add_test(t, test_the_lowest_that_failed_has_failed_for_all);
	tcase_add_test(t, test_another_version_is_refused_by_all);
	tcase_add_test(t, test_one_that_is_gone_is_named_and_the_others_go_on_to_the_gather);
	tcase_add_test(t, test_a_channel_passes_without_who_left_and_can_be_closed);
	tcase_add_test(t, test_others_answer_when_asked_and_once_more_at_their_end);
	suite_add_tcase(s, t);
	TCase *port = tcase_create("port");
	tcase_add_test(port, test_a_stranger_who_says_little_holds_up_nobody);
	tcase_add_test(port, test_a_greeting_has_one_deadline_and_its_sender_is_named);
	tcase_add_test(port, test_what_comes_in_parts_has_one_deadline);
	tcase_add_test(port, test_who_does_not_know_the_word_or_is_not_expected_has_to_go);
	tcase_add_test(port, test_of_more_strangers_than_places_the_oldest_has_to_go);
	suite_add_tcase(s, port);
	TCase *launcher = tcase_create("launcher");
	tcase_add_loop_test(launcher, test_the_environment_says_whose_library_it_is, 0,
			    ARRAY_LEN(environments));
	suite_add_tcase(s, launcher);
	return s;
}
