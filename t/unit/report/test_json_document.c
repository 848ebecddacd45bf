/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_document.c - the document of a run: its keys, those of fio, and its lists. */
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "json_rig.h"
#include "report/document/document.h"
#include "field/fields.h"
#include "suites.h"
#include "work/workloads.h"

/* A job of its own, as the only one of a set. */
struct one_job {
	struct job *job;
	struct jobset set;
};

static void set_up_job(struct one_job *one)
{
	memset(one, 0, sizeof(*one));
	one->job = job_new("train");
	one->set.jobs = &one->job;
	one->set.count = 1;
}

static json_t *document(const struct run_result *r, const struct jobset *set,
			const struct plan_report *plans)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	ck_assert_int_eq(json_report(to, r, set, plans), 0);
	fclose(to);
	return parse(text);
}

static void expect_keys(const json_t *o, const char *const *keys)
{
	for (; *keys; keys++)
		ck_assert_msg(json_object_get(o, *keys) != NULL, "%s is missing", *keys);
}

/* facts: every key that programs read from fio's documents. */
static const char *const top_keys[] = {
	"timestamp", "timestamp_ms", "time",          "global options", "jobs",
	"disk_util", "machine",      "mlgen version", "schema_version", NULL
};
static const char *const job_keys[] = { "jobname",
					"groupid",
					"error",
					"elapsed",
					"job_runtime",
					"job options",
					"usr_cpu",
					"sys_cpu",
					"ctx",
					"majf",
					"minf",
					"read",
					"write",
					"trim",
					"latency_us",
					"latency_ms",
					"ml",
					"latency_ns",
					"error_text",
					"iodepth_level",
					"options_resolved",
					NULL };
static const char *const direction_keys[] = {
	"io_bytes",  "io_kbytes", "bw_bytes",    "bw",           "iops",       "runtime",
	"total_ios", "short_ios", "drop_ios",    "slat_ns",      "clat_ns",    "lat_ns",
	"bw_min",    "bw_max",    "bw_mean",     "bw_dev",       "bw_samples", "iops_min",
	"iops_max",  "iops_mean", "iops_stddev", "iops_samples", NULL
};
static const char *const disk_keys[] = { "name",          "read_ios", "write_ios", "read_sectors",
					 "write_sectors", "util",     NULL };

START_TEST(a_report_has_every_key_of_fio)
{
	struct one_job one;

	set_up_job(&one);
	struct job_result job = { .job = one.job, .work = &work_train, .members = 1 };
	struct disk_util disk = { .name = "vda" };
	struct run_result r = { .jobs = &job, .job_count = 1, .disks = &disk, .disk_count = 1 };
	json_t *o = document(&r, &one.set, NULL);
	json_t *j = json_array_get(json_object_get(o, "jobs"), 0);
	json_t *d = json_array_get(json_object_get(o, "disk_util"), 0);

	expect_keys(o, top_keys);
	expect_keys(j, job_keys);
	expect_keys(json_object_get(j, "read"), direction_keys);
	expect_keys(json_object_get(j, "write"), direction_keys);
	expect_keys(json_object_get(j, "trim"), direction_keys);
	expect_keys(d, disk_keys);
	ck_assert_str_eq(json_string_value(json_object_get(d, "name")), "vda");
	ck_assert_ptr_null(json_object_get(j, "plan"));
	json_decref(o);
	job_free(one.job);
}
END_TEST

START_TEST(lists_that_are_empty_are_there)
{
	struct jobset set = { 0 };
	struct run_result r = { 0 };
	json_t *o = document(&r, &set, NULL);

	ck_assert(json_is_array(json_object_get(o, "jobs")));
	ck_assert(json_is_array(json_object_get(o, "disk_util")));
	ck_assert(json_is_object(json_object_get(o, "global options")));
	json_decref(o);
}
END_TEST

START_TEST(percentiles_are_those_of_the_job)
{
	struct one_job one;

	set_up_job(&one);
	one.job->percentile_list = (struct f64_list){ 1, { 12.5 } };
	struct job_result job = { .job = one.job, .work = &work_train, .members = 1 };
	struct run_result r = { .jobs = &job, .job_count = 1 };
	json_t *o = document(&r, &one.set, NULL);
	json_t *j = json_array_get(json_object_get(o, "jobs"), 0);
	json_t *stall = json_object_get(json_object_get(j, "ml"), "stall_ns");
	json_t *p = json_object_get(stall, "percentile");

	ck_assert_uint_eq(json_object_size(p), 1);
	ck_assert_int_eq(int_at(p, "12.500000"), 0);
	json_decref(o);
	job_free(one.job);
}
END_TEST

START_TEST(a_dry_run_has_a_plan_and_the_figures_it_knows)
{
	struct one_job one;
	char name[] = "space", why[] = "no room";
	struct plan_check check = { name, PLAN_FAIL, why };

	set_up_job(&one);
	struct plan_report plan = { .job = one.job,
				    .hosts = 1,
				    .processes = 1,
				    .accelerators = 2,
				    .demand_bytes_per_sec = 1e9,
				    .total_steps = 4,
				    .checks = { &check, 1 },
				    .blockers = { &check, 1 } };
	struct run_result r = { 0 };
	one.job->accelerators = 2;
	one.job->batch_size = 3;
	json_t *o = document(&r, &one.set, &plan);
	json_t *j = json_array_get(json_object_get(o, "jobs"), 0);
	json_t *ml = json_object_get(j, "ml");
	json_t *blocker =
		json_array_get(json_object_get(json_object_get(j, "plan"), "blockers"), 0);

	ck_assert_int_eq(int_at(ml, "samples"), 24);
	ck_assert_double_eq(real_at(ml, "demand_bytes_per_sec"), 1e9);
	ck_assert_ptr_null(json_object_get(ml, "au_percent"));
	ck_assert_ptr_nonnull(json_object_get(ml, "storage"));
	ck_assert_str_eq(json_string_value(json_object_get(blocker, "name")), "space");
	ck_assert_str_eq(json_string_value(json_object_get(blocker, "text")), "no room");
	json_decref(o);
	job_free(one.job);
}
END_TEST

/* Also text that stands in the struct itself: "" is null. */
START_TEST(a_job_that_saves_has_its_checkpoints)
{
	struct one_job one;

	set_up_job(&one);
	one.job->phase = PHASE_CHECKPOINT;
	struct checkpoint_result items[2] = {
		{ .number = 7,
		  .name = "global_epoch1_step7",
		  .seconds = 1.5,
		  .bytes = 4096,
		  .complete = true },
		{ .number = 8,
		  .seconds = (double)NAN,
		  .commit_seconds = (double)NAN,
		  .error = "no space" },
	};
	struct job_result job = {
		.job = one.job, .work = &work_checkpoint, .members = 1, .ml.au_percent = (double)NAN
	};
	checkpoints_result_init(&job.ml.saves);
	job.ml.saves.items = (struct metric_list){ items, 2 };
	job.ml.saves.count = 2;
	job.ml.saves.completed = 1;
	struct run_result r = { .jobs = &job, .job_count = 1 };
	json_t *o = document(&r, &one.set, NULL);
	json_t *j = json_array_get(json_object_get(o, "jobs"), 0);
	json_t *ml = json_object_get(j, "ml");
	json_t *list = json_object_get(ml, "checkpoints");
	json_t *good = json_array_get(list, 0), *bad = json_array_get(list, 1);
	json_t *saves = json_object_get(ml, "saves");

	ck_assert_uint_eq(json_array_size(list), 2);
	ck_assert_int_eq(int_at(good, "number"), 7);
	ck_assert_str_eq(json_string_value(json_object_get(good, "name")), "global_epoch1_step7");
	ck_assert(json_is_null(json_object_get(good, "error")));
	ck_assert_double_eq(real_at(good, "seconds"), 1.5);
	ck_assert_str_eq(json_string_value(json_object_get(bad, "error")), "no space");
	ck_assert(json_is_null(json_object_get(bad, "name")));
	ck_assert(json_is_null(json_object_get(bad, "seconds")));
	ck_assert(json_is_null(json_object_get(bad, "commit_seconds")));
	ck_assert_int_eq(int_at(saves, "completed"), 1);
	ck_assert(json_is_null(json_object_get(saves, "in_memory_bytes")));
	ck_assert(json_is_object(json_object_get(saves, "unlink_ns")));
	ck_assert(json_is_null(json_object_get(json_object_get(saves, "rank_percent"), "fsync")));
	ck_assert_uint_eq(json_array_size(json_object_get(ml, "restore")), 0);
	ck_assert_ptr_null(json_object_get(ml, "restores"));
	ck_assert_ptr_null(json_object_get(ml, "au_percent"));
	ck_assert_ptr_null(json_object_get(ml, "epochs"));
	ck_assert_ptr_nonnull(json_object_get(ml, "storage"));
	json_decref(o);
	job_free(one.job);
}
END_TEST

Suite *suite_json_document(void)
{
	Suite *s = suite_create("json_document");
	TCase *t = tcase_create("json_document");

	tcase_add_test(t, a_report_has_every_key_of_fio);
	tcase_add_test(t, lists_that_are_empty_are_there);
	tcase_add_test(t, percentiles_are_those_of_the_job);
	tcase_add_test(t, a_dry_run_has_a_plan_and_the_figures_it_knows);
	tcase_add_test(t, a_job_that_saves_has_its_checkpoints);
	suite_add_tcase(s, t);
	return s;
}
