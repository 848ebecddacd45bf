/* SPDX-License-Identifier: Apache-2.0 */
/* test_relay.c - what one process has found comes to all others, or its failure does. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/scan/scan.h"
#include "hosts/hosts.h"
#include "star_rig.h"
#include "suites.h"
#include "temp.h"

/* Of several pieces, and a part of one. */
#define NUMBERS (300000u)

static int put_numbers(struct relay *r, uint64_t count, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < count && rc == 0; i++)
		rc = relay_write(r, &i, sizeof(i), err);
	return rc;
}

/* So many at once. */
static int get_numbers(struct relay *r, uint64_t count, size_t some, struct mlgen_err *err)
{
	uint64_t *got = mem_array(some, sizeof(*got));
	int rc = 0;

	for (uint64_t i = 0; i < count && rc == 0; i += some) {
		size_t n = (size_t)u64_min(some, count - i);

		rc = relay_read(r, got, n * sizeof(*got), err);
		for (size_t k = 0; k < n && rc == 0; k++)
			if (got[k] != i + k)
				ck_abort_msg("another number came");
	}
	mem_free(got);
	return rc;
}

static void hand_over(struct member *m)
{
	struct relay r;

	/* Twice, as for one job after the other. */
	for (unsigned round = 0; round < 2; round++) {
		relay_begin(&r, m->hosts, round == 0);
		ck_assert(relay_is_sender(&r) == (m->rank == 0));
		int rc = relay_is_sender(&r) ? put_numbers(&r, NUMBERS, &m->err)
					     : get_numbers(&r, NUMBERS, 1 + 999 * m->rank, &m->err);
		ck_assert_int_eq(relay_end(&r, rc, &m->err), 0);
	}
}

START_TEST(all_have_what_one_has_given)
{
	struct member m[RANKS] = { 0 };

	run_members(m, hand_over);
}
END_TEST

START_TEST(a_process_alone_hands_nothing_over)
{
	struct mlgen_err err = { 0 };
	struct relay r;

	relay_begin(&r, NULL, true);
	ck_assert(relay_is_sender(&r));
	ck_assert_int_eq(put_numbers(&r, 10, &err), 0);
	ck_assert_int_eq(relay_end(&r, 0, &err), 0);
	relay_begin(&r, NULL, true);
	ck_assert_int_eq(relay_end(&r, -EIO, &err), -EIO);
}
END_TEST

/* Rank _i has no room behind the first piece. */
static unsigned failing;

static void fail_one(struct member *m)
{
	struct relay r;
	int rc;

	relay_begin(&r, m->hosts, true);
	if (m->rank == failing) {
		uint64_t some = NUMBERS / 2;

		rc = m->rank == 0 ? put_numbers(&r, some, &m->err)
				  : get_numbers(&r, some, 10, &m->err);
		ck_assert_int_eq(rc, 0);
		rc = mlgen_fail(&m->err, -ENOSPC, "there is no room");
	} else {
		rc = m->rank == 0 ? put_numbers(&r, NUMBERS, &m->err)
				  : get_numbers(&r, NUMBERS, 10, &m->err);
	}
	ck_assert_int_eq(relay_end(&r, rc, &m->err), -ENOSPC);
	ck_assert_msg(strstr(m->err.text, "there is no room") != NULL, "%s", m->err.text);
	uint64_t all = 0;
	struct mlgen_err err = { 0 };
	ck_assert_int_eq(hosts_vote(m->hosts, 1u << m->rank, &all, &err), 0);
	ck_assert_uint_eq(all, 15);
}

START_TEST(one_that_fails_stops_all_in_its_words)
{
	struct member m[RANKS] = { 0 };

	failing = (unsigned)_i;
	run_members(m, fail_one);
}
END_TEST

static void ask_for_more(struct member *m)
{
	struct relay r;

	relay_begin(&r, m->hosts, true);
	int rc = m->rank == 0 ? put_numbers(&r, 5, &m->err) : get_numbers(&r, 6, 1, &m->err);
	ck_assert_int_eq(relay_end(&r, rc, &m->err), -EPROTO);
}

START_TEST(more_than_was_given_is_an_error)
{
	struct member m[RANKS] = { 0 };

	run_members(m, ask_for_more);
}
END_TEST

static char folder[TEMP_BYTES];

static void list(struct member *m)
{
	const struct scan_request req = { .directory = folder };
	struct scan *s = NULL;
	struct relay r;
	char name[PATH_MAX], want[32];

	relay_begin(&r, m->hosts, true);
	int rc = relay_is_sender(&r) ? scan_new(&s, &req, &m->err) : 0;
	if (rc == 0)
		rc = relay_is_sender(&r) ? scan_send(s, &r, &m->err)
					 : scan_receive(&s, folder, &r, &m->err);
	ck_assert_msg(relay_end(&r, rc, &m->err) == 0, "%s", m->err.text);
	ck_assert_uint_eq(scan_files(s), 300);
	ck_assert_str_eq(scan_base(s), folder);
	ck_assert_str_eq(scan_place(s), folder);
	for (unsigned i = 0; i < 300; i++) {
		int64_t mtime_ns = 0;

		snprintf(want, sizeof(want), "%03u", i);
		ck_assert_int_gt(scan_name_and_time(s, i, name, sizeof(name), &mtime_ns), 0);
		ck_assert_str_eq(name, want);
		ck_assert_int_gt(mtime_ns, 0);
		ck_assert_uint_eq(scan_size(s, i), i + 1);
	}
	ck_assert_uint_eq(scan_bytes(s), 300 * 301 / 2);
	ck_assert(scan_is_quiet(s) == (m->rank != 0));
	scan_free(s);
}

START_TEST(what_one_has_listed_all_have_in_its_order)
{
	struct member m[RANKS] = { 0 };
	char path[TEMP_BELOW];

	temp_folder(folder);
	for (unsigned i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "%s/%03u", folder, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(ftruncate(fd, i + 1), 0);
		close(fd);
	}
	run_members(m, list);
	temp_remove(folder);
}
END_TEST

Suite *suite_relay(void)
{
	Suite *s = suite_create("relay");
	TCase *t = tcase_create("relay");

	tcase_add_test(t, all_have_what_one_has_given);
	tcase_add_test(t, a_process_alone_hands_nothing_over);
	tcase_add_loop_test(t, one_that_fails_stops_all_in_its_words, 0, RANKS);
	tcase_add_test(t, more_than_was_given_is_an_error);
	tcase_add_test(t, what_one_has_listed_all_have_in_its_order);
	suite_add_tcase(s, t);
	return s;
}
