/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_report.c - what a dry run computes and prints. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/format.h"
#include "data/manifest.h"
#include "report/plan_lines.h"
#include "report/plan_report.h"
#include "suites.h"
#include "work/workloads.h"

#define MIB (1u << 20)

static char directory[64];
static struct job *job;
static struct host host;
static struct settings settings;

/* 1,000 files of 1 MiB for 2 accelerators, on a host of 100 MiB. */
static void set_up(void)
{
	snprintf(directory, sizeof(directory), "/tmp/mlgen-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	job = job_new("train");
	mem_replace(&job->directory, directory);
	job->format = FORMAT_RAW;
	job->num_files = 1000;
	job->sample_size = (struct dist){ DIST_CONST, MIB, 0 };
	job->accelerators = 2;
	job->batch_size = 3;
	job->compute_time = (struct dist){ DIST_CONST, 100e6, 0 };
	job->epochs = 5;
	job->read_threads = 4;
	job->bs.read = MIB / 4;
	job->target_au = (double)NAN;
	memset(&settings, 0, sizeof(settings));
	host = (struct host){ .memory_bytes = 100 * MIB, .open_files = 1024 };
}

static void tear_down(void)
{
	char command[128];

	job_free(job);
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	ck_assert_int_eq(system(command), 0);
}

static void make(struct plan_report *p)
{
	struct mlgen_err err = { 0 };

	ck_assert_msg(plan_make(p, job, &host, &settings, &err) == 0, "%s",
		      err.text);
}

static void expect_check(const struct plan_report *p, const char *name,
			 enum plan_state state, const char *words)
{
	const struct plan_check *c = plan_find_check(p, name);

	ck_assert_msg(c != NULL, "no check %s", name);
	ck_assert_msg(c->state == (int)state, "%s: %d %s", name, c->state,
		      c->text ? c->text : "");
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
	ck_assert_ptr_null(
		strstr(plan_find_check(&p, "space")->text, "allow_fill"));
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

/* ---- text ---- */

static char *text_of(const struct plan_report *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	plan_text(to, p);
	fclose(to);
	return text;
}

static struct plan_check checks[] = {
	{ NULL, PLAN_OK, NULL },      { NULL, PLAN_OK, NULL },
	{ NULL, PLAN_OK, NULL },      { NULL, PLAN_FAIL, NULL },
	{ NULL, PLAN_WARNING, NULL },
};

/* The figures of a large run, as nobody could measure them here. */
static void fill(struct plan_report *p)
{
	static char words[][32] = {
		"dataset", "space", "memory",   "files",
		"steps",   "5 x",   "raise it", "more files"
	};

	for (size_t i = 0; i < 5; i++)
		checks[i].name = words[i];
	for (size_t i = 2; i < 5; i++)
		checks[i].text = words[i + 3];
	*p = (struct plan_report){
		.job = job,
		.dataset = { .format = &format_npz,
			     .directory = directory,
			     .files = 28000,
			     .files_named = 28000,
			     .samples_per_file = 1 },
		.totals = { .bytes = 4101171202949ull,
			    .mean_file_bytes = 146600628,
			    .stdev_file_bytes = 49040000 },
		.touches_files = true,
		.present_files = 12480,
		.write_files = 15520,
		.write_bytes = 2275981070336ull,
		.mount.target = "/mnt/array",
		.free_bytes = 20021501114122ull,
		.memory_bytes = 256ull << 30,
		.dataset_memory_ratio = 14.92,
		.steps_per_epoch = 500,
		.total_steps = 2500,
		.read_bytes = 20505856014745.0,
		.least_seconds = 807.5,
		.samples_per_sec_one = 21.6718,
		.bytes_per_sec_one = 3177103393.0,
		.demand_bytes_per_sec = 25416827144.0,
		.reads_in_flight = 32,
		.open_files = 64,
		.open_files_limit = 48,
		.calls_per_sample = { .open = 1, .read = 140.2, .close = 1 },
		.program_bytes = 9 * MIB - 1,
		.framework_bytes = 32838540672.0,
		.checks = { checks, 5 },
	};
	mem_replace(&job->accelerator, "h100");
	job->accelerators = 8;
	job->batch_size = 7;
	job->target_au = 90;
	job->bs.read = MIB;
}

/* clang-format off */
static const char large[] =
"train: dry run, nothing was read or written\n"
"\n"
"dataset   28,000 npz files x 1 sample, 146.6 MB mean, 49.04 MB stdev     3.73 TiB\n"
"          present 12,480 files; to write 15,520                          2.07 TiB ok\n"
"          free in /mnt/array                                            18.21 TiB ok\n"
"          memory of this host 256 GiB; dataset / memory                 14.9 x    ok (5 x)\n"
"epoch     28,000 / (8 accelerators x batch 7) = 500 steps, 0 samples left over    WARNING\n"
"          more files\n"
"run       5 epochs = 2,500 steps, 18.65 TiB read, at least 13m28s (100% AU)\n"
"demand    one h100         21.67 samples/s     2.96 GiB/s\n"
"          8 x h100        173.4  samples/s    23.67 GiB/s\n"
"          8 x h100 at 90%                     21.30 GiB/s\n"
"in flight 32 reads (8 accelerators x 4 read_threads, one read each)\n"
"calls     per sample: open 1, read 140 (of up to 1 MiB), close 1\n"
"memory    9 MiB for mlgen (estimate)\n"
"          PyTorch would also hold 30.58 GiB of prefetched samples; hold_samples=1 takes\n"
"          that from the page cache, too\n"
"files     64 open at once; limit 48                                               FAIL\n"
"          raise it\n";
/* clang-format on */

START_TEST(the_page_is_aligned)
{
	struct plan_report p;

	fill(&p);
	char *text = text_of(&p);
	ck_assert_str_eq(text, large);
	free(text);
}
END_TEST

static void expect_narrow(char *text)
{
	for (char *line = strtok_r(text, "\n", &text); line;
	     line = strtok_r(NULL, "\n", &text))
		ck_assert_msg(strlen(line) <= 90, "%s", line);
}

START_TEST(no_line_is_wider_than_90)
{
	struct plan_report p;

	job->num_files = 1000000000;
	job->direct = true;
	job->sample_size = (struct dist){ DIST_DLIO, 146600628, 68341808 };
	job->accelerators = 1024;
	job->read_threads = 1024;
	for (size_t i = 0; job_fields[i].name; i++)
		mem_replace(&job->origins[i].how, "command line");
	make(&p);
	char *text = text_of(&p);
	expect_narrow(text);
	free(text);
	plan_fini(&p);
}
END_TEST

static size_t row_of(const char *option)
{
	return (size_t)(field_find(job_fields, option) - job_fields);
}

START_TEST(what_was_set_is_named)
{
	struct plan_report p;
	struct diag_place at = { "jobs/a.job", 3 };

	mem_replace(&job->origins[row_of("num_files")].how, "command line");
	mem_replace(&job->origins[row_of("loader")].how, "command line");
	job->origins[row_of("batch_size")].at = at;
	job->origins[row_of("drop_last")].at = at; /* its default */
	make(&p);
	char *text = text_of(&p);
	ck_assert_ptr_nonnull(strstr(text,
				     "\nnot default: num_files (command line);"
				     " 1 option of jobs/a.job"));
	free(text);
	plan_fini(&p);
}
END_TEST

START_TEST(a_ratio_has_as_many_digits_as_say_something)
{
	static const struct {
		double ratio;
		const char *shown;
	} cases[] = {
		{ 0.994, " 0.99 x" },
		{ 0.996, " 1.0 x" },
		{ 999.4, " 999.4 x" },
		{ 999.6, " 1000 x" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct plan_report p = { .dataset_memory_ratio =
						 cases[i].ratio };
		char *text = NULL;
		size_t bytes = 0;
		FILE *to = open_memstream(&text, &bytes);

		ck_assert_ptr_nonnull(to);
		plan_put_ratio(to, &p, "dataset");
		ck_assert_int_eq(fclose(to), 0);
		ck_assert_msg(strstr(text, cases[i].shown) != NULL, "%s", text);
		free(text);
	}
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
	tcase_add_test(t, the_page_is_aligned);
	tcase_add_test(t, no_line_is_wider_than_90);
	tcase_add_test(t, what_was_set_is_named);
	tcase_add_test(t, a_ratio_has_as_many_digits_as_say_something);
	suite_add_tcase(s, t);
	return s;
}
