/* SPDX-License-Identifier: Apache-2.0 */
/* test_memneed.c - what jobs need of memory is compared with what there is, group by group. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "job/job.h"
#include "run/slot/slot.h"
#include "suites.h"

#define MIB (UINT64_C(1) << 20)

static struct job *jobs[3];
static struct memneed needs[3];
static struct memroom room;
static const struct memneed_jobs all = { jobs, needs, 3 };

static void set_up(void)
{
	static char names[3][2] = { "a", "b", "c" };

	for (size_t i = 0; i < 3; i++) {
		jobs[i] = job_new(names[i]);
		jobs[i]->accelerators = 10 * (i + 1);
		jobs[i]->read_threads = 1;
		needs[i] = (struct memneed){ .bytes = (i + 1) * 100 * MIB,
					     .address_bytes = 300 * MIB,
					     .left_bytes = 10 * MIB };
	}
	jobs[2]->group = 1;
	room = (struct memroom){ .bytes = 310 * MIB,
				 .address_bytes = UINT64_MAX,
				 .of = "here is little",
				 .address_of = "ulimit -v is small" };
}

static void tear_down(void)
{
	for (size_t i = 0; i < 3; i++)
		job_free(jobs[i]);
}

static void expect(unsigned group, const char *words)
{
	struct mlgen_err err = { 0 };
	int rc = memneed_check(&all, group, &room, &err);

	ck_assert_msg(rc == (words ? -ENOMEM : 0), "%d %s", rc, err.text);
	if (words)
		ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
}

START_TEST(jobs_side_by_side_are_added_up)
{
	expect(0, NULL);
	room.bytes = 299 * MIB;
	expect(0, "memory: b (accelerators=20), with the other jobs of its group, needs about 302 "
		  "MiB, but here is little; lower accelerators, read_threads, iodepth or bs, or "
		  "allow more memory");
	needs[0].bytes = 10 * MIB;
	expect(0, NULL);
}
END_TEST

START_TEST(what_groups_before_have_left_counts)
{
	room.bytes = 325 * MIB;
	expect(1, NULL); /* 300, 20 left by two, and the program's own */
	room.bytes = 315 * MIB;
	expect(1, "memory: c (accelerators=30) needs about 322 MiB");
}
END_TEST

/* One after the other, before any of them begins. */
START_TEST(preparing_takes_memory_before_the_jobs_do)
{
	for (size_t i = 0; i < 3; i++)
		needs[i].prepare_bytes = 250 * MIB;
	expect(0, NULL);
	needs[1].prepare_bytes = 400 * MIB;
	expect(0, "needs about 402 MiB");
}
END_TEST

START_TEST(address_space_is_another_matter)
{
	room.address_bytes = 610 * MIB;
	expect(0, NULL);
	room.address_bytes = 600 * MIB;
	expect(0, "maps about 604 MiB, but ulimit -v is small");
}
END_TEST

static void expect_limited(unsigned group, uint64_t limit_mib, const char *text)
{
	struct mlgen_err err = { 0 };
	int rc = memneed_check_limit(&all, group, limit_mib * MIB, 1, &err);

	ck_assert_int_eq(rc, text ? -ENOMEM : 0);
	ck_assert_str_eq(err.text, text ? text : "");
}

/* Group 0 takes 302 MiB, what comes behind it 322. */
START_TEST(the_least_limit_that_works_is_named)
{
	expect_limited(0, 301,
		       "memory_limit: 301 MiB is too little: b (accelerators=20), with the other "
		       "jobs of its group, needs about 302 MiB; memory_limit=322MiB is the least "
		       "that works, or lower accelerators, read_threads, iodepth or bs");
	expect_limited(0, 302, NULL);
	expect_limited(1, 321,
		       "memory_limit: 321 MiB is too little: c (accelerators=30) needs about 322 "
		       "MiB; memory_limit=322MiB is the least that works, or lower accelerators, "
		       "read_threads, iodepth or bs");
	expect_limited(0, 322, NULL);
	expect_limited(1, 322, NULL);
}
END_TEST

/* Each of two processes takes 302 MiB of its half. */
START_TEST(a_limit_is_of_all_processes_of_a_host)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(memneed_check_limit(&all, 0, 604 * MIB, 2, &err), 0);
	ck_assert_int_eq(memneed_check_limit(&all, 0, 603 * MIB, 2, &err), -ENOMEM);
	ck_assert_str_eq(err.text, "memory_limit: 603 MiB is too little: b (accelerators=20), with "
				   "the other jobs of its group, needs about 302 MiB, in each of 2 "
				   "processes on this host; memory_limit=644MiB is the least that "
				   "works, or lower accelerators, read_threads, iodepth or bs");
}
END_TEST

START_TEST(the_program_itself_takes_some)
{
	memset(needs, 0, sizeof(needs));
	needs[0].bytes = MIB;
	expect_limited(0, 5,
		       "memory_limit: 5 MiB is too little: mlgen itself needs about 12 MiB, and "
		       "the kernel kills a process that needs more; memory_limit=12MiB is the "
		       "least that works");
	expect_limited(0, 12, NULL);
}
END_TEST

START_TEST(nothing_wraps_around)
{
	needs[0].bytes = UINT64_MAX;
	expect(0, "with the other jobs of its group, needs about");
	needs[1].left_bytes = UINT64_MAX;
	expect(1, "needs about");
	ck_assert_int_eq(memneed_check_limit(&all, 1, MIB, 1, &(struct mlgen_err){ 0 }), -ENOMEM);
}
END_TEST

Suite *suite_memneed(void)
{
	Suite *s = suite_create("memneed");
	TCase *t = tcase_create("memneed");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, jobs_side_by_side_are_added_up);
	tcase_add_test(t, what_groups_before_have_left_counts);
	tcase_add_test(t, preparing_takes_memory_before_the_jobs_do);
	tcase_add_test(t, address_space_is_another_matter);
	tcase_add_test(t, the_least_limit_that_works_is_named);
	tcase_add_test(t, a_limit_is_of_all_processes_of_a_host);
	tcase_add_test(t, the_program_itself_takes_some);
	tcase_add_test(t, nothing_wraps_around);
	suite_add_tcase(s, t);
	return s;
}
