/* SPDX-License-Identifier: Apache-2.0 */
/* test_require.c - which figures --require finds in a result, and what meets it. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ask/results/results.h"
#include "base/mem.h"
#include "suites.h"
#include "work/workloads.h"

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
		.work = &work_io,
		.members = 1,
		.usr_cpu_percent = 12.5,
		.wall_seconds = 2,
		.io = { .numjobs = 1, .rate[1].asked_iops = (double)NAN },
		.storage = { .memory_percent = 3.5, .osts = UINT64_MAX },
		.read = { .io_bytes = 4096000, .total_ios = 1000, .lat_ns = lat },
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
	int missed; /* -EINVAL: it is none */
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
	{ "read.clat_ns.N=1000", 0 },
	{ "usr_cpu<13", 0 },
	{ "numjobs=1", 0 },
	{ "storage.memory_percent<=3.5", 0 },
	/* What does not apply is not met. */
	{ "write.clat_ns.p99<1e12", 1 },
	{ "write.clat_ns.N<=0", 0 },
	{ "read.slat_ns.max<1e12", 1 },
	{ "rate_write.asked_iops>=0", 1 },
	{ "storage.osts>=0", 1 },
	/* Of trainings only. */
	{ "au>=90", 1 },
	{ "AU>=90", 1 },
	{ "time_percent.stall<1", 1 },
	{ "epochs.0.seconds>=0", 1 },
	/* No job can have these. */
	{ "reads>=1", -EINVAL },
	{ "read>=1", -EINVAL },
	{ "read.>=1", -EINVAL },
	{ "read.clat_ns>=1", -EINVAL },
	{ "read.clat_ns.p101>=1", -EINVAL },
	{ "read.clat_ns.px>=1", -EINVAL },
	{ "read.clat_ns.median>=1", -EINVAL },
	{ "read.iops.max>=1", -EINVAL },
	{ "read.iops.>=1", -EINVAL },
	{ "options.bs>=1", -EINVAL },
	{ "complete>=1", -EINVAL },
	/* Of no run, or nothing that is measured. */
	{ "batch_size>=1", -EINVAL },
	{ "dataset.bytes>=1", -EINVAL },
	{ "timestamp>=1", -EINVAL },
	{ "plan.sample_bytes>=1", -EINVAL },
	{ "file>=1", -EINVAL },
	{ "jobname>=1", -EINVAL },
	{ "storage.filesystem>=1", -EINVAL },
	{ "read.iops==500 and wall_seconds<3", 0 },
};

/* What is said of one that no run can meet, or that is none. */
static const struct {
	const char *text, *says;
} refused[] = {
	{ "samples_per_second>=9", "did you mean 'samples_per_sec'?" },
	{ "au_percnt>=90", "did you mean 'au_percent'?" },
	{ "xq>=90", "xq: not a figure of a run; name a metric such as au, " },
	{ "read.iop>=90", "did you mean 'read.iops'?" },
	{ "memory_percent>=9", "did you mean 'storage.memory_percent'?" },
	{ "clat_ns.p99<=9", "did you mean 'read.clat_ns.p99'?" },
	{ "storage.memry_percent<=9", "did you mean 'storage.memory_percent'?" },
	{ "stall_ns>=9", "stall_ns.p99" },
	{ "stal_ns.p99<=9", "did you mean 'stall_ns.p99'?" },
	{ "ops.read.lat_ns.px<=9", "is a latency; name one of its figures: ops.read.lat_ns.p99," },
	{ "epochs>=9", "epochs: is a list; name one element, from 0: epochs.0." },
	{ "epochs.last.au_percent>=9", "from 0: epochs.0." },
	{ "epochs.0.au_percnt>=9", "did you mean 'epochs.0.au_percent'?" },
	{ "epochs.0.au_percent>=101", "can never hold" },
	{ "au_percent_per_accelerator>=9", "is a list; name one element" },
	{ "storage.device>=9", "storage.device: is not a number" },
	{ "read.iops.max>=9", "'iops' has no members" },
	{ "read>=9", "contains several figures; name one, such as read." },
	{ "storage>=9", "such as storage.read_ahead_bytes" },
	{ "read_thread>=9", "not a figure of a run; name a metric such as" },
	{ "au>=101", "can never hold; au is between 0 and 100" },
	{ "au>100", "can never hold" },
	{ "au<0", "can never hold" },
	{ "au==100.5", "can never hold" },
	{ "au==-1", "can never hold" },
	{ "time_percent.stall<0", "can never hold" },
	{ "stall_ns.p99<0", "never below 0" },
	{ "samples_per_sec<=-1", "never below 0" },
	{ "au>=90 and au<90", "contradicts the requirements before it" },
	{ "au>=90,au_percent<=80", "contradicts the requirements before it" },
	{ "au==90 and au>90", "contradicts the requirements before it" },
	{ "au>90 and au>=90 and au<=90", "contradicts" },
};

static const char *const possible[] = {
	"au>=100",
	"au<=0",
	"au>99.9 and au<=100",
	"usr_cpu>=300",
	"au>=90 and au>=95 and au<96",
	"au==90,au>=90",
	"read.iops>=0",
};

START_TEST(figures_are_found_below_io_then_in_the_job)
{
	struct mlgen_err err = { 0 };
	const char *text = rows[_i].text;
	int known = require_check(text, NULL, &err);

	ck_assert_msg((known < 0) == (rows[_i].missed < 0), "%s: %d %s", text, known, err.text);
	if (known < 0)
		ck_assert_msg(strncmp(err.text, "require=", 8) == 0, "%s", err.text);
	else
		ck_assert_int_eq(require_check(text, &run, &err), rows[_i].missed);
}
END_TEST

START_TEST(what_cannot_hold_is_refused_before_the_run)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(require_check(refused[_i].text, NULL, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, refused[_i].says), "%s: %s", refused[_i].text, err.text);
}
END_TEST

START_TEST(what_can_hold_is_not)
{
	struct mlgen_err err = { 0 };

	ck_assert_msg(require_check(possible[_i], NULL, &err) == 0, "%s", err.text);
}
END_TEST

START_TEST(a_training_has_its_own_and_others_are_not_asked)
{
	struct mlgen_err err = { 0 };

	results[1] = (struct job_result){ .job = job,
					  .work = &work_train,
					  .ml.au_percent = 95,
					  .ml.stall_ns = lat,
					  .wall_seconds = 4 };
	run.job_count = 2;
	ck_assert_int_eq(require_check("au>=90", &run, &err), 0);
	ck_assert_int_eq(require_check("au>=96", &run, &err), 1);
	ck_assert_int_eq(require_check("stall_ns.p99<1000", &run, &err), 1);
	/* Both have this one. */
	ck_assert_int_eq(require_check("wall_seconds<1", &run, &err), 2);
}
END_TEST

/* An element that is not there is unknown, and so is one that is null. */
START_TEST(an_element_of_a_list_is_required_by_its_number)
{
	static const struct {
		const char *text;
		int missed;
	} elements[] = {
		{ "epochs.0.au_percent>=90", 0 },
		{ "epochs.0.au_percent>=91", 1 },
		{ "epochs.0.seconds<=2", 0 },
		{ "epochs.1.samples=7", 0 },
		{ "epochs.1.au_percent>=0", 1 },
		{ "epochs.2.seconds>=0", 1 },
		{ "au_percent_per_accelerator.1=70", 0 },
		{ "au_percent_per_accelerator.0>=70", 1 },
		{ "au_percent_per_accelerator.2>=0", 1 },
		{ "checkpoints.0.seconds<=3", 0 },
	};
	struct epoch_result epochs[] = {
		{ .epoch = 1, .seconds = 2, .au_percent = 90 },
		{ .epoch = 2, .samples = 7, .au_percent = (double)NAN },
	};
	struct checkpoint_result saved = { .number = 1, .seconds = 3 };
	double ranks[] = { 60, 70 };
	struct mlgen_err err = { 0 };

	results[0] = (struct job_result){
		.job = job,
		.work = &work_train,
		.ml = { .epochs = { epochs, 2 },
			.au_percent_per_accelerator = { ranks, 2 },
			.saves = { .count = 1, .items = { &saved, 1 } } },
	};
	for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++)
		ck_assert_msg(require_check(elements[i].text, &run, &err) == elements[i].missed,
			      "%s: %s", elements[i].text, err.text);
}
END_TEST

/* Accelerators are none of its business, and checkpoints not that of others. */
START_TEST(a_job_with_checkpoints_has_what_they_have)
{
	struct mlgen_err err = { 0 };

	results[0] = (struct job_result){ .job = job,
					  .work = &work_checkpoint,
					  .ml.au_percent = (double)NAN };
	job->phase = PHASE_CHECKPOINT;
	results[0].ml.saves = (struct checkpoints_result){
		.count = 2,
		.bytes_per_sec = 5e8,
		.rank_percent.data = 3,
		.write_ns = lat,
	};
	results[1] = (struct job_result){ .job = job, .work = &work_train, .ml.au_percent = 95 };
	run.job_count = 2;
	ck_assert_int_eq(require_check("saves.bytes_per_sec>=5e8", &run, &err), 0);
	ck_assert_int_eq(require_check("saves.bytes_per_sec>=6e8", &run, &err), 1);
	ck_assert_int_eq(require_check("saves.rank_percent.data<=5", &run, &err), 0);
	ck_assert_int_eq(require_check("saves.write_ns.max=5000000", &run, &err), 0);
	ck_assert_int_eq(require_check("au>=90", &run, &err), 0);
	ck_assert_int_eq(require_check("restores.bytes_per_sec>1", &run, &err), 1);
}
END_TEST

START_TEST(where_nothing_was_measured_nothing_is_met)
{
	struct mlgen_err err = { 0 };
	double value;

	results[0].work = &work_prepare;
	ck_assert_int_eq(require_check("read.iops>=0", &run, &err), 1);
	ck_assert(!require_value(&results[0], "read.iops", &value));
}
END_TEST

/* As --find-max asks. */
START_TEST(a_job_alone_is_asked_for_a_figure)
{
	double value;

	ck_assert(require_value(&results[0], "read.iops", &value));
	ck_assert_double_eq(value, 500);
	ck_assert(require_value(&results[0], "write.clat_ns.p99", &value));
	ck_assert(isnan(value));
	ck_assert(!require_value(&results[0], "au", &value));
	ck_assert(!require_value(&results[0], "read.iop", &value));
}
END_TEST

Suite *suite_require(void)
{
	Suite *s = suite_create("require");
	TCase *t = tcase_create("require");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, figures_are_found_below_io_then_in_the_job, 0,
			    (int)(sizeof(rows) / sizeof(*rows)));
	tcase_add_loop_test(t, what_cannot_hold_is_refused_before_the_run, 0,
			    (int)(sizeof(refused) / sizeof(*refused)));
	tcase_add_loop_test(t, what_can_hold_is_not, 0,
			    (int)(sizeof(possible) / sizeof(*possible)));
	tcase_add_test(t, a_training_has_its_own_and_others_are_not_asked);
	tcase_add_test(t, an_element_of_a_list_is_required_by_its_number);
	tcase_add_test(t, a_job_alone_is_asked_for_a_figure);
	tcase_add_test(t, a_job_with_checkpoints_has_what_they_have);
	tcase_add_test(t, where_nothing_was_measured_nothing_is_met);
	suite_add_tcase(s, t);
	return s;
}
