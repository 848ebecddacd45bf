/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_say.c - which files of a checkpoint which ranks write, as options. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/util.h"
#include "distil/checkpoint_saying.h"

/* ---- text ---- */

static void put_ranges(struct buf *b, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0, k; i < n; i = k + 1) {
		for (k = i; k + 1 < n && list[k + 1] == list[k] + 1;)
			k++;
		buf_addf(b, "%s%" PRIu32, i ? "," : "", list[i]);
		if (k > i)
			buf_addf(b, "-%" PRIu32, list[k]);
	}
}

void checkpoint_say_u64(struct jobsection *to, enum distil_sure sure, const char *option,
			uint64_t value, const char *why)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	jobsection_say(to, sure, option, text, "%s", why);
}

static uint64_t ranks_of_job(const struct saying *g)
{
	const struct checkpoint_form *f = &g->form;

	return f->model.name ? f->model.ranks : (uint64_t)f->ranks[f->rank_count - 1] + 1;
}

/* ---- who saves ---- */

static void say_training_ranks(const struct saying *g, struct jobsection *to)
{
	const struct checkpoint_form *f = &g->form;
	uint64_t ranks = g->party < g->d->parties ? g->d->found[g->party].accelerators : 0;
	struct buf b = { 0 };

	/* Of the others only one saves anything at all. */
	if (f->layout == LAYOUT_PATTERN && f->pattern != PATTERN_BERT && f->rank_count == 1 &&
	    f->ranks[0] == 0)
		return;
	if (ranks <= f->rank_count)
		return;
	put_ranges(&b, f->ranks, f->rank_count);
	jobsection_say(to, f->has_rank_names ? DISTIL_SURE : DISTIL_LIKELY, "checkpoint_ranks",
		       f->rank_count == 1 && f->ranks[0] == 0 ? "zero" : buf_str(&b),
		       "of %" PRIu64 " ranks %" PRIu32 " write%s files of a checkpoint", ranks,
		       f->rank_count, f->rank_count == 1 ? "s" : "");
	buf_fini(&b);
}

static void say_ranks(const struct saying *g, struct jobsection *to)
{
	const struct checkpoint_form *f = &g->form;
	uint64_t ranks = ranks_of_job(g);
	struct buf b = { 0 };
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, ranks);
	jobsection_say(to, f->has_rank_names ? DISTIL_SURE : DISTIL_LIKELY, "ranks", text, "%s",
		       f->has_rank_names
			       ? "the names of the files number them"
			       : "so many threads or processes write, each files of its own");
	if (f->rank_count < ranks && !f->model.name) {
		put_ranges(&b, f->ranks, f->rank_count);
		jobsection_say(to, DISTIL_SURE, "checkpoint_ranks", buf_str(&b),
			       "only these ranks' files are in the trace");
	}
	buf_fini(&b);
}

/* Ranks of a model save nothing, some of them: those who do were seen. */
static void say_model_ranks(const struct saying *g, struct jobsection *to)
{
	const struct checkpoint_form *f = &g->form;
	struct buf b = { 0 };

	if (f->rank_count >= f->model.ranks)
		return;
	put_ranges(&b, f->ranks, f->rank_count);
	jobsection_note(
		to,
		"files of %" PRIu32 " of %" PRIu64
		" ranks are in the trace; of a model that is cut otherwise set checkpoint_ranks",
		f->rank_count, f->model.ranks);
	buf_fini(&b);
}

/* ---- what is saved ---- */

static void say_model(const struct saying *g, struct jobsection *to)
{
	const struct checkpoint_model *m = &g->form.model;
	char why[120];

	snprintf(why, sizeof(why),
		 "names and sizes of all %" PRIu32 " files are those of %s, cut like this",
		 g->form.files, m->name);
	checkpoint_say_u64(to, DISTIL_SURE, "model_layers", m->layers, why);
	checkpoint_say_u64(to, DISTIL_SURE, "model_hidden", m->hidden, "of this model");
	checkpoint_say_u64(to, DISTIL_SURE, "model_ffn", m->ffn, "of this model");
	checkpoint_say_u64(to, DISTIL_SURE, "model_heads", m->heads, "of this model");
	checkpoint_say_u64(to, DISTIL_SURE, "model_kv_heads", m->kv_heads, "of this model");
	checkpoint_say_u64(to, DISTIL_SURE, "model_vocabulary", m->vocabulary, "of this model");
	checkpoint_say_u64(to, DISTIL_SURE, "tensor_parallel", m->tensor_parallel,
			   "the names number the parts");
	checkpoint_say_u64(to, DISTIL_SURE, "pipeline_parallel", m->pipeline_parallel,
			   "which layers are in whose files");
	checkpoint_say_u64(to, m->zero_stage == 2 ? DISTIL_LIKELY : DISTIL_SURE, "zero_stage",
			   m->zero_stage, "who saves parts of the model, and who of the optimizer");
	if (strcmp(m->scale, "100") != 0) {
		struct buf b = { 0 };

		buf_addf(&b, "%s%%", m->scale);
		jobsection_say(to, DISTIL_SURE, "scale", buf_str(&b),
			       "of every tensor such a part, to the byte");
		buf_fini(&b);
	}
}

static void say_size(const struct saying *g, struct jobsection *to)
{
	const struct checkpoint_form *f = &g->form;
	char text[UNITS_TEXT_BYTES], human[UNITS_TEXT_BYTES];
	enum distil_sure sure = f->unlike ? DISTIL_GUESS : DISTIL_SURE;

	units_put_size(text, f->size_bytes);
	units_human_bytes(human, (double)f->like->bytes);
	jobsection_say(to, sure, "checkpoint_size", text,
		       "with it a file of a rank has %" PRIu64 " bytes (%s), as in the trace",
		       f->like->bytes, human);
}

static void say_tensors(const struct saying *g, struct jobsection *to)
{
	const struct checkpoint_form *f = &g->form;

	jobsection_say(to, f->sure == DISTIL_GUESS ? DISTIL_GUESS : DISTIL_LIKELY, "tensor_sizes",
		       g->tensor_file,
		       "%" PRIu32 " tensors, by the %" PRIu32
		       " writes of a file; with them it has its %" PRIu64 " bytes",
		       f->tensors.count, f->like->writes, f->like->bytes);
}

static void say_archive(const struct saying *g, struct jobsection *to)
{
	if (g->form.archive[0])
		jobsection_say(to, DISTIL_LIKELY, "checkpoint_archive", g->form.archive,
			       "a file is called so, and torch.save writes its name in front of "
			       "each tensor");
}

static void say_pattern(const struct saying *g, struct jobsection *to)
{
	static const char *const patterns[] = { "unet3d", "bert", "dlrm" };
	const struct checkpoint_form *f = &g->form;

	jobsection_say(to, f->sure, "checkpoint_pattern", patterns[f->pattern], "%s", f->why);
	if (f->size_bytes)
		say_size(g, to);
}

static void say_state(const struct saying *g, struct jobsection *to)
{
	static const char *const layouts[] = { "torch", "deepspeed", "stream", "pattern" };
	const struct checkpoint_form *f = &g->form;

	jobsection_say(to, f->sure, "checkpoint_layout", layouts[f->layout], "%s", f->why);
	say_archive(g, to);
	if (f->layout == LAYOUT_PATTERN)
		say_pattern(g, to);
	else if (f->model.name)
		say_model(g, to);
	else if (g->tensor_file[0])
		say_tensors(g, to);
	else
		say_size(g, to);
	if (f->unlike)
		jobsection_note(
			to,
			"%" PRIu32 " of %" PRIu32
			" files of a checkpoint have another size; there is one for all ranks",
			f->unlike, f->files);
	if (!f->model.name && f->files > f->rank_count)
		jobsection_note(to,
				"%" PRIu32 " rank%s write %" PRIu32
				" files here; the job has one of each, of all their bytes",
				f->rank_count, plural(f->rank_count), f->files);
	if (!f->model.name && f->has_zero_names)
		jobsection_note(
			to,
			"Files are named as DeepSpeed's ZeRO does, of a model that is none of the "
			"published ones: with model_layers and the others of it, and zero_stage, "
			"instead of checkpoint_size, checkpoint_layout=deepspeed has these files.");
}

void checkpoint_say_what(const struct saying *g, struct jobsection *to)
{
	jobsection_heading(to, "what is saved, by whom");
	say_state(g, to);
	if (g->is_training)
		say_training_ranks(g, to);
	else
		say_ranks(g, to);
	if (!g->is_training && g->form.model.name)
		say_model_ranks(g, to);
}
