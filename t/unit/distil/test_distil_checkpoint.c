/* SPDX-License-Identifier: Apache-2.0 */
/* test_distil_checkpoint.c - checkpoints of a trace become the options that write them. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "tracing/distil/saves/saves_internal.h"
#include "distil_rig.h"
#include "shard_rig.h"
#include "suites.h"

/* The calls of access=framework, or requests of `bs`, as a rank's thread makes them. When they are
 * over. */
static uint64_t write_shard(struct distil_rig *g, struct shard_rig *r, const struct shard *f,
			    const char *path, uint32_t tid, uint64_t at_ns)
{
	struct shard_write w = { 0 };
	uint64_t off = 0;

	distil_rig_call(g, TRACE_OPEN, at_ns, tid, path, TRACE_UNKNOWN, O_WRONLY | O_CREAT, 0);
	if (r->set.is_plain)
		for (; off < f->bytes; off += r->set.bs)
			distil_rig_call(g, TRACE_WRITE, at_ns += 10, tid, path, off,
					u64_min(r->set.bs, f->bytes - off), 0);
	else
		while (shard_write_next(f, &w))
			distil_rig_call(g, TRACE_WRITE, at_ns += 10, tid, path, w.off, w.bytes, 0);
	distil_rig_call(g, TRACE_FSYNC, at_ns += 10, tid, path, TRACE_UNKNOWN, 0, 0);
	distil_rig_call(g, TRACE_CLOSE, at_ns += 10, tid, path, TRACE_UNKNOWN, 0, 0);
	return at_ns + 10;
}

static void save_as(struct distil_rig *g, struct shard_rig *r, unsigned saves)
{
	for (unsigned i = 0; i < saves; i++) {
		uint64_t from = 1000000000 * (i + 1), at = from;

		for (unsigned rank = 0; rank < r->state.ranks; rank++) {
			char path[SHARD_NAME_BYTES + 32], name[SHARD_NAME_BYTES];
			uint64_t now = from;
			struct shard f;

			for (uint64_t n = 0; n < shard_files(&r->set, rank); n++) {
				shard_init(&f, &r->set, rank, n, 0);
				shard_name(&f, name, sizeof(name));
				snprintf(path, sizeof(path), "ck/step%u/%s", i, name);
				now = write_shard(g, r, &f, path, 10 + rank, now);
			}
			at = u64_max(at, now);
		}
		distil_rig_stage(g, STAGE_SAVE, UINT32_MAX, i, from, at + 100);
	}
}

/* Plain writes have `bs` bytes. */
static void found_in_writes(struct distil_rig *g, const char *options, const char *list,
			    unsigned saves, uint64_t bs)
{
	struct shard_rig r = { 0 };
	struct mlgen_err err = { 0 };

	if (list)
		rig_open_list(&r, options, list, 8192);
	else
		rig_open_span(&r, options, 8192);
	r.set.bs = bs;
	distil_rig_open(g);
	save_as(g, &r, saves);
	distil_rig_read(g, CLASS_CHECKPOINT);
	g->to = jobtext_section(g->d.to, "checkpoint");
	ck_assert_msg(distil_checkpoints(&g->d, UINT32_MAX, g->to, &err) == 0, "%s", err.text);
	rig_close(&r);
}

static void found_as(struct distil_rig *g, const char *options, const char *list, unsigned saves)
{
	found_in_writes(g, options, list, saves, 8192);
}

static void is_said(struct distil_rig *g, const char *option, const char *value)
{
	const char *said = jobsection_value(g->to, option);

	if (!value)
		ck_assert_msg(!said, "%s=%s", option, said);
	else
		ck_assert_msg(said && strcmp(said, value) == 0, "%s=%s, not %s", option,
			      said ? said : "(none)", value);
}

static const struct {
	const char *options; /* of who writes */
	const char *layout, *size, *access, *bs, *ranks;
} layouts[] = {
	{ "checkpoint_layout=torch checkpoint_size=1m access=framework ranks=2", "torch", "1m",
	  "framework", NULL, "2" },
	{ "checkpoint_layout=deepspeed checkpoint_size=3m access=framework", "deepspeed", "3m",
	  "framework", NULL, "1" },
	{ "checkpoint_layout=pattern checkpoint_size=9m access=framework", "pattern", "9m",
	  "framework", NULL, "1" },
	{ "checkpoint_layout=torch checkpoint_size=1m access=plain ranks=4", "torch", "1m", "plain",
	  "8k", "4" },
	{ "checkpoint_layout=deepspeed checkpoint_size=1m access=plain", "deepspeed", "1m", "plain",
	  "8k", "1" },
	{ "checkpoint_layout=stream checkpoint_size=12m access=plain ranks=2", "stream", "12m",
	  "plain", "8k", "2" },
};

START_TEST(layout_and_size_are_those_that_give_the_calls)
{
	struct distil_rig g;

	found_as(&g, layouts[_i].options, NULL, 3);
	is_said(&g, "phase", "checkpoint");
	is_said(&g, "checkpoint_layout", layouts[_i].layout);
	is_said(&g, "checkpoint_size", layouts[_i].size);
	is_said(&g, "access", layouts[_i].access);
	is_said(&g, "bs", layouts[_i].bs);
	is_said(&g, "ranks", layouts[_i].ranks);
	is_said(&g, "checkpoints", "3");
	is_said(&g, "checkpoint_fsync", "file");
	distil_rig_close(&g);
}
END_TEST

static const struct {
	const char *layout;
} archives[] = { { "torch" }, { "deepspeed" } };

/* Sizes of the list that was written, in its order. */
static void has_tensors(struct distil_rig *g, const uint64_t *bytes, uint32_t count)
{
	char path[TEMP_BELOW], line[80];
	uint32_t n = 0;
	FILE *from;

	snprintf(path, sizeof(path), "%sa.tensors", g->d.side_folder);
	from = fopen(path, "r");
	ck_assert_ptr_nonnull(from);
	while (fgets(line, sizeof(line), from)) {
		if (*line == '#')
			continue;
		ck_assert_uint_lt(n, count);
		/* What surrounds them takes its part of the largest. */
		uint64_t got = strtoull(line, NULL, 10);
		ck_assert_msg(got + 400 > bytes[n] && got < bytes[n] + 400, "%u: %s", n, line);
		n++;
	}
	ck_assert_uint_eq(n, count);
	fclose(from);
}

START_TEST(tensors_of_an_archive_are_the_writes_that_they_went_out_with)
{
	static const uint64_t bytes[] = { 100000, 200000, 300000, 50000, 900000 };
	char options[80];
	struct distil_rig g;

	snprintf(options, sizeof(options), "checkpoint_layout=%s access=framework",
		 archives[_i].layout);
	found_as(&g, options, "a 100000\nb 200000\nc 300000\nd 50000\ne 900000\n", 2);
	is_said(&g, "checkpoint_layout", archives[_i].layout);
	is_said(&g, "checkpoint_size", NULL);
	is_said(&g, "tensor_sizes", "a.tensors");
	has_tensors(&g, bytes, ARRAY_LEN(bytes));
	distil_rig_close(&g);
}
END_TEST

/* Of what nothing but calls is known: the archive is called as its file, and the pickle is as long
 * as with these names. */
START_TEST(names_of_an_archive_and_its_tensors_are_as_long_as_theirs)
{
	struct buf list = { 0 };
	struct mlgen_err err = { 0 };
	struct shard_rig r = { 0 };
	struct shard_write w = { 0 };
	struct distil_rig g;
	char tensors[TEMP_BELOW];
	struct trial t;
	struct shard f;

	for (unsigned i = 0; i < 14; i++)
		buf_addf(&list, "model.layers.%u.attention.weight %u\n", i, 400000 + 4096 * i);
	rig_open_list(&r, "checkpoint_layout=torch access=framework checkpoint_archive=epoch_7",
		      buf_str(&list), 8192);
	buf_fini(&list);
	distil_rig_open(&g);
	shard_init(&f, &r.set, 0, 0, 0);
	distil_rig_stage(&g, STAGE_SAVE, UINT32_MAX, 0, 1000000000,
			 write_shard(&g, &r, &f, "ck/epoch_7.pt", 10, 1000000000));
	distil_rig_read(&g, CLASS_CHECKPOINT);
	g.to = jobtext_section(g.d.to, "checkpoint");
	ck_assert_int_eq(distil_checkpoints(&g.d, UINT32_MAX, g.to, &err), 0);
	is_said(&g, "checkpoint_layout", "torch");
	is_said(&g, "checkpoint_archive", "epoch_7");
	is_said(&g, "tensor_sizes", "a.tensors");
	/* It makes the very same calls. */
	trial_init(&t);
	t.job->checkpoint_layout = LAYOUT_TORCH;
	mem_replace(&t.job->checkpoint_archive, "epoch_7");
	snprintf(tensors, sizeof(tensors), "%sa.tensors", g.d.side_folder);
	mem_replace(&t.job->tensor_sizes, tensors);
	ck_assert(trial_open(&t));
	ck_assert_uint_eq(trial_bytes(&t, 0, 0), f.bytes);
	ck_assert(shard_write_next(&f, &w));
	ck_assert_uint_eq(trial_first_write(&t, 0), w.bytes);
	trial_fini(&t);
	distil_rig_close(&g);
	rig_close(&r);
}
END_TEST

#define LLAMA3_8B                                                                                  \
	"model_layers=32 model_hidden=4096 model_ffn=14336 model_heads=32 "                        \
	"model_kv_heads=8 model_vocabulary=128256 ranks=8 zero_stage=3 "                           \
	"checkpoint_layout=deepspeed access=plain "

static const struct {
	const char *options, *scale;
	uint64_t bs;
} scales[] = {
	{ LLAMA3_8B "scale=0.003", "0.003%", 8192 },
	{ LLAMA3_8B, NULL, 64 << 20 }, /* the full size */
};

START_TEST(a_published_model_is_known_by_its_files_and_their_scale)
{
	struct distil_rig g;

	found_in_writes(&g, scales[_i].options, NULL, 1, scales[_i].bs);
	is_said(&g, "model_layers", "32");
	is_said(&g, "scale", scales[_i].scale);
	is_said(&g, "zero_stage", "3");
	is_said(&g, "ranks", "8");
	is_said(&g, "access", "plain");
	is_said(&g, "checkpoint_size", NULL);
	distil_rig_close(&g);
}
END_TEST

/* ---- names and old ones ---- */

static void save_file(struct distil_rig *g, const char *path, uint64_t from)
{
	distil_rig_call(g, TRACE_OPEN, from, 10, path, TRACE_UNKNOWN, O_WRONLY | O_CREAT, 0);
	for (unsigned i = 0; i < 4; i++)
		distil_rig_call(g, TRACE_WRITE, from + 100 * i + 100, 10, path, 65536 * i, 65536,
				0);
	distil_rig_call(g, TRACE_CLOSE, from + 600, 10, path, TRACE_UNKNOWN, 0, 0);
	distil_rig_stage(g, STAGE_SAVE, UINT32_MAX, 0, from, from + 600);
}

START_TEST(old_ones_are_kept_and_names_change_as_the_trace_says)
{
	struct mlgen_err err = { 0 };
	struct distil_rig g;

	distil_rig_open(&g);
	for (unsigned i = 0; i < 5; i++) {
		char part[40], whole[40], old[40];
		uint64_t at = UINT64_C(1000000000) * (i + 1);

		snprintf(part, sizeof(part), "ck/.s%u.part", i);
		snprintf(whole, sizeof(whole), "ck/s%u", i);
		snprintf(old, sizeof(old), "ck/s%u/model.bin", i - 2);
		char path[60];
		snprintf(path, sizeof(path), "%s/model.bin", part);
		save_file(&g, path, at);
		distil_rig_record(&g,
				  (struct trace_record){ .op = TRACE_RENAME,
							 .start_ns = at + 700,
							 .duration_ns = 5,
							 .tid = 10,
							 .off = trace_writer_name(g.writer, whole,
										  strlen(whole)) },
				  part);
		if (i >= 2)
			distil_rig_call(&g, TRACE_UNLINK, at + 800, 10, old, TRACE_UNKNOWN, 0, 0);
	}
	distil_rig_read(&g, CLASS_CHECKPOINT);
	g.to = jobtext_section(g.d.to, "checkpoint");
	ck_assert_int_eq(distil_checkpoints(&g.d, UINT32_MAX, g.to, &err), 0);
	is_said(&g, "checkpoints", "5");
	is_said(&g, "rename_commit", "1");
	is_said(&g, "checkpoint_keep", "2");
	is_said(&g, "checkpoint_fsync", "none");
	is_said(&g, "access", "plain");
	is_said(&g, "bs", "64k");
	is_said(&g, "checkpoint_size", "256k");
	/* From the end of what belongs to one to the next. */
	is_said(&g, "pause", "990ms");
	distil_rig_close(&g);
}
END_TEST

/* ---- in a training ---- */

enum { SAMPLE_NS = 1000, SAMPLES = 64 };

/* Epochs of 64 samples, 8 a step, and checkpoints behind every `each` samples. */
static void train(struct distil_rig *g, unsigned epochs, unsigned each, bool has_steps)
{
	uint64_t at = SAMPLE_NS;
	unsigned done = 0, saves = 0;

	for (unsigned e = 0; e < epochs; e++) {
		uint64_t from = at;

		for (unsigned i = 0; i < SAMPLES; i++, at += SAMPLE_NS) {
			char path[40];

			snprintf(path, sizeof(path), "data/%u.npz", i);
			distil_rig_call(g, TRACE_OPEN, at, 20, path, TRACE_UNKNOWN, O_RDONLY, 0);
			distil_rig_call(g, TRACE_READ, at + 10, 20, path, 0, 1000, 0);
			distil_rig_call(g, TRACE_CLOSE, at + 20, 20, path, TRACE_UNKNOWN, 0, 0);
			if (has_steps && i % 8 == 7)
				distil_rig_record(g,
						  (struct trace_record){ .op = TRACE_STEP,
									 .start_ns = at + 30,
									 .duration_ns = 10,
									 .tid = 20,
									 .off = i / 8,
									 .len_bytes = 8 },
						  NULL);
			if (++done % each ||
			    (e == epochs - 1 && i + 1 == SAMPLES && each < SAMPLES))
				continue;
			snprintf(path, sizeof(path), "ck/%u/rank_0.pt", saves++);
			save_file(g, path, at + 100);
			g->d.stages[g->d.stage_count - 1].party = 0;
		}
		distil_rig_stage(g, STAGE_TRAIN, 0, e, from, at - SAMPLE_NS + 40);
	}
}

static void of_party(struct distil_rig *g)
{
	for (uint32_t i = 0; i < g->d.task_count; i++)
		g->d.task[i].party = 0;
	for (uint32_t i = 1; i < g->d.file_count; i++)
		if (strncmp(distil_path(&g->d, i), "data/", 5) == 0)
			g->d.class[i] = CLASS_SAMPLE;
	g->d.parties = 1;
	g->d.found = mem_zalloc(sizeof(*g->d.found));
	*g->d.found = (struct distil_results){ .num_files = SAMPLES,
					       .samples_per_file = 1,
					       .visits_per_sample = 1,
					       .batch_size = 4,
					       .accelerators = 2,
					       .prefetch = 1 };
}

static const struct {
	unsigned epochs, each;
	bool has_steps;
	const char *every;
} cadences[] = {
	{ 3, 24, true, "3 steps" },    { 3, 24, false, "3 steps" }, { 3, 64, true, "1 epoch" },
	{ 4, 128, false, "2 epochs" }, { 4, 40, true, "5 steps" },  { 4, 40, false, "5 steps" },
	{ 3, 32, true, "4 steps" },
};

START_TEST(how_often_a_training_saves_is_counted_in_steps_or_epochs)
{
	struct mlgen_err err = { 0 };
	struct distil_rig g;

	distil_rig_open(&g);
	train(&g, cadences[_i].epochs, cadences[_i].each, cadences[_i].has_steps);
	distil_rig_read(&g, CLASS_CHECKPOINT);
	of_party(&g);
	g.to = jobtext_section(g.d.to, "training");
	jobsection_set(g.to, DISTIL_SURE, "access", "framework", "so it is");
	ck_assert_int_eq(distil_checkpoints(&g.d, 0, g.to, &err), 0);
	is_said(&g, "checkpoint_every", cadences[_i].every);
	is_said(&g, "checkpoint_mode", "sync");
	is_said(&g, "checkpoint_ranks", "zero");
	is_said(&g, "access", "framework");
	is_said(&g, "phase", NULL);
	distil_rig_close(&g);
}
END_TEST

Suite *suite_distil_checkpoint(void)
{
	Suite *s = suite_create("distil_checkpoint");
	TCase *t = tcase_create("found");

	tcase_add_loop_test(t, layout_and_size_are_those_that_give_the_calls, 0,
			    (int)ARRAY_LEN(layouts));
	tcase_add_test(t, names_of_an_archive_and_its_tensors_are_as_long_as_theirs);
	tcase_add_loop_test(t, tensors_of_an_archive_are_the_writes_that_they_went_out_with, 0,
			    (int)ARRAY_LEN(archives));
	tcase_add_loop_test(t, a_published_model_is_known_by_its_files_and_their_scale, 0,
			    (int)ARRAY_LEN(scales));
	tcase_add_test(t, old_ones_are_kept_and_names_change_as_the_trace_says);
	tcase_add_loop_test(t, how_often_a_training_saves_is_counted_in_steps_or_epochs, 0,
			    (int)ARRAY_LEN(cadences));
	suite_add_tcase(s, t);
	return s;
}
