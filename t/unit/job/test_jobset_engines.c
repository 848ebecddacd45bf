/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobset_engines.c - engines bring options, and what they cannot do is refused. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "job/job.h"
#include "jobset_rig.h"
#include "suites.h"

START_TEST(an_engine_brings_its_options)
{
	const struct ring_opts *o = NULL;

	write_file("a.job", "[a]\nring_depth=4\nring_window=1k\n"
			    "ring_label=x\nioengine=ring\nkb_base=1000\n");
	ck_assert_msg(load("a.job --ring-depth=5") == 0, "%s", first_fault());
	o = set.jobs[0]->engine_opts;
	ck_assert_ptr_eq(set.jobs[0]->engine, &ring_engine);
	ck_assert_uint_eq(o->depth, 5);
	ck_assert_uint_eq(o->window, 1000);
	ck_assert_str_eq(o->label, "x");
	ck_assert_str_eq(set.jobs[0]->engine_origins[0].how, "command line");
	ck_assert_uint_eq(faults.count, 0);
}
END_TEST

START_TEST(options_of_another_engine_are_checked_and_noted)
{
	ck_assert_int_eq(load("--name=a --ring_depth=4"), 0);
	ck_assert_uint_eq(faults.count, 1);
	ck_assert_int_eq(faults.entries[0].level, DIAG_NOTE);
	ck_assert_ptr_null(set.jobs[0]->engine_opts);
	jobset_fini(&set);
	ck_assert_int_eq(load("--name=a --ring_depth=65"), -EINVAL);
}
END_TEST

START_TEST(each_engine_reads_its_own_option)
{
	write_file("a.job", "[global]\nring_depth=7\n[a]\nioengine=chain\n"
			    "[b]\nioengine=ring\n[c]\nioengine=chain\n");
	ck_assert_msg(load("a.job") == 0, "%s", first_fault());
	for (size_t i = 0; i < 3; i += 2) {
		const struct chain_opts *o = set.jobs[i]->engine_opts;

		ck_assert_str_eq(o->depth, "7");
	}
	ck_assert_uint_eq(((const struct ring_opts *)set.jobs[1]->engine_opts)->depth, 7);
}
END_TEST

static const struct {
	const char *line, *fault;
} refusals[] = {
	{ "", "no job; name a job file" },
	{ "--bs=4k", "no job; name a job file" },
	{ "--dataset=made", "no job; name a job file" },
	{ "none.job", "none.job: no such job file in" },
	{ "./none.job", "./none.job: no such job file" },
	{ "a", "a: no such job file; did you mean a.job, which is in the current directory?" },
	{ "epochs=2", "epochs=2: no such job file; as an option: --epochs=2" },
	{ "a.job --section=b", "section: no job 'b'; the jobs are a" },
	{ "a.job --b.epochs=1", "epochs: no job 'b'; the jobs are a" },
	{ "a.job --epochs", "epochs: no value; write --epochs=VALUE" },
	{ "a.job --output", "output: no value; write --output=VALUE" },
	{ "a.job --epoch=1", "epoch: unknown option; did you mean 'epochs'?" },
	{ "a.job --jsn=1", "jsn: unknown option; did you mean 'json'?" },
	{ "a.job --ring_dept=1", "ring_dept: unknown option; did you mean 'ring_depth'?" },
	{ "a.job --wait_for=a", "wait_for: fio option, not in mlgen: use stonewall" },
	{ "a.job --nrfiles=4",
	  "nrfiles=4: fio option; mlgen supports only nrfiles=1: use filename, " },
	{ "a.job --ioengine=rnig", "ioengine: 'rnig' is not built in; the engines are psync ring "
				   "chain; did you mean 'ring'?" },
	{ "a.job --ioengine=libaio", "ioengine: 'libaio' is not built in; the engines are psync "
				     "ring chain; libaio not found" },
	{ "a.job --require=au", "require=au: no comparison. Quote the condition: " },
	{ "--name=a --name=a", "name=a: a job of this name already exists" },
	{ "-x", "-x: options begin with two dashes" },
	{ "a.job --=1", "--=1: the option's name is missing" },
	{ "a.job --.=1", "--.=1: the option's name is missing" },
	{ "a.job --.bs=1", "--.bs=1: the job's name is missing" },
	{ "a.job =1", "=1: the option's name is missing" },
	{ "--name=a/b", "name=a/b: a name is part of paths" },
};

START_TEST(what_cannot_be_run_is_refused)
{
	write_file("a.job", "[a]\n");
	ck_assert_int_eq(load(refusals[_i].line), -EINVAL);
	ck_assert_msg(strncmp(first_fault(), refusals[_i].fault, strlen(refusals[_i].fault)) == 0,
		      "%s", first_fault());
}
END_TEST

Suite *suite_jobset_engines(void)
{
	Suite *s = suite_create("jobset_engines");
	TCase *t = tcase_create("jobset_engines");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, an_engine_brings_its_options);
	tcase_add_test(t, options_of_another_engine_are_checked_and_noted);
	tcase_add_test(t, each_engine_reads_its_own_option);
	tcase_add_loop_test(t, what_cannot_be_run_is_refused, 0, ARRAY_LEN(refusals));
	suite_add_tcase(s, t);
	return s;
}
