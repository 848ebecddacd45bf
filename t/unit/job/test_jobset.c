/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobset.c - from a command line to jobs: precedence, groups, names, settings. */
#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "job/job.h"
#include "jobset_rig.h"
#include "suites.h"

static void assert_text(size_t job, const char *option, const char *want)
{
	struct buf got = { 0 };

	ck_assert_uint_lt(job, set.count);
	job_option_text(set.jobs[job], option, &got);
	ck_assert_str_eq(buf_str(&got), want);
	buf_fini(&got);
}

/* One line: a file, a command line, and an option of each job after it. */
static const struct {
	const char *file, *line, *option;
	const char *want[3];
} rules[] = {
	{ "[a]\n", "a.job", "epochs", { "1" } },
	{ "[global]\nepochs=2\n[a]\n", "a.job", "epochs", { "2" } },
	{ "[a]\n[global]\nepochs=2\n[b]\n", "a.job", "epochs", { "1", "2" } },
	{ "[global]\nepochs=2\n[global]\nepochs=3\n[a]\n", "a.job", "epochs", { "3" } },
	{ "[global]\nepochs=2\n[a]\nepochs=4\n[b]\n", "a.job", "epochs", { "4", "2" } },
	{ "[global]\nblocksize=2k\n[a]\nbs=4k\n", "a.job", "bs", { "4k" } },
	{ "[a]\nepochs=4\n", "a.job --epochs=5", "epochs", { "5" } },
	{ "[a]\n[b]\n", "a.job --b.epochs=5 --epochs=6", "epochs", { "6", "5" } },
	/* variants */
	{ "[a]\naccelerator=x\nepochs=2\n[accelerator=x]\nepochs=3\n"
	  "[accelerator=y]\nepochs=4\n",
	  "a.job",
	  "epochs",
	  { "3" } },
	{ "[a]\naccelerator=x\n[accelerator=x]\nepochs=3\n"
	  "[accelerator=y]\nepochs=4\n",
	  "a.job --accelerator=y",
	  "epochs",
	  { "4" } },
	{ "[a]\naccelerator=x\n[accelerator=x]\nepochs=3\n",
	  "a.job --epochs=9",
	  "epochs",
	  { "9" } },
	{ "[global]\naccelerator=x\n[accelerator=x]\nepochs=3\n[a]\n"
	  "[b]\nepochs=2\n[accelerator=x]\nepochs=7\n",
	  "a.job",
	  "epochs",
	  { "3", "7" } },
	{ "[a]\naccelerator=label\n", "a.job", "accelerator", { "label" } },
	{ "[a]\n[b=c]\n", "a.job", "epochs", { "1", "1" } },
	/* kb_base is read before what depends on it */
	{ "[a]\nbs=64k\nkb_base=1000\n", "a.job", "bs", { "64000" } },
	{ "[a]\nbs=64k\n", "a.job --kb_base=1000", "bs", { "64000" } },
	{ "[global]\nbs=64k\n[a]\nkb_base=1000\n[b]\n[c]\nkb_base=1000\n",
	  "a.job",
	  "bs",
	  { "64000", "64k", "64000" } },
	/* what is said of several jobs means to each what it says there */
	{ "[global]\ndirectory=/$jobname\n[a]\n[b]\n", "a.job", "directory", { "/a", "/b" } },
	{ "[global]\nrw=read\nbs=,64k\n[a]\nbs=8k,\n[b]\nbs=1k,2k\n[c]\n",
	  "a.job",
	  "bs",
	  { "8k,64k", "1k,2k", "4k,64k" } },
	{ "[global]\nepochs=2\n[a]\n[global]\nepochs=3\n[b]\n[c]\n",
	  "a.job --c.epochs=4",
	  "epochs",
	  { "2", "3", "4" } },
	/* without a file */
	{ "", "--epochs=2 --name=a --name=b --epochs=3", "epochs", { "2", "3" } },
	{ "", "--name=a --epochs=3 --a.epochs=4", "epochs", { "4" } },
	{ "[a]\n", "a.job --epochs=2 --name=b --epochs=3", "epochs", { "2", "3" } },
	{ "[a]\n[b]\nepochs=2\n", "a.job --section=b", "epochs", { "2" } },
	{ "[a]\n", "--name=a --invalidate", "invalidate", { "run" } },
	/* rw= makes a plain job, wherever it stands; phase= says it first */
	{ "[a]\nrw=read\n[b]\nphase=io\n[c]\n", "a.job", "phase", { "io", "io", "train" } },
	{ "[a]\n[global]\nrw=read\n[b]\n", "a.job", "phase", { "train", "io" } },
	{ "[a]\n[b]\n", "a.job --a.readwrite=read", "phase", { "io", "train" } },
	{ "[a]\n", "a.job --rw=read", "phase", { "io" } },
	{ "", "--name=a --rw=read --name=b", "phase", { "io", "train" } },
	{ "[global]\nrw=read\n[a]\nphase=train\n[b]\nphase=prepare\n[c]\n",
	  "a.job",
	  "phase",
	  { "train", "prepare", "io" } },
	/* defaults that differ */
	{ "[a]\nrw=read\n[b]\n", "a.job", "bs", { "4k", "1m" } },
	{ "[a]\nrw=read\nbs=,64k\n", "a.job", "bs", { "4k,64k" } },
	{ "[global]\nbs=8k\n[a]\nrw=read\nbs=,64k\n", "a.job", "bs", { "8k,64k" } },
	{ "[a]\nrw=read\n[b]\n", "a.job", "directory", { ".", "mlgen-data/b" } },
	{ "[a]\nrw=read\n[b]\nrw=read\npercentile_list=99\n",
	  "a.job",
	  "percentile_list",
	  { "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99", "99" } },
	/* two names of one thing: the last counts */
	{ "[a]\nrw=randrw\nrwmixwrite=30\n", "a.job", "rwmixread", { "70%" } },
	{ "[a]\nrw=rw\nrwmixread=60\nrwmixwrite=30\n", "a.job", "rwmixread", { "70%" } },
	{ "[a]\nrw=rw\nrwmixwrite=30\nrwmixread=60\n", "a.job", "rwmixwrite", { "40%" } },
	{ "[global]\nrwmixwrite=30\n[a]\nrw=rw\nrwmixread=60\n", "a.job", "rwmixread", { "60%" } },
	{ "[a]\nbuffered=0\n[b]\ndirect=1\nbuffered=1\n[c]\n",
	  "a.job",
	  "direct",
	  { "1", "0", "0" } },
	{ "[a]\nbuffered=0\n", "a.job --direct=0", "buffered", { "1" } },
	/* what belongs to the others is left alone */
	{ "[global]\nrw=read\nepochs=3\n[a]\n[b]\nphase=train\n", "a.job", "epochs", { "1", "3" } },
	{ "[a]\nrw=read\n[b]\nepochs=1\n", "a.job --loops=3", "loops", { "3", "1" } },
	{ "[global]\n[accelerator=x]\nepochs=3\n[a]\nrw=read\n", "a.job", "epochs", { "1" } },
	{ "[a]\nrw=read\nthinktime=50\n", "a.job", "thinktime", { "50us" } },
	/* as fio, so that iodepth can be swept */
	{ "[a]\nrw=read\niodepth=4\niodepth_batch=16\n", "a.job", "iodepth_batch_submit", { "4" } },
	{ "[a]\nrw=read\niodepth=32\niodepth_batch_complete=8\n",
	  "a.job --iodepth=1",
	  "iodepth_batch_complete_min",
	  { "1" } },
};

START_TEST(the_value_that_counts_is_the_nearest)
{
	size_t n = 0;

	write_file("a.job", rules[_i].file);
	ck_assert_msg(load(rules[_i].line) == 0, "%s", first_fault());
	for (; n < 3 && rules[_i].want[n]; n++)
		assert_text(n, rules[_i].option, rules[_i].want[n]);
	ck_assert_uint_eq(set.count, n);
}
END_TEST

START_TEST(stonewall_and_files_start_groups)
{
	static const unsigned want[] = { 0, 0, 1, 1, 2, 3, 4 };

	write_file("a.job", "[a]\n[b]\n[c]\nstonewall\n[d]\n");
	write_file("b.job", "[e]\n[f]\nstonewall\n");
	ck_assert_int_eq(load("a.job b.job --name=x"), 0);
	ck_assert_uint_eq(set.count, 7);
	for (size_t i = 0; i < 7; i++)
		ck_assert_uint_eq(set.jobs[i]->group, want[i]);
}
END_TEST

START_TEST(origins_tell_where_a_value_was_written)
{
	const struct job_origin *o = NULL;
	size_t row = 0;

	write_file("a.job", "[global]\nepochs=2\n[a]\nbs=$pagesize\n");
	ck_assert_int_eq(load("a.job --a.prefetch=3"), 0);
	row = (size_t)(field_find(job_fields, "epochs") - job_fields);
	o = &set.jobs[0]->origins[row];
	ck_assert_str_eq(o->how, "[global]");
	ck_assert_str_eq(o->at.file, "a.job");
	ck_assert_uint_eq(o->at.line, 2);
	row = (size_t)(field_find(job_fields, "bs") - job_fields);
	ck_assert_str_eq(set.jobs[0]->origins[row].raw, "$pagesize");
	ck_assert_uint_eq(job_place(set.jobs[0], "bs").line, 4);
	ck_assert_uint_eq(job_place(set.jobs[0], "shard").line, 3);
	ck_assert_ptr_null(job_place(set.jobs[0], "prefetch").file);
}
END_TEST

START_TEST(a_fault_counts_once)
{
	struct buf text = { 0 };

	for (int i = 0; i < DIAG_ERRORS_PER_FILE + 50; i++)
		buf_addf(&text, "[j%d]\nepochs=0\n", i);
	write_file("a.job", buf_str(&text));
	ck_assert_int_eq(load("a.job"), -EINVAL);
	ck_assert_uint_eq(faults.errors, DIAG_ERRORS_PER_FILE + 50);
	buf_fini(&text);
}
END_TEST

START_TEST(settings_are_read_anywhere)
{
	write_file("a.job", "[a]\n");
	ck_assert_int_eq(load("--quiet a.job --json=x --output-format=json --require=au>=90 "
			      "--require=samples_per_sec>1 --status_interval=2 --readonly=0"),
			 0);
	ck_assert(set.settings.quiet);
	ck_assert(!set.settings.readonly);
	ck_assert_int_eq(set.settings.output_format, OUTPUT_JSON);
	ck_assert_uint_eq(set.settings.status_interval_ns, 2000000000);
	ck_assert_uint_eq(set.settings.log_interval_ns, 1000000000);
	ck_assert_str_eq(set.settings.require, "au>=90,samples_per_sec>1");
}
END_TEST

START_TEST(a_request_needs_no_job)
{
	ck_assert_int_eq(load("--cmdhelp none.job"), 0);
	ck_assert_str_eq(set.settings.cmdhelp, "all");
	jobset_fini(&set);
	ck_assert_int_eq(load("--enghelp"), 0);
	ck_assert_str_eq(set.settings.enghelp, "");
	jobset_fini(&set);
	ck_assert_int_eq(load("--enghelp=ring"), 0);
	ck_assert_str_eq(set.settings.enghelp, "ring");
	jobset_fini(&set);
	ck_assert_int_eq(load("--name=x --list-jobs"), 0);
	ck_assert(set.settings.list_jobs);
	ck_assert_uint_eq(set.count, 0);
}
END_TEST

static const struct {
	const char *text;
	int count; /* -1 = refused */
	struct requirement last;
} requirements[] = {
	{ "au>=90", 1, { "au", ">=", 90 } },
	{ "au>=90%", 1, { "au", ">=", 90 } },
	{ "stall_ns.p99<1.5ms", 1, { "stall_ns.p99", "<", 1.5e6 } },
	{ "stall_ns.p99<1e6", 1, { "stall_ns.p99", "<", 1e6 } },
	{ "stall_ns.p99<1mm", -1, { "", "", 0 } },
	{ "io_bytes>=2m", 1, { "io_bytes", ">=", 2097152 } },
	{ "read.iops>=2m", 1, { "read.iops", ">=", 2e6 } },
	{ "read.iops>=1.5K", 1, { "read.iops", ">=", 1500 } },
	{ "read.iops>=2q", -1, { "", "", 0 } },
	{ "read.iops>=m", -1, { "", "", 0 } },
	{ "au>=90,read.p99<5", 2, { "read.p99", "<", 5 } },
	{ "au==1", 1, { "au", "==", 1 } },
	{ "au=1", 1, { "au", "==", 1 } },
	{ "au>-1", 1, { "au", ">", -1 } },
	{ "au", -1, { "", "", 0 } },
	{ "", -1, { "", "", 0 } },
	{ "au>=90,", -1, { "", "", 0 } },
	{ "au=>90", -1, { "", "", 0 } },
	{ "au>>90", -1, { "", "", 0 } },
	{ "au>=<=90", -1, { "", "", 0 } },
	{ ">=90", -1, { "", "", 0 } },
	{ "au>=", -1, { "", "", 0 } },
	{ "AU>=1", 1, { "AU", ">=", 1 } },
	{ " au >= 90 ", 1, { "au", ">=", 90 } },
	{ "au>=90 and read.p99<5", 2, { "read.p99", "<", 5 } },
	{ "au>=90 and", -1, { "", "", 0 } },
	{ "and au>=90", -1, { "", "", 0 } },
	{ "au>=90 andante>1", -1, { "", "", 0 } },
	{ "au>=90 read.p99<5", -1, { "", "", 0 } },
	{ "au > = 90", -1, { "", "", 0 } },
	{ "au>=1,au>=1,au>=1", -1, { "", "", 0 } },
	{ "a_name_of_more_than_thirty_one_bytes_and_then_of_more_than_sixty_three>1",
	  -1,
	  { "", "", 0 } },
};

START_TEST(requirements_are_comparisons)
{
	struct requirement got[2];
	struct mlgen_err err = { 0 };
	int want = requirements[_i].count;
	int n = jobset_requirements(requirements[_i].text, got, 2, &err);

	if (want < 0) {
		ck_assert_int_lt(n, 0);
		ck_assert_str_ne(err.text, "");
		return;
	}
	ck_assert_int_eq(n, want);
	ck_assert_str_eq(got[n - 1].metric, requirements[_i].last.metric);
	ck_assert_str_eq(got[n - 1].op, requirements[_i].last.op);
	ck_assert_double_eq(got[n - 1].value, requirements[_i].last.value);
}
END_TEST

Suite *suite_jobset(void)
{
	Suite *s = suite_create("jobset");
	TCase *t = tcase_create("jobset");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_value_that_counts_is_the_nearest, 0, ARRAY_LEN(rules));
	tcase_add_test(t, stonewall_and_files_start_groups);
	tcase_add_test(t, origins_tell_where_a_value_was_written);
	tcase_add_test(t, a_fault_counts_once);
	tcase_add_test(t, settings_are_read_anywhere);
	tcase_add_test(t, a_request_needs_no_job);
	tcase_add_loop_test(t, requirements_are_comparisons, 0, ARRAY_LEN(requirements));
	suite_add_tcase(s, t);
	return s;
}
