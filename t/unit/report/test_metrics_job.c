/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_job.c - rates, times and shares of a job, from what its result has. */
#include <check.h>
#include <math.h>

#include "metrics_rig.h"
#include "suites.h"
#include "work/workloads.h"

START_TEST(rates_are_those_of_the_measured_time)
{
	struct job *job = job_new("train");
	struct hist *lat = hist_new();
	struct job_result r = {
		.job = job,
		.work = &work_train,
		.members = 1,
		.ml.runtime_seconds = 4,
		.elapsed_seconds = 5.2,
		.read = { .io_bytes = 8192, .total_ios = 2, .lat_ns = lat },
	};
	struct job_result m;

	fill(&m, &r);
	ck_assert_uint_eq(m.doc.job_runtime_ms, 4000);
	ck_assert_uint_eq(m.doc.elapsed, 6);
	ck_assert_uint_eq(m.read.fio.io_kbytes, 8);
	ck_assert_uint_eq(m.read.fio.bw_bytes, 2048);
	ck_assert_uint_eq(m.read.fio.bw, 2);
	ck_assert_double_eq(m.read.fio.iops, 0.5);
	ck_assert_uint_eq(m.read.fio.runtime_ms, 4000);
	ck_assert_ptr_eq(m.read.lat_ns, lat);
	ck_assert_ptr_null(m.read.slat_ns);
	ck_assert_uint_eq(m.write.fio.runtime_ms, 0);
	ck_assert_uint_eq(m.doc.trim.total_ios, 0);
	metrics_job_fini(&m);
	hist_free(lat);
	job_free(job);
}
END_TEST

START_TEST(a_run_that_did_not_start_divides_by_nothing)
{
	struct job *job = job_new("train");
	struct job_result r = { .job = job,
				.members = 1,
				.wall_seconds = (double)NAN,
				.elapsed_seconds = (double)NAN,
				.read.io_bytes = 100 };
	struct job_result m;

	fill(&m, &r);
	ck_assert_uint_eq(m.doc.job_runtime_ms, 0);
	ck_assert_uint_eq(m.doc.elapsed, 0);
	ck_assert_uint_eq(m.read.fio.bw_bytes, 0);
	ck_assert_double_eq(m.read.fio.iops, 0);
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

/* Also the time of what was begun and not completed. */
START_TEST(a_save_is_measured_while_checkpoints_are_under_way)
{
	struct job *job = job_new("save");
	struct checkpoint_result items[] = {
		{ .complete = true, .seconds = 1 },
		{ .complete = true, .seconds = 3 },
		{ .complete = false, .seconds = 4 },
		{ .complete = false, .seconds = (double)NAN },
	};
	struct job_result r = {
		.job = job,
		.work = &work_checkpoint,
		.members = 1,
		.elapsed_seconds = 60,
		.write = { .io_bytes = 80000, .total_ios = 80 },
		.ml.saves = { .count = 4,
			      .completed = 2,
			      .seconds_mean = 2,
			      .items = { items, 4 } },
	};
	struct job_result m;

	job->phase = PHASE_CHECKPOINT;
	fill(&m, &r);
	ck_assert_uint_eq(m.doc.job_runtime_ms, 8000);
	ck_assert_uint_eq(m.write.fio.bw_bytes, 10000);
	ck_assert_double_eq(m.write.fio.iops, 10);
	ck_assert_uint_eq(m.read.fio.runtime_ms, 0);
	metrics_job_fini(&m);
	r.ml.saves = (struct checkpoints_result){ .seconds_mean = (double)NAN };
	fill(&m, &r);
	ck_assert_uint_eq(m.doc.job_runtime_ms, 0);
	ck_assert_uint_eq(m.write.fio.bw_bytes, 0);
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

START_TEST(only_what_makes_sense_stands_in_ml)
{
	struct job *job = job_new("save");
	struct job_result r = { .job = job, .work = &work_checkpoint };

	job->phase = PHASE_CHECKPOINT;
	ck_assert(metrics_ml_has(&r, "checkpoints"));
	ck_assert(metrics_ml_has(&r, "saves"));
	ck_assert(metrics_ml_has(&r, "storage"));
	ck_assert(!metrics_ml_has(&r, "restores"));
	ck_assert(!metrics_ml_has(&r, "au_percent"));
	job->phase = PHASE_RESTORE;
	ck_assert(metrics_ml_has(&r, "restores"));
	ck_assert(!metrics_ml_has(&r, "saves"));
	job->phase = PHASE_TRAIN;
	r.work = &work_train;
	ck_assert(metrics_ml_has(&r, "au_percent"));
	ck_assert(metrics_ml_has(&r, "checkpoints"));
	ck_assert(!metrics_ml_has(&r, "saves"));
	r.ml.saves.count = 1;
	ck_assert(metrics_ml_has(&r, "saves"));
	job_free(job);
}
END_TEST

START_TEST(bandwidth_has_its_share_of_the_group)
{
	struct job *job = job_new("rr");
	struct job_result r[3] = {
		{ .job = job,
		  .work = &work_io,
		  .wall_seconds = 1,
		  .members = 1,
		  .read.io_bytes = 3000 },
		{ .job = job,
		  .work = &work_io,
		  .wall_seconds = 1,
		  .members = 1,
		  .read.io_bytes = 1000 },
		{ .job = job,
		  .work = &work_io,
		  .wall_seconds = 1,
		  .members = 1,
		  .read.io_bytes = 9000,
		  .group = 1 },
	};
	struct run_result run = { .jobs = r, .job_count = 3 };
	struct job_result m;

	fill(&m, &r[0]);
	metrics_job_share(&m, &run);
	ck_assert_double_eq(m.read.fio.bw_agg, 75);
	ck_assert_double_eq(m.write.fio.bw_agg, 0);
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

Suite *suite_metrics_job(void)
{
	Suite *s = suite_create("metrics_job");
	TCase *t = tcase_create("metrics_job");

	tcase_add_test(t, rates_are_those_of_the_measured_time);
	tcase_add_test(t, a_run_that_did_not_start_divides_by_nothing);
	tcase_add_test(t, a_save_is_measured_while_checkpoints_are_under_way);
	tcase_add_test(t, only_what_makes_sense_stands_in_ml);
	tcase_add_test(t, bandwidth_has_its_share_of_the_group);
	suite_add_tcase(s, t);
	return s;
}
