/* SPDX-License-Identifier: Apache-2.0 */
/* test_datasize.c - the dataset that MLPerf Storage asks for, and the command line to use. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/mlperf/mlperf.h"
#include "flowed.h"
#include "job_options.h"
#include "suites.h"
#include "work/workloads.h"

#define GIB (UINT64_C(1) << 30)

static struct job *job;
static struct job *jobs[2];
static struct jobset set;
static struct host host;

/* unet3d of MLPerf Storage, on a host of 256 GiB. */
static void set_up(void)
{
	job = job_new("unet3d");
	set_options(job, "phase=train sample_size=dlio:146600628:68341808 batch_size=7 "
			 "accelerators=8 accelerator=h100");
	jobs[0] = job;
	jobs[1] = NULL;
	memset(&set, 0, sizeof(set));
	set.jobs = jobs;
	set.count = 1;
	set.settings.hosts = 1;
	host = (struct host){ .memory_bytes = 256 * GIB };
}

static void tear_down(void)
{
	job_free(job);
	job_free(jobs[1]);
}

/* ---- the arithmetic ---- */

static const struct {
	const char *options;
	uint64_t hosts, memory_gib;
	double steps_samples, memory_samples, files;
} needs[] = {
	/* 5 x 256 GiB / 146600628 B = 9375.06; all of it rounded up. */
	{ "batch_size=7 accelerators=8", 1, 256, 28000, 9376, 28000 },
	{ "batch_size=7 accelerators=1", 1, 256, 3500, 9376, 9376 },
	{ "batch_size=7 accelerators=8", 2, 256, 56000, 18751, 56000 },
	{ "batch_size=7 accelerators=1", 3, 512, 10500, 56251, 56251 },
	{ "batch_size=400 accelerators=8 samples_per_file=1251 sample_size=dlio:114660.07:0", 1,
	  256, 1600000, 11986645, 9582 },
	{ "batch_size=400 accelerators=8 samples_per_file=1251 sample_size=dlio:114660.07:0", 1, 16,
	  1600000, 749166, 1279 },
	{ "batch_size=1 accelerators=8 sample_size=dlio:2828486:71311", 1, 256, 4000, 485910,
	  485910 },
	/* One sample is a file of it, whatever it holds. */
	{ "batch_size=1 accelerators=1 samples_per_file=1000 sample_size=1g", 1, 1, 500, 5, 1 },
};

START_TEST(the_larger_one_of_two_terms_counts)
{
	struct mlperf_need n;

	set_options(job, needs[_i].options);
	mlperf_need(&n, job, (double)job->samples_per_file, dist_mean(&job->sample_size),
		    needs[_i].hosts, needs[_i].memory_gib * GIB);
	ck_assert_double_eq(n.steps_samples, needs[_i].steps_samples);
	ck_assert_double_eq(n.memory_samples, needs[_i].memory_samples);
	ck_assert_double_eq(n.samples, fmax(n.steps_samples, n.memory_samples));
	ck_assert_double_eq(n.files, needs[_i].files);
	ck_assert_double_ge(n.bytes, n.samples * n.sample_bytes);
}
END_TEST

/* ---- the answer ---- */

static int status;

static char *answer(int argc, char *const argv[])
{
	char *text = NULL;
	size_t size = 0;
	struct ask a = { .set = &set,
			 .host = &host,
			 .argc = argc,
			 .argv = argv,
			 .to = open_memstream(&text, &size) };

	status = ask_datasize(&a);
	fclose(a.to);
	return text;
}

static char program[] = "mlgen", datasize[] = "--datasize", file[] = "unet3d.job",
	    eight[] = "--accelerators=8", memory[] = "--memory=256g",
	    files[] = "--unet3d.num_files=3", ratio[] = "--dataset-ratio=5",
	    folder[] = "--directory=/a b/it's";

START_TEST(every_term_is_shown)
{
	char *const argv[] = { program, datasize, file, eight, memory };
	char *text = answer(5, argv);

	ck_assert_int_eq(status, EXIT_RAN);
	ck_assert_msg(is_flowed_same(text, "unet3d on 8 x h100, 1 host with 256 GiB: dataset that "
					   "MLPerf Storage v2.0 requires\n"
					   "  500 steps         500 x batch 7 x 8 accelerators     "
					   "       28,000 samples\n"
					   "  5 x memory        5 x 256 GiB / 146.6 MB             "
					   "        9,376 samples\n"
					   "  larger one /      1 sample per file                  "
					   "       28,000 files, 3.73 TiB\n"
					   "mlgen unet3d.job --accelerators=8 --num_files=28000\n"),
		      "%s", text);
	free(text);
}
END_TEST

START_TEST(the_command_line_is_what_a_shell_reads_back)
{
	char *const argv[] = { program, files, file, datasize, ratio, memory, folder, eight };
	char *text = answer(8, argv);

	ck_assert_ptr_nonnull(strstr(text, "\nmlgen unet3d.job '--directory=/a b/it'\\''s' "
					   "--accelerators=8 --num_files=28000\n"));
	free(text);
}
END_TEST

START_TEST(memory_and_hosts_may_be_of_other_machines)
{
	char *const argv[] = { program };

	set.settings.memory_bytes = 512 * GIB;
	set.settings.hosts = 3;
	set_options(job, "accelerators=1");
	char *text = answer(1, argv);

	ck_assert_ptr_nonnull(strstr(text, "unet3d on 3 hosts with 512 GiB and 1 x h100 each:"));
	ck_assert_ptr_nonnull(strstr(text, "500 x batch 7 x 1 accelerator x 3 hosts"));
	ck_assert_ptr_nonnull(strstr(text, "5 x 3 hosts x 512 GiB / 146.6 MB"));
	ck_assert_ptr_nonnull(strstr(text, " 56,251 files, "));
	free(text);
}
END_TEST

START_TEST(a_workload_of_others_is_called_so)
{
	char *const argv[] = { program };

	set_options(job, "accelerator=v100 sample_size=2500");
	char *text = answer(1, argv);

	ck_assert_int_eq(status, EXIT_RAN);
	ck_assert_ptr_nonnull(strstr(text, "(not one of its workloads; the same rules apply)\n"));
	ck_assert_ptr_nonnull(strstr(text, "/ 2,500 B "));
	free(text);
}
END_TEST

START_TEST(the_version_is_one_that_has_the_accelerator)
{
	char *const argv[] = { program };

	set_options(job, "accelerator=b200");
	char *text = answer(1, argv);
	ck_assert_ptr_nonnull(strstr(text, "dataset that MLPerf Storage v3.0 requires\n"));
	ck_assert_ptr_null(strstr(text, "not one of its workloads"));
	free(text);
	set.settings.check = CHECK_MLPERF_V2;
	text = answer(1, argv);
	ck_assert_ptr_nonnull(strstr(
		text, "dataset that MLPerf Storage v2.0 requires\n  (not one of its workloads"));
	free(text);
}
END_TEST

START_TEST(several_jobs_have_a_size_each)
{
	char *const argv[] = { program };

	jobs[1] = job_new("other");
	set_options(jobs[1], "phase=train sample_size=1g batch_size=1");
	set.count = 2;
	char *text = answer(1, argv);

	ck_assert_ptr_nonnull(
		strstr(text, "\nmlgen --unet3d.num_files=28000 --other.num_files=1280\n"));
	free(text);
}
END_TEST

START_TEST(a_job_without_a_dataset_is_refused)
{
	char *const argv[] = { program };

	job->phase = _i ? PHASE_IO : PHASE_CHECKPOINT;
	char *text = answer(1, argv);
	ck_assert_int_eq(status, EXIT_USAGE);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

START_TEST(memory_that_is_not_known_has_to_be_said)
{
	char *const argv[] = { program };

	host.memory_bytes = 0;
	free(answer(1, argv));
	ck_assert_int_eq(status, EXIT_USAGE);
}
END_TEST

Suite *suite_datasize(void)
{
	Suite *s = suite_create("datasize");
	TCase *t = tcase_create("datasize");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, the_larger_one_of_two_terms_counts, 0,
			    (int)(sizeof(needs) / sizeof(*needs)));
	tcase_add_test(t, every_term_is_shown);
	tcase_add_test(t, the_command_line_is_what_a_shell_reads_back);
	tcase_add_test(t, memory_and_hosts_may_be_of_other_machines);
	tcase_add_test(t, a_workload_of_others_is_called_so);
	tcase_add_test(t, the_version_is_one_that_has_the_accelerator);
	tcase_add_test(t, several_jobs_have_a_size_each);
	tcase_add_loop_test(t, a_job_without_a_dataset_is_refused, 0, 2);
	tcase_add_test(t, memory_that_is_not_known_has_to_be_said);
	suite_add_tcase(s, t);
	return s;
}
