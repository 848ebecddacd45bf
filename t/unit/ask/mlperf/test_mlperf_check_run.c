/* SPDX-License-Identifier: Apache-2.0 */
/* test_mlperf_check_run.c - which rules of MLPerf Storage a training that ran keeps. */
#include <math.h>

#include "mlperf_rig.h"
#include "suites.h"

#define SAVING " --checkpoint_every=5epochs --checkpoint_size=1m"

START_TEST(a_valid_run_keeps_all_rules)
{
	load(V2 SAVING);
	finish();
	expect(&run, "unet3d: MLPerf Storage v2.0: VALID as a run; for a result 1 not checked");
	expect(&run, "au ok 95.00% in the window of v2.0; at least 90%");
	expect(&run, "complete ok");
	expect(&run, "checkpoint ok 1 saved");
	expect(&run, "cache ok 0.0% of the bytes");
}
END_TEST

START_TEST(the_window_is_that_of_the_version)
{
	load("unet3d.job --check=mlperf-v1" SAVING);
	finish();
	results[0].ml.mlperf.v1_0.train_au_mean_percentage = 89.99;
	expect(&run, "au BROKEN 89.99% in the window of v1.0; the rules ask for 90%: fewer "
		     "--accelerators");
	results[0].ml.mlperf.v1_0.train_au_mean_percentage = 90;
	expect(&run, "au ok");
	results[0].ml.mlperf.v1_0.train_au_mean_percentage = (double)NAN;
	expect(&run, "au not checked no epoch has a second step");
}
END_TEST

START_TEST(what_a_run_shows)
{
	struct ml_result *ml = &results[0].ml;

	load(V2 SAVING);
	finish();
	results[0].errors = 3;
	expect(&run, "complete BROKEN 3 errors were counted");
	const double au = ml->mlperf.v2_0.train_au_mean_percentage;
	ml->mlperf.v2_0.train_au_mean_percentage = (double)NAN;
	expect(&run, "au BROKEN samples failed, which the rules do not allow");
	ml->mlperf.v2_0.train_au_mean_percentage = au;
	results[0].errors = 0;
	results[0].interrupted = true;
	results[0].complete = false;
	expect(&run, "complete BROKEN the run was stopped by a signal");
	finish();
	ml->epochs_total = 3;
	expect(&run, "epochs BROKEN 3 of 5");
	ml->saves.completed = 0;
	expect(&run, "checkpoint BROKEN 0 saved, and the rules ask for one");
	/* A dataset of 5 x memory leaves a fifth of it there. */
	results[0].storage.memory_percent = 20;
	expect(&run, "cache ok 20.0% of the bytes");
	results[0].storage.memory_percent = 41;
	expect(&run,
	       "cache BROKEN 41.0% of the bytes came from this host's page cache, but a dataset of "
	       "5 x its memory leaves at most 20%: --num_files=2000, or --invalidate=epoch");
	results[0].storage.memory_percent = (double)NAN;
	expect(&run, "cache not checked");
	results[0].storage.is_memory = true;
	expect(&run, "which is memory: another --directory");
}
END_TEST

START_TEST(a_run_of_v3)
{
	load(V3);
	finish();
	expect(&run, "unet3d: MLPerf Storage v3.0: VALID as a run; for a result 1 not checked");
	results[0].ml.mlperf.v3_0.train_au_mean_percentage = 89;
	expect(&run, "au BROKEN 89.00% in the window of v3.0; the rules ask for 90%");
	expect_no(&run, "checkpoint");
	results[0].storage.memory_percent = 41;
	expect(&run, "41.0% of the bytes came from this host's page cache anyway: only their owner "
		     "may read these files");
	expect(&run,
	       "cache BROKEN its files were dropped from the page cache before each epoch; 41.0%");
	results[0].storage.memory_percent = 3;
	expect(&run, "cache ok its files were dropped");
	set.jobs[0]->drop_caches = DROP_CACHES_EPOCH;
	expect(&run, "cache BROKEN this host's caches were not emptied");
	results[0].storage.caches_dropped = true;
	expect(&run,
	       "cache ok this host's caches were emptied before each epoch; 3.0% of the bytes");
	set.jobs[0]->drop_caches = DROP_CACHES_NO;
	set.jobs[0]->direct = true;
	expect(&run, "cache ok direct=1 bypasses the page cache; 3.0%");
}
END_TEST

START_TEST(results_have_the_rules_for_the_json)
{
	struct ask a = { .set = &set, .env = &env, .host = &host };

	load(V2);
	finish();
	mlperf_fill(&run, &a);
	mlperf_fill(&run, &a);
	const struct metric_list *l = &results[0].ml.mlperf_check;
	const struct mlperf_rule *rules = l->items;
	ck_assert_uint_eq(l->count, 10);
	ck_assert_str_eq(rules[0].rule, "workload");
	ck_assert_str_eq(rules[0].state, "ok");
	ck_assert_str_eq(rules[0].text, "unet3d on 1 x h100");
	ck_assert_str_eq(rules[7].rule, "checkpoint");
	ck_assert_str_eq(rules[7].state, "broken");
	for (size_t i = 0; i < l->count; i++)
		mem_free(rules[i].text);
}
END_TEST

Suite *suite_mlperf_check_run(void)
{
	Suite *s = suite_create("mlperf_check_run");
	TCase *t = tcase_create("mlperf_check_run");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_run_of_v3);
	tcase_add_test(t, a_valid_run_keeps_all_rules);
	tcase_add_test(t, the_window_is_that_of_the_version);
	tcase_add_test(t, what_a_run_shows);
	tcase_add_test(t, results_have_the_rules_for_the_json);
	suite_add_tcase(s, t);
	return s;
}
