/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_checkpoint.c - what a dry run computes and prints of checkpoints. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "report/plan/plan.h"
#include "temp.h"
#include "work/checkpoint/checkpoint.h"

#include "flowed.h"
#include "job_options.h"
#include "suites.h"

#define GIB (1ull << 30)

static char directory[TEMP_BYTES];
static struct host host;
static struct settings settings;

static void set_up(void)
{
	temp_folder(directory);
	memset(&settings, 0, sizeof(settings));
	host = (struct host){ .memory_bytes = 100 * GIB, .open_files = 4096 };
}

static void tear_down(void)
{
	ck_assert_int_eq(rmdir(directory), 0);
}

static struct job *make_job(const char *options)
{
	struct job *j = job_new("x");

	mem_replace(&j->directory, directory);
	set_options(j, options);
	return j;
}

static void make(struct plan_report *p, struct job *j)
{
	struct mlgen_err err = { 0 };

	ck_assert_msg(plan_make(p, j, &host, &settings, &err) == 0, "%s", err.text);
}

/* ---- which ranks are alike ---- */

#define LLAMA_405B                                                                                 \
	"phase=checkpoint model_layers=126 model_hidden=16384 "                                    \
	"model_ffn=53248 model_heads=128 model_kv_heads=8 "                                        \
	"model_vocabulary=128256 tensor_parallel=8 pipeline_parallel=32 "                          \
	"ranks=512 "

static const struct {
	const char *options;
	struct {
		const char *ranks;
		uint64_t count, model, optimizer, files;
	} classes[6]; /* up to one without ranks */
	uint64_t bytes, files;
} jobs[] = {
	{ LLAMA_405B "zero_stage=1 checkpoint_layout=deepspeed",
	  { { "0-7", 8, 3713269760, 9513171840, 6 },
	    { "8-239", 232, 3187933184, 9513171840, 5 },
	    { "240-247", 8, 2390949888, 9513171840, 4 },
	    { "248-255", 8, 2916319232, 9513171840, 6 },
	    { "256-511", 256, 0, 9513171840, 1 } },
	  5682508791808,
	  1544 },
	{ LLAMA_405B "zero_stage=0 optimizer_bytes=0 checkpoint_layout=torch",
	  { { "0-7", 8, 3713269760, 0, 1 },
	    { "8-239", 232, 3187933184, 0, 1 },
	    { "240-247", 8, 2390949888, 0, 1 },
	    { "248-255", 8, 2916319232, 0, 1 },
	    { "256-511", 256, 0, 0, 0 } },
	  811764809728,
	  256 },
	{ "phase=checkpoint checkpoint_size=1g ranks=3", { { "0-2", 3, GIB, 0, 1 } }, 3 * GIB, 3 },
	{ "phase=restore checkpoint_layout=pattern ranks=3",
	  { { "0", 1, 499153191, 0, 1 }, { "1-2", 2, 0, 0, 0 } },
	  499153191,
	  1 },
};

START_TEST(equal_ranks_are_one_class)
{
	struct job *j = make_job(jobs[_i].options);
	struct plan_report p;
	uint64_t ranks = 0;

	make(&p, j);
	const struct plan_ranks *got = p.checkpoint.classes.items;
	for (size_t i = 0; i < p.checkpoint.classes.count; i++) {
		ck_assert_ptr_nonnull(jobs[_i].classes[i].ranks);
		ck_assert_str_eq(got[i].ranks, jobs[_i].classes[i].ranks);
		ck_assert_uint_eq(got[i].count, jobs[_i].classes[i].count);
		ck_assert_uint_eq(got[i].model_bytes, jobs[_i].classes[i].model);
		ck_assert_uint_eq(got[i].optimizer_bytes, jobs[_i].classes[i].optimizer);
		ck_assert_uint_eq(got[i].bytes, got[i].model_bytes + got[i].optimizer_bytes);
		ck_assert_uint_eq(got[i].files, jobs[_i].classes[i].files);
		ranks += got[i].count;
	}
	ck_assert_uint_eq(ranks, p.checkpoint.ranks);
	ck_assert_uint_eq(p.checkpoint.bytes, jobs[_i].bytes);
	ck_assert_uint_eq(p.checkpoint.files, jobs[_i].files);
	ck_assert_uint_eq(p.checkpoint.local_bytes, jobs[_i].bytes);
	plan_fini(&p);
	job_free(j);
}
END_TEST

/* ---- how many ---- */

#define TRAINING                                                                                   \
	"phase=train format=raw num_files=1000 sample_size=1k "                                    \
	"accelerators=2 batch_size=5 epochs=4 compute_time=10ms "                                  \
	"checkpoint_size=1m "

static const struct {
	const char *options;
	uint64_t saves;
	bool is_estimate;
} trainings[] = {
	{ TRAINING "checkpoint_every=50steps", 8, false },
	{ TRAINING "checkpoint_every=150steps", 2, false },
	{ TRAINING "checkpoint_every=150steps steps=299", 1, false },
	{ TRAINING "checkpoint_every=3epochs", 1, false },
	{ TRAINING "checkpoint_every=1s", 4, true },
	{ TRAINING "checkpoint_every=1s runtime=3", 3, true },
	{ TRAINING "checkpoint_every=50steps runtime=3 time_based=1", UINT64_MAX, false },
	{ TRAINING "checkpoint_every=1s compute_time=0", UINT64_MAX, true },
};

START_TEST(a_training_counts_its_saves)
{
	struct job *j = make_job(trainings[_i].options);
	struct plan_report p;
	uint64_t saves = trainings[_i].saves;

	make(&p, j);
	ck_assert(p.checkpoint.checkpoints == saves);
	ck_assert_int_eq(p.checkpoint.is_estimate, trainings[_i].is_estimate);
	ck_assert(p.checkpoint.move_bytes == (saves == UINT64_MAX ? saves : saves * 2 << 20));
	ck_assert_uint_eq(p.blockers.count, 0);
	plan_fini(&p);
	job_free(j);
}
END_TEST

START_TEST(a_training_without_saves_has_none)
{
	struct job *j = make_job(TRAINING);
	struct plan_report p;

	make(&p, j);
	ck_assert_uint_eq(p.checkpoint.ranks, 0);
	ck_assert_ptr_null(plan_find_check(&p, "checkpoints"));
	plan_fini(&p);
	job_free(j);
}
END_TEST

/* ---- what is missing ---- */

static bool is_blocked(const struct plan_report *p, const char *name)
{
	const struct plan_check *c = plan_find_check(p, name);

	return c && c->state == PLAN_FAIL;
}

START_TEST(too_many_ranks_for_the_memory_block)
{
	struct job *j = make_job("phase=checkpoint checkpoint_size=1m ranks=60000 bs=64m");
	struct plan_report p;

	make(&p, j);
	ck_assert(is_blocked(&p, "program"));
	ck_assert_uint_ge(p.program_bytes, 60000ull * (64 << 20));
	plan_fini(&p);
	set_options(j, "ranks=2");
	make(&p, j);
	ck_assert(!is_blocked(&p, "program"));
	plan_fini(&p);
	job_free(j);
}
END_TEST

START_TEST(open_files_are_those_of_all_ranks)
{
	struct job *j =
		make_job("phase=checkpoint checkpoint_size=1m ranks=40 checkpoint_threads=2");
	struct plan_report p;

	host.open_files = 80;
	make(&p, j);
	ck_assert_uint_gt(p.open_files, 80);
	ck_assert(is_blocked(&p, "files"));
	plan_fini(&p);
	job_free(j);
}
END_TEST

/* ---- what a job before saves ---- */

START_TEST(what_is_saved_before_can_be_restored)
{
	struct job *saves = make_job("phase=checkpoint checkpoint_size=1m checkpoints=2");
	struct job *reads = make_job("phase=restore checkpoint_size=1m checkpoints=2");
	struct job *both[] = { saves, reads };
	const struct jobset jobset = { .jobs = both, .count = 2 };
	struct plan_report p[2] = { 0 };

	reads->group = 1;
	ck_assert_int_eq(plan_make_all(p, &jobset, &host, NULL, NULL), 0);
	ck_assert_uint_eq(p[1].blockers.count, 0);
	ck_assert_str_eq(p[1].checkpoint.saved_by, "x");
	plan_fini(&p[0]);
	plan_fini(&p[1]);
	set_options(reads, "checkpoint_size=2m");
	ck_assert_int_eq(plan_make_all(p, &jobset, &host, NULL, NULL), 0);
	ck_assert_uint_eq(p[1].blockers.count, 1);
	ck_assert(is_blocked(&p[1], "checkpoints"));
	plan_fini(&p[0]);
	plan_fini(&p[1]);
	job_free(saves);
	job_free(reads);
}
END_TEST

/* ---- text ---- */

static char *text_of(const struct plan_report *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	plan_checkpoint_text(to, p);
	fclose(to);
	return text;
}

/* clang-format off */
static const char page[] =
"model     405,853,388,800 parameters, 126 layers of hidden size 16,384\n"
"ranks     512 = tensor 8 x pipeline 32 x data 2, ZeRO stage 1\n"
"          ranks 0-7: model 3.458 + optimizer 8.860 = 12.318 GiB each (3,713,269,760 +\n"
"            9,513,171,840 bytes), 6 files\n"
"          ranks 8-239: model 2.969 + optimizer 8.860 = 11.829 GiB each (3,187,933,184 +\n"
"            9,513,171,840 bytes), 5 files\n"
"          ranks 240-247: model 2.227 + optimizer 8.860 = 11.087 GiB each (2,390,949,888 +\n"
"            9,513,171,840 bytes), 4 files\n"
"          ranks 248-255: model 2.716 + optimizer 8.860 = 11.576 GiB each (2,916,319,232 +\n"
"            9,513,171,840 bytes), 6 files\n"
"          ranks 256-511: optimizer 8.860 GiB each (9,513,171,840 bytes), 1 file\n"
"total     one checkpoint: 1,544 files, 5,682,508,791,808 bytes        5292.249 GiB\n"
"          1 rank on this host: 1 file, 9,513,171,840 bytes               8.860 GiB\n"
"layout    deepspeed, writes of 1 MiB; zero_pp_rank_1_mp_rank_44_optim_states.pt\n";
/* clang-format on */

START_TEST(the_page_is_aligned)
{
	struct job *j = make_job(LLAMA_405B
				 "zero_stage=1 checkpoint_layout=deepspeed checkpoint_ranks=300");
	struct plan_report p;

	make(&p, j);
	char *text = text_of(&p);
	ck_assert_msg(has_flowed(text, page), "%s", text);
	free(text);
	plan_fini(&p);
	job_free(j);
}
END_TEST

Suite *suite_plan_checkpoint(void)
{
	Suite *s = suite_create("plan_checkpoint");
	TCase *t = tcase_create("plan_checkpoint");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, equal_ranks_are_one_class, 0, sizeof(jobs) / sizeof(*jobs));
	tcase_add_loop_test(t, a_training_counts_its_saves, 0,
			    sizeof(trainings) / sizeof(*trainings));
	tcase_add_test(t, a_training_without_saves_has_none);
	tcase_add_test(t, too_many_ranks_for_the_memory_block);
	tcase_add_test(t, open_files_are_those_of_all_ranks);
	tcase_add_test(t, what_is_saved_before_can_be_restored);
	tcase_add_test(t, the_page_is_aligned);
	suite_add_tcase(s, t);
	return s;
}
