/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_plan.c - what a dry run knows is in the document. */
#include <check.h>
#include <math.h>

#include "metrics_rig.h"
#include "suites.h"
#include "work/workloads.h"

START_TEST(what_a_dry_run_knows_is_in_the_table)
{
	for (const char *const *name = metrics_ml_planned; *name; name++)
		ck_assert_msg(field_find(metrics_ml_fields, *name) != NULL, "%s", *name);
	for (const char *const *name = metrics_io_planned; *name; name++)
		ck_assert_msg(field_find(metrics_io_fields, *name) != NULL, "%s", *name);
	for (const char *const *name = metrics_replay_planned; *name; name++)
		ck_assert_msg(field_find(metrics_io_fields, *name) != NULL, "%s", *name);
}
END_TEST

START_TEST(a_plan_of_a_plain_job_asks_for_all_workers)
{
	struct job *job = job_new("rr");
	struct plan_report p = { .job = job };
	struct job_result r = { 0 };
	const struct io_result *io = &r.io;

	job->phase = PHASE_IO;
	job->numjobs = 4;
	job->rate.read = 1000;
	job->rate_iops.write = 10;
	p.io = (struct plan_io){ .files = 4, .file_bytes = 4096 };
	metrics_planned_io(&r, &p);
	ck_assert_uint_eq(io->numjobs, 4);
	ck_assert_uint_eq(io->file_bytes, 4096);
	ck_assert_double_eq(io->rate[0].asked_bytes_per_sec, 4000);
	ck_assert(isnan(io->rate[0].asked_iops));
	ck_assert_double_eq(io->rate[1].asked_iops, 40);
	ck_assert(r.storage.read_ahead_bytes == UINT64_MAX);
	job_free(job);
}
END_TEST

START_TEST(a_plan_until_runtime_has_no_samples)
{
	struct job *job = job_new("train");
	struct plan_report p = { .job = job, .accelerators = 6, .total_steps = UINT64_MAX };
	struct job_result r = { 0 };

	metrics_planned(&r, &p);
	ck_assert_uint_eq(r.ml.samples, 0);
	/* Those of all processes. */
	ck_assert_uint_eq(r.ml.accelerators, 6);
	ck_assert_ptr_null(r.storage.filesystem);
	ck_assert(r.storage.read_ahead_bytes == UINT64_MAX);
	job_free(job);
}
END_TEST

Suite *suite_metrics_plan(void)
{
	Suite *s = suite_create("metrics_plan");
	TCase *t = tcase_create("metrics_plan");

	tcase_add_test(t, what_a_dry_run_knows_is_in_the_table);
	tcase_add_test(t, a_plan_of_a_plain_job_asks_for_all_workers);
	tcase_add_test(t, a_plan_until_runtime_has_no_samples);
	suite_add_tcase(s, t);
	return s;
}
