/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_report.c - what a dry run computes. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "plan_report_rig.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "suites.h"
#include "work/workloads.h"

static void expect_check(const struct plan_report *p, const char *name, enum plan_state state,
			 const char *words)
{
	const struct plan_check *c = plan_find_check(p, name);

	ck_assert_msg(c != NULL, "no check %s", name);
	ck_assert_msg(c->state == (int)state, "%s: %d %s", name, c->state, c->text ? c->text : "");
	if (words)
		ck_assert_msg(c->text && strstr(c->text, words), "%s: %s", name,
			      c->text ? c->text : "");
}

static bool is_blocked(const struct plan_report *p, const char *name)
{
	const struct plan_check *blockers = p->blockers.items;

	for (size_t i = 0; i < p->blockers.count; i++)
		if (strcmp(blockers[i].name, name) == 0)
			return true;
	return false;
}

START_TEST(figures_follow_from_the_job)
{
	struct plan_report p;

	make(&p);
	ck_assert_uint_eq(p.steps_per_epoch, 166);
	ck_assert_uint_eq(p.left_over_samples, 4);
	ck_assert_uint_eq(p.total_steps, 830);
	ck_assert_double_eq_tol(p.read_bytes, 830.0 * 6 * MIB, 1);
	ck_assert_double_eq_tol(p.least_seconds, 83, 1e-9);
	ck_assert_double_eq_tol(p.samples_per_sec_one, 30, 1e-9);
	ck_assert_double_eq_tol(p.bytes_per_sec_one, 30.0 * MIB, 1e-3);
	ck_assert_double_eq_tol(p.demand_bytes_per_sec, 60.0 * MIB, 1e-3);
	ck_assert_double_eq_tol(p.demand_io_bytes_per_sec, 60.0 * MIB, 1e-3);
	ck_assert_uint_eq(p.reads_in_flight, 8);
	ck_assert_double_eq_tol(p.calls_per_sample.open, 1, 1e-9);
	ck_assert_double_eq_tol(p.calls_per_sample.read, 4, 1e-9);
	ck_assert_double_eq_tol(p.calls_per_sample.close, 1, 1e-9);
	ck_assert_double_eq_tol(p.dataset_memory_ratio, 10, 1e-9);
	ck_assert_uint_eq(p.present_files, 0);
	ck_assert_uint_eq(p.write_files, 1000);
	ck_assert_uint_eq(p.write_bytes, 1000ull * MIB);
	plan_fini(&p);
}
END_TEST

START_TEST(steps_and_runtime_end_a_run_early)
{
	struct plan_report p;

	job->steps = 100;
	make(&p);
	ck_assert_uint_eq(p.total_steps, 100);
	ck_assert_double_eq_tol(p.least_seconds, 10, 1e-9);
	plan_fini(&p);
	job->steps = 0;
	job->runtime_ns = 7000000000;
	make(&p);
	ck_assert_double_eq_tol(p.least_seconds, 7, 1e-9);
	plan_fini(&p);
	job->time_based = true;
	make(&p);
	ck_assert(p.total_steps == UINT64_MAX);
	ck_assert(isnan(p.read_bytes));
	plan_fini(&p);
}
END_TEST

START_TEST(without_compute_time_there_is_no_demand)
{
	struct plan_report p;

	job->compute_time.a = 0;
	make(&p);
	ck_assert(isnan(p.demand_bytes_per_sec));
	ck_assert(isnan(p.least_seconds));
	ck_assert(!isnan(p.read_bytes));
	plan_fini(&p);
}
END_TEST

START_TEST(a_small_dataset_is_a_warning)
{
	struct plan_report p;

	host.memory_bytes = 1000ull * MIB;
	make(&p);
	expect_check(&p, "memory", PLAN_WARNING, "--dataset_ratio=5");
	expect_check(&p, "steps", PLAN_WARNING, "--num_files=3000");
	ck_assert_uint_eq(p.blockers.count, 0);
	plan_fini(&p);
	host.memory_bytes = 200 * MIB;
	job->num_files = 3000;
	make(&p);
	expect_check(&p, "memory", PLAN_OK, "5 x");
	expect_check(&p, "steps", PLAN_OK, "500");
	plan_fini(&p);
}
END_TEST

START_TEST(too_few_open_files_block)
{
	struct plan_report p;

	host.open_files = 39;
	make(&p);
	ck_assert_uint_eq(p.open_files, 40);
	expect_check(&p, "files", PLAN_FAIL, "ulimit -n 40");
	ck_assert(is_blocked(&p, "files"));
	plan_fini(&p);
	host.open_files = 40;
	make(&p);
	expect_check(&p, "files", PLAN_OK, NULL);
	ck_assert_uint_eq(p.blockers.count, 0);
	plan_fini(&p);
}
END_TEST

START_TEST(too_little_space_blocks)
{
	struct plan_report p;

	job->sample_size.a = 1ull << 50;
	make(&p);
	expect_check(&p, "space", PLAN_FAIL, "another directory");
	ck_assert_ptr_null(strstr(plan_find_check(&p, "space")->text, "allow_fill"));
	ck_assert(is_blocked(&p, "space"));
	plan_fini(&p);
}
END_TEST

START_TEST(more_than_half_of_the_space_needs_allow_fill)
{
	struct plan_report p;

	make(&p);
	double free_bytes = (double)p.free_bytes;
	plan_fini(&p);
	job->num_files = 100;
	job->sample_size.a = floor(free_bytes * 0.7 / 100);
	make(&p);
	expect_check(&p, "space", PLAN_FAIL, "(or --allow_fill)");
	plan_fini(&p);
	settings.allow_fill = true;
	make(&p);
	expect_check(&p, "space", PLAN_OK, NULL);
	plan_fini(&p);
}
END_TEST

START_TEST(readonly_blocks_what_would_write)
{
	struct plan_report p;

	settings.readonly = true;
	make(&p);
	expect_check(&p, "dataset", PLAN_FAIL, "--readonly");
	plan_fini(&p);
}
END_TEST

/* The dataset of the job as it is now, complete. */
static void complete_dataset(void)
{
	struct dataset ds;

	ck_assert_int_eq(dataset_init(&ds, job, 0, NULL), 0);
	ck_assert_int_eq(manifest_write(&ds, true, NULL), 0);
	dataset_fini(&ds);
}

START_TEST(a_complete_dataset_needs_nothing)
{
	struct plan_report p;

	complete_dataset();
	settings.readonly = true;
	make(&p);
	ck_assert_uint_eq(p.present_files, 1000);
	ck_assert_uint_eq(p.write_files, 0);
	ck_assert_uint_eq(p.write_bytes, 0);
	expect_check(&p, "dataset", PLAN_OK, NULL);
	plan_fini(&p);
}
END_TEST

START_TEST(a_dataset_made_otherwise_blocks)
{
	struct plan_report p;

	complete_dataset();
	job->sample_size.a = 12345;
	make(&p);
	expect_check(&p, "dataset", PLAN_FAIL, "12345");
	ck_assert(is_blocked(&p, "dataset"));
	plan_fini(&p);
	job->phase = PHASE_PREPARE;
	settings.replace = true;
	make(&p);
	expect_check(&p, "dataset", PLAN_WARNING, "--replace");
	ck_assert_uint_eq(p.write_files, 1000);
	plan_fini(&p);
}
END_TEST

START_TEST(an_engine_without_files_needs_nothing_of_storage)
{
	const struct mlgen_engine engine = { .caps = MLGEN_CAP_NO_FILES };
	struct plan_report p;

	job->engine = &engine;
	host.open_files = 1;
	job->sample_size.a = 1ull << 50;
	make(&p);
	ck_assert_uint_eq(p.write_files, 0);
	ck_assert_uint_eq(p.blockers.count, 0);
	ck_assert_ptr_null(plan_find_check(&p, "space"));
	plan_fini(&p);
}
END_TEST

START_TEST(nothing_is_touched)
{
	struct plan_report p;

	make(&p);
	plan_fini(&p);
	ck_assert_int_eq(rmdir(directory), 0);
	make(&p);
	ck_assert_int_eq(access(directory, F_OK), -1);
	plan_fini(&p);
}
END_TEST

START_TEST(a_job_that_cannot_run_is_an_error)
{
	struct mlgen_err err = { 0 };
	struct plan_report p;

	job->accelerators = 2000;
	ck_assert_int_eq(plan_make(&p, job, &host, &settings, &err), -EINVAL);
	ck_assert_int_ne(err.code, 0);
	plan_fini(&p);
}
END_TEST

Suite *suite_plan_report(void)
{
	Suite *s = suite_create("plan_report");
	TCase *t = tcase_create("plan_report");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, figures_follow_from_the_job);
	tcase_add_test(t, steps_and_runtime_end_a_run_early);
	tcase_add_test(t, without_compute_time_there_is_no_demand);
	tcase_add_test(t, a_small_dataset_is_a_warning);
	tcase_add_test(t, too_few_open_files_block);
	tcase_add_test(t, too_little_space_blocks);
	tcase_add_test(t, more_than_half_of_the_space_needs_allow_fill);
	tcase_add_test(t, readonly_blocks_what_would_write);
	tcase_add_test(t, a_complete_dataset_needs_nothing);
	tcase_add_test(t, a_dataset_made_otherwise_blocks);
	tcase_add_test(t, an_engine_without_files_needs_nothing_of_storage);
	tcase_add_test(t, nothing_is_touched);
	tcase_add_test(t, a_job_that_cannot_run_is_an_error);
	suite_add_tcase(s, t);
	return s;
}
