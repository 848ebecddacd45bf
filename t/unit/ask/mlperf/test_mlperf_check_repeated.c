/* SPDX-License-Identifier: Apache-2.0 */
/* test_mlperf_check_repeated.c - runs of one training are compared, as MLPerf Storage asks for
 * several. */
#include "mlperf_rig.h"
#include "suites.h"

/* Sections of one training are its runs. */
static void load_runs(unsigned n, double spread, bool has_seeds)
{
	char text[4096] = "[global]\n";

	strcat(text, training + strlen("[unet3d]\n"));
	*strstr(text, "[accelerator=a100]") = '\0';
	strcat(text, "batch_size=4\n");
	for (unsigned i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "[r%u]\nstonewall\nrandseed=%u\n"
			 "checkpoint_every=5epochs\ncheckpoint_size=1m\n",
			 i, has_seeds ? i : 7);
	char path[TEMP_BELOW];
	snprintf(path, sizeof(path), "%s/runs", top);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	put_file("../runs/unet3d", text);
	load("../runs/unet3d.job --check=mlperf-v2");
	finish();
	/* The first of six is behind everybody: it warms up. */
	unsigned slow = n > 5;
	results[0].ml.mlperf.v2_0.train_throughput_mean_samples_per_second = 1;
	results[slow].ml.mlperf.v2_0.train_throughput_mean_samples_per_second = 100 - spread;
	for (unsigned i = slow + 1; i < n; i++)
		results[i].ml.mlperf.v2_0.train_throughput_mean_samples_per_second = 100;
}

static const struct {
	unsigned n;
	double spread;
	bool has_seeds;
	const char *want;
} repeated[] = {
	{ 1, 0, true, "runs not checked one run" },
	{ 4, 4, true,
	  "runs not checked 4 runs within 4.0%, mean 99.00 samples/s; a result is the mean of 5 "
	  "runs "
	  "after a warm-up run" },
	{ 5, 0, true,
	  "runs not checked 5 runs within 0.0%, mean 100.00 samples/s; a result is the mean of 5 "
	  "runs "
	  "after a warm-up run" },
	{ 6, 4.9, true,
	  "runs ok 5 runs within 4.9%, without the first (warm-up), mean 99.02 samples/s " },
	{ 6, 4.9, true, "r0: MLPerf Storage v2.0: VALID, all 10 rules kept" },
	{ 6, 5.1, true, "r0: MLPerf Storage v2.0: NOT VALID, 1 of 10 rules broken" },
	{ 2, 6, true,
	  "runs BROKEN 2 runs within 6.2%, mean 97.00 samples/s; the rules require 5%" },
	{ 2, 1, false, "randseed=7 twice, but each run requires a different seed" },
};

START_TEST(runs_of_the_same_are_compared)
{
	load_runs(repeated[_i].n, repeated[_i].spread, repeated[_i].has_seeds);
	expect(&run, repeated[_i].want);
}
END_TEST

START_TEST(a_broken_rule_names_the_run)
{
	load_runs(6, 0, true);
	results[3].ml.mlperf.v2_0.train_au_mean_percentage = 80;
	expect(&run,
	       "au BROKEN 80.00% (r3) to 95.00% in the window of v2.0; the rules ask for 90%");
	/* The one to warm up does not count. */
	results[3].ml.mlperf.v2_0.train_au_mean_percentage = 95;
	results[0].ml.mlperf.v2_0.train_au_mean_percentage = 80;
	expect(&run, "VALID, all 10 rules kept");
	expect(&run, "au ok 95.00%");
	results[4].ml.saves.completed = 0;
	expect(&run, "checkpoint BROKEN r4: 0 saved");
}
END_TEST

/* Six documents of one training, 10 s long, `gap_seconds` between the last. */
static void expect_series(double gap_seconds, const char *want)
{
	static char names[6][8];
	struct run_result six[6];
	struct mlperf_source sources[6];
	uint64_t at_ms = 1000000;

	for (unsigned i = 0; i < 6; i++) {
		six[i] = run;
		six[i].jobs = &results[i];
		six[i].job_count = 1;
		results[i].elapsed_seconds = 10;
		at_ms += i == 5 ? (uint64_t)(gap_seconds * 1e3) : 1000;
		six[i].timestamp_ms = at_ms;
		at_ms += 10000;
		snprintf(names[i], sizeof(names[i]), "r%u.json", i);
		sources[i] = (struct mlperf_source){ &six[i], names[i] };
	}
	expect_of(sources, 6, want);
}

START_TEST(runs_of_v3_follow_each_other)
{
	load_runs(6, 0, true);
	for (size_t i = 0; i < set.count; i++)
		set.jobs[i]->group = 0;
	expect_series(11, "VALID, all 10 rules kept");
	set.settings.check = CHECK_MLPERF_V3;
	for (size_t i = 0; i < set.count; i++)
		results[i].ml.mlperf.v3_0 = results[2].ml.mlperf.v2_0;
	expect_series(9, "runs ok 5 runs within 0.0%");
	expect_series(11, "runs BROKEN 5 runs within 0.0%, without the first (warm-up), "
			  "mean 100.00 samples/s; r5.json started 11 s after the end of r4.json, "
			  "which took 10 s: the rules require a gap shorter than a run");
}
END_TEST

/* Side by side on one mount they are a mix. */
START_TEST(trainings_beside_each_other_are_no_repetitions)
{
	load_runs(2, 0, true);
	set.jobs[1]->group = set.jobs[0]->group;
	expect(&run, "r0: MLPerf Storage v2.0: VALID as a run");
	expect(&run, "r1: MLPerf Storage v2.0: VALID as a run");
}
END_TEST

Suite *suite_mlperf_check_repeated(void)
{
	Suite *s = suite_create("mlperf_check_repeated");
	TCase *t = tcase_create("mlperf_check_repeated");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, runs_of_v3_follow_each_other);
	tcase_add_loop_test(t, runs_of_the_same_are_compared, 0, ROWS(repeated));
	tcase_add_test(t, a_broken_rule_names_the_run);
	tcase_add_test(t, trainings_beside_each_other_are_no_repetitions);
	suite_add_tcase(s, t);
	return s;
}
