/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints_rig.h - a directory of checkpoints, what stands in it, and a run that looks. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/state/state.h"
#include "data/state/state_internal.h"
#include "job_options.h"
#include "temp.h"
#include "work/workloads.h"

#define SMALL                                                                                      \
	"model_layers=2 model_hidden=64 model_ffn=128 model_heads=4 "                              \
	"model_kv_heads=2 model_vocabulary=100 ranks=4 zero_stage=3 bs=4096 "

static char directory[TEMP_BYTES];

static inline void set_up(void)
{
	temp_folder(directory);
}

static inline void tear_down(void)
{
	temp_remove(directory);
}

/* What a list of checkpoints stands on. */
struct rig {
	struct job *job;
	struct state state;
	struct content *content;
	struct shard_set set;
	struct checkpoints c;
};

static inline void rig_open(struct rig *r, const char *options, const char *more)
{
	struct mlgen_err err = { 0 };

	*r = (struct rig){ .job = job_new("x") };
	r->job->phase = PHASE_CHECKPOINT;
	set_options(r->job, options);
	set_options(r->job, more);
	ck_assert_msg(state_init(&r->state, r->job, &err) == 0, "%s", err.text);
	r->content = content_new(4096, r->job->randseed);
	r->set = (struct shard_set){ .state = &r->state,
				     .layout = layout_of(r->job),
				     .content = r->content,
				     .is_plain = r->job->access == ACCESS_PLAIN,
				     .bs = r->job->bs.write };
	ck_assert_msg(checkpoints_open(&r->c, directory, &r->set, &err) == 0, "%s", err.text);
}

static inline void rig_close(struct rig *r)
{
	checkpoints_fini(&r->c);
	content_free(r->content);
	state_fini(&r->state);
	job_free(r->job);
}

/* As a checkpoint writer does, without the files. */
static inline struct checkpoint save(struct rig *r, bool is_complete)
{
	struct checkpoint k;
	struct mlgen_err err = { 0 };

	ck_assert_msg(checkpoints_prepare(&r->c, &err) == 0, "%s", err.text);
	checkpoints_next(&r->c, 1, UINT64_MAX, &k);
	ck_assert_msg(checkpoint_create(&r->c, &k, &err) == 0, "%s", err.text);
	if (is_complete)
		ck_assert_int_eq(checkpoint_write_manifest(&r->c, &k, true, NULL), 0);
	k.is_complete = is_complete;
	checkpoints_add(&r->c, &k);
	return k;
}

static inline void name_of(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", directory, name);
}

static inline void put_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	name_of(path, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static inline void put_directory(const char *name)
{
	char path[PATH_MAX];

	name_of(path, name);
	ck_assert_int_eq(mkdir(path, 0777), 0);
}

static inline bool exists(const char *name)
{
	char path[PATH_MAX];

	name_of(path, name);
	return access(path, F_OK) == 0;
}

/* A manifest that says so, over what is there. */
static inline void forge(const char *name, const char *file)
{
	char path[256], text[512];

	snprintf(path, sizeof(path), "%s/%s", name, CHECKPOINT_MANIFEST);
	snprintf(text, sizeof(text),
		 "{\"version\":1,\"number\":1,\"complete\":true,\"bytes\":1,\"made_from\":{},"
		 "\"content\":{},\"ranks\":\"0\",\"files\":[\"rank_0.pt\",\"%s\"]}",
		 file);
	put_file(path, text);
}
