/* SPDX-License-Identifier: Apache-2.0 */
/* test_tier_peers.c - processes with parts of one cache ask each other for what is there, and get
 * nothing else. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"
#include "hosts/hosts_internal.h"
#include "tier_part_rig.h"

static _Thread_local unsigned own_rank;
static pthread_barrier_t both;
static char exchanged[PARTS][sizeof(struct hello)];

static int exchange(const void *mine, size_t n, void *all)
{
	memcpy(exchanged[own_rank], mine, n);
	pthread_barrier_wait(&both);
	for (unsigned i = 0; i < PARTS; i++)
		memcpy((char *)all + i * n, exchanged[i], n);
	pthread_barrier_wait(&both);
	return 0;
}

static void nothing(void)
{
}

static const struct hosts_mpi threads_mpi = {
	.abi = HOSTS_MPI_ABI, .name = "threads", .exchange = exchange, .end = nothing
};

static void *part_main(void *arg)
{
	struct part *p = arg;
	const struct hosts_config hc = { .version = "1", .port = p->port };
	struct tier_peers_config cfg = { 0 };

	own_rank = p->rank;
	ck_assert_int_eq(hosts_meet_through(&p->hosts, &threads_mpi, p->rank, PARTS, &hc, &p->err),
			 0);
	cfg.hosts = p->hosts;
	cfg.channel = hosts_reserve_channels(p->hosts, 1);
	p->opened = tier_peers_open(&p->peers, &p->job, &p->pass, &cfg, &p->err);
	if (p->opened == 0) {
		part_open_tier(p);
		ck_assert_int_eq(tier_start(p->tier, &p->err), 0);
		p->does(p);
		ck_assert_int_eq(tier_end(p->tier, &p->err), 0);
	}
	tier_free(p->tier);
	tier_peers_free(p->peers);
	p->tier = NULL;
	p->peers = NULL;
	hosts_finish(p->hosts);
	return NULL;
}

static void make_both(struct part *p)
{
	memset(p, 0, PARTS * sizeof(*p));
	for (unsigned i = 0; i < PARTS; i++) {
		p[i].rank = i;
		p[i].all = p;
		part_make(&p[i], PARTS, 1);
		p[i].job.cache_verify = true;
	}
}

static void run_both(struct part *p, void (*does)(struct part *p))
{
	pthread_t threads[PARTS];

	pthread_barrier_init(&both, NULL, PARTS);
	for (unsigned i = 0; i < PARTS; i++) {
		part_make_pass(&p[i]);
		p[i].does = does;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, part_main, &p[i]), 0);
	}
	for (unsigned i = 0; i < PARTS; i++) {
		pthread_join(threads[i], NULL);
		part_free(&p[i]);
	}
	pthread_barrier_destroy(&both);
}

/* Slot 5 is the third of rank 1. */
#define SLOT 5u
#define OTHER 1u

static struct tier_request question(uint32_t kind, uint32_t generation, const unsigned char *memory)
{
	return (struct tier_request){ .kind = kind,
				      .slot = SLOT,
				      .generation = generation,
				      .sum = memory ? tier_sum(memory, BYTES) : 0,
				      .samples = 1,
				      .count = 1,
				      .pieces[0] = { 0, BYTES } };
}

static uint32_t say(struct part *p, const struct tier_request *a, unsigned char *memory)
{
	struct tier_reply answer = { 0 };
	int rc = tier_peers_request(p->peers, OTHER, a, memory, &answer, &p->err);

	ck_assert_msg(rc == 0, "%s", p->err.text);
	if (answer.said == TIER_PRESENT)
		ck_assert_uint_eq(answer.sum, tier_sum(memory, BYTES));
	return answer.said;
}

static uint32_t get(struct part *p, uint32_t generation, unsigned char *memory)
{
	const struct tier_request a = question(TIER_GET, generation, NULL);

	return say(p, &a, memory);
}

static uint32_t fill(struct part *p, uint32_t generation, unsigned char *memory)
{
	const struct tier_request a = question(TIER_FILL, generation, memory);

	return say(p, &a, memory);
}

static _Atomic uint64_t *word_of(const struct part *p)
{
	return tier_word(&p->all[OTHER].tier->caches[0], SLOT);
}

static void talk_about_a_slot(struct part *p)
{
	unsigned char sent[BYTES], got[BYTES] = { 0 };

	if (p->rank == OTHER)
		return;
	memset(sent, 'a', sizeof(sent));
	ck_assert_uint_eq(get(p, 1, got), TIER_ABSENT);
	ck_assert_uint_eq(fill(p, 1, sent), TIER_STORED);
	ck_assert_uint_eq(get(p, 1, got), TIER_PRESENT);
	ck_assert_mem_eq(got, sent, sizeof(got));
	ck_assert_uint_eq(fill(p, 1, sent), TIER_DROPPED); /* is there */
	/* Another's are not given, nor does an older one come back. */
	ck_assert_uint_eq(get(p, 2, got), TIER_ABSENT);
	memset(sent, 'b', sizeof(sent));
	ck_assert_uint_eq(fill(p, 3, sent), TIER_STORED);
	ck_assert_uint_eq(get(p, 1, got), TIER_ABSENT);
	ck_assert_uint_eq(fill(p, 2, sent), TIER_DROPPED);
	ck_assert_uint_eq(get(p, 3, got), TIER_PRESENT);
	ck_assert_int_eq(got[BYTES - 1], 'b');
	/* While it is read it is not filled. */
	ck_assert(tier_slot_enter(word_of(p), 3));
	ck_assert_uint_eq(fill(p, 4, sent), TIER_DROPPED);
	tier_slot_leave(word_of(p));
	ck_assert_uint_eq(fill(p, 4, sent), TIER_STORED);
	ck_assert_uint_eq(p->all[OTHER].tier->caches[0].parts, PARTS);
}

START_TEST(a_slot_is_given_and_filled_by_its_generation)
{
	struct part p[PARTS];

	make_both(p);
	run_both(p, talk_about_a_slot);
}
END_TEST

static void send_what_is_damaged(struct part *p)
{
	unsigned char sent[BYTES], got[BYTES];
	struct tier_request a;

	if (p->rank == OTHER)
		return;
	memset(sent, 'a', sizeof(sent));
	a = question(TIER_FILL, 1, sent);
	sent[7] = 'b';
	ck_assert_uint_eq(say(p, &a, sent), TIER_DROPPED);
	ck_assert_uint_eq(get(p, 1, got), TIER_ABSENT);
	ck_assert_uint_eq(fill(p, 1, sent), TIER_STORED);
}

START_TEST(what_was_damaged_on_its_way_is_not_kept)
{
	struct part p[PARTS];

	make_both(p);
	run_both(p, send_what_is_damaged);
}
END_TEST

/* More threads than there are connections, each with questions of its own. */
#define ASKERS 8u
#define ROUNDS 200u

struct asker {
	struct part *part;
	unsigned number;
};

static void *ask_again_and_again(void *asker)
{
	const struct asker *a = asker;
	unsigned char sent[BYTES], got[BYTES];
	struct tier_reply answer;
	struct mlgen_err err = { 0 };

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		struct tier_request q;

		memset(sent, (int)(i % 251), sizeof(sent));
		q = question(TIER_FILL, i, sent);
		q.slot = 2 * a->number + OTHER;
		ck_assert_int_eq(tier_peers_request(a->part->peers, OTHER, &q, sent, &answer, &err),
				 0);
		q = question(TIER_GET, i, NULL);
		q.slot = 2 * (a->number / 2) + OTHER;
		ck_assert_int_eq(tier_peers_request(a->part->peers, OTHER, &q, got, &answer, &err),
				 0);
		if (answer.said == TIER_PRESENT)
			for (unsigned k = 0; k < BYTES; k++)
				ck_assert_uint_eq(got[k], i % 251);
	}
	return NULL;
}

static void ask_side_by_side(struct part *p)
{
	struct asker askers[ASKERS];
	pthread_t threads[ASKERS];

	for (unsigned i = 0; i < ASKERS && p->rank != OTHER; i++) {
		askers[i] = (struct asker){ p, i };
		ck_assert_int_eq(thread_start(&threads[i], ask_again_and_again, &askers[i]), 0);
	}
	for (unsigned i = 0; i < ASKERS && p->rank != OTHER; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(nobody_gets_bytes_of_another_generation)
{
	struct part p[PARTS];

	make_both(p);
	for (unsigned i = 0; i < PARTS; i++)
		p[i].job.read_threads = ASKERS;
	run_both(p, ask_side_by_side);
}
END_TEST

/* What is no question ends its connection, and harms nobody. */
static const struct tier_request bad_questions[] = {
	{ .kind = 77, .slot = SLOT, .count = 1 },
	{ .kind = TIER_GET, .slot = SLOT - 1, .count = 1 }, /* is rank 0's */
	{ .kind = TIER_GET, .slot = UINT32_MAX, .count = 1 },
	{ .kind = TIER_GET, .slot = SLOT, .count = 0 },
	{ .kind = TIER_GET, .slot = SLOT, .count = 3 },
	{ .kind = TIER_GET, .slot = SLOT, .generation = UINT32_MAX, .count = 1 },
	{ .kind = TIER_GET,
	  .slot = SLOT,
	  .count = 1,
	  .pieces[0] = { .at = UINT64_MAX, .bytes = 2 } },
	{ .kind = TIER_GET, .slot = SLOT, .count = 2, .pieces = { { 0, 8 }, { 8, UINT64_MAX } } },
};
static int bad_at;

static void ask_nonsense(struct part *p)
{
	unsigned char sent[BYTES] = { 0 };
	struct tier_reply answer;

	if (p->rank == OTHER)
		return;
	ck_assert_int_eq(
		tier_peers_request(p->peers, OTHER, &bad_questions[bad_at], sent, &answer, &p->err),
		-EPIPE);
	ck_assert_ptr_nonnull(strstr(
		p->err.text,
		"(rank 1): its part of the cache cannot be reached: it has closed a connection"));
}

START_TEST(what_is_no_question_ends_its_connection)
{
	struct part p[PARTS];

	bad_at = _i;
	make_both(p);
	run_both(p, ask_nonsense);
}
END_TEST

/* As where an error ends the run: nobody is asked any more. */
static void ask_when_cut(struct part *p)
{
	const struct tier_request a = question(TIER_GET, 1, NULL);
	unsigned char got[BYTES];
	struct tier_reply answer;

	tier_abort(p->tier);
	ck_assert_int_eq(tier_peers_request(p->peers, !p->rank, &a, got, &answer, &p->err),
			 -ECANCELED);
	p->err = (struct mlgen_err){ 0 };
}

START_TEST(where_the_run_is_cut_nobody_is_asked_any_more)
{
	struct part p[PARTS];

	make_both(p);
	run_both(p, ask_when_cut);
}
END_TEST

START_TEST(who_sees_other_data_is_refused_by_all)
{
	struct part p[PARTS];

	make_both(p);
	dataset_fini(&p[1].dataset);
	p[1].job.sample_size.a = BYTES + 1;
	ck_assert_int_eq(dataset_init(&p[1].dataset, &p[1].job, 0, NULL), 0);
	run_both(p, ask_when_cut);
	for (unsigned i = 0; i < PARTS; i++) {
		ck_assert_int_eq(p[i].opened, -EINVAL);
		ck_assert_ptr_nonnull(strstr(p[i].err.text, "(rank 1) sees a different data"));
	}
}
END_TEST

/* Two ports on end that are free, behind the one of rank 0. */
static uint16_t free_port(void)
{
	for (uint16_t port = 20000; port < 60000; port += 7) {
		int fds[3];
		unsigned n = 0;

		for (; n < 3; n++) {
			struct sockaddr_in6 at = { .sin6_family = AF_INET6,
						   .sin6_port = htons((uint16_t)(port + n)) };

			fds[n] = socket(AF_INET6, SOCK_STREAM, 0);
			if (bind(fds[n], (struct sockaddr *)&at, sizeof(at)))
				break;
		}
		for (unsigned i = 0; i < n + (n < 3); i++)
			close(fds[i]);
		if (n == 3)
			return port;
	}
	return 0;
}

static _Atomic bool stranger_ends;
static _Atomic unsigned strangers;

/* Comes in as soon as there is a door, with another word, until there is none. */
static void *stranger_main(void *port)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					.sin_port = htons((uint16_t)(*(uint16_t *)port + 2)) };
	const uint64_t word[2] = { 1, 0 };

	while (!atomic_load(&stranger_ends)) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
		    send(fd, word, sizeof(word), MSG_NOSIGNAL) == sizeof(word))
			atomic_fetch_add(&strangers, 1);
		close(fd);
		thread_yield();
	}
	return NULL;
}

START_TEST(who_does_not_know_the_word_is_none_of_ours)
{
	struct part p[PARTS];
	uint16_t port = free_port();
	pthread_t stranger;

	make_both(p);
	p[0].port = p[1].port = port;
	atomic_store(&stranger_ends, false);
	ck_assert_int_eq(thread_start(&stranger, stranger_main, &port), 0);
	run_both(p, talk_about_a_slot);
	atomic_store(&stranger_ends, true);
	pthread_join(stranger, NULL);
	ck_assert_int_eq(p[0].opened, 0);
	ck_assert_int_eq(p[1].opened, 0);
}
END_TEST

Suite *suite_tier_peers(void)
{
	Suite *s = suite_create("tier_peers");
	TCase *tc = tcase_create("tier_peers");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_slot_is_given_and_filled_by_its_generation);
	tcase_add_test(tc, what_was_damaged_on_its_way_is_not_kept);
	tcase_add_test(tc, nobody_gets_bytes_of_another_generation);
	tcase_add_loop_test(tc, what_is_no_question_ends_its_connection, 0,
			    sizeof(bad_questions) / sizeof(bad_questions[0]));
	tcase_add_test(tc, where_the_run_is_cut_nobody_is_asked_any_more);
	tcase_add_test(tc, who_sees_other_data_is_refused_by_all);
	tcase_add_test(tc, who_does_not_know_the_word_is_none_of_ours);
	suite_add_tcase(s, tc);
	return s;
}
