/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_rig.h - shipped jobs to compare with, runs of them, and what --check says. */
#pragma once

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ask/mlperf/mlperf.h"
#include "base/mem.h"
#include "io/engines.h"
#include "temp.h"
#include "work/workloads.h"

#define MIB (UINT64_C(1) << 20)

/* What is shipped: a training whose epoch of 2,000 MiB has 500 steps of an accelerator, and a model
 * that is saved and restored. */
static __attribute__((unused)) const char training[] = "[unet3d]\n"
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
static __attribute__((unused)) const char images[] = "[retinanet]\n"
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
static __attribute__((unused)) const char saving[] = "[global]\n"
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

static __attribute__((unused)) char top[TEMP_BYTES];
static __attribute__((unused)) struct jobset set;
static __attribute__((unused)) struct host host;
static __attribute__((unused)) struct jobset_env env;
static __attribute__((unused)) struct job_result results[8];
static __attribute__((unused)) struct run_result run;

static inline void put_file(const char *name, const char *text)
{
	char path[TEMP_BELOW];

	snprintf(path, sizeof(path), "%s/jobs/%s.job", top, name);
	FILE *to = fopen(path, "w");
	ck_assert_ptr_nonnull(to);
	fputs(text, to);
	fclose(to);
}

static inline void set_up(void)
{
	char path[TEMP_BELOW];

	temp_folder(top);
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

static inline void tear_down(void)
{
	for (size_t i = 0; i < run.job_count; i++)
		mem_free(results[i].ml.mlperf_check.items);
	jobset_fini(&set);
	temp_remove(top);
}

/* A command line, split at blanks; its first word is the name of a job. */
static inline void load(const char *line)
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
static inline void squeeze(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++)
		if (!isspace((unsigned char)*in))
			*out++ = *in;
		else if (out > text && out[-1] != ' ')
			*out++ = ' ';
	*out = '\0';
}

static inline char *page(const struct run_result *r)
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

static inline void expect(const struct run_result *r, const char *want)
{
	char *text = page(r);

	ck_assert_msg(strstr(text, want) != NULL, "%s is not in %s", want, text);
	free(text);
}

static inline void expect_no(const struct run_result *r, const char *unwanted)
{
	char *text = page(r);

	ck_assert_msg(strstr(text, unwanted) == NULL, "%s is in %s", unwanted, text);
	free(text);
}

#define V2 "unet3d.job --check=mlperf-v2"
#define V3 "unet3d.job --check=mlperf-v3 --accelerator=b200 --invalidate=epoch"
#define IMAGES "retinanet.job --check=mlperf-v3 --invalidate=epoch"

/* Results of all jobs, as good as they can be. */
static inline void finish(void)
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
		r->ml.mlperf.v1_0 = r->ml.mlperf.v2_0 = r->ml.mlperf.v3_0 = (struct mlperf_window){
			.train_au_mean_percentage = 95,
			.train_throughput_mean_samples_per_second = 100 + (double)i,
		};
		r->ml.saves.completed = is_training ? 1 : 10;
		r->ml.restores.completed = 10;
		r->ml.restores.caches_dropped = true;
	}
}

/* What is said of documents. */
static inline void expect_of(const struct mlperf_source *sources, size_t n, const char *want)
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
	ck_assert_msg(strstr(text, want) != NULL, "%s is not in %s", want, text);
	free(text);
}

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))
