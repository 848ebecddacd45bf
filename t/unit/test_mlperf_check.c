/* SPDX-License-Identifier: Apache-2.0 */
/* test_mlperf_check.c - which rules of MLPerf Storage a run keeps, and what it says of the others. */
#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/mlperf_check.h"
#include "ask/mlperf_inside.h"
#include "ask/mlperf_rules.h"
#include "base/buf.h"
#include "base/mem.h"
#include "io/engines.h"
#include "suites.h"
#include "work/workloads.h"

#define MIB (UINT64_C(1) << 20)

/* What is shipped: a training whose epoch of 2,000 MiB has 500 steps of an
 * accelerator, and a model that is saved and restored. */
static const char training[] = "[unet3d]\n"
			       "directory=/nowhere\n"
			       "format=npz\n"
			       "accelerator=h100\n"
			       "num_files=2000\n"
			       "sample_size=1m\n"
			       "epochs=5\n"
			       "access=framework\n"
			       "read_threads=4\n"
			       "prefetch=1\n"
			       "[accelerator=a100]\n"
			       "batch_size=2\n"
			       "[accelerator=h100]\n"
			       "batch_size=4\n"
			       "[accelerator=b200]\n"
			       "batch_size=4\n";
static const char images[] = "[retinanet]\n"
			     "directory=/nowhere\n"
			     "format=jpeg\n"
			     "accelerator=mi355\n"
			     "num_files=2000\n"
			     "sample_size=1m\n"
			     "epochs=8\n"
			     "access=framework\n"
			     "read_threads=4\n"
			     "[accelerator=h100]\n"
			     "batch_size=2\n"
			     "[accelerator=mi355]\n"
			     "batch_size=4\n";
static const char saving[] = "[global]\n"
			     "directory=/nowhere\n"
			     "checkpoint_size=1m\n"
			     "ranks=8\n"
			     "checkpoints=10\n"
			     "[save]\n"
			     "phase=checkpoint\n"
			     "checkpoint_fsync=file\n"
			     "[restore]\n"
			     "stonewall\n"
			     "phase=restore\n"
			     "drop_caches=run\n";

static char top[64];
static struct jobset set;
static struct host host;
static struct jobset_env env;
static struct job_result results[8];
static struct run_result run;

static void put_file(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/jobs/%s.job", top, name);
	FILE *to = fopen(path, "w");
	ck_assert_ptr_nonnull(to);
	fputs(text, to);
	fclose(to);
}

static void set_up(void)
{
	char path[128];

	snprintf(top, sizeof(top), "/tmp/mlgen-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(path, sizeof(path), "%s/jobs", top);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	put_file("unet3d", training);
	put_file("retinanet", images);
	put_file("llama3-8b-checkpoint", saving);
	env = (struct jobset_env){ .engines = engines_built,
				   .binary_dir = top,
				   .installed_dir = "/nowhere" };
	host = (struct host){ .memory_bytes = 400 * MIB };
	memset(&set, 0, sizeof(set));
	memset(results, 0, sizeof(results));
	run = (struct run_result){ .jobs = results };
}

static void tear_down(void)
{
	char command[128];

	for (size_t i = 0; i < run.job_count; i++)
		mem_free(results[i].ml.mlperf_check.items);
	jobset_fini(&set);
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	ck_assert_int_eq(system(command), 0);
}

/* A command line, split at blanks; its first word is the name of a job. */
static void load(const char *line)
{
	char *argv[16], words[512], program[] = "mlgen";
	char *at = words;
	int argc = 1;
	struct diag d;

	snprintf(words, sizeof(words), "%s/jobs/%s", top, line);
	argv[0] = program;
	for (char *word; (word = strtok_r(at, " ", &at)) && argc < 16;)
		argv[argc++] = word;
	diag_init(&d);
	if (jobset_load(&set, argc, argv, &env, &d))
		ck_abort_msg("%s", d.entries[0].text);
	diag_fini(&d);
}

/* With single blanks, so that it does not matter where lines end. */
static void squeeze(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++)
		if (!isspace((unsigned char)*in))
			*out++ = *in;
		else if (out > text && out[-1] != ' ')
			*out++ = ' ';
	*out = '\0';
}

static char *page(const struct run_result *r)
{
	struct ask a = { .set = &set, .env = &env, .host = &host };
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	mlperf_check(to, &a, r);
	fclose(to);
	squeeze(text);
	return text;
}

static void expect(const struct run_result *r, const char *want)
{
	char *text = page(r);

	ck_assert_msg(strstr(text, want) != NULL, "%s is not in %s", want,
		      text);
	free(text);
}

static void expect_no(const struct run_result *r, const char *unwanted)
{
	char *text = page(r);

	ck_assert_msg(strstr(text, unwanted) == NULL, "%s is in %s", unwanted,
		      text);
	free(text);
}

/* ---- before a run ---- */

#define V2 "unet3d.job --check=mlperf-v2"
#define V3 "unet3d.job --check=mlperf-v3 --accelerator=b200 --invalidate=epoch"
#define IMAGES "retinanet.job --check=mlperf-v3 --invalidate=epoch"

static const struct {
	const char *line, *want;
} planned[] = {
	{ V2, "workload ok unet3d on 1 x h100" },
	{ V2 " --accelerator=a100", "workload ok unet3d on 1 x a100" },
	{ V2 " --accelerator=a100", "options ok as the shipped unet3d.job" },
	{ "unet3d.job --check=mlperf-v1",
	  "unet3d: MLPerf Storage v1.0: NOT VALID, 1 of " },
	{ "llama3-8b-checkpoint.job --check=mlperf-v1",
	  "workload BROKEN llama3-8b-checkpoint is none of its workloads" },
	/* what a closed submission may set, and what it may not */
	{ V2, "options ok as the shipped unet3d.job has them" },
	{ V2 " --num_files=5000 --subfolders=3 --directory=/else "
	     "--read_threads=9 --prefetch=2 --randseed=3 --direct=1 "
	     "--invalidate=epoch",
	  "options ok" },
	{ V2 " --prefetch=3", "options BROKEN prefetch=3, the rules have 1" },
	{ V2 " --batch_size=9", "options BROKEN batch_size=9, the rules have "
				"4" },
	{ V2 " --format=npy",
	  "options BROKEN format=npy, the rules have npz (the OPEN division "
	  "may change it)" },
	{ V2 " --access=plain", "BROKEN access=plain, the rules have "
				"framework" },
	{ V2 " --runtime=9s --ioengine=null",
	  "options BROKEN runtime=9s, the rules have 0; ioengine=null, the "
	  "rules have psync" },
	{ V2 " --batch_size=1 --format=npy --access=plain --shuffle=none "
	     "--shard=contiguous --loader=plain --drop_last=0 --barrier=none "
	     "--steps=5",
	  "; 1 more" },
	/* the dataset: 2,000 MiB on 400 MiB is just enough */
	{ V2, "dataset ok 1.95 GiB is 5 x the memory of 1 host (400 MiB each); "
	      "at least 5 x" },
	{ V2 " --num_files=1999",
	  "dataset BROKEN 1.95 GiB is 4.997 x the memory of 1 host (400 MiB "
	  "each); the rules ask for 5 x: --num_files=2000" },
	{ V2 " --num_files=4 --memory=1g", "dataset BROKEN 4 MiB is less than "
					   "0.01 x the memory of 1 host (1 GiB "
					   "each)" },
	{ V2 " --hosts=2",
	  "dataset BROKEN 1.95 GiB is 2.5 x the memory of 2 hosts (400 MiB "
	  "each); the rules ask for 5 x: --num_files=4000" },
	{ V2 " --memory=401m", "the rules ask for 5 x: --num_files=2005" },
	{ V2 " --memory_limit=100m --num_files=500",
	  "dataset ok 500 MiB is 5 x the memory of 1 host (100 MiB of "
	  "memory_limit each)" },
	{ V2 " --memory_limit=100m --num_files=500 --memory=1g",
	  "dataset BROKEN" },
	/* as their tools, which take floor(2000 / 3) files */
	{ V2 " --samples_per_file=3 --num_files=666",
	  "steps ok 499 in an epoch; at least 500, which their tools round "
	  "down to whole files" },
	{ V2 " --samples_per_file=3 --num_files=666", "dataset ok" },
	{ V2 " --samples_per_file=3 --num_files=665",
	  "steps BROKEN 498 in an epoch; the rules ask for 500: "
	  "--num_files=667" },
	{ V2 " --samples_per_file=3 --num_files=665", "dataset BROKEN" },
	{ V2, "steps ok 500 in an epoch; at least 500" },
	{ V2 " --accelerators=2",
	  "steps BROKEN 250 in an epoch; the rules ask for 500: "
	  "--num_files=4000" },
	{ V2 " --accelerators=2000", "steps not checked accelerators" },
	{ V2, "epochs ok 5" },
	{ V2 " --epochs=4",
	  "epochs BROKEN 4 of 5: --epochs=5, and neither steps nor runtime" },
	{ V2, "au not checked known after the run" },
	{ V2, "cache not checked known after the run" },
	{ V2, "checkpoint BROKEN unet3d saves its model after epoch 5: "
	      "--checkpoint_every=5epochs " },
	{ V2 " --checkpoint_every=5epochs --checkpoint_size=499153191 "
	     "--checkpoint_ranks=zero",
	  "options ok" },
	{ V2 " --checkpoint_every=5epochs --checkpoint_size=1m",
	  "checkpoint ok a model is saved" },
	{ V2 " --checkpoint_every=5epochs --checkpoint_size=1m "
	     "--checkpoint_mode=async",
	  "checkpoint BROKEN checkpoint_mode=async hides it" },
	{ V2, "runs not checked one run; a result is the mean of 5 behind one "
	      "to warm up, each with another --randseed: --check=mlperf-v2 "
	      "r0.json ... r5.json" },
	{ "unet3d.job --check=mlperf-v1",
	  "runs not checked one run; a result is the mean of 5: "
	  "--check=mlperf-v1 r1.json ... r5.json" },
	/* v1.0 had neither O_DIRECT nor a run to warm up, but empty caches */
	{ "unet3d.job --check=mlperf-v1 --direct=1",
	  "options BROKEN direct=1, the rules have 0" },
	{ "unet3d.job --check=mlperf-v1 --invalidate=0",
	  "cache BROKEN invalidate=0: caches are to be emptied before each "
	  "run: --invalidate=run" },
	{ V2 " --invalidate=0", "cache not checked known after the run" },
	/* what makes another run of it */
	{ V2 " --distinct_files=7", "BROKEN distinct_files=7, the rules have" },
	{ V2 " --shuffle=none", "BROKEN shuffle=none, the rules have" },
	{ V2 " --compute_time=1s", "BROKEN compute_time=1s, the rules have" },
	{ V2 " --steps=500", "BROKEN steps=500, the rules have" },
	{ V2 " --eval_files=8", "BROKEN eval_files=8, the rules have" },
	{ V2 " --barrier=none", "BROKEN barrier=none, the rules have" },
	{ V2 " --sample_size=2m", "BROKEN sample_size=2m, the rules have 1m" },
	{ V2 " --hold_samples=1 --dataset_ratio=6 --mem=mmap --target_au=50",
	  "options ok" },
	{ V2 " --scale=50%", "options ok" },
	/* v3.0: accelerators of their own, no model saved, empty caches before
	 * each epoch, and a dataset of exactly that size */
	{ V3, "unet3d: MLPerf Storage v3.0: no rule broken, 3 not checked" },
	{ V3, "workload ok unet3d on 1 x b200" },
	{ V3 " --accelerator=h100",
	  "workload BROKEN unet3d: accelerator=h100 is none of its "
	  "accelerators: --accelerator=b200" },
	{ IMAGES, "workload ok retinanet on 1 x mi355" },
	{ IMAGES, "epochs ok 8" },
	{ IMAGES " --epochs=5", "epochs BROKEN 5 of 8: --epochs=8" },
	{ IMAGES " --accelerator=h100",
	  "accelerator=h100 is none of its accelerators: --accelerator=b200 or "
	  "mi355" },
	{ V3 " --direct=1 --invalidate=run", "options ok" },
	{ V3 " --direct=1 --invalidate=run", "cache not checked known after" },
	{ V3 " --invalidate=run",
	  "cache BROKEN invalidate=run: caches are to be emptied before each "
	  "epoch: --invalidate=epoch; or --drop_caches=epoch, as root" },
	{ V3 " --invalidate=0 --drop_caches=epoch", "cache not checked" },
	{ V3 " --invalidate=0 --drop_caches=run", "cache BROKEN" },
	{ V3 " --checkpoint_every=5epochs --checkpoint_size=1m",
	  "options BROKEN checkpoint_size=1m, the rules have" },
	{ V3 " --num_files=2001",
	  "dataset not checked 1.95 GiB is 5.003 x the memory of 1 host (400 "
	  "MiB each); at least 5 x; more than --datasize says, and while their "
	  "checker lets that pass, the rules ask for exactly that: "
	  "--num_files=2000" },
	{ V2 " --num_files=2001", "dataset ok" },
	{ V3 " --num_files=1999", "dataset BROKEN" },
	{ V3, "runs not checked one run; a result is the mean of 5 behind one "
	      "to warm up, each with another --randseed: --check=mlperf-v3 "
	      "r0.json ... r5.json" },
	/* what is theirs in another version */
	{ "retinanet.job --check=mlperf-v2",
	  "workload BROKEN retinanet is none of its workloads: unet3d, "
	  "resnet50, cosmoflow; llama3-8b" },
	{ "retinanet.job --check=mlperf-v2", "epochs BROKEN 8 of 5" },
	/* others */
	{ "unet3d.job --check=mlperf-v2 --accelerator=h200 --batch_size=4",
	  "accelerator=h200 is none of its accelerators: --accelerator=a100 or "
	  "h100" },
	{ "unet3d.job --check=mlperf-v2 --phase=prepare",
	  "phase=prepare writes a dataset and measures nothing: "
	  "--phase=train" },
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

/* The options and what is said then. */
struct saved {
	const char *options, *want;
};

static const struct saved saved[] = {
	{ "", "save: MLPerf Storage v2.0: no rule broken, 1 not checked" },
	{ "", "restore: MLPerf Storage v2.0: no rule broken" },
	{ "", "workload ok llama3-8b-checkpoint" },
	{ "", "options ok" },
	{ " --access=framework --checkpoint_directory=/else --verify=crc32c",
	  "options ok" },
	{ " --bs=2m", "options BROKEN bs=2m, the rules have 1m" },
	{ " --scale=50%", "options BROKEN scale=50%, the rules have 100%" },
	{ "", "ranks ok 8 of 8 on this host" },
	{ " --ranks=16", "ranks BROKEN 16 of 16 on this host; CLOSED has 8: "
			 "--ranks=8" },
	{ " --checkpoint_ranks=0-3",
	  "ranks not checked 4 of 8 on this host; the other 4 belong to the "
	  "result" },
	{ " --checkpoint_ranks=0-2", "ranks BROKEN 3 of 8 on this host; the "
				     "rules ask for 4 at least" },
	{ "", "checkpoints ok 10 planned" },
	{ " --checkpoints=9",
	  "checkpoints BROKEN 9 planned; the rules ask for 10: "
	  "--checkpoints=10" },
	{ "", "phases ok saved, then restored" },
	{ " --section=restore",
	  "phases not checked the 10 saves that belong to it" },
	{ "", "fsync ok each file before it is closed" },
	{ " --checkpoint_fsync=end", "fsync ok all files of a rank" },
	{ " --checkpoint_fsync=none",
	  "fsync BROKEN checkpoint_fsync=none leaves them in memory: "
	  "--checkpoint_fsync=file" },
	{ "", "cache ok this host's caches are emptied before it" },
	{ " --restore.drop_caches=no",
	  "cache BROKEN drop_caches=no: this host's caches are to be emptied" },
};

START_TEST(checkpoints_have_rules_of_their_own)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "llama3-8b-checkpoint.job --check=mlperf-v2%s",
		 saved[_i].options);
	load(line);
	expect(NULL, saved[_i].want);
}
END_TEST

START_TEST(nothing_to_compare_with_is_said)
{
	load(V2);
	env.binary_dir = "/nowhere";
	expect(NULL, "options not checked the shipped unet3d.job to compare "
		     "with is neither beside mlgen nor installed");
}
END_TEST

/* The file of the same name here is not the shipped one. */
START_TEST(a_changed_file_is_compared_with_the_shipped_one)
{
	char path[128];

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

/* ---- after a run ---- */

/* Results of all jobs, as good as they can be. */
static void finish(void)
{
	run.job_count = set.count;
	run.host = host;
	for (size_t i = 0; i < set.count; i++) {
		struct job_result *r = &results[i];
		bool is_training = set.jobs[i]->phase == PHASE_TRAIN;

		*r = (struct job_result){
			.job = set.jobs[i],
			.work = is_training ? &work_train : &work_checkpoint,
		};
		r->complete = true;
		r->ml.epochs_total = 5;
		r->ml.mlperf.v1_0 = r->ml.mlperf.v2_0 = r->ml.mlperf.v3_0 =
			(struct mlperf_window){
				.train_au_mean_percentage = 95,
				.train_throughput_mean_samples_per_second =
					100 + (double)i,
			};
		r->ml.saves.completed = is_training ? 1 : 10;
		r->ml.restores.completed = 10;
		r->ml.restores.caches_dropped = true;
	}
}

static const struct saved saved_v3[] = {
	{ "", "save: MLPerf Storage v3.0: VALID, all 8 rules kept" },
	{ "", "memory ok 8 MiB; 8 accelerators hold 1440 GB (b200), 2304 GB "
	      "(mi355)" },
	{ " --checkpoint_ranks=0-3",
	  "ranks BROKEN 4 of 8 on this host; the rules ask for more than 4 on "
	  "each host: --checkpoint_ranks" },
	{ " --checkpoint_ranks=0-4",
	  "ranks not checked 5 of 8 on this host; the other 3 belong to the "
	  "result, or 8 of one host" },
	{ " --checkpoint_size=300g",
	  "memory BROKEN 2.34 TiB; 8 accelerators hold 1440 GB (b200, too "
	  "little), 2304 GB (mi355, too little): more --ranks" },
	{ " --checkpoint_size=200g",
	  "memory ok 1.56 TiB; 8 accelerators hold 1440 GB (b200, too little), "
	  "2304 GB (mi355)" },
	/* 10 x 120 MiB are as much as 3 x 400 MiB */
	{ " --restore.drop_caches=no --checkpoint_size=15m",
	  "cache BROKEN drop_caches=no: this host's caches are to be emptied" },
	{ " --restore.drop_caches=no --checkpoint_size=16m",
	  "cache ok 10 x 128 MiB of this host are more than 3 x its memory "
	  "(400 MiB): they need not be emptied" },
	{ " --restore.drop_caches=no --checkpoint_size=16m --memory=1g",
	  "cache BROKEN" },
	{ " --restore.drop_caches=no --checkpoint_size=16m "
	  "--checkpoint_ranks=0-4",
	  "cache BROKEN" },
};

START_TEST(checkpoints_of_v3_have_more_rules)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "llama3-8b-checkpoint.job --check=mlperf-v3%s",
		 saved_v3[_i].options);
	load(line);
	/* A plan has not run. */
	if (strstr(saved_v3[_i].want, "VALID"))
		finish();
	expect(strstr(saved_v3[_i].want, "VALID") ? &run : NULL,
	       saved_v3[_i].want);
}
END_TEST

#define SAVING " --checkpoint_every=5epochs --checkpoint_size=1m"

START_TEST(a_valid_run_keeps_all_rules)
{
	load(V2 SAVING);
	finish();
	expect(&run, "unet3d: MLPerf Storage v2.0: VALID as a run; of a result "
		     "1 not checked");
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
	expect(&run, "au BROKEN 89.99% in the window of v1.0; the rules ask "
		     "for 90%: fewer --accelerators");
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
	expect(&run, "au BROKEN samples failed, and none may");
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
	expect(&run, "cache BROKEN 41.0% of the bytes came from this host's "
		     "page cache, and 5 x its memory leave at most 20%: "
		     "--num_files=2000, or --invalidate=epoch");
	results[0].storage.memory_percent = (double)NAN;
	expect(&run, "cache not checked");
	results[0].storage.is_memory = true;
	expect(&run, "which is memory: another --directory");
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

START_TEST(a_run_of_v3)
{
	load(V3);
	finish();
	expect(&run, "unet3d: MLPerf Storage v3.0: VALID as a run; of a result "
		     "1 not checked");
	results[0].ml.mlperf.v3_0.train_au_mean_percentage = 89;
	expect(&run, "au BROKEN 89.00% in the window of v3.0; the rules ask "
		     "for 90%");
	expect_no(&run, "checkpoint");
	results[0].storage.memory_percent = 41;
	expect(&run, "41.0% of the bytes came from this host's page cache "
		     "all the same: nobody else may read these files");
	expect(&run, "cache BROKEN its files left the page cache before each "
		     "epoch; 41.0%");
	results[0].storage.memory_percent = 3;
	expect(&run, "cache ok its files left");
	set.jobs[0]->drop_caches = DROP_CACHES_EPOCH;
	expect(&run, "cache BROKEN this host's caches were not emptied");
	results[0].storage.caches_dropped = true;
	expect(&run, "cache ok this host's caches were emptied before each "
		     "epoch; 3.0% of the bytes");
	set.jobs[0]->drop_caches = DROP_CACHES_NO;
	set.jobs[0]->direct = true;
	expect(&run, "cache ok direct=1 passes the page cache by; 3.0%");
}
END_TEST

/* Of documents. */
static void expect_of(const struct mlperf_source *sources, size_t n,
		      const char *want)
{
	struct ask a = { .set = &set, .env = &env, .host = &host };
	struct mlperf_groups g;
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	mlperf_groups_init(&g, &a, sources, n);
	mlperf_print(to, &a, &g);
	mlperf_groups_fini(&g);
	fclose(to);
	squeeze(text);
	ck_assert_msg(strstr(text, want) != NULL, "%s is not in %s", want,
		      text);
	free(text);
}

/* Documents: a save, and a restore that began `seconds` after its end. */
static void expect_phases(double seconds, const char *want)
{
	char s[] = "s.json", r[] = "r.json";
	struct run_result two[2] = { run, run };
	const struct mlperf_source sources[2] = { { &two[0], s },
						  { &two[1], r } };

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
	expect_phases(12.5, "phases ok saves of s.json, 12.5 s "
			    "before");
	expect_phases(12.5, "phases ok restores of r.json, "
			    "12.5 s behind");
	expect_phases(30.5, "phases BROKEN restores of r.json, "
			    "30.5 s behind");
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
	char path[128];
	snprintf(path, sizeof(path), "%s/runs", top);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	put_file("../runs/unet3d", text);
	load("../runs/unet3d.job --check=mlperf-v2");
	finish();
	/* The first of six is behind everybody: it warms up. */
	unsigned slow = n > 5;
	results[0].ml.mlperf.v2_0.train_throughput_mean_samples_per_second = 1;
	results[slow].ml.mlperf.v2_0.train_throughput_mean_samples_per_second =
		100 - spread;
	for (unsigned i = slow + 1; i < n; i++)
		results[i]
			.ml.mlperf.v2_0
			.train_throughput_mean_samples_per_second = 100;
}

static const struct {
	unsigned n;
	double spread;
	bool has_seeds;
	const char *want;
} repeated[] = {
	{ 1, 0, true, "runs not checked one run" },
	{ 4, 4, true,
	  "runs not checked 4 runs within 4.0%, mean 99.00 samples/s; a result "
	  "is the mean of 5 behind one to warm up" },
	{ 5, 0, true,
	  "runs not checked 5 runs within 0.0%, mean 100.00 samples/s; a "
	  "result is the mean of 5 behind one to warm up" },
	{ 6, 4.9, true,
	  "runs ok 5 runs within 4.9%, without the first, which warmed up, "
	  "mean 99.02 samples/s " },
	{ 6, 4.9, true, "r0: MLPerf Storage v2.0: VALID, all 10 rules kept" },
	{ 6, 5.1, true,
	  "r0: MLPerf Storage v2.0: NOT VALID, 1 of 10 rules broken" },
	{ 2, 6, true,
	  "runs BROKEN 2 runs within 6.2%, mean 97.00 samples/s; the rules ask "
	  "for 5%" },
	{ 2, 1, false, "randseed=7 twice, each run asks for another" },
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
	expect(&run, "au BROKEN 80.00% (r3) to 95.00% in the window of "
		     "v2.0; the rules ask for 90%");
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
	expect_series(11, "runs BROKEN 5 runs within 0.0%, "
			  "without the first, which warmed up, mean 100.00 "
			  "samples/s; r5.json began 11 s behind the end of "
			  "r4.json, which "
			  "took 10 s: the rules ask for less than a run takes");
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

/* Whoever emptied the caches by hand is believed where the bytes show it. */
START_TEST(caches_may_have_been_emptied_by_hand)
{
	load("llama3-8b-checkpoint.job --check=mlperf-v2 "
	     "--restore.drop_caches=no");
	finish();
	expect(&run, "cache not checked drop_caches=no");
	expect(&run, "Or they were: 0.0% of the bytes");
	results[1].storage.memory_percent = 50;
	expect(&run, "cache BROKEN 50.0% of the bytes came from this host's "
		     "page cache: --drop_caches=run, as root");
}
END_TEST

START_TEST(eight_ranks_of_one_host_are_their_subset)
{
	put_file("llama3-70b-checkpoint",
		 "[save]\nphase=checkpoint\ndirectory=/nowhere\n"
		 "checkpoint_size=1m\nranks=64\ncheckpoints=10\n"
		 "checkpoint_ranks=8-15\n");
	load("llama3-70b-checkpoint.job --check=mlperf-v2");
	expect(NULL, "ranks ok 8 of 64 on this host: their subset mode");
	set.settings.check = CHECK_MLPERF_V3;
	expect(NULL, "ranks not checked 8 of 64 on this host; the other 56 "
		     "belong to the result, as a subset of 8 is of the 8b "
		     "model only");
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

START_TEST(a_restore_shows_where_its_bytes_came_from)
{
	load("llama3-8b-checkpoint.job --check=mlperf-v2");
	finish();
	expect(&run, "save: MLPerf Storage v2.0: VALID as a run; of a result 1 "
		     "not checked");
	expect(&run, "restore: MLPerf Storage v2.0: VALID as a run");
	results[0].ml.saves.completed = 7;
	expect(&run, "checkpoints BROKEN 7 saved; the rules ask for 10");
	results[1].ml.restores.caches_dropped = false;
	expect(&run, "cache BROKEN this host's caches were not emptied");
	results[1].storage.memory_percent = 50;
	expect(&run, "cache BROKEN 50.0% of the bytes");
}
END_TEST

/* ---- where it goes ---- */

START_TEST(quiet_is_the_first_line)
{
	load(V2 " --quiet");
	expect(NULL, "unet3d: MLPerf Storage v2.0: NOT VALID, 1 of 9 rules "
		     "broken, 3 not checked ");
	expect_no(NULL, "workload");
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
		ck_assert_msg(strlen(line) <= 90, "%s", line);
	free(text);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_mlperf_check(void)
{
	Suite *s = suite_create("mlperf_check");
	TCase *t = tcase_create("mlperf_check");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, what_is_known_before_a_run, 0, ROWS(planned));
	tcase_add_loop_test(t, checkpoints_have_rules_of_their_own, 0,
			    ROWS(saved));
	tcase_add_loop_test(t, checkpoints_of_v3_have_more_rules, 0,
			    ROWS(saved_v3));
	tcase_add_test(t, a_list_that_is_elsewhere_is_not_checked);
	tcase_add_test(t, a_run_of_v3);
	tcase_add_test(t, a_restore_may_be_a_run_of_its_own);
	tcase_add_test(t, a_restore_of_v2_is_in_the_same_run);
	tcase_add_test(t, runs_of_v3_follow_each_other);
	tcase_add_test(t, nothing_to_compare_with_is_said);
	tcase_add_test(t, a_changed_file_is_compared_with_the_shipped_one);
	tcase_add_test(t, a_plain_job_is_no_workload);
	tcase_add_test(t, a_valid_run_keeps_all_rules);
	tcase_add_test(t, the_window_is_that_of_the_version);
	tcase_add_test(t, what_a_run_shows);
	tcase_add_loop_test(t, runs_of_the_same_are_compared, 0,
			    ROWS(repeated));
	tcase_add_test(t, a_broken_rule_names_the_run);
	tcase_add_test(t, trainings_beside_each_other_are_no_repetitions);
	tcase_add_test(t, caches_may_have_been_emptied_by_hand);
	tcase_add_test(t, eight_ranks_of_one_host_are_their_subset);
	tcase_add_test(t, a_plan_has_the_rules_for_the_json);
	tcase_add_test(t, a_restore_shows_where_its_bytes_came_from);
	tcase_add_test(t, quiet_is_the_first_line);
	tcase_add_test(t, results_have_the_rules_for_the_json);
	tcase_add_test(t, no_line_is_wider_than_90);
	suite_add_tcase(s, t);
	return s;
}
