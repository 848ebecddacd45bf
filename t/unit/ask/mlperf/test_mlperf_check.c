/* SPDX-License-Identifier: Apache-2.0 */
/* test_mlperf_check.c - which rules of MLPerf Storage a training keeps before it runs. */
#include <unistd.h>

#include "mlperf_rig.h"
#include "suites.h"

static const struct {
	const char *line, *want;
} planned[] = {
	{ V2, "workload ok unet3d on 1 x h100" },
	{ V2 " --accelerator=a100", "workload ok unet3d on 1 x a100" },
	{ V2 " --accelerator=a100", "options ok as in the shipped unet3d.job" },
	{ "unet3d.job --check=mlperf-v1", "unet3d: MLPerf Storage v1.0: NOT VALID, 1 of " },
	{ "llama3-8b-checkpoint.job --check=mlperf-v1",
	  "workload BROKEN llama3-8b-checkpoint is not one of its workloads" },
	/* what a closed submission may set, and what it may not */
	{ V2, "options ok as in the shipped unet3d.job, except" },
	{ V2 " --num_files=5000 --subfolders=3 --directory=/else --read_threads=9 --prefetch=2 "
	     "--randseed=3 --direct=1 --invalidate=epoch",
	  "options ok" },
	{ V2 " --prefetch=3", "options BROKEN prefetch=3, the rules have 1" },
	{ V2 " --batch_size=9", "options BROKEN batch_size=9, the rules have 4" },
	{ V2 " --format=npy",
	  "options BROKEN format=npy, the rules have npz (the OPEN division may change it)" },
	{ V2 " --access=plain", "BROKEN access=plain, the rules have framework" },
	{ V2 " --runtime=9s --ioengine=null",
	  "options BROKEN runtime=9s, the rules have 0; ioengine=null, the rules have psync" },
	{ V2 " --batch_size=1 --format=npy --access=plain --shuffle=none --shard=contiguous "
	     "--loader=plain --drop_last=0 --barrier=none --steps=5",
	  "; 1 more" },
	/* the dataset: 2,000 MiB on 400 MiB is just enough */
	{ V2, "dataset ok 1.95 GiB is 5 x the memory of 1 host (400 MiB each); at least 5 x" },
	{ V2 " --num_files=1999", "dataset BROKEN 1.95 GiB is 4.997 x the memory of 1 host (400 "
				  "MiB each); the rules ask for 5 x: --num_files=2000" },
	{ V2 " --num_files=4 --memory=1g",
	  "dataset BROKEN 4 MiB is less than 0.01 x the memory of 1 host (1 GiB each)" },
	{ V2 " --hosts=2", "dataset BROKEN 1.95 GiB is 2.5 x the memory of 2 hosts (400 MiB each); "
			   "the rules ask for 5 x: --num_files=4000" },
	{ V2 " --memory=401m", "the rules ask for 5 x: --num_files=2005" },
	{ V2 " --memory_limit=100m --num_files=500",
	  "dataset ok 500 MiB is 5 x the memory of 1 host (100 MiB of memory_limit each)" },
	{ V2 " --memory_limit=100m --num_files=500 --memory=1g", "dataset BROKEN" },
	/* as their tools, which take floor(2000 / 3) files */
	{ V2 " --samples_per_file=3 --num_files=666",
	  "steps ok 499 in an epoch; at least 500, which MLPerf's tools round down to whole "
	  "files" },
	{ V2 " --samples_per_file=3 --num_files=666", "dataset ok" },
	{ V2 " --samples_per_file=3 --num_files=665",
	  "steps BROKEN 498 in an epoch; the rules ask for 500: --num_files=667" },
	{ V2 " --samples_per_file=3 --num_files=665", "dataset BROKEN" },
	{ V2, "steps ok 500 in an epoch; at least 500" },
	{ V2 " --accelerators=2",
	  "steps BROKEN 250 in an epoch; the rules ask for 500: --num_files=4000" },
	{ V2 " --accelerators=2000", "steps not checked accelerators" },
	{ V2, "epochs ok 5" },
	{ V2 " --epochs=4", "epochs BROKEN 4 of 5: --epochs=5, and neither steps nor runtime" },
	{ V2, "au not checked known after the run" },
	{ V2, "cache not checked known after the run" },
	{ V2,
	  "checkpoint BROKEN unet3d saves its model after epoch 5: --checkpoint_every=5epochs " },
	{ V2 " --checkpoint_every=5epochs --checkpoint_size=499153191 --checkpoint_ranks=zero",
	  "options ok" },
	{ V2 " --checkpoint_every=5epochs --checkpoint_size=1m", "checkpoint ok a model is saved" },
	{ V2 " --checkpoint_every=5epochs --checkpoint_size=1m --checkpoint_mode=async",
	  "checkpoint BROKEN checkpoint_mode=async hides the save" },
	{ V2,
	  "runs not checked one run; a result is the mean of 5 runs after a warm-up run, each with "
	  "a different --randseed: --check=mlperf-v2 r0.json ... r5.json" },
	{ "unet3d.job --check=mlperf-v1",
	  "runs not checked one run; a result is the mean of 5 runs: "
	  "--check=mlperf-v1 r1.json ... r5.json" },
	/* v1.0 had neither O_DIRECT nor a run to warm up, but empty caches */
	{ "unet3d.job --check=mlperf-v1 --direct=1", "options BROKEN direct=1, the rules have 0" },
	{ "unet3d.job --check=mlperf-v1 --invalidate=0",
	  "cache BROKEN invalidate=0: caches must be emptied before each run: --invalidate=run" },
	{ V2 " --invalidate=0", "cache not checked known after the run" },
	/* what makes another run of it */
	{ V2 " --distinct_files=7", "BROKEN distinct_files=7, the rules have" },
	{ V2 " --shuffle=none", "BROKEN shuffle=none, the rules have" },
	{ V2 " --compute_time=1s", "BROKEN compute_time=1s, the rules have" },
	{ V2 " --steps=500", "BROKEN steps=500, the rules have" },
	{ V2 " --eval_files=8", "BROKEN eval_files=8, the rules have" },
	{ V2 " --barrier=none", "BROKEN barrier=none, the rules have" },
	{ V2 " --sample_size=2m", "BROKEN sample_size=2m, the rules have 1m" },
	{ V2 " --hold_samples=1 --dataset_ratio=6 --mem=mmap --target_au=50", "options ok" },
	{ V2 " --scale=50%", "options ok" },
	/* v3.0: accelerators of their own, no model saved, empty caches before each epoch, and a
	 * dataset of exactly that size */
	{ V3, "unet3d: MLPerf Storage v3.0: no rule broken, 3 not checked" },
	{ V3, "workload ok unet3d on 1 x b200" },
	{ V3 " --accelerator=h100", "workload BROKEN unet3d: accelerator=h100 is not one of its "
				    "accelerators; use --accelerator=b200" },
	{ IMAGES, "workload ok retinanet on 1 x mi355" },
	{ IMAGES, "epochs ok 8" },
	{ IMAGES " --epochs=5", "epochs BROKEN 5 of 8: --epochs=8" },
	{ IMAGES " --accelerator=h100",
	  "accelerator=h100 is not one of its accelerators; use --accelerator=b200 or mi355" },
	{ V3 " --direct=1 --invalidate=run", "options ok" },
	{ V3 " --direct=1 --invalidate=run", "cache not checked known after" },
	{ V3 " --invalidate=run", "cache BROKEN invalidate=run: caches must be emptied before each "
				  "epoch: --invalidate=epoch; or --drop_caches=epoch, as root" },
	{ V3 " --invalidate=0 --drop_caches=epoch", "cache not checked" },
	{ V3 " --invalidate=0 --drop_caches=run", "cache BROKEN" },
	{ V3 " --checkpoint_every=5epochs --checkpoint_size=1m",
	  "options BROKEN checkpoint_size=1m, the rules have" },
	{ V3 " --num_files=2001",
	  "dataset not checked 1.95 GiB is 5.003 x the memory of 1 host (400 MiB each); at least 5 "
	  "x; this is more than --datasize gives, which MLPerf's checker accepts, but the rules "
	  "ask for exactly: --num_files=2000" },
	{ V2 " --num_files=2001", "dataset ok" },
	{ V3 " --num_files=1999", "dataset BROKEN" },
	{ V3,
	  "runs not checked one run; a result is the mean of 5 runs after a warm-up run, each with "
	  "a different --randseed: --check=mlperf-v3 r0.json ... r5.json" },
	/* what is theirs in another version */
	{ "retinanet.job --check=mlperf-v2",
	  "workload BROKEN retinanet is not one of its workloads: "
	  "unet3d, resnet50, cosmoflow; llama3-8b" },
	{ "retinanet.job --check=mlperf-v2", "epochs BROKEN 8 of 5" },
	/* others */
	{ "unet3d.job --check=mlperf-v2 --accelerator=h200 --batch_size=4",
	  "accelerator=h200 is not one of its accelerators; use --accelerator=a100 or h100" },
	{ "unet3d.job --check=mlperf-v2 --phase=prepare",
	  "phase=prepare writes a dataset and measures nothing; use --phase=train" },
};

START_TEST(what_is_known_before_a_run)
{
	/* An accelerator without a section of its own cannot be loaded. */
	bool is_unknown = strstr(planned[_i].line, "h200");

	load(is_unknown ? V2 : planned[_i].line);
	if (is_unknown)
		mem_replace(&set.jobs[0]->accelerator, "h200");
	expect(NULL, planned[_i].want);
}
END_TEST

START_TEST(nothing_to_compare_with_is_said)
{
	load(V2);
	env.binary_dir = "/nowhere";
	expect(NULL, "options not checked the shipped unet3d.job to compare with is neither next "
		     "to mlgen nor installed");
}
END_TEST

/* The file of the same name here is not the shipped one. */
START_TEST(a_changed_file_is_compared_with_the_shipped_one)
{
	char path[TEMP_BELOW];

	load(V2 " --batch_size=9");
	snprintf(path, sizeof(path), "%s/jobs", top);
	ck_assert_int_eq(chdir(path), 0);
	expect(NULL, "options BROKEN batch_size=9");
	ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(a_plain_job_is_no_workload)
{
	put_file("plain", "[p]\nrw=read\nsize=1m\n");
	load("plain.job --check=mlperf-v2");
	expect(NULL, "p: MLPerf Storage v2.0: NOT VALID, 1 of 1 rules broken");
}
END_TEST

START_TEST(a_plan_has_the_rules_for_the_json)
{
	struct ask a = { .set = &set, .env = &env, .host = &host };
	struct metric_list l = { 0 };

	load(V2);
	mlperf_plan(&l, set.jobs[0], &a);
	const struct mlperf_rule *rules = l.items;
	ck_assert_uint_eq(l.count, 9);
	ck_assert_str_eq(rules[2].rule, "dataset");
	ck_assert_str_eq(rules[2].state, "ok");
	mlperf_rules_fini(&l);
}
END_TEST

START_TEST(quiet_is_the_first_line)
{
	load(V2 " --quiet");
	expect(NULL, "unet3d: MLPerf Storage v2.0: NOT VALID, 1 of 9 rules broken, 3 not checked ");
	expect_no(NULL, "workload");
}
END_TEST

START_TEST(no_line_is_wider_than_90)
{
	struct ask a = { .set = &set, .env = &env, .host = &host };
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	load(V2 " --batch_size=1 --format=npy --access=plain --shuffle=none");
	mlperf_check(to, &a, NULL);
	fclose(to);
	for (char *at = text, *line; (line = strtok_r(at, "\n", &at));)
		ck_assert_msg(strlen(line) <= 80, "%s", line);
	free(text);
}
END_TEST

Suite *suite_mlperf_check(void)
{
	Suite *s = suite_create("mlperf_check");
	TCase *t = tcase_create("mlperf_check");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, what_is_known_before_a_run, 0, ROWS(planned));
	tcase_add_test(t, nothing_to_compare_with_is_said);
	tcase_add_test(t, a_changed_file_is_compared_with_the_shipped_one);
	tcase_add_test(t, a_plain_job_is_no_workload);
	tcase_add_test(t, a_plan_has_the_rules_for_the_json);
	tcase_add_test(t, quiet_is_the_first_line);
	tcase_add_test(t, no_line_is_wider_than_90);
	suite_add_tcase(s, t);
	return s;
}
