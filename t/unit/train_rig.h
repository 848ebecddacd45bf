/* SPDX-License-Identifier: Apache-2.0 */
/* train_rig.h - trainings on the virtual clock, over an engine whose reads take as long as they are
 * told. */
#pragma once

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <mlgen/engine.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "job/job.h"
#include "work/checkpoint/writer/writer.h"
#include "work/train/pipeline/pipeline.h"

#define MS 1000000ull
#define MOCK_LOG 4096

/*
 * An engine without files whose reads take read_ns of virtual time, as many at once as there are
 * workers; fail_count reads fail, from number fail_at on. Writes likewise, one of them.
 */
struct mock {
	uint64_t read_ns;
	uint64_t odd_ns; /* of reads of files 1, 3, ..; 0 = as the others */
	uint64_t fail_at;
	uint64_t fail_count;
	uint64_t write_ns;
	uint64_t fail_write_at;
};

static const struct mlgen_field mock_fields[] = {
	{ "read_ns", MLGEN_F_U64(struct mock, read_ns), .def = "0" },
	{ "odd_ns", MLGEN_F_U64(struct mock, odd_ns), .def = "0" },
	{ "fail_at", MLGEN_F_U64(struct mock, fail_at), .def = "1t" },
	{ "fail_count", MLGEN_F_U64(struct mock, fail_count), .def = "1" },
	{ "write_ns", MLGEN_F_U64(struct mock, write_ns), .def = "0" },
	{ "fail_write_at", MLGEN_F_U64(struct mock, fail_write_at), .def = "1t" },
	{ 0 },
};

static _Atomic uint64_t reads, writes;

/* Of the first of them: which file, where, and when it was done. */
static struct {
	unsigned file;
	bool is_eval;
	uint64_t off, len_bytes, end_ns;
} read_log[MOCK_LOG];

static inline unsigned mock_file(const struct mlgen_io *op)
{
	const char *name = strrchr(op->file->path, '_'); /* _of_N.raw */

	if (!name)
		return 0;
	while (name > op->file->path && strncmp(name, "img_", 4) != 0)
		name--;
	return (unsigned)strtoul(name + 4, NULL, 10);
}

static inline void mock_note(uint64_t number, const struct mlgen_ctx *ctx,
			     const struct mlgen_io *op)
{
	if (number >= MOCK_LOG)
		return;
	read_log[number].file = mock_file(op);
	read_log[number].is_eval = strstr(op->file->path, "/valid/") != NULL;
	read_log[number].off = op->off;
	read_log[number].len_bytes = op->len_bytes;
	read_log[number].end_ns = ctx->now_ns(ctx);
}

static inline int64_t mock_write(struct mlgen_ctx *ctx, const struct mlgen_io *op)
{
	const struct mock *m = ctx->opts;
	uint64_t number = atomic_fetch_add(&writes, 1);

	if (m->write_ns && !ctx->sleep_until(ctx, ctx->now_ns(ctx) + m->write_ns))
		return -ECANCELED;
	return number == m->fail_write_at ? -EIO : (int64_t)op->len_bytes;
}

static inline int mock_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	const struct mock *m = ctx->opts;

	(void)n;
	io[0]->result = 0;
	if (io[0]->op == MLGEN_WRITE)
		io[0]->result = mock_write(ctx, io[0]);
	if (io[0]->op != MLGEN_READ)
		return 1;
	uint64_t number = atomic_fetch_add(&reads, 1);
	uint64_t ns = m->odd_ns && mock_file(io[0]) % 2 ? m->odd_ns : m->read_ns;
	if (ns && !ctx->sleep_until(ctx, ctx->now_ns(ctx) + ns)) {
		io[0]->result = -ECANCELED;
		return 1;
	}
	mock_note(number, ctx, io[0]);
	bool fails = number >= m->fail_at && number - m->fail_at < m->fail_count;
	io[0]->result = fails ? -EIO : (int64_t)io[0]->len_bytes;
	return 1;
}

/* clang-format off */
#define MOCK_TABLE .abi = MLGEN_ENGINE_ABI, \
	.size = sizeof(struct mlgen_engine), .name = "mock", \
	.help = "takes its time", .opts = mock_fields, \
	.opts_size = sizeof(struct mock), .submit = mock_submit
/* clang-format on */

static const struct mlgen_engine mock_engine = {
	MOCK_TABLE,
	.caps = ((1u << MLGEN_OPS) - 1) | MLGEN_CAP_NO_FILES,
};

static inline struct mock *mock_of(struct job *j)
{
	return j->engine_opts;
}

static inline struct dist constant(uint64_t v)
{
	return (struct dist){ .kind = DIST_CONST, .a = (double)v };
}

/* One accelerator, one loader, batch 1, 10 ms of compute. */
static inline struct job *new_job(void)
{
	struct job *j = job_new("t");

	job_set_engine(j, &mock_engine);
	j->sample_size = constant(4096);
	j->bs.read = 4096;
	j->format = FORMAT_RAW;
	j->compute_time = constant(10 * MS);
	j->accelerators = j->read_threads = j->prefetch = j->batch_size = 1;
	j->num_files = 4;
	j->epochs = 1;
	return j;
}

static inline void assert_near(double got, double want)
{
	ck_assert_msg(fabs(got - want) < 1e-6, "got %.9f, want %.9f", got, want);
}

/* A training alone, with an evaluation or without. Set `job` first. */
struct rig {
	struct job *job;
	uint64_t extent_samples;  /* 0 = one */
	uint64_t interrupt_at_ns; /* after time zero; 0 = never */
	uint64_t late_ns;         /* see clock_set_lateness */
	struct dataset dataset, eval;
	struct clock *clock;
	struct failure failure;
	_Atomic bool interrupted;
	struct stop stop;
	struct placement place;
	struct train train;
	/* With checkpoint_every; what was saved, after rig_go. */
	struct state state;
	struct shard_set set;
	struct content *content;
	struct checkpoints checkpoints;
	struct checkpoints_result saves;
	pthread_t interrupter;
	uint64_t elapsed_ns; /* time zero to the end */
	struct mlgen_err err;
};

#define RIG_BEGIN_NS (1000 * MS)

static inline void rig_stop(void *arg)
{
	struct rig *r = arg;

	train_close(&r->train);
}

static inline void *rig_interrupt(void *arg)
{
	struct rig *r = arg;

	clock_join(r->clock);
	clock_sleep_until(r->clock, RIG_BEGIN_NS + r->interrupt_at_ns);
	atomic_store(&r->interrupted, true);
	stop_set(&r->stop, r->clock);
	train_wake(&r->train);
	clock_leave(r->clock);
	return NULL;
}

static inline void rig_datasets(struct rig *r)
{
	const struct job *j = r->job;

	ck_assert_msg(dataset_init(&r->dataset, j, 0, &r->err) == 0, "%s", r->err.text);
	if (r->extent_samples)
		r->dataset.extent_samples = r->extent_samples;
	r->eval = r->dataset; /* what it owns stays the other's */
	r->eval.split = "valid";
	r->eval.files = r->eval.files_named = j->eval_files;
}

/* Each rank saves one file of checkpoint_size, which the engine does not. */
static inline void rig_writer(struct rig *r)
{
	const struct job *j = r->job;
	struct writer_config cfg = { .job = j,
				     .set = &r->set,
				     .checkpoints = &r->checkpoints,
				     .place = &r->place,
				     .clock = r->clock,
				     .failure = &r->failure,
				     .interrupted = &r->interrupted,
				     .stop = &r->stop,
				     .beside = &r->train.engine_job };

	ck_assert_msg(state_init(&r->state, j, &r->err) == 0, "%s", r->err.text);
	r->content = content_new(writer_span_bytes(j), j->randseed);
	r->set = (struct shard_set){ .state = &r->state,
				     .layout = layout_of(j),
				     .content = r->content,
				     .is_plain = true,
				     .bs = j->bs.write };
	ck_assert_msg(checkpoints_open(&r->checkpoints, "nowhere", &r->set, &r->err) == 0, "%s",
		      r->err.text);
	ck_assert_msg(writer_new(&r->train.writer, &cfg, &r->err) == 0, "%s", r->err.text);
	r->train.state = &r->state;
}

static inline void rig_writer_fini(struct rig *r)
{
	mem_free((void *)r->saves.items.items);
	mem_free(r->saves.rank_times.items);
	writer_free(r->train.writer);
	checkpoints_fini(&r->checkpoints);
	content_free(r->content);
	state_fini(&r->state);
}

/* From the first thread to the last. */
static inline void rig_go(struct rig *r)
{
	struct job *j = r->job;

	atomic_store(&reads, 0);
	atomic_store(&writes, 0);
	r->place.disk_node = -1;
	rig_datasets(r);
	r->clock = clock_new_virtual(RIG_BEGIN_NS);
	clock_set_lateness(r->clock, r->late_ns);
	failure_init(&r->failure, rig_stop, r);
	ck_assert_msg(train_init(&r->train, j, &r->dataset, j->eval_files ? &r->eval : NULL, 0,
				 r->clock, &r->failure, &r->interrupted, &r->err) == 0,
		      "%s", r->err.text);
	r->train.place = &r->place;
	r->train.stop = &r->stop;
	if (j->checkpoint_every)
		rig_writer(r);
	clock_expect(r->clock, 1);
	clock_join(r->clock);
	if (r->interrupt_at_ns)
		ck_assert_int_eq(worker_start(&r->interrupter, r->clock, rig_interrupt, r, NULL),
				 0);
	ck_assert_int_eq(train_start(&r->train, &r->err), 0);
	clock_leave(r->clock);
	train_join(&r->train);
	if (r->interrupt_at_ns)
		worker_join(&r->interrupter);
	r->elapsed_ns = atomic_load(&r->train.end_ns) - atomic_load(&r->train.start_ns);
	if (r->train.writer)
		writer_collect(r->train.writer, &r->saves);
	if (atomic_load(&r->failure.is_set))
		r->err = r->failure.err;
}

static inline struct rank *rig_rank(struct rig *r)
{
	return &r->train.ranks[0];
}

static inline void rig_end(struct rig *r)
{
	if (r->train.writer)
		rig_writer_fini(r);
	train_fini(&r->train);
	failure_fini(&r->failure);
	clock_free(r->clock);
	dataset_fini(&r->dataset);
	job_free(r->job);
}
