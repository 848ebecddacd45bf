/* SPDX-License-Identifier: Apache-2.0 */
/* test_results_file.c - documents are checked, figures are found by their keys. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/results/results.h"
#include "report/metrics/metrics.h"
#include "suites.h"
#include "temp.h"

#define HEAD "\"mlgen version\": \"1.0\", \"schema_version\": 1, "

static char path[TEMP_BYTES];
static struct results_file file;
static struct mlgen_err err;

static void setup(void)
{
	close(temp_file(path));
	memset(&file, 0, sizeof(file));
	memset(&err, 0, sizeof(err));
}

static void teardown(void)
{
	results_close(&file);
	unlink(path);
}

static int open_text(const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return results_open(&file, path, &err);
}

static const struct {
	const char *text, *fault;
} bad[] = {
	{ "", ": is empty" },
	{ "{", ":1:1: not JSON: " },
	{ "{\n \"a\": [1,\n", "the file ends too early" },
	{ "{\"a\": nu", "the file ends too early" },
	{ "{\"a\": 12", "the file ends too early" },
	{ "{\n\"a\": 1 \"b\"}", ":2:10: not JSON: " },
	{ "{\"a\": 1, \"a\": 2}", "not JSON: duplicate object key" },
	{ "{\"a\": 1e999}", "not JSON: " },
	{ "{\"a\": 99999999999999999999}", "not JSON: " },
	{ "[]", ": is not a report of mlgen; a run with --json=FILE writes a report" },
	{ "{}", ": is not a report of mlgen" },
	{ "{\"fio version\": \"fio-3.33\", \"jobs\": []}",
	  ": is not a report of mlgen but of fio" },
	{ "{\"mlgen version\": \"1\", \"schema_version\": \"1\"}", ": is not a report of mlgen" },
	{ "{\"mlgen version\": \"3.1\", \"schema_version\": 3}",
	  ": has schema_version 3 (mlgen 3.1), but this program reads 1 and 2" },
	{ "{" HEAD "\"jobs\": {}}", ": jobs: must be a list" },
	{ "{" HEAD "\"jobs\": []}", ": contains no job" },
	{ "{" HEAD "\"jobs\": [{\"jobname\": \"a\"}, {}]}", ": jobs[1]: has no jobname" },
	{ "{" HEAD "\"jobs\": [7]}", ": jobs[0]: has no jobname" },
};

START_TEST(what_is_no_result_is_refused)
{
	ck_assert_int_lt(open_text(bad[_i].text), 0);
	ck_assert_msg(strstr(err.text, bad[_i].fault), "%s: %s", bad[_i].text, err.text);
	ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
}
END_TEST

START_TEST(a_directory_is_refused)
{
	ck_assert_int_eq(results_open(&file, "/tmp", &err), -EISDIR);
	ck_assert_msg(strstr(err.text, "/tmp: is a directory"), "%s", err.text);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(results_open(&file, "/tmp/no/such", &err), -ENOENT);
}
END_TEST

/* The version is stated in two places. */
START_TEST(the_version_is_the_one_that_is_written)
{
	const struct run_result r = { .job_count = 0 };
	const struct jobset set = { .count = 0 };
	struct run_result top;

	metrics_top_init(&top, &r, &set);
	ck_assert_uint_eq(top.doc.schema_version, METRICS_SCHEMA_VERSION);
	metrics_top_fini(&top);
}
END_TEST

static const char document[] =
	"{" HEAD
	"\"find_max\": {\"answer\": 3}, \"merged\": {\"turns\": 2},\"timestamp_ms\": 5000, "
	"\"machine\": {\"hostname\": \"h1\"},\"jobs\": [{\"jobname\": \"t\", \"elapsed\": 3, "
	"\"options_resolved\": {\"batch_size\": \"7\", \"bs\": \"1m\",  \"compute_time\": "
	"\"323ms\", \"direct\": \"1\", \"epochs\": \"5\",  \"directory\": \"/a b\", \"runtime\": "
	"null,  \"bandwidth\": \"500m\"}, \"read\": {\"iops\": 12.5, \"clat_ns\": {\"N\": 0, "
	"\"min\": 0,  \"max\": 0, \"mean\": 0, \"stddev\": 0}}, \"dataset\": {\"bytes\": 1024}, "
	"\"ml\": {\"accelerators\": 8, \"au_percent\": 63.1,  \"sample_bytes_per_sec\": null, "
	"\"target_met\": true,  \"verdict\": {\"name\": \"storage\"},  "
	"\"au_percent_per_accelerator\": [60, 70],  \"epochs\": [{\"au_percent\": 61}, "
	"{\"au_percent\": 62}],  \"stall_ns\": {\"N\": 20, \"min\": 1, \"max\": 260,   \"mean\": "
	"27, \"stddev\": 56,   \"bins\": {\"1\": 10, \"30\": 9, \"261\": 1}}}}]}";

static const struct {
	const char *key;
	int kind;
	double number;
	const char *text;
} known[] = {
	{ "au", VALUE_REAL, 63.1, NULL },
	{ "au_percent", VALUE_REAL, 63.1, NULL },
	{ "accelerators", VALUE_WHOLE, 8, NULL },
	{ "sample_bytes_per_sec", VALUE_NONE, 0, NULL },
	{ "wall_seconds", VALUE_NONE, 0, NULL },
	{ "target_met", VALUE_BOOL, 1, NULL },
	{ "verdict.name", VALUE_TEXT, 0, "storage" },
	{ "au_percent_per_accelerator.1", VALUE_REAL, 70, NULL },
	{ "au_percent_per_accelerator.2", VALUE_NONE, 0, NULL },
	{ "epochs.1.au_percent", VALUE_REAL, 62, NULL },
	{ "stall_ns.p50", VALUE_WHOLE, 1, NULL },
	{ "stall_ns.p50.1", VALUE_WHOLE, 30, NULL },
	{ "stall_ns.p95", VALUE_WHOLE, 30, NULL },
	{ "stall_ns.p99.99", VALUE_WHOLE, 260, NULL },
	{ "stall_ns.p100", VALUE_WHOLE, 260, NULL },
	{ "stall_ns.p0", VALUE_WHOLE, 1, NULL },
	{ "stall_ns.mean", VALUE_REAL, 27, NULL },
	{ "stall_ns.N", VALUE_WHOLE, 20, NULL },
	{ "read.clat_ns.p99", VALUE_NONE, 0, NULL },
	{ "read.clat_ns.mean", VALUE_NONE, 0, NULL },
	{ "read.clat_ns.N", VALUE_WHOLE, 0, NULL },
	{ "read.iops", VALUE_REAL, 12.5, NULL },
	{ "elapsed", VALUE_WHOLE, 3, NULL },
	{ "jobname", VALUE_TEXT, 0, "t" },
	{ "dataset.bytes", VALUE_WHOLE, 1024, NULL },
	{ "machine.hostname", VALUE_TEXT, 0, "h1" },
	{ "timestamp_ms", VALUE_WHOLE, 5000, NULL },
	{ "options_resolved.bs", VALUE_TEXT, 0, "1m" },
	{ "options_resolved.none", VALUE_NONE, 0, NULL },
	{ "batch_size", VALUE_WHOLE, 7, "7" },
	{ "batch-size", VALUE_WHOLE, 7, "7" },
	{ "epochs", VALUE_WHOLE, 5, "5" },
	{ "bs", VALUE_WHOLE, 1048576, "1m" },
	{ "compute_time", VALUE_REAL, 0.323, "323ms" },
	{ "direct", VALUE_WHOLE, 1, "1" },
	{ "directory", VALUE_TEXT, 0, "/a b" },
	{ "runtime", VALUE_NONE, 0, NULL },
	{ "bandwidth", VALUE_WHOLE, 524288000, "500m" },
	{ "latency", VALUE_NONE, 0, NULL },
	{ "find_max.answer", VALUE_WHOLE, 3, NULL },
	{ "merged.turns", VALUE_WHOLE, 2, NULL },
};

START_TEST(a_key_finds_its_figure)
{
	struct figure f;
	struct figure_value v;

	ck_assert_msg(open_text(document) == 0, "%s", err.text);
	ck_assert_msg(figure_init(&f, known[_i].key, &err) == 0, "%s", err.text);
	figure_value(&f, &file.records[0], &v);
	ck_assert_msg((int)v.kind == known[_i].kind, "%s: %d", f.key, (int)v.kind);
	ck_assert_double_eq_tol(v.real, known[_i].number, 1e-12);
	ck_assert_pstr_eq(v.text, known[_i].text);
	figure_value_fini(&v);
}
END_TEST

static const struct {
	const char *key, *fault;
} unknown[] = {
	{ "stal_ns.p99", "did you mean 'stall_ns.p99'?" },
	{ "read_thread", "did you mean 'read_threads'?" },
	{ "storage.drectory", "did you mean 'storage.directory'?" },
	{ "dataset.bites", "did you mean 'dataset.bytes'?" },
	{ "ops.raed.lat_ns.p99", "did you mean 'ops.read.lat_ns.p99'?" },
	{ "stall_ns", "is a latency; name one of its figures: stall_ns.p99," },
	{ "stall_ns.q99", "name one of its figures: stall_ns.p99," },
	{ "stall_ns.p101", "is a latency" },
	{ "stall_ns.p", "is a latency" },
	{ "storage", "name one, such as storage.read_ahead_bytes" },
	{ "storage.", "name one, such as storage.read_ahead_bytes" },
	{ "machine", "name one, such as machine.cpus" },
	{ "verdict", "name one, such as verdict.name" },
	{ "options_resolved", "such as options_resolved.NAME" },
	{ "memory_percent", "did you mean 'storage.memory_percent'?" },
	{ "hostname", "did you mean 'machine.hostname'?" },
	{ "au_percent.x", "'au_percent' has no members" },
	{ "epochs.0", "name one element, from 0: epochs.0.epoch" },
	{ "epochs.x.au_percent", "from 0: epochs.0.epoch" },
	{ "epochs.0x", "from 0: epochs.0.epoch" },
	{ "au_percent_per_accelerator", "from 0: au_percent_per_accelerator.0" },
	{ "au_percent_per_accelerator.0.x", "is a list" },
	{ "au_percent.", "'au_percent' has no members" },
	{ "stall_ns.", "name one of its figures: stall_ns.p99," },
	{ "nothing_like_it_at_all", "not in any result; name a metric such as" },
	{ "", "not in any result" },
};

START_TEST(a_key_that_nothing_has_names_the_nearest)
{
	struct figure f;

	ck_assert_int_eq(figure_init(&f, unknown[_i].key, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, unknown[_i].fault), "%s: %s", unknown[_i].key, err.text);
}
END_TEST

/* What nobody measures is no figure of a run, whatever the document says. */
START_TEST(what_a_run_measures_is_told_from_the_rest)
{
	static const struct {
		const char *key;
		int kind;
	} keys[] = {
		{ "au", VALUE_REAL },
		{ "sample_bytes_per_sec", VALUE_NONE },
		{ "epochs.1.au_percent", VALUE_REAL },
		{ "epochs.9.au_percent", VALUE_NONE },
		{ "read.clat_ns.p99", VALUE_NONE },
		{ "write.clat_ns.N", VALUE_NONE },
		{ "wall_seconds", VALUE_NONE },
		{ "steps", VALUE_NONE },
		{ "numjobs", VALUE_NONE },
	};
	static const char *const others[] = { "file",       "jobname",   "target_met",
					      "batch_size", "timestamp", "dataset.bytes" };
	struct figure f;
	struct figure_value v;

	ck_assert_int_eq(open_text(document), 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		ck_assert_int_eq(figure_init_measured(&f, keys[i].key, &err), 0);
		figure_value(&f, &file.records[0], &v);
		ck_assert_msg((int)v.kind == keys[i].kind, "%s", keys[i].key);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		ck_assert_int_eq(figure_init_measured(&f, others[i], NULL), -EINVAL);
}
END_TEST

START_TEST(a_percentile_of_few_values_is_unsure)
{
	static const struct {
		const char *key;
		bool is_unsure;
	} keys[] = {
		{ "stall_ns.p50", false },  { "stall_ns.p51", true },  { "stall_ns.p99", true },
		{ "stall_ns.p100", false }, { "stall_ns.max", false },
	};
	struct figure f;
	struct figure_value v;

	ck_assert_int_eq(open_text(document), 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		ck_assert_int_eq(figure_init(&f, keys[i].key, &err), 0);
		figure_value(&f, &file.records[0], &v);
		ck_assert_msg(v.is_unsure == keys[i].is_unsure, "%s", keys[i].key);
	}
}
END_TEST

/* 4 s of epochs with 3/4 of the payload, 5 s of evaluations, 1 s of waiting for checkpoints: bytes
 * of all were divided by the 4 s. */
#define OLD_TRAINING(phase, eval)                                                                  \
	"{" HEAD "\"jobs\": [{\"jobname\": \"t\", \"job_runtime\": 4000,"                          \
	" \"options_resolved\": {\"phase\": \"" phase "\"},"                                       \
	" \"read\": {\"io_bytes\": 8000, \"total_ios\": 100, \"bw\": 1,"                           \
	"  \"bw_bytes\": 2000, \"iops\": 25.0, \"runtime\": 4000},"                                \
	" \"ml\": {\"sample_bytes\": 3000, \"io_bytes\": 8000,"                                    \
	"  \"io_bytes_per_sec\": 2000.0, \"wall_seconds\": 4.0,"                                   \
	"  \"saves\": {\"stall_seconds\": 1.0, \"wall_seconds\": 2.5},"                            \
	"  \"eval\": {\"seconds\": 5.0, " eval " }}}]}"

static double number_of(const char *key)
{
	struct figure f;
	struct figure_value v;
	double number;

	ck_assert_msg(figure_init(&f, key, &err) == 0, "%s", err.text);
	figure_value(&f, &file.records[0], &v);
	number = v.kind == VALUE_NONE ? -1 : v.real;
	figure_value_fini(&v);
	return number;
}

struct number {
	const char *key;
	double is;
};

static void check_numbers(const struct number *n)
{
	for (; n->key; n++)
		ck_assert_msg(fabs(number_of(n->key) - n->is) < 1e-9, "%s: %g", n->key,
			      number_of(n->key));
}

START_TEST(rates_of_an_older_document_are_over_their_own_time)
{
	static const struct number is[] = {
		{ "io_bytes", 6000 },      { "io_bytes_per_sec", 1500 },
		{ "eval.io_bytes", 2000 }, { "eval.io_bytes_per_sec", 400 },
		{ "read.io_bytes", 8000 }, { "read.bw_bytes", 800 },
		{ "read.iops", 10 },       { "read.runtime", 10000 },
		{ "job_runtime", 10000 },  { NULL, 0 },
	};

	ck_assert_int_eq(open_text(OLD_TRAINING("train", "\"sample_bytes\": 1000")), 0);
	check_numbers(is);
}
END_TEST

/* Of today, of another phase, without an evaluation, or damaged. */
START_TEST(what_an_older_document_says_rightly_stays)
{
	static const struct number is[] = { { "io_bytes", 8000 },
					    { "io_bytes_per_sec", 2000 },
					    { "read.bw_bytes", 2000 },
					    { "job_runtime", 4000 },
					    { NULL, 0 } };

	ck_assert_int_eq(
		open_text(OLD_TRAINING("train", "\"sample_bytes\": 1000,\"io_bytes\": 500")), 0);
	check_numbers(is);
	ck_assert_double_eq(number_of("eval.io_bytes"), 500);
	results_close(&file);
	ck_assert_int_eq(open_text(OLD_TRAINING("checkpoint", "\"sample_bytes\": 9")), 0);
	check_numbers(is);
	results_close(&file);
	ck_assert_int_eq(open_text(OLD_TRAINING("train", "\"sample_bytes\": 0")), 0);
	ck_assert_double_eq(number_of("io_bytes_per_sec"), 2000);
	ck_assert_double_eq(number_of("eval.io_bytes"), 0);
	ck_assert_double_eq(number_of("eval.io_bytes_per_sec"), -1);
	results_close(&file);
	ck_assert_int_eq(open_text(OLD_TRAINING("train", "\"sample_bytes\": -2000")), -EINVAL);
	ck_assert_msg(
		strstr(err.text, ": jobs[0].ml.eval.sample_bytes: must be a whole number from 0"),
		"%s", err.text);
}
END_TEST

/* 6 of 40 bytes of a row are read. */
START_TEST(samples_of_an_older_document_are_the_columns_read)
{
	static const char text[] =
		"{" HEAD
		"\"jobs\": [{\"jobname\": \"t\", \"options_resolved\": {\"format\": \"parquet\",  "
		"\"columns\": \"a:int32,b:int8[34],c:float16\",  \"read_columns\": \"a,c\"}, "
		"\"dataset\": {\"sample_bytes\": 80000,  \"mean_sample_bytes\": 40.0}, \"ml\": "
		"{\"sample_bytes\": 4000, \"io_bytes\": 900,  \"sample_bytes_per_sec\": 2000.0,  "
		"\"epochs\": [{\"sample_bytes\": 400},   {\"sample_bytes_per_sec\": null}],  "
		"\"mlperf\": {\"v2_0\": {   \"train_io_mean_MB_per_second\": 3.0}}}}]}";
	static const struct number is[] = {
		{ "dataset.sample_bytes", 12000 },
		{ "dataset.row_bytes", 80000 },
		{ "dataset.mean_sample_bytes", 6 },
		{ "sample_bytes", 600 },
		{ "sample_bytes_per_sec", 300 },
		{ "epochs.0.sample_bytes", 60 },
		{ "epochs.1.sample_bytes_per_sec", -1 },
		{ "mlperf.v2_0.train_io_mean_MB_per_second", 20 },
		{ "io_bytes", 900 },
		{ NULL, 0 },
	};

	ck_assert_int_eq(open_text(text), 0);
	check_numbers(is);
}
END_TEST

/* The job `t` reads 6 of 40 bytes of a row, and the job `other` all of them; today's document says
 * so itself. */
#define OLD_SEARCH(of, dataset)                                                                    \
	"{" HEAD "\"find_max\": {\"job\": \"" of "\","                                             \
	" \"requirement\": \"sample_bytes_per_sec>=1900\","                                        \
	" \"probes\": [{\"figures\": [2000.0],"                                                    \
	"  \"sample_bytes_per_sec\": 2000.0, \"au_percent\": 90.0},"                               \
	"  {\"sample_bytes_per_sec\": null},"                                                      \
	"  {\"sample_bytes_per_sec\": 4000.0}]},"                                                  \
	"\"jobs\": [{\"jobname\": \"t\", \"options_resolved\": {"                                  \
	"  \"format\": \"parquet\", \"read_columns\": \"a,c\","                                    \
	"  \"columns\": \"a:int32,b:int8[34],c:float16\"},"                                        \
	" \"dataset\": {" dataset "\"sample_bytes\": 80000}, \"ml\": {}},"                         \
	" {\"jobname\": \"other\", \"options_resolved\": {},"                                      \
	"  \"dataset\": {\"sample_bytes\": 80000}, \"ml\": {}}]}"

START_TEST(probes_of_an_older_document_are_of_the_columns_read)
{
	static const struct {
		const char *text;
		double first, third;
	} cases[] = {
		{ OLD_SEARCH("t", ""), 300, 600 },
		{ OLD_SEARCH("other", ""), 2000, 4000 },
		{ OLD_SEARCH("t", "\"row_bytes\": 80000,"), 2000, 4000 },
	};
	const struct number is[] = {
		{ "find_max.probes.0.sample_bytes_per_sec", cases[_i].first },
		{ "find_max.probes.1.sample_bytes_per_sec", -1 },
		{ "find_max.probes.2.sample_bytes_per_sec", cases[_i].third },
		/* a rate is no AU, and a part of the requirement has the meaning of its limit */
		{ "find_max.probes.0.au_percent", 90 },
		{ "find_max.probes.0.figures.0", 2000 },
		{ NULL, 0 },
	};

	ck_assert_int_eq(open_text(cases[_i].text), 0);
	check_numbers(is);
}
END_TEST

#define LOOP(t, test, list) tcase_add_loop_test(t, test, 0, sizeof(list) / sizeof(*(list)))

Suite *suite_results_file(void)
{
	Suite *s = suite_create("results_file");
	TCase *t = tcase_create("results_file");

	tcase_add_checked_fixture(t, setup, teardown);
	LOOP(t, what_is_no_result_is_refused, bad);
	tcase_add_test(t, a_directory_is_refused);
	tcase_add_test(t, the_version_is_the_one_that_is_written);
	LOOP(t, a_key_finds_its_figure, known);
	LOOP(t, a_key_that_nothing_has_names_the_nearest, unknown);
	tcase_add_test(t, what_a_run_measures_is_told_from_the_rest);
	tcase_add_test(t, a_percentile_of_few_values_is_unsure);
	tcase_add_test(t, rates_of_an_older_document_are_over_their_own_time);
	tcase_add_test(t, what_an_older_document_says_rightly_stays);
	tcase_add_test(t, samples_of_an_older_document_are_the_columns_read);
	tcase_add_loop_test(t, probes_of_an_older_document_are_of_the_columns_read, 0, 3);
	suite_add_tcase(s, t);
	return s;
}
