/* SPDX-License-Identifier: Apache-2.0 */
/* test_mlperf_check_checkpoint.c - which rules of MLPerf Storage saves and restores keep. */
#include "mlperf_rig.h"
#include "suites.h"

/* The options and what is said then. */
struct saved {
	const char *options, *want;
};

static const struct saved saved[] = {
	{ "", "save: MLPerf Storage v2.0: no rule broken, 1 not checked" },
	{ "", "restore: MLPerf Storage v2.0: no rule broken" },
	{ "", "workload ok llama3-8b-checkpoint" },
	{ "", "options ok" },
	{ " --access=framework --checkpoint_directory=/else --verify=crc32c", "options ok" },
	{ " --bs=2m", "options BROKEN bs=2m, the rules have 1m" },
	{ " --scale=50%", "options BROKEN scale=50%, the rules have 100%" },
	{ "", "ranks ok 8 of 8 on this host" },
	{ " --ranks=16", "ranks BROKEN 16 of 16 on this host; CLOSED requires 8: --ranks=8" },
	{ " --checkpoint_ranks=0-3",
	  "ranks not checked 4 of 8 on this host; a result also needs the other 4" },
	{ " --checkpoint_ranks=0-2",
	  "ranks BROKEN 3 of 8 on this host; the rules ask for at least 4" },
	{ "", "checkpoints ok 10 planned" },
	{ " --checkpoints=9",
	  "checkpoints BROKEN 9 planned; the rules ask for 10: --checkpoints=10" },
	{ "", "phases ok saved, then restored" },
	{ " --section=restore", "phases not checked the 10 saves that belong to the result" },
	{ "", "fsync ok each file before it is closed" },
	{ " --checkpoint_fsync=end", "fsync ok all files of a rank" },
	{ " --checkpoint_fsync=none",
	  "fsync BROKEN checkpoint_fsync=none leaves files in memory: --checkpoint_fsync=file" },
	{ "", "cache ok its files are dropped from this host's caches before it" },
	{ " --restore.drop_caches=no",
	  "cache BROKEN drop_caches=no: this host's caches must be emptied" },
};

START_TEST(checkpoints_have_rules_of_their_own)
{
	char line[256];

	snprintf(line, sizeof(line), "llama3-8b-checkpoint.job --check=mlperf-v2%s",
		 saved[_i].options);
	load(line);
	expect(NULL, saved[_i].want);
}
END_TEST

static const struct saved saved_v3[] = {
	{ "", "save: MLPerf Storage v3.0: VALID, all 8 rules kept" },
	{ "", "memory ok 8 MiB; 8 accelerators hold 1440 GB (b200), 2304 GB (mi355)" },
	{ " --checkpoint_ranks=0-3", "ranks BROKEN 4 of 8 on this host; the rules ask for more "
				     "than 4 on each host: --checkpoint_ranks" },
	{ " --checkpoint_ranks=0-4", "ranks not checked 5 of 8 on this host; a result also needs "
				     "the other 3, or only 8 of one host" },
	{ " --checkpoint_size=300g", "memory BROKEN 2.34 TiB; 8 accelerators hold 1440 GB (b200, "
				     "too little), 2304 GB (mi355, too little): more --ranks" },
	{ " --checkpoint_size=200g",
	  "memory ok 1.56 TiB; 8 accelerators hold 1440 GB (b200, too little), 2304 GB (mi355)" },
	/* 10 x 120 MiB are as much as 3 x 400 MiB */
	{ " --restore.drop_caches=no --checkpoint_size=15m",
	  "cache BROKEN drop_caches=no: this host's caches must be emptied" },
	{ " --restore.drop_caches=no --checkpoint_size=16m",
	  "cache ok 10 x 128 MiB of this host are more than 3 x its memory (400 MiB): its caches "
	  "need not be emptied" },
	{ " --restore.drop_caches=no --checkpoint_size=16m --memory=1g", "cache BROKEN" },
	{ " --restore.drop_caches=no --checkpoint_size=16m --checkpoint_ranks=0-4",
	  "cache BROKEN" },
};

START_TEST(checkpoints_of_v3_have_more_rules)
{
	char line[256];

	snprintf(line, sizeof(line), "llama3-8b-checkpoint.job --check=mlperf-v3%s",
		 saved_v3[_i].options);
	load(line);
	/* A plan has not run. */
	if (strstr(saved_v3[_i].want, "VALID"))
		finish();
	expect(strstr(saved_v3[_i].want, "VALID") ? &run : NULL, saved_v3[_i].want);
}
END_TEST

/* A document may be of another host, which has the list. */
START_TEST(a_list_that_is_elsewhere_is_not_checked)
{
	load("llama3-8b-checkpoint.job --check=mlperf-v3");
	finish();
	for (size_t i = 0; i < set.count; i++) {
		set.jobs[i]->checkpoint_size_bytes = 0;
		mem_replace(&set.jobs[i]->tensor_sizes, "/nowhere/list");
	}
	expect(&run, "memory not checked tensor_sizes: ");
}
END_TEST

/* Documents: a save, and a restore that began `seconds` after its end. */
static void expect_phases(double seconds, const char *want)
{
	char s[] = "s.json", r[] = "r.json";
	struct run_result two[2] = { run, run };
	const struct mlperf_source sources[2] = { { &two[0], s }, { &two[1], r } };

	two[0].job_count = two[1].job_count = 1;
	two[1].jobs = &results[1];
	results[0].elapsed_seconds = 10;
	two[0].timestamp_ms = 1000000;
	two[1].timestamp_ms = 1010000 + (uint64_t)(int64_t)(seconds * 1e3);
	expect_of(sources, 2, want);
}

START_TEST(a_restore_may_be_a_run_of_its_own)
{
	load("llama3-8b-checkpoint.job --check=mlperf-v3");
	finish();
	expect_phases(12.5, "phases ok saves of s.json, 12.5 s earlier");
	expect_phases(12.5, "phases ok restores of r.json, 12.5 s later");
	expect_phases(30.5, "phases BROKEN restores of r.json, 30.5 s later");
	expect_phases(-2, "phases BROKEN restores of r.json");
}
END_TEST

START_TEST(a_restore_of_v2_is_in_the_same_run)
{
	load("llama3-8b-checkpoint.job --check=mlperf-v2");
	finish();
	expect_phases(1, "phases not checked the 10 restores that");
}
END_TEST

/* Whoever emptied the caches by hand is believed where the bytes show it. */
START_TEST(caches_may_have_been_emptied_by_hand)
{
	load("llama3-8b-checkpoint.job --check=mlperf-v2 --restore.drop_caches=no");
	finish();
	expect(&run, "cache not checked drop_caches=no");
	expect(&run, "Perhaps they were: only 0.0% of the bytes");
	results[1].storage.memory_percent = 50;
	expect(&run, "cache BROKEN 50.0% of the bytes came from this host's page cache: "
		     "--drop_caches=run, as root");
}
END_TEST

START_TEST(eight_ranks_of_one_host_are_their_subset)
{
	put_file("llama3-70b-checkpoint", "[save]\nphase=checkpoint\ndirectory=/nowhere\n"
					  "checkpoint_size=1m\nranks=64\ncheckpoints=10\n"
					  "checkpoint_ranks=8-15\n");
	load("llama3-70b-checkpoint.job --check=mlperf-v2");
	expect(NULL, "ranks ok 8 of 64 on this host: MLPerf's subset mode");
	set.settings.check = CHECK_MLPERF_V3;
	expect(NULL, "ranks not checked 8 of 64 on this host; a result also needs the other 56, "
		     "since only the 8b model allows a subset of 8");
}
END_TEST

START_TEST(a_restore_shows_where_its_bytes_came_from)
{
	load("llama3-8b-checkpoint.job --check=mlperf-v2");
	finish();
	expect(&run, "save: MLPerf Storage v2.0: VALID as a run; for a result 1 not checked");
	expect(&run, "restore: MLPerf Storage v2.0: VALID as a run");
	results[0].ml.saves.completed = 7;
	expect(&run, "checkpoints BROKEN 7 saved; the rules ask for 10");
	results[1].ml.restores.caches_dropped = false;
	expect(&run, "cache BROKEN this host's caches were not emptied");
	results[1].storage.memory_percent = 50;
	expect(&run, "cache BROKEN 50.0% of the bytes");
}
END_TEST

Suite *suite_mlperf_check_checkpoint(void)
{
	Suite *s = suite_create("mlperf_check_checkpoint");
	TCase *t = tcase_create("mlperf_check_checkpoint");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, checkpoints_have_rules_of_their_own, 0, ROWS(saved));
	tcase_add_loop_test(t, checkpoints_of_v3_have_more_rules, 0, ROWS(saved_v3));
	tcase_add_test(t, a_list_that_is_elsewhere_is_not_checked);
	tcase_add_test(t, a_restore_may_be_a_run_of_its_own);
	tcase_add_test(t, a_restore_of_v2_is_in_the_same_run);
	tcase_add_test(t, caches_may_have_been_emptied_by_hand);
	tcase_add_test(t, eight_ranks_of_one_host_are_their_subset);
	tcase_add_test(t, a_restore_shows_where_its_bytes_came_from);
	suite_add_tcase(s, t);
	return s;
}
