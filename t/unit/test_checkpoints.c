/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoints.c - which checkpoints of a directory are ours, whole, and the job's. */
#include "suites.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/checkpoints.h"
#include "data/layout.h"
#include "io/engines.h"
#include "io/mount.h"
#include "work/workloads.h"

#define SMALL                                                                  \
	"model_layers=2 model_hidden=64 model_ffn=128 model_heads=4 "          \
	"model_kv_heads=2 model_vocabulary=100 ranks=4 zero_stage=3 bs=4096 "

static char directory[64];

static void set_up(void)
{
	snprintf(directory, sizeof(directory), "/tmp/mlgen-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	ck_assert_int_eq(system(command), 0);
}

/* What a list of checkpoints stands on. */
struct rig {
	struct job *job;
	struct state state;
	struct content *content;
	struct shard_set set;
	struct checkpoints c;
};

static void give_options(struct job *j, const char *options)
{
	while (*options) {
		char name[64] = "", value[200] = "";
		int used = 0;

		ck_assert_int_eq(sscanf(options, " %63[^=]=%199[^ ]%n", name,
					value, &used),
				 2);
		ck_assert_int_eq(field_parse(field_find(job_fields, name), j,
					     value, (unsigned)j->kb_base, NULL),
				 0);
		options += used;
		options += strspn(options, " ");
	}
}

static void rig_open(struct rig *r, const char *options, const char *more)
{
	struct mlgen_err err = { 0 };

	*r = (struct rig){ .job = job_new("x") };
	r->job->phase = PHASE_CHECKPOINT;
	give_options(r->job, options);
	give_options(r->job, more);
	ck_assert_msg(state_init(&r->state, r->job, &err) == 0, "%s", err.text);
	r->content = content_new(4096, r->job->randseed);
	r->set = (struct shard_set){ .state = &r->state,
				     .layout = layout_of(r->job),
				     .content = r->content,
				     .is_plain = r->job->access == ACCESS_PLAIN,
				     .bs = r->job->bs.write };
	ck_assert_msg(checkpoints_open(&r->c, directory, &r->set, &err) == 0,
		      "%s", err.text);
}

static void rig_close(struct rig *r)
{
	checkpoints_fini(&r->c);
	content_free(r->content);
	state_fini(&r->state);
	job_free(r->job);
}

/* As a saver does, without the files. */
static struct checkpoint save(struct rig *r, bool is_complete)
{
	struct checkpoint k;
	struct mlgen_err err = { 0 };

	ck_assert_msg(checkpoints_hold(&r->c, &err) == 0, "%s", err.text);
	checkpoints_next(&r->c, 1, UINT64_MAX, &k);
	ck_assert_msg(checkpoint_create(&r->c, &k, &err) == 0, "%s", err.text);
	if (is_complete)
		ck_assert_int_eq(
			checkpoint_write_manifest(&r->c, &k, true, NULL), 0);
	k.is_complete = is_complete;
	checkpoints_add(&r->c, &k);
	return k;
}

static void name_of(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", directory, name);
}

static void put_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	name_of(path, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void put_directory(const char *name)
{
	char path[PATH_MAX];

	name_of(path, name);
	ck_assert_int_eq(mkdir(path, 0777), 0);
}

static bool exists(const char *name)
{
	char path[PATH_MAX];

	name_of(path, name);
	return access(path, F_OK) == 0;
}

/* A manifest that says so, over what is there. */
static void forge(const char *name, const char *file)
{
	char path[256], text[512];

	snprintf(path, sizeof(path), "%s/%s", name, CHECKPOINT_MANIFEST);
	snprintf(text, sizeof(text),
		 "{\"version\":1,\"number\":1,\"complete\":true,"
		 "\"bytes\":1,\"made_from\":{},\"content\":{},"
		 "\"ranks\":\"0\",\"files\":[\"rank_0.pt\",\"%s\"]}",
		 file);
	put_file(path, text);
}

START_TEST(a_missing_directory_has_none)
{
	struct rig r;
	struct checkpoint k;

	ck_assert_int_eq(rmdir(directory), 0);
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.count, 0);
	checkpoints_next(&r.c, 1, UINT64_MAX, &k);
	ck_assert_str_eq(k.name, "global_epoch1_step1");
	ck_assert_uint_eq(k.number, 1);
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	ck_assert(exists("."));
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), 0);
	ck_assert(exists("global_epoch1_step1/" CHECKPOINT_MANIFEST));
	rig_close(&r);
}
END_TEST

START_TEST(it_is_complete_once_its_manifest_says_so)
{
	struct rig r;
	struct checkpoint k;

	rig_open(&r, SMALL, "");
	k = save(&r, false);
	ck_assert_uint_gt(k.bytes, 0);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.count, 1);
	ck_assert(!r.c.items[0].is_complete);
	ck_assert_int_eq(checkpoint_write_manifest(&r.c, &k, true, NULL), 0);
	save(&r, true);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.count, 2);
	ck_assert(r.c.items[0].is_complete);
	ck_assert_uint_eq(r.c.items[0].number, 1);
	ck_assert_uint_eq(r.c.items[1].number, 2);
	ck_assert_uint_eq(r.c.items[1].step, 2);
	ck_assert_uint_eq(r.c.items[1].bytes, k.bytes);
	rig_close(&r);
}
END_TEST

START_TEST(the_next_name_is_free)
{
	struct rig r;
	struct checkpoint k;
	char final[CHECKPOINT_NAME_BYTES];

	put_directory("global_epoch1_step7"); /* somebody else's */
	put_directory("global_epoch01_step90");
	put_directory("epoch1_step90");
	put_directory("global_epoch1_step90x");
	rig_open(&r, SMALL, "rename_commit=1");
	ck_assert_uint_eq(r.c.foreign_count, 1);
	checkpoints_next(&r.c, 1, UINT64_MAX, &k);
	ck_assert_str_eq(k.name, ".global_epoch1_step8.part");
	checkpoint_final_name(&k, final);
	ck_assert_str_eq(final, "global_epoch1_step8");
	checkpoints_next(&r.c, 3, 500, &k);
	ck_assert_str_eq(k.name, ".global_epoch3_step500.part");
	rig_close(&r);
}
END_TEST

START_TEST(behind_the_last_number_there_is_none)
{
	struct mlgen_err err = { 0 };
	struct rig r;

	rig_open(&r, SMALL, "");
	save(&r, true);
	r.c.items[0].number = INT64_MAX - 1;
	ck_assert_int_eq(checkpoints_check_next(&r.c, UINT64_MAX, &err), 0);
	save(&r, true);
	ck_assert_int_eq(checkpoints_check_next(&r.c, 5, &err), -ERANGE);
	ck_assert_ptr_nonnull(strstr(
		err.text, "/global_epoch1_step2: is checkpoint number "
			  "9223372036854775807, and a manifest has no larger "
			  "one"));
	rig_close(&r);
	/* As it was written, so it is read. */
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.items[1].number, INT64_MAX);
	ck_assert(r.c.items[1].is_complete);
	rig_close(&r);
}
END_TEST

START_TEST(behind_the_last_step_there_is_none)
{
	static const char *const names[] = {
		"global_epoch1_step9223372036854775807",
		"global_epoch1_step18446744073709551615",
	};
	struct mlgen_err err = { 0 };
	struct rig r;

	put_directory(names[_i]);
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_check_next(&r.c, 5, &err), 0);
	ck_assert_int_eq(checkpoints_check_next(&r.c, UINT64_MAX, &err),
			 -ERANGE);
	ck_assert_ptr_nonnull(strstr(err.text, names[_i]));
	rig_close(&r);
}
END_TEST

START_TEST(what_was_not_renamed_is_not_complete)
{
	struct rig r;

	rig_open(&r, SMALL, "rename_commit=1");
	save(&r, true);
	rig_close(&r);
	rig_open(&r, SMALL, "rename_commit=1");
	ck_assert_uint_eq(r.c.count, 1);
	ck_assert(!r.c.items[0].is_complete);
	rig_close(&r);
}
END_TEST

START_TEST(what_has_no_manifest_of_ours_is_foreign)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ NULL, "it has no " CHECKPOINT_MANIFEST },
		{ "", CHECKPOINT_MANIFEST " is cut short or damaged" },
		{ "{ \"version\": 1, ",
		  CHECKPOINT_MANIFEST " is cut short or damaged" },
		{ "{ \"name\": 1 }", CHECKPOINT_MANIFEST " is no manifest" },
		{ "{ \"version\": 2 }",
		  CHECKPOINT_MANIFEST " was written by another mlgen" },
		{ "{ \"version\": 1, \"number\": 1, \"complete\": true }",
		  CHECKPOINT_MANIFEST " lacks a value" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rig r;

		if (i == 0)
			put_directory("global_epoch1_step1");
		else
			put_file("global_epoch1_step1/" CHECKPOINT_MANIFEST,
				 cases[i].text);
		rig_open(&r, SMALL, "");
		ck_assert_uint_eq(r.c.count, 0);
		ck_assert_uint_eq(r.c.foreign_count, 1);
		ck_assert_str_eq(r.c.foreign[0].name, "global_epoch1_step1");
		ck_assert_str_eq(r.c.foreign[0].why, cases[i].why);
		rig_close(&r);
	}
}
END_TEST

START_TEST(a_name_that_is_taken_is_refused)
{
	struct mlgen_err err = { 0 };
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	checkpoints_next(&r.c, 1, 5, &k);
	put_directory("global_epoch1_step5"); /* cut off behind mkdir */
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), 0);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "remove it by hand"));
	put_directory("global_epoch1_step6");
	put_file("global_epoch1_step6/x", "y");
	checkpoints_next(&r.c, 1, 6, &k);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), -EEXIST);
	r.job->rename_commit = true; /* it will be in the way at the end */
	checkpoints_next(&r.c, 1, 6, &k);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), -EEXIST);
	ck_assert(!exists(".global_epoch1_step6.part"));
	rig_close(&r);
}
END_TEST

START_TEST(one_that_was_cut_before_its_manifest_is_begun_anew)
{
	struct mlgen_err err = { 0 };
	struct checkpoint k;
	struct rig r;

	put_directory(".global_epoch1_step5.part");
	put_file(".global_epoch1_step5.part/." CHECKPOINT_MANIFEST ".part",
		 "{ ");
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	checkpoints_next(&r.c, 1, 5, &k);
	ck_assert_msg(checkpoint_create(&r.c, &k, &err) == 0, "%s", err.text);
	ck_assert(exists("global_epoch1_step5/" CHECKPOINT_MANIFEST));
	ck_assert(!exists(".global_epoch1_step5.part"));
	put_directory(".global_epoch1_step6.part");
	put_file(".global_epoch1_step6.part/mine", "");
	checkpoints_next(&r.c, 1, 6, &k);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), -EEXIST);
	ck_assert(exists(".global_epoch1_step6.part/mine"));
	rig_close(&r);
}
END_TEST

enum { AT_ONCE = 4, NAMES = 200 };

struct starter {
	struct rig rig;
	pthread_barrier_t *all;
	unsigned made[NAMES]; /* of each name */
	int odd;              /* a failure other than a name in use */
};

static void *begin_each_name(void *arg)
{
	struct starter *s = arg;

	for (unsigned i = 0; i < NAMES; i++) {
		struct checkpoint k;
		int rc;

		checkpoints_next(&s->rig.c, 1, i + 1, &k);
		pthread_barrier_wait(s->all);
		rc = checkpoint_create(&s->rig.c, &k, NULL);
		s->made[i] = rc == 0;
		if (rc < 0 && rc != -EEXIST)
			s->odd = rc;
	}
	return NULL;
}

START_TEST(of_runs_that_begin_a_name_at_once_one_has_it)
{
	static struct starter starters[AT_ONCE];
	pthread_t threads[AT_ONCE];
	pthread_barrier_t all;

	pthread_barrier_init(&all, NULL, AT_ONCE);
	for (unsigned i = 0; i < AT_ONCE; i++) {
		struct starter *s = &starters[i];

		*s = (struct starter){ .all = &all };
		rig_open(&s->rig, SMALL, i % 2 ? "rename_commit=1" : "");
		ck_assert_int_eq(checkpoints_hold(&s->rig.c, NULL), 0);
	}
	for (unsigned i = 0; i < AT_ONCE; i++)
		pthread_create(&threads[i], NULL, begin_each_name,
			       &starters[i]);
	for (unsigned i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < NAMES; i++) {
		unsigned made = 0;

		for (unsigned s = 0; s < AT_ONCE; s++)
			made += starters[s].made[i];
		ck_assert_msg(made == 1, "%u runs have name %u", made, i);
	}
	for (unsigned i = 0; i < AT_ONCE; i++) {
		ck_assert_int_eq(starters[i].odd, 0);
		rig_close(&starters[i].rig);
	}
	pthread_barrier_destroy(&all);
}
END_TEST

/* The list of a run is as old as its last look. */
START_TEST(a_name_that_was_taken_meanwhile_is_another_runs)
{
	struct checkpoint k, late;
	struct rig r, other;

	rig_open(&r, SMALL, _i ? "rename_commit=1" : "");
	rig_open(&other, SMALL, "");
	ck_assert_int_eq(checkpoints_hold(&other.c, NULL), 0);
	checkpoints_next(&other.c, 1, UINT64_MAX, &late);
	k = save(&r, false);
	ck_assert_int_eq(checkpoint_create(&other.c, &late, NULL), -EEXIST);
	ck_assert_int_eq(checkpoints_refresh(&other.c, NULL), 0);
	checkpoints_next(&other.c, 1, UINT64_MAX, &late);
	ck_assert_uint_eq(late.step, 2);
	ck_assert_uint_eq(late.number, 2);
	ck_assert_int_eq(checkpoint_create(&other.c, &late, NULL), 0);
	ck_assert(exists(k.name));
	ck_assert(_i || !exists(".global_epoch1_step1.part"));
	rig_close(&other);
	rig_close(&r);
}
END_TEST

static void rename_to(const char *from_name, const char *to_name)
{
	char from[PATH_MAX], to[PATH_MAX];

	name_of(from, from_name);
	name_of(to, to_name);
	ck_assert_int_eq(rename(from, to), 0);
}

/* As a run that was killed between two renames leaves it. */
START_TEST(what_was_put_aside_is_whole_and_gets_its_name_back)
{
	struct checkpoint to;
	struct rig r;

	rig_open(&r, SMALL, "");
	save(&r, true);
	rig_close(&r);
	rename_to("global_epoch1_step1", ".global_epoch1_step1.old");
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, &to, NULL), 0);
	ck_assert_str_eq(to.name, ".global_epoch1_step1.old");
	ck_assert(!exists("global_epoch1_step1")); /* it has only looked */
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	ck_assert_str_eq(r.c.items[0].name, "global_epoch1_step1");
	ck_assert(exists("global_epoch1_step1/" CHECKPOINT_MANIFEST));
	ck_assert(!exists(".global_epoch1_step1.old"));
	rig_close(&r);
}
END_TEST

START_TEST(what_was_put_aside_is_not_needed_once_another_is_there)
{
	struct checkpoint to[2];
	struct rig r;

	rig_open(&r, SMALL, "");
	save(&r, true);
	rename_to("global_epoch1_step1", ".global_epoch1_step1.old");
	r.c.count = 0;
	save(&r, true);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.count, 2);
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, to, NULL), 0);
	ck_assert_str_eq(to[0].name, "global_epoch1_step1");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 2, to, NULL), -EINVAL);
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	ck_assert(exists(".global_epoch1_step1.old"));
	rig_close(&r);
}
END_TEST

/* A run that goes on would be in the middle of it. */
START_TEST(nothing_is_put_back_while_another_run_replaces_it)
{
	struct process other;
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "rename_commit=1");
	save(&r, false);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	k = r.c.items[0];
	process_self(&other);
	snprintf(other.host, sizeof(other.host), "elsewhere");
	k.writer = other;
	ck_assert_int_eq(checkpoint_write_manifest(&r.c, &k, true, NULL), 0);
	put_directory(".global_epoch1_step1.old");
	forge(".global_epoch1_step1.old", "rank_1.pt");
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	ck_assert(exists(".global_epoch1_step1.old"));
	rig_close(&r);
}
END_TEST

START_TEST(the_newest_are_restored_oldest_first)
{
	struct checkpoint to[3];
	struct rig r;

	rig_open(&r, SMALL, "");
	save(&r, true);
	save(&r, true);
	save(&r, false);
	save(&r, true);
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 2, to, NULL), 0);
	ck_assert_uint_eq(to[0].number, 2);
	ck_assert_uint_eq(to[1].number, 4);
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 3, to, NULL), 0);
	ck_assert_uint_eq(to[0].number, 1);
	rig_close(&r);
}
END_TEST

START_TEST(too_few_are_told_with_what_keeps_the_others)
{
	struct mlgen_err err = { 0 };
	struct checkpoint to[3];
	char want[1024];
	struct rig r;

	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, to, &err), -EINVAL);
	snprintf(want, sizeof(want),
		 "%s: holds no checkpoint; save one with phase=checkpoint, or "
		 "another checkpoint_directory=",
		 directory);
	ck_assert_str_eq(err.text, want);
	put_directory("global_epoch1_step1");
	rig_close(&r);
	rig_open(&r, SMALL, "");
	save(&r, true);
	save(&r, false);
	err.code = 0;
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 3, to, &err), -EINVAL);
	snprintf(want, sizeof(want),
		 "%s: 1 of 3 checkpoints can be restored; checkpoints=1 takes "
		 "these, or save more; global_epoch1_step3: not complete; "
		 "global_epoch1_step1: it has no mlgen-checkpoint.json",
		 directory);
	ck_assert_str_eq(err.text, want);
	rig_close(&r);
}
END_TEST

START_TEST(another_job_is_told_by_what_differs)
{
	static const struct {
		const char *options, *how; /* NULL = none */
	} cases[] = {
		{ "", NULL },
		{ "checkpoint_keep=2 checkpoints=4 checkpoint_threads=2",
		  NULL },
		{ "bs=8192 randseed=9", NULL },
		{ "checkpoint_ranks=0-1,3", NULL },
		{ "zero_stage=1", "zero_stage: 3 there, 1 in the job" },
		{ "model_layers=3", "model_layers: 2 there, 3 in the job" },
		{ "scale=50", "scale: 100 there, 50 in the job" },
		{ "ranks=8", "ranks: 4 there, 8 in the job" },
		{ "tensor_parallel=2",
		  "tensor_parallel: 1 there, 2 in the job" },
		{ "checkpoint_layout=stream",
		  "checkpoint_layout: torch there, stream in the job" },
		{ "access=framework",
		  "access: plain there, framework in the job" },
		{ "model_layers=0 checkpoint_size=1m",
		  "checkpoint_size: none there, 1048576 in the job" },
		{ "verify=crc32c", NULL },
		{ "verify=crc32c randseed=9",
		  "randseed: 1 there, 9 in the job" },
		{ "verify=crc32c bs=8192", "bs: 4096 there, 8192 in the job" },
	};
	struct checkpoint to;
	struct rig r;

	rig_open(&r, SMALL, "randseed=1");
	save(&r, true);
	rig_close(&r);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mlgen_err err = { 0 };
		char options[256];
		int rc;

		snprintf(options, sizeof(options), "randseed=1 %s",
			 cases[i].options);
		rig_open(&r, SMALL, options);
		rc = checkpoints_to_restore(&r.c, 1, &to, &err);
		ck_assert_msg((rc == 0) == (cases[i].how == NULL), "%s: %s",
			      options, err.text);
		if (cases[i].how)
			ck_assert_msg(strstr(err.text, cases[i].how), "%s: %s",
				      options, err.text);
		rig_close(&r);
	}
}
END_TEST

START_TEST(ranks_that_were_not_saved_cannot_be_restored)
{
	struct mlgen_err err = { 0 };
	struct checkpoint to;
	struct rig r;

	rig_open(&r, SMALL, "checkpoint_ranks=0-1,3");
	save(&r, true);
	rig_close(&r);
	rig_open(&r, SMALL, "checkpoint_ranks=3");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, &to, NULL), 0);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, &to, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(
		err.text, "checkpoint_ranks: 0-1,3 there, others in the job"));
	rig_close(&r);
}
END_TEST

/* The files of `k` as a saver writes them, and those in `more`. */
static void put_files(const struct checkpoint_removal *r, const char *more)
{
	char name[256];

	for (size_t i = 0; i < r->count; i++) {
		snprintf(name, sizeof(name), "%s/%s", r->now.name, r->names[i]);
		put_file(name, "");
	}
	if (!more)
		return;
	snprintf(name, sizeof(name), "%s/%s", r->now.name, more);
	put_file(name, "");
}

static void unlink_files(const struct checkpoint_removal *r)
{
	for (size_t i = 0; i < r->count; i++)
		ck_assert_int_eq(unlinkat(r->folder_fd, r->names[i], 0), 0);
}

START_TEST(one_goes_with_the_files_that_it_names_and_no_others)
{
	struct mlgen_err err = { 0 };
	struct checkpoint_removal removal;
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "checkpoint_ranks=0-1");
	k = save(&r, true);
	rig_close(&r);
	rig_open(&r, "checkpoint_size=1m", ""); /* of another job */
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &k, NULL), 0);
	ck_assert_uint_eq(removal.count, 2);
	put_files(&removal, "mine");
	ck_assert_int_eq(checkpoint_removal_mark(&removal, &r.c, NULL), 0);
	unlink_files(&removal);
	ck_assert_int_eq(checkpoint_removal_end(&removal, &r.c, &err),
			 -ENOTEMPTY);
	ck_assert(exists("global_epoch1_step1/mine"));
	ck_assert(exists("global_epoch1_step1/" CHECKPOINT_MANIFEST));
	checkpoint_removal_fini(&removal);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert(!r.c.items[0].is_complete);
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	ck_assert_int_eq(
		checkpoint_removal_begin(&removal, &r.c, &r.c.items[0], NULL),
		0);
	ck_assert_int_eq(unlinkat(removal.folder_fd, "mine", 0), 0);
	ck_assert_int_eq(checkpoint_removal_end(&removal, &r.c, NULL), 0);
	checkpoint_removal_fini(&removal);
	ck_assert(!exists(k.name));
	rig_close(&r);
}
END_TEST

/* It may not be deleted, which `why` says. */
static void check_stays(struct rig *r, const struct checkpoint *k,
			const char *why)
{
	struct checkpoint_removal removal;
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r->c, k, &err),
			 -EPERM);
	ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
	checkpoint_removal_fini(&removal);
}

START_TEST(what_no_layout_names_is_not_deleted)
{
	static const char *const names[] = {
		"../x", "/etc/x",    ".",          "..",
		"",     "notes.txt", "rank_01.pt", CHECKPOINT_MANIFEST
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct checkpoint k;
		struct rig r;

		rig_open(&r, SMALL, "");
		k = save(&r, true);
		k.number = 1;
		forge(k.name, names[i]);
		check_stays(&r, &k, "which is no file of a checkpoint");
		rig_close(&r);
	}
}
END_TEST

START_TEST(a_link_in_place_of_its_directory_or_manifest_is_not_followed)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "");
	put_directory("victim");
	forge("victim", "rank_1.pt");
	name_of(from, "victim");
	name_of(to, "global_epoch1_step1");
	ck_assert_int_eq(symlink(from, to), 0);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_hold(&r.c, NULL), 0);
	ck_assert_uint_eq(r.c.count, 1);
	check_stays(&r, &r.c.items[0], "it is a symbolic link");
	k = save(&r, true);
	name_of(to, "global_epoch1_step2/" CHECKPOINT_MANIFEST);
	ck_assert_int_eq(unlink(to), 0);
	name_of(from, "victim/" CHECKPOINT_MANIFEST);
	ck_assert_int_eq(symlink(from, to), 0);
	check_stays(&r, &k, CHECKPOINT_MANIFEST " is a symbolic link");
	ck_assert_int_eq(unlink(to), 0);
	ck_assert_int_eq(mkfifo(to, 0600), 0);
	check_stays(&r, &k, CHECKPOINT_MANIFEST " is a fifo");
	rig_close(&r);
}
END_TEST

START_TEST(a_directory_of_another_user_is_not_emptied)
{
	struct checkpoint_removal removal;
	char path[PATH_MAX];
	struct checkpoint k;
	struct rig r;

	if (geteuid() != 0)
		return; /* nobody else can give one away */
	rig_open(&r, SMALL, "");
	k = save(&r, true);
	name_of(path, k.name);
	ck_assert_int_eq(chown(path, 12345, 12345), 0);
	check_stays(&r, &k, "it is another user's");
	/* Whoever makes files here is the one. */
	r.c.maker = 12345;
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &k, NULL), 0);
	checkpoint_removal_fini(&removal);
	rig_close(&r);
}
END_TEST

/* Between the look at it and the deletion. */
START_TEST(a_directory_that_is_exchanged_meanwhile_is_not_touched)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct checkpoint_removal removal;
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "");
	k = save(&r, true);
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &k, NULL), 0);
	put_files(&removal, NULL);
	name_of(from, k.name);
	name_of(to, "moved");
	ck_assert_int_eq(rename(from, to), 0);
	put_directory("victim");
	put_file("victim/rank_0.pt", "");
	name_of(to, "victim");
	ck_assert_int_eq(symlink(to, from), 0);
	ck_assert_int_eq(checkpoint_removal_mark(&removal, &r.c, NULL), 0);
	unlink_files(&removal);
	ck_assert_int_eq(checkpoint_removal_end(&removal, &r.c, NULL), 0);
	checkpoint_removal_fini(&removal);
	ck_assert(exists("victim/rank_0.pt"));
	ck_assert(!exists("victim/" CHECKPOINT_MANIFEST));
	ck_assert(!exists("moved/rank_0.pt"));
	ck_assert(exists("global_epoch1_step1")); /* the link */
	rig_close(&r);
}
END_TEST

START_TEST(another_one_under_its_name_is_not_deleted)
{
	struct checkpoint_removal removal;
	struct mlgen_err err = { 0 };
	struct checkpoint k, other;
	struct rig r;

	rig_open(&r, SMALL, "");
	k = save(&r, true);
	other = k;
	other.number = 7;
	ck_assert_int_eq(checkpoint_write_manifest(&r.c, &other, true, NULL),
			 0);
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &k, &err),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "is another checkpoint by now"));
	checkpoint_removal_fini(&removal);
	rig_close(&r);
}
END_TEST

START_TEST(room_is_what_they_take_at_most)
{
	static const struct {
		uint64_t parts; /* of the free space, that one takes */
		uint64_t count, keep;
		bool fits;
	} cases[] = {
		{ 4, 1, 0, true },    { 4, 3, 0, true },   { 4, 5, 0, false },
		{ 4, 100, 0, false }, { 4, 100, 2, true }, { 4, 100, 5, false },
		{ 4, 3, 5, true },
	};
	struct mount m;

	ck_assert_int_eq(mount_read(&m, directory, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mlgen_err err = { 0 };
		char options[64];
		struct rig r;

		snprintf(options, sizeof(options), "checkpoint_size=%llu",
			 (unsigned long long)(m.free_bytes / cases[i].parts));
		rig_open(&r, options, "");
		ck_assert_int_eq(checkpoints_check_room(&r.c, cases[i].count,
							cases[i].keep, &err),
				 cases[i].fits ? 0 : -ENOSPC);
		if (!cases[i].fits)
			ck_assert_ptr_nonnull(
				strstr(err.text, "checkpoint_keep=1"));
		rig_close(&r);
	}
}
END_TEST

START_TEST(an_engine_without_files_finds_all_and_makes_none)
{
	struct checkpoint to[3], k;
	struct rig r;

	rig_open(&r, SMALL, "");
	job_set_engine(r.job, engines_find("null"));
	checkpoints_fini(&r.c);
	ck_assert_int_eq(checkpoints_open(&r.c, directory, &r.set, NULL), 0);
	checkpoints_next(&r.c, 1, UINT64_MAX, &k);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), 0);
	ck_assert_int_eq(checkpoint_write_manifest(&r.c, &k, true, NULL), 0);
	ck_assert(!exists(k.name));
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 3, to, NULL), 0);
	ck_assert_uint_eq(to[2].number, 3);
	ck_assert_int_eq(checkpoints_check_room(&r.c, 1000000, 0, NULL), 0);
	rig_close(&r);
}
END_TEST

Suite *suite_checkpoints(void)
{
	Suite *s = suite_create("checkpoints");
	TCase *t = tcase_create("directory");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_missing_directory_has_none);
	tcase_add_test(t, it_is_complete_once_its_manifest_says_so);
	tcase_add_test(t, the_next_name_is_free);
	tcase_add_test(t, behind_the_last_number_there_is_none);
	tcase_add_loop_test(t, behind_the_last_step_there_is_none, 0, 2);
	tcase_add_test(t, what_was_not_renamed_is_not_complete);
	tcase_add_test(t, what_has_no_manifest_of_ours_is_foreign);
	tcase_add_test(t, a_name_that_is_taken_is_refused);
	tcase_add_test(t, one_that_was_cut_before_its_manifest_is_begun_anew);
	tcase_add_test(t, of_runs_that_begin_a_name_at_once_one_has_it);
	tcase_add_loop_test(t, a_name_that_was_taken_meanwhile_is_another_runs,
			    0, 2);
	tcase_add_test(t, what_was_put_aside_is_whole_and_gets_its_name_back);
	tcase_add_test(t,
		       what_was_put_aside_is_not_needed_once_another_is_there);
	tcase_add_test(t, nothing_is_put_back_while_another_run_replaces_it);
	tcase_add_test(t, the_newest_are_restored_oldest_first);
	tcase_add_test(t, too_few_are_told_with_what_keeps_the_others);
	tcase_add_test(t, another_job_is_told_by_what_differs);
	tcase_add_test(t, ranks_that_were_not_saved_cannot_be_restored);
	tcase_add_test(t, one_goes_with_the_files_that_it_names_and_no_others);
	tcase_add_test(t, what_no_layout_names_is_not_deleted);
	tcase_add_test(
		t,
		a_link_in_place_of_its_directory_or_manifest_is_not_followed);
	tcase_add_test(t, a_directory_of_another_user_is_not_emptied);
	tcase_add_test(t,
		       a_directory_that_is_exchanged_meanwhile_is_not_touched);
	tcase_add_test(t, another_one_under_its_name_is_not_deleted);
	tcase_add_test(t, room_is_what_they_take_at_most);
	tcase_add_test(t, an_engine_without_files_finds_all_and_makes_none);
	suite_add_tcase(s, t);
	return s;
}
