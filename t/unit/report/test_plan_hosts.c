/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_hosts.c - what processes of a job plan, each for itself, is one plan of all. */
#include <check.h>
#include <string.h>

#include "base/mem.h"
#include "report/plan/plan.h"
#include "star_rig.h"
#include "suites.h"

/* Of each rank two jobs; the second moves until its time is over in rank 2. */
static void plan(struct member *m)
{
	uint64_t unit = m->rank + 1;
	struct plan_report p[2] = {
		{ .program_bytes = 100 * unit,
		  .reads_in_flight = unit,
		  .checkpoint = { .local_ranks = 2, .move_bytes = 5, .program_bytes = 10 * unit } },
		{ .io.move_bytes = m->rank == 2 ? UINT64_MAX : 7 },
	};

	if (m->rank == 3)
		plan_add_check(&p[1], "space", PLAN_FAIL, "no room for %d", 9);
	if (m->rank)
		plan_add_check(&p[0], "files", PLAN_FAIL, "not so many");
	plan_add_check(&p[0], "dataset", PLAN_FAIL, "is another's");
	ck_assert_int_eq(plan_join(p, 2, m->hosts, &m->err), 0);
	if (m->rank == 0) {
		const char *host = hosts_name(m->hosts, 3);
		const char *text = plan_find_check(&p[1], "space")->text;

		ck_assert_uint_eq(p[0].processes, RANKS);
		ck_assert_uint_eq(p[0].hosts, 1);
		ck_assert_uint_eq(p[0].program_bytes, 1000);
		ck_assert_uint_eq(p[0].reads_in_flight, 10);
		ck_assert_uint_eq(p[0].checkpoint.local_ranks, 8);
		ck_assert_uint_eq(p[0].checkpoint.move_bytes, 20);
		ck_assert_uint_eq(p[0].checkpoint.program_bytes, 100);
		ck_assert_uint_eq(p[1].io.move_bytes, UINT64_MAX);
		ck_assert_ptr_nonnull(strstr(text, host));
		ck_assert_ptr_nonnull(strstr(text, "(rank 3): no room for 9"));
		text = plan_find_check(&p[0], "files")->text;
		ck_assert_ptr_nonnull(strstr(text, "(rank 1): not so many"));
		ck_assert_str_eq(plan_find_check(&p[0], "dataset")->text, "is another's");
	}
	plan_fini(&p[0]);
	plan_fini(&p[1]);
}

START_TEST(figures_add_up_and_every_refusal_is_told)
{
	struct member m[RANKS] = { 0 };

	run_members(m, plan);
}
END_TEST

START_TEST(a_process_alone_plans_for_itself)
{
	struct plan_report p = { .processes = 1, .program_bytes = 5 };
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(plan_join(&p, 1, NULL, &err), 0);
	ck_assert_uint_eq(p.program_bytes, 5);
}
END_TEST

Suite *suite_plan_hosts(void)
{
	Suite *s = suite_create("plan_hosts");
	TCase *t = tcase_create("plan_hosts");

	tcase_add_test(t, figures_add_up_and_every_refusal_is_told);
	tcase_add_test(t, a_process_alone_plans_for_itself);
	suite_add_tcase(s, t);
	return s;
}
