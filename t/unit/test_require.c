/* SPDX-License-Identifier: Apache-2.0 */
/* test_require.c - which figures --require finds in a result, and what meets it. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/require.h"
#include "suites.h"

static struct job *job;
static struct hist *lat;
static struct job_result results[2];
static struct run_result run;

/* A plain job: 1,000 reads of 4 KiB in 2 s, most of 100 us, some of 5 ms. */
static void set_up(void)
{
	job = job_new("x");
	lat = hist_new();
	for (unsigned i = 0; i < 1000; i++)
		hist_add(lat, i < 980 ? 100000 : 5000000);
	memset(results, 0, sizeof(results));
	results[0] = (struct job_result){
		.job = job,
		.kind = RESULT_IO,
		.members = 1,
		.usr_cpu_percent = 12.5,
		.io = { .wall_seconds = 2,
			.numjobs = 1,
			.rate[1].asked_iops = (double)NAN,
			.storage = { .memory_percent = 3.5,
				     .osts = UINT64_MAX } },
		.read = { .io_bytes = 4096000,
			  .total_ios = 1000,
			  .lat_ns = lat },
	};
	run = (struct run_result){ .jobs = results, .job_count = 1 };
}

static void tear_down(void)
{
	hist_free(lat);
	job_free(job);
}

static const struct {
	const char *text;
	int missed; /* -EINVAL: no such metric */
} rows[] = {
	{ "read.iops==500", 0 },
	{ "read.iops>=501", 1 },
	{ "read.iops>=1,read.bw>=1e9,wall_seconds<1", 2 },
	{ "read.total_ios=1000", 0 },
	{ "read.clat_ns.p50<=101000", 0 },
	{ "read.clat_ns.p99<=101000", 1 },
	{ "read.clat_ns.p97.5<=101000", 0 },
	{ "read.clat_ns.max=5000000", 0 },
	{ "read.clat_ns.mean<=200000", 0 },
	{ "read.lat_ns.p99>=4900000", 0 },
	{ "usr_cpu<13", 0 },
	{ "numjobs=1", 0 },
	{ "storage.memory_percent<=3.5", 0 },
	/* What does not apply is not met. */
	{ "write.clat_ns.p99<1e12", 1 },
	{ "read.slat_ns.max<1e12", 1 },
	{ "rate_write.asked_iops>=0", 1 },
	{ "storage.osts>=0", 1 },
	/* Of trainings only. */
	{ "au>=90", 1 },
	{ "time_percent.stall<1", 1 },
	/* No job can have these. */
	{ "reads>=1", -EINVAL },
	{ "read>=1", -EINVAL },
	{ "read.>=1", -EINVAL },
	{ "read.clat_ns>=1", -EINVAL },
	{ "read.clat_ns.p101>=1", -EINVAL },
	{ "read.clat_ns.px>=1", -EINVAL },
	{ "read.clat_ns.median>=1", -EINVAL },
	{ "read.iops.max>=1", -EINVAL },
	{ "jobname>=1", -EINVAL },
	{ "storage.filesystem>=1", -EINVAL },
};

START_TEST(figures_are_found_below_io_then_in_the_job)
{
	struct mlgen_err err = { 0 };
	const char *text = rows[_i].text;
	int known = require_check(text, NULL, &err);
	ck_assert_msg((known < 0) == (rows[_i].missed < 0), "%s: %d %s", text,
		      known, err.text);
	if (known < 0)
		ck_assert_ptr_nonnull(strstr(err.text, "no such metric"));
	else
		ck_assert_int_eq(require_check(text, &run, &err),
				 rows[_i].missed);
}
END_TEST

START_TEST(a_training_has_its_own_and_others_are_not_asked)
{
	struct mlgen_err err = { 0 };
	results[1] = (struct job_result){ .job = job,
					  .kind = RESULT_TRAIN,
					  .ml.au_percent = 95,
					  .ml.stall_ns = lat,
					  .ml.wall_seconds = 4 };
	run.job_count = 2;
	ck_assert_int_eq(require_check("au>=90", &run, &err), 0);
	ck_assert_int_eq(require_check("au>=96", &run, &err), 1);
	ck_assert_int_eq(require_check("stall_ns.p99<1000", &run, &err), 1);
	/* Both have this one. */
	ck_assert_int_eq(require_check("wall_seconds<1", &run, &err), 2);
}
END_TEST

/* Accelerators are none of its business, and checkpoints not that of others. */
START_TEST(a_job_with_checkpoints_has_what_they_have)
{
	struct mlgen_err err = { 0 };
	results[0] = (struct job_result){ .job = job,
					  .kind = RESULT_CHECKPOINT,
					  .ml.au_percent = (double)NAN };
	job->phase = PHASE_CHECKPOINT;
	results[0].ml.saves = (struct checkpoints_result){
		.count = 2,
		.bytes_per_sec = 5e8,
		.rank_percent.data = 3,
		.write_ns = lat,
	};
	results[1] = (struct job_result){ .job = job,
					  .kind = RESULT_TRAIN,
					  .ml.au_percent = 95 };
	run.job_count = 2;
	ck_assert_int_eq(require_check("saves.bytes_per_sec>=5e8", &run, &err),
			 0);
	ck_assert_int_eq(require_check("saves.bytes_per_sec>=6e8", &run, &err),
			 1);
	ck_assert_int_eq(
		require_check("saves.rank_percent.data<=5", &run, &err), 0);
	ck_assert_int_eq(
		require_check("saves.write_ns.max=5000000", &run, &err), 0);
	ck_assert_int_eq(require_check("au>=90", &run, &err), 0);
	ck_assert_int_eq(require_check("restores.bytes_per_sec>1", &run, &err),
			 1);
}
END_TEST

START_TEST(where_nothing_was_measured_nothing_is_met)
{
	struct mlgen_err err = { 0 };
	results[0].kind = RESULT_PREPARE;
	ck_assert_int_eq(require_check("read.iops>=0", &run, &err), 1);
}
END_TEST

Suite *suite_require(void)
{
	Suite *s = suite_create("require");
	TCase *t = tcase_create("require");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, figures_are_found_below_io_then_in_the_job, 0,
			    (int)(sizeof(rows) / sizeof(*rows)));
	tcase_add_test(t, a_training_has_its_own_and_others_are_not_asked);
	tcase_add_test(t, a_job_with_checkpoints_has_what_they_have);
	tcase_add_test(t, where_nothing_was_measured_nothing_is_met);
	suite_add_tcase(s, t);
	return s;
}
