/* SPDX-License-Identifier: Apache-2.0 */
/* writer_rig.h - checkpoints of a small model in a directory of the test's own, by the checkpoint
 * writer's threads. */
#pragma once

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/state/state_internal.h"
#include "io/engines.h"
#include "temp.h"
#include "work/checkpoint/writer/writer.h"
#include "work/workloads.h"

#define MS 1000000ull

/* Two ranks whose tensors are no multiples of anything. */
#define SMALL                                                                                      \
	"model_layers=2 model_hidden=96 model_ffn=301 model_heads=4 "                              \
	"model_kv_heads=2 model_vocabulary=333 ranks=2 zero_stage=3 "                              \
	"bs=16384 iodepth=3 "

static char directory[TEMP_BYTES];

static inline void make_directory(void)
{
	temp_folder_in(directory, temp_memory());
}

static inline void remove_directory(void)
{
	temp_remove(directory);
}

/* One job: a zeroed struct, then rig_open; rig_go starts its threads. */
struct rig {
	struct job *job;
	struct state state;
	struct shard_set set;
	struct checkpoints checkpoints;
	struct clock *clock;
	struct failure failure;
	_Atomic bool interrupted;
	struct stop stop;
	struct placement place;
	struct writer *writer;
	struct checkpoints_result result;
	struct mlgen_err err;
};

static inline void rig_options(const struct mlgen_field *fields, void *base, const char *options)
{
	while (*options) {
		char name[64] = "", value[200] = "";
		const struct mlgen_field *f;
		int used = 0;

		ck_assert_int_eq(sscanf(options, " %63[^=]=%199[^ ]%n", name, value, &used), 2);
		f = field_find(fields, name);
		ck_assert_msg(f != NULL, "no option %s", name);
		ck_assert_int_eq(field_parse(f, base, value, 1024, NULL), 0);
		options += used;
		options += strspn(options, " ");
	}
}

static inline void rig_stop(void *arg)
{
	struct rig *r = arg;

	if (r->writer)
		writer_close(r->writer);
}

/* Made once for all rigs: it is read-only, and up to 32 MiB to fill and to sum. */
static inline struct content *rig_content(uint64_t span_bytes, uint64_t seed)
{
	static struct {
		uint64_t seed;
		struct content *content;
	} made[8];
	unsigned i = 0;

	while (made[i].content &&
	       (made[i].seed != seed || content_span_bytes(made[i].content) != span_bytes)) {
		i++;
		ck_assert_uint_lt(i, 8);
	}
	made[i].seed = seed;
	if (!made[i].content)
		made[i].content = content_new(span_bytes, seed);
	return made[i].content;
}

/* `options` of the job, `engine_options` of its engine. */
static inline void rig_open(struct rig *r, const struct mlgen_engine *engine, const char *options,
			    const char *engine_options)
{
	struct job *j = job_new("x");

	*r = (struct rig){ .job = j, .place.disk_node = -1 };
	j->phase = PHASE_CHECKPOINT;
	rig_options(job_fields, j, SMALL);
	rig_options(job_fields, j, options);
	job_set_engine(j, engine);
	rig_options(engine->opts, j->engine_opts, engine_options);
	ck_assert_msg(state_init(&r->state, j, &r->err) == 0, "%s", r->err.text);
	r->set = (struct shard_set){ .state = &r->state,
				     .layout = layout_of(j),
				     .content = rig_content(writer_span_bytes(j), j->randseed),
				     .is_plain = j->access == ACCESS_PLAIN,
				     .bs = j->bs.write,
				     .direct = j->direct };
	ck_assert_msg(checkpoints_open(&r->checkpoints, directory, &r->set, &r->err) == 0, "%s",
		      r->err.text);
	failure_init(&r->failure, rig_stop, r);
}

static inline void rig_start(struct rig *r, struct clock *clock)
{
	const struct writer_config cfg = {
		.job = r->job,
		.set = &r->set,
		.checkpoints = &r->checkpoints,
		.place = &r->place,
		.clock = clock,
		.failure = &r->failure,
		.interrupted = &r->interrupted,
		.stop = &r->stop,
		.is_restore = r->job->phase == PHASE_RESTORE,
		.align_bytes = r->job->direct ? 4096 : 0,
	};

	r->clock = clock;
	clock_expect(clock, 1);
	clock_join(clock);
	ck_assert_msg(writer_new(&r->writer, &cfg, &r->err) == 0, "%s", r->err.text);
	ck_assert_int_eq(writer_start(r->writer, &r->err), 0);
	ck_assert_int_eq(writer_await_ready(r->writer), 0);
}

/* The threads end; what they have counted is in the result. */
static inline void rig_finish(struct rig *r)
{
	writer_finish(r->writer);
	clock_leave(r->clock);
	writer_join(r->writer);
	checkpoints_result_init(&r->result);
	writer_collect(r->writer, &r->result);
	if (atomic_load(&r->failure.is_set) && !r->err.code)
		r->err = r->failure.err;
}

static inline void rig_end(struct rig *r)
{
	mem_free(r->result.items.items);
	mem_free(r->result.rank_times.items);
	writer_free(r->writer);
	failure_fini(&r->failure);
	checkpoints_fini(&r->checkpoints);
	state_fini(&r->state);
	clock_free(r->clock);
	job_free(r->job);
}

static inline const struct checkpoint_result *rig_record(const struct rig *r, size_t i)
{
	const struct checkpoint_result *items = r->result.items.items;

	ck_assert_uint_lt(i, r->result.items.count);
	return &items[i];
}

/* Save so many, one after the other; 0, or what writer_await says. */
static inline int rig_save(struct rig *r, unsigned count)
{
	int rc = 0;

	for (unsigned i = 0; i < count && rc == 0; i++) {
		rc = writer_begin_save(r->writer, 1, UINT64_MAX, &r->err);
		if (rc == 0)
			rc = writer_await(r->writer);
	}
	return rc;
}

/* A whole life of a job that saves. */
static inline int rig_saves(struct rig *r, const struct mlgen_engine *engine, const char *options,
			    unsigned count)
{
	int rc;

	rig_open(r, engine, options, "");
	rig_start(r, clock_new_real());
	rc = rig_save(r, count);
	rig_finish(r);
	return rc;
}

/* The newest one is read by a job of the same options; 0 or an error. */
static inline int rig_restores(struct rig *r, const struct mlgen_engine *engine,
			       const char *options)
{
	struct checkpoint k;
	int rc;

	rig_open(r, engine, options, "");
	r->job->phase = PHASE_RESTORE;
	ck_assert_msg(checkpoints_to_restore(&r->checkpoints, 1, &k, &r->err) == 0, "%s",
		      r->err.text);
	rig_start(r, clock_new_real());
	writer_begin_restore(r->writer, &k);
	rc = writer_await(r->writer);
	rig_finish(r);
	return rc;
}

/* Of the newest checkpoint. */
static inline void rig_path(const struct rig *r, uint64_t rank, uint64_t file, struct shard *f,
			    char path[PATH_MAX])
{
	const struct checkpoints *c = &r->checkpoints;
	const struct checkpoint *k = &c->items[c->count - 1];
	char name[256];

	ck_assert_uint_gt(c->count, 0);
	shard_init(f, &r->set, rank, file, k->number);
	shard_name(f, name, sizeof(name));
	ck_assert_int_eq(checkpoint_path(c, k, name, path), 0);
}
