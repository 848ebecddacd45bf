/* SPDX-License-Identifier: Apache-2.0 */
/* test_memhost.c - processes of a host that have enough each are refused where they have too little
 * together. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "run/run_internal.h"
#include "star_rig.h"
#include "suites.h"

#define MIB (UINT64_C(1) << 20)

/* What of the host, and of the group of each rank, is left; with what each rank takes, in MiB,
 * beside the 2 that count for the program. */
struct memhost_case {
	const char *what;
	uint64_t host, group;
	uint64_t groups[RANKS]; /* 0 = it is in none */
	uint64_t need[RANKS];
	const char *text; /* NULL = it fits */
};

/* clang-format off */
static const struct memhost_case cases[] = {
	{ "it fits", 48, 0, { 0 }, { 10, 10, 10, 10 }, NULL },
	{ "the host has too little", 47, 0, { 0 }, { 10, 10, 10, 10 },
	  "a (read_threads=4) needs about 48 MiB in 4 processes together, but the host is small; lower" },
	{ "one takes most", 47, 0, { 0 }, { 1, 1, 36, 2 },
	  "48 MiB in 4 processes" },
	{ "each in a group of its own", 1000, 13, { 1, 2, 3, 4 },
	  { 10, 10, 10, 10 }, NULL },
	{ "two in one group", 1000, 23, { 1, 2, 2, 3 }, { 10, 10, 10, 10 },
	  "24 MiB in 2 processes together, but the group is small; lower" },
	{ "two in one that is large enough", 1000, 24, { 1, 2, 2, 3 },
	  { 10, 10, 10, 10 }, NULL },
	{ "so many that it cannot be counted", 1000, 0, { 0 },
	  { UINT64_MAX / MIB - 2, UINT64_MAX / MIB - 2, 1, 1 },
	  "16 EiB in 4 processes" },
};
/* clang-format on */

static const struct memhost_case *the_case;

static void make_room(struct memroom *room, unsigned rank)
{
	const struct memhost_case *c = the_case;

	room->places[0] =
		(struct memroom_place){ .bytes = c->host * MIB, .of = "the host is small" };
	room->places[1] = (struct memroom_place){ .id = { 1, c->groups[rank] },
						  .bytes = c->group * MIB,
						  .of = "the group is small" };
	room->place_count = c->groups[rank] ? 2 : 1;
}

static void check(struct member *m)
{
	struct job *job = job_new("a");
	struct memneed need = { .bytes = the_case->need[m->rank] * MIB };
	const struct memneed_jobs all = { &job, &need, 1 };
	struct memroom room = { 0 };
	size_t failed = 9;

	make_room(&room, m->rank);
	int rc = memhost_check(m->hosts, &all, &room, &failed, &m->err);
	if (m->rank || !the_case->text) {
		ck_assert_msg(rc == 0, "%s: %s", the_case->what, m->err.text);
	} else {
		ck_assert_msg(rc == -ENOMEM, "%s: %d", the_case->what, rc);
		ck_assert_uint_eq(failed, 0);
		ck_assert_msg(strstr(m->err.text, the_case->text) != NULL, "%s: %s", the_case->what,
			      m->err.text);
		ck_assert_ptr_nonnull(strstr(m->err.text, hosts_name(m->hosts, 0)));
	}
	job_free(job);
}

START_TEST(what_processes_share_is_compared_with_their_sum)
{
	struct member m[RANKS] = { 0 };

	the_case = &cases[_i];
	run_members(m, check);
}
END_TEST

START_TEST(a_process_alone_is_checked_elsewhere)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(memhost_check(NULL, NULL, NULL, NULL, &err), 0);
}
END_TEST

Suite *suite_memhost(void)
{
	Suite *s = suite_create("memhost");
	TCase *t = tcase_create("memhost");

	tcase_add_loop_test(t, what_processes_share_is_compared_with_their_sum, 0,
			    sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(t, a_process_alone_is_checked_elsewhere);
	suite_add_tcase(s, t);
	return s;
}
