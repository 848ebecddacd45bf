/* SPDX-License-Identifier: Apache-2.0 */
/* test_dlio_summary.c - DLIO's keys, with what it means by them. */
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/dlio/dlio.h"
#include "suites.h"
#include "work/workloads.h"

#define GIB ((double)(1u << 30))

static struct job *job;
static struct dataset dataset;
static struct mlperf_epoch epochs[2];
static struct checkpoint_result checkpoints[3];
static struct job_result results[2];
static struct run_result run;
static struct jobset set;

/* Two epochs of 4 GiB, in samples of 2 MiB. */
static void set_up(void)
{
	job = job_new("x");
	job->target_au = 90;
	job->accelerators = 4;
	dataset = (struct dataset){
		.files = 1024,
		.samples_per_file = 2,
		.sample_size = { DIST_CONST, 2 << 20, 0 },
		.extent_samples = 1,
	};
	epochs[0] = (struct mlperf_epoch){ 92, 11, 10, 10.5 };
	epochs[1] = (struct mlperf_epoch){ 96, 15, 14, 14.5 };
	memset(results, 0, sizeof(results));
	results[0] = (struct job_result){
		.job = job, .work = &work_train, .dataset = &dataset, .elapsed_seconds = 90.5
	};
	results[0].ml.accelerators = 4;
	results[0].ml.mlperf_epochs = (struct metric_list){ epochs, 2 };
	run = (struct run_result){
		.jobs = results,
		.job_count = 1,
		.host = { .hostname = "lap7",
			  .cpus_online = 8,
			  .memory_bytes = UINT64_C(16) << 30 },
		.timestamp_ms = 1700000000250,
	};
	memset(&set, 0, sizeof(set));
	setenv("TZ", "UTC", 1);
}

static void tear_down(void)
{
	job_free(job);
}

static json_t *summary(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	ck_assert_int_eq(dlio_summary(to, &run, &set), 0);
	fclose(to);
	json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_msg(o != NULL, "%s", text);
	free(text);
	return o;
}

/* The number at "key", "metric.key" or "key[1]". */
static double number(const json_t *o, const char *path)
{
	char key[80];
	const char *dot = strchr(path, '.');
	int item = -1;

	snprintf(key, sizeof(key), "%s", dot ? dot + 1 : path);
	if (dot)
		o = json_object_get(o, "metric");
	char *bracket = strchr(key, '[');
	if (bracket) {
		item = (int)strtol(bracket + 1, NULL, 10);
		*bracket = '\0';
	}
	o = json_object_get(o, key);
	if (item >= 0)
		o = json_array_get(o, (size_t)item);
	ck_assert_msg(json_is_number(o), "%s is no number", path);
	return json_number_value(o);
}

static const struct {
	const char *path;
	double want;
} rows[] = {
	{ "num_accelerators", 4 },
	{ "num_hosts", 1 },
	{ "num_files_train", 1024 },
	{ "num_files_eval", 0 },
	{ "num_samples_per_file", 2 },
	{ "data_size_per_host_GB", 4 },
	{ "host_memory_GB[0]", 16 },
	{ "host_cpu_count[0]", 8 },
	{ "potential_caching[0]", 1 },
	{ "epochs", 2 },
	{ "metric.train_au_percentage[0]", 92 },
	{ "metric.train_au_percentage[1]", 96 },
	{ "metric.train_au_mean_percentage", 94 },
	{ "metric.train_au_stdev_percentage", 2 },
	{ "metric.train_throughput_samples_per_second[1]", 14 },
	{ "metric.train_throughput_mean_samples_per_second", 12 },
	{ "metric.train_throughput_stdev_samples_per_second", 2 },
	{ "metric.train_io_mean_MB_per_second", 24 },
	{ "metric.train_io_stdev_MB_per_second", 4 },
};

START_TEST(figures_are_dlios)
{
	json_t *o = summary();

	ck_assert_double_eq_tol(number(o, rows[_i].path), rows[_i].want, 1e-9);
	json_decref(o);
}
END_TEST

START_TEST(words_are_dlios)
{
	json_t *o = summary();
	json_t *metric = json_object_get(o, "metric");
	const char *met = json_string_value(json_object_get(metric, "train_au_meet_expectation"));

	ck_assert_str_eq(met, "success");
	ck_assert_str_eq(json_string_value(json_object_get(o, "hostname")), "lap7");
	ck_assert_str_eq(json_string_value(json_object_get(o, "start")),
			 "2023-11-14T22:13:20.250000");
	ck_assert_str_eq(json_string_value(json_object_get(o, "end")),
			 "2023-11-14T22:14:50.750000");
	ck_assert(json_is_object(json_object_get(o, "host_meminfo")));
	ck_assert(json_is_string(json_object_get(json_object_get(o, "host_meminfo"), "MemTotal")));
	ck_assert_uint_eq(json_array_size(json_object_get(metric, "train_au_percentage")), 2);
	json_decref(o);
}
END_TEST

static const struct {
	double target;
	const char *want;
} targets[] = {
	{ 94, "success" },
	{ 94.5, "fail" },
	/* DLIO's own is 90. */
	{ (double)NAN, "success" },
};

START_TEST(the_target_is_met_or_not)
{
	job->target_au = targets[_i].target;
	json_t *o = summary();
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(o, "metric"),
							   "train_au_meet_expectation")),
			 targets[_i].want);
	json_decref(o);
}
END_TEST

START_TEST(a_version_has_its_window)
{
	set.settings.check = CHECK_MLPERF_V1;
	json_t *o = summary();
	ck_assert_double_eq(number(o, "metric.train_throughput_mean_samples_per_second"), 13);
	json_decref(o);
	set.settings.check = CHECK_MLPERF_V3;
	o = summary();
	ck_assert_double_eq(number(o, "metric.train_throughput_mean_samples_per_second"), 12.5);
	json_decref(o);
}
END_TEST

START_TEST(what_is_not_known_is_null)
{
	results[0].ml.mlperf_epochs.count = 0;
	json_t *o = summary();
	json_t *metric = json_object_get(o, "metric");
	ck_assert(json_is_null(json_object_get(metric, "train_au_mean_percentage")));
	ck_assert_uint_eq(json_array_size(json_object_get(metric, "train_au_percentage")), 0);
	ck_assert_str_eq(json_string_value(json_object_get(metric, "train_au_meet_expectation")),
			 "fail");
	json_decref(o);
}
END_TEST

START_TEST(an_evaluation_has_its_throughput)
{
	job->eval_files = 8;
	results[0].ml.eval.samples_per_sec = 7;
	json_t *o = summary();
	ck_assert_double_eq(number(o, "num_files_eval"), 8);
	ck_assert_double_eq(number(o, "metric.eval_throughput_mean_samples_per_second"), 7);
	ck_assert_double_eq(number(o, "metric.eval_io_mean_MB_per_second"), 14);
	json_decref(o);
}
END_TEST

/* Two whole ones and one that failed. */
static void have_checkpoints(struct checkpoints_result *c)
{
	for (unsigned i = 0; i < 3; i++)
		checkpoints[i] = (struct checkpoint_result){
			.complete = i < 2,
			.seconds = 4 + 2 * i,
			.bytes_per_sec = (double)(3 + 2 * i) * GIB,
		};
	checkpoints_result_init(c);
	c->items = (struct metric_list){ checkpoints, 3 };
	c->count = 3;
	c->completed = 2;
	c->ranks = 8;
	c->bytes_per_checkpoint = UINT64_C(20) << 30;
}

START_TEST(checkpoints_of_a_training_are_in_it)
{
	have_checkpoints(&results[0].ml.saves);
	json_t *o = summary();
	ck_assert_double_eq(number(o, "metric.save_checkpoint_io_mean_GB_per_second"), 4);
	ck_assert_double_eq(number(o, "metric.save_checkpoint_io_stdev_GB_per_second"), 1);
	ck_assert_double_eq(number(o, "metric.save_checkpoint_duration_mean_seconds"), 5);
	ck_assert_double_eq(number(o, "metric.save_checkpoint_duration_stdev_seconds"), 1);
	ck_assert_double_eq(number(o, "metric.checkpoint_size_GB"), 20);
	ck_assert_double_eq(number(o, "num_accelerators"), 4);
	json_decref(o);
}
END_TEST

START_TEST(checkpoints_alone_have_one_too)
{
	struct job *restore = job_new("restore");

	job->phase = PHASE_CHECKPOINT;
	restore->phase = PHASE_RESTORE;
	results[0].work = results[1].work = &work_checkpoint;
	results[1].job = restore;
	run.job_count = 2;
	have_checkpoints(&results[0].ml.saves);
	have_checkpoints(&results[1].ml.restores);
	json_t *o = summary();
	ck_assert_double_eq(number(o, "num_accelerators"), 8);
	ck_assert_double_eq(number(o, "epochs"), 0);
	ck_assert_double_eq(number(o, "metric.save_checkpoint_duration_mean_seconds"), 5);
	ck_assert_double_eq(number(o, "metric.load_checkpoint_io_mean_GB_per_second"), 4);
	ck_assert_ptr_null(json_object_get(json_object_get(o, "metric"), "train_au_percentage"));
	json_decref(o);
	job_free(restore);
}
END_TEST

START_TEST(a_run_without_one_is_refused)
{
	struct mlgen_err err = { 0 };
	struct job *jobs[] = { job };

	set.jobs = jobs;
	set.count = 1;
	job->phase = PHASE_TRAIN;
	ck_assert_int_eq(dlio_summary_check(&set, &err), 0);
	set.settings.dry_run = true;
	ck_assert_int_eq(dlio_summary_check(&set, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "output-format=dlio: a dry "));
	set.settings.dry_run = false;
	job->phase = PHASE_IO;
	ck_assert_int_eq(dlio_summary_check(&set, NULL), -EINVAL);
	results[0].work = &work_io;
	ck_assert_int_eq(dlio_summary(stdout, &run, &set), -EINVAL);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_dlio_summary(void)
{
	Suite *s = suite_create("dlio_summary");
	TCase *t = tcase_create("dlio_summary");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, figures_are_dlios, 0, ROWS(rows));
	tcase_add_test(t, words_are_dlios);
	tcase_add_loop_test(t, the_target_is_met_or_not, 0, ROWS(targets));
	tcase_add_test(t, a_version_has_its_window);
	tcase_add_test(t, what_is_not_known_is_null);
	tcase_add_test(t, an_evaluation_has_its_throughput);
	tcase_add_test(t, checkpoints_of_a_training_are_in_it);
	tcase_add_test(t, checkpoints_alone_have_one_too);
	tcase_add_test(t, a_run_without_one_is_refused);
	suite_add_tcase(s, t);
	return s;
}
