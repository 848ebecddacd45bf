/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_options.c - print the options of checkpoints: cadence, ranks, files and calls. */
#include "tracing/distil/saves/saves_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

/* The checkpoints and restores of one party. */
struct checkpoint_section {
	struct distil *d;
	uint32_t party;
	struct saves saves;
	struct checkpoint_form form;
	struct restores {
		uint32_t count;
		uint64_t *start_ns, *end_ns; /* SAVES_MOST, in order of time */
		uint64_t bytes;
	} restores;
	bool is_training;
	char tensor_file[SIDE_FILE_BYTES]; /* "" = none */
};

/* ---- text ---- */

static void append_ranges(struct buf *b, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0, k; i < n; i = k + 1) {
		for (k = i; k + 1 < n && list[k + 1] == list[k] + 1;)
			k++;
		buf_addf(b, "%s%" PRIu32, i ? "," : "", list[i]);
		if (k > i)
			buf_addf(b, "-%" PRIu32, list[k]);
	}
}

/* ---- ranks ---- */

static void print_training_ranks(const struct checkpoint_section *g, struct jobsection *to)
{
	const struct checkpoint_form *f = &g->form;
	uint64_t ranks = g->party < g->d->parties ? g->d->found[g->party].accelerators : 0;
	struct buf b = { 0 };

	/* Patterns other than BERT save on rank 0 alone. */
	if (f->layout == LAYOUT_PATTERN && f->pattern != PATTERN_BERT && f->rank_count == 1 &&
	    f->ranks[0] == 0)
		return;
	if (ranks <= f->rank_count)
		return;
	append_ranges(&b, f->ranks, f->rank_count);
	jobsection_set(to, f->has_rank_names ? DISTIL_SURE : DISTIL_LIKELY, "checkpoint_ranks",
		       f->rank_count == 1 && f->ranks[0] == 0 ? "zero" : buf_str(&b),
		       "of %" PRIu64 " ranks, %" PRIu32 " write%s files of a checkpoint", ranks,
		       f->rank_count, f->rank_count == 1 ? "s" : "");
	buf_fini(&b);
}

/* ---- layout and state ---- */

static void print_model(const struct checkpoint_section *g, struct jobsection *to)
{
	const struct checkpoint_model *m = &g->form.model;
	char why[120];

	snprintf(why, sizeof(why),
		 "names and sizes of all %" PRIu32 " files match %s with this split", g->form.files,
		 m->name);
	jobsection_set_u64(to, DISTIL_SURE, "model_layers", m->layers, "%s", why);
	jobsection_set_u64(to, DISTIL_SURE, "model_hidden", m->hidden, "from this model");
	jobsection_set_u64(to, DISTIL_SURE, "model_ffn", m->ffn, "from this model");
	jobsection_set_u64(to, DISTIL_SURE, "model_heads", m->heads, "from this model");
	jobsection_set_u64(to, DISTIL_SURE, "model_kv_heads", m->kv_heads, "from this model");
	jobsection_set_u64(to, DISTIL_SURE, "model_vocabulary", m->vocabulary, "from this model");
	jobsection_set_u64(to, DISTIL_SURE, "tensor_parallel", m->tensor_parallel,
			   "the names number the parts");
	jobsection_set_u64(to, DISTIL_SURE, "pipeline_parallel", m->pipeline_parallel,
			   "from the distribution of layers to files");
	jobsection_set_u64(to, m->zero_stage == 2 ? DISTIL_LIKELY : DISTIL_SURE, "zero_stage",
			   m->zero_stage,
			   "from the ranks that save parts of the model and of the optimizer");
	if (strcmp(m->scale, "100") != 0) {
		struct buf b = { 0 };

		buf_addf(&b, "%s%%", m->scale);
		jobsection_set(to, DISTIL_SURE, "scale", buf_str(&b),
			       "this share of every tensor, to the byte");
		buf_fini(&b);
	}
}

static void print_size(const struct checkpoint_section *g, struct jobsection *to)
{
	const struct checkpoint_form *f = &g->form;
	char text[UNITS_TEXT_BYTES], human[UNITS_TEXT_BYTES];
	enum distil_sure sure = f->other_sizes ? DISTIL_GUESS : DISTIL_SURE;

	units_format_size(text, f->size_bytes);
	units_human_bytes(human, (double)f->typical->bytes);
	jobsection_set(to, sure, "checkpoint_size", text,
		       "with this size, the file of a rank has %" PRIu64
		       " bytes (%s), as in the trace",
		       f->typical->bytes, human);
}

static void print_state(const struct checkpoint_section *g, struct jobsection *to)
{
	static const char *const layouts[] = { "torch", "deepspeed", "stream", "pattern" };
	static const char *const patterns[] = { "unet3d", "bert", "dlrm" };
	const struct checkpoint_form *f = &g->form;

	jobsection_set(to, f->sure, "checkpoint_layout", layouts[f->layout], "%s", f->why);
	if (f->archive[0])
		jobsection_set(to, DISTIL_LIKELY, "checkpoint_archive", f->archive,
			       "name of a file, which torch.save writes before each tensor");
	if (f->layout == LAYOUT_PATTERN) {
		jobsection_set(to, f->sure, "checkpoint_pattern", patterns[f->pattern], "%s",
			       f->why);
		if (f->size_bytes)
			print_size(g, to);
	} else if (f->model.name) {
		print_model(g, to);
	} else if (g->tensor_file[0]) {
		jobsection_set(to, f->sure == DISTIL_GUESS ? DISTIL_GUESS : DISTIL_LIKELY,
			       "tensor_sizes", g->tensor_file,
			       "%" PRIu32 " tensors, from the %" PRIu32
			       " writes of a file; with them, the file has its %" PRIu64 " bytes",
			       f->tensors.count, f->typical->writes, f->typical->bytes);
	} else {
		print_size(g, to);
	}
	if (f->other_sizes)
		jobsection_comment(to,
				   "%" PRIu32 " of %" PRIu32
				   " files of a checkpoint have another size; this job uses one "
				   "size for all ranks",
				   f->other_sizes, f->files);
	if (!f->model.name && f->files > f->rank_count)
		jobsection_comment(to,
				   "%" PRIu32 " rank%s write %" PRIu32
				   " files in the trace; this job has one file per rank, with the "
				   "same number of bytes",
				   f->rank_count, plural(f->rank_count), f->files);
	if (!f->model.name && f->has_zero_names)
		jobsection_comment(to, "Files are named as by DeepSpeed's ZeRO, but match none of "
				       "the published models: set model_layers, the other options "
				       "of the model and zero_stage instead of checkpoint_size, "
				       "and checkpoint_layout=deepspeed writes these files.");
}

/* ---- restores ---- */

static bool is_own_stage(const struct checkpoint_section *g, const struct distil_stage *t)
{
	return t->party == g->party && t->start_ns <= t->end_ns;
}

static int sum_restores(struct checkpoint_section *g, struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	if (!g->restores.count)
		return 0;
	while ((rc = visits_next(g->d->visits, &c, &x, err)) > 0) {
		if (x->stage >= g->d->stage_count || g->d->stages[x->stage].kind != STAGE_RESTORE ||
		    !is_own_stage(g, &g->d->stages[x->stage]))
			continue;
		g->restores.bytes += x->read_bytes;
	}
	return rc;
}

/* ---- calls ---- */

static void print_sync(const struct checkpoint_section *g, struct jobsection *to)
{
	const struct saves *s = &g->saves;
	uint32_t synced = 0, late = 0;

	for (uint32_t i = 0; i < s->files.count; i++) {
		const struct saved_file *f = &s->files.at[i];

		synced += f->syncs && f->is_synced_last;
		/* Did the thread begin another file of the checkpoint before this one was synced?
		 */
		for (uint32_t k = i + 1; f->syncs && k < s->files.count &&
					 s->files.at[k].start_ns < f->end_ns && k < i + 64;
		     k++)
			if (s->files.at[k].save == f->save && s->files.at[k].task == f->task) {
				late++;
				break;
			}
	}
	if (2 * synced < s->files.count) {
		jobsection_set(to, synced ? DISTIL_LIKELY : DISTIL_SURE, "checkpoint_fsync", "none",
			       "only %" PRIu32 " of %zu files are flushed after writing", synced,
			       s->files.count);
		return;
	}
	jobsection_set(to, synced == s->files.count ? DISTIL_SURE : DISTIL_LIKELY,
		       "checkpoint_fsync", 2 * late > synced / 2 ? "end" : "file",
		       "%" PRIu32 " of %zu files end with an fsync, %s", synced, s->files.count,
		       2 * late > synced / 2 ? "after all files of a thread are written"
					     : "before the next file begins");
}

static void print_commit(const struct checkpoint_section *g, struct jobsection *to)
{
	const struct saves *s = &g->saves;
	uint32_t renamed = 0, unlinked = 0;
	uint64_t keep = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t whole = 0;

		renamed += s->at[i].is_renamed;
		if (!s->at[i].unlinked_ns)
			continue;
		for (uint32_t k = i + 1; k < s->count; k++)
			whole += s->at[k].end_ns <= s->at[i].unlinked_ns;
		if (unlinked++ == 0 || whole < keep)
			keep = whole;
	}
	if (renamed)
		jobsection_set(to, renamed == s->count ? DISTIL_SURE : DISTIL_LIKELY,
			       "rename_commit", "1",
			       "%" PRIu32 " of %" PRIu32
			       " are written under another name and then renamed",
			       renamed, s->count);
	if (unlinked && keep)
		jobsection_set_u64(to, DISTIL_SURE, "checkpoint_keep", keep,
				   "older checkpoints are deleted when this many are complete");
	else if (unlinked)
		jobsection_comment(to, "the previous checkpoint is deleted before the next is "
				       "complete, or is overwritten; mlgen has no option for this");
}

static void print_access(const struct checkpoint_section *g, struct jobsection *to)
{
	const struct checkpoint_form *f = &g->form;
	char text[UNITS_TEXT_BYTES];

	if (!f->is_plain) {
		jobsection_set(to, f->has_calls ? DISTIL_SURE : DISTIL_LIKELY, "access",
			       "framework",
			       "the layout makes writes of %" PRIu64 " to %" PRIu64 " bytes",
			       f->typical->least_bytes, f->typical->most_bytes);
		return;
	}
	jobsection_set(to, f->typical->writes > 1 ? DISTIL_SURE : DISTIL_LIKELY, "access", "plain",
		       "the %" PRIu32 " write%s of a file %s", f->typical->writes,
		       plural(f->typical->writes),
		       f->typical->writes > 1 ? "have one size, except the last"
					      : "contains all its bytes");
	units_format_size(text, f->bs);
	jobsection_set(to, f->typical->writes > 1 ? DISTIL_SURE : DISTIL_GUESS, "bs", text, "%s",
		       f->typical->writes > 1 ? "their size" : "at least the size of a file");
}

/* ---- times ---- */

/* Print the shortest pause, because other work can make a pause longer but never shorter. */
static void print_pause(struct jobsection *to, const uint64_t *starts, const uint64_t *ends,
			uint32_t n)
{
	uint64_t gap_ns = UINT64_MAX;
	char text[UNITS_TEXT_BYTES];

	for (uint32_t i = 1; i < n; i++)
		gap_ns = u64_min(gap_ns, starts[i] > ends[i - 1] ? starts[i] - ends[i - 1] : 0);
	if (gap_ns == 0 || gap_ns == UINT64_MAX)
		return;
	double digits = pow(10, floor(log10((double)gap_ns)) - 1);
	units_format_time(text, (uint64_t)(floor((double)gap_ns / digits) * digits));
	jobsection_set(to, DISTIL_LIKELY, "pause", text,
		       "shortest time from the end of one checkpoint, or restore, to the next");
}

/* ---- sections ---- */

static void print_directory(const struct checkpoint_section *g, struct jobsection *to)
{
	struct buf b = { 0 };

	if (jobsection_value(to, "directory"))
		return;
	buf_addf(&b, "${MLGEN_DIR:-mlgen-data}/%s",
		 has_text(g->d->side_name) ? g->d->side_name : "checkpoints");
	jobsection_set(to, DISTIL_GUESS, "directory", buf_str(&b), "path in the trace: %s",
		       g->form.typical ? distil_path(g->d, g->form.typical->file) : "not known");
	buf_fini(&b);
}

static void print_training(const struct checkpoint_section *g, struct jobsection *to)
{
	jobsection_heading(to, "checkpoints");

	struct checkpoint_cadence c;
	checkpoint_every_find(&c, &g->saves, g->d, g->party);
	jobsection_set(to, c.sure, "checkpoint_every", c.value, "%" PRIu32 " checkpoint%s: %s",
		       g->saves.count, plural(g->saves.count), c.why);
	jobsection_set(
		to, c.async_sure, "checkpoint_mode", c.is_async ? "async" : "sync", "%s",
		c.is_async ? "steps continue while a checkpoint is written"
			   : "during a checkpoint, no more is read than fits into the prefetch");
	if (c.is_async)
		jobsection_comment(
			to,
			"the trace does not show how long a snapshot takes: snapshot_bandwidth");

	jobsection_heading(to, "checkpoint contents and ranks");
	print_state(g, to);
	print_training_ranks(g, to);
	print_sync(g, to);
	print_commit(g, to);
	if (g->form.typical->is_direct)
		jobsection_comment(to, "checkpoints are written with O_DIRECT, but direct also "
				       "applies to the samples");
	if (g->restores.count)
		jobsection_comment(to,
				   "files of a checkpoint are read %" PRIu32 " times, %" PRIu64
				   " bytes in total: a training does not restore; use a section "
				   "with phase=restore",
				   g->restores.count, g->restores.bytes);
}

static void print_alone(const struct checkpoint_section *g, struct jobsection *to)
{
	jobsection_set(to, DISTIL_SURE, "phase", "checkpoint",
		       "files of checkpoints are written, and no samples are read");
	print_directory(g, to);
	jobsection_heading(to, "checkpoint contents and ranks");
	print_state(g, to);

	const struct checkpoint_form *f = &g->form;
	uint64_t ranks = f->model.name ? f->model.ranks : (uint64_t)f->ranks[f->rank_count - 1] + 1;
	struct buf b = { 0 };
	jobsection_set_u64(
		to, f->has_rank_names ? DISTIL_SURE : DISTIL_LIKELY, "ranks", ranks, "%s",
		f->has_rank_names ? "the names of the files number the ranks"
				  : "this many threads or processes write, each its own files");
	if (f->rank_count < ranks && !f->model.name) {
		append_ranges(&b, f->ranks, f->rank_count);
		jobsection_set(to, DISTIL_SURE, "checkpoint_ranks", buf_str(&b),
			       "the trace contains only the files of these ranks");
	} else if (f->rank_count < ranks) {
		/* Some ranks of a model save nothing, so missing files need not be an error. */
		jobsection_comment(
			to,
			"the trace contains files of %" PRIu32 " of %" PRIu64
			" ranks; if the model is split differently, set checkpoint_ranks",
			f->rank_count, ranks);
	}
	buf_fini(&b);

	if (g->form.threads > 1)
		jobsection_set_u64(to, DISTIL_LIKELY, "checkpoint_threads", g->form.threads,
				   "this many threads write files of a rank");
	jobsection_heading(to, "how and when checkpoints are written");
	print_access(g, to);

	const struct saved_file *typical = g->form.typical;
	jobsection_set_u64(to, DISTIL_SURE, "direct", typical->is_direct,
			   typical->is_direct ? "its files are opened with O_DIRECT"
					      : "none of its files is opened with O_DIRECT");
	if (typical->depth > 1)
		jobsection_comment(to,
				   "up to %" PRIu32 " writes of a file are in flight; set iodepth= "
				   "and an asynchronous ioengine",
				   typical->depth);

	print_sync(g, to);
	print_commit(g, to);

	const struct saves *s = &g->saves;
	uint64_t *starts = mem_array((size_t)s->count + 1, sizeof(*starts));
	uint64_t *ends = mem_array((size_t)s->count + 1, sizeof(*ends));
	for (uint32_t i = 0; i < s->count; i++) {
		starts[i] = s->at[i].start_ns;
		ends[i] = u64_max(s->at[i].end_ns, s->at[i].finished_ns);
	}
	jobsection_set_u64(to, DISTIL_SURE, "checkpoints", s->count + s->left_out,
			   "number of checkpoints written");
	print_pause(to, starts, ends, s->count);
	mem_free(ends);
	mem_free(starts);
}

static const char *const restore_options[] = {
	"directory",
	"ranks",
	"checkpoint_ranks",
	"checkpoint_layout",
	"checkpoint_archive",
	"checkpoint_pattern",
	"checkpoint_size",
	"tensor_sizes",
	"model_layers",
	"model_hidden",
	"model_ffn",
	"model_heads",
	"model_kv_heads",
	"model_vocabulary",
	"tensor_parallel",
	"pipeline_parallel",
	"zero_stage",
	"scale",
	"checkpoint_threads",
	"access",
	"bs",
	"direct",
};

static void print_tensors(FILE *to, const void *arg)
{
	const struct tensor_list *l = arg;
	struct buf b = { 0 };

	fprintf(to, "# Tensors of a rank, according to the writes in the trace%s.\n",
		l->name_bytes ? "; the total length\n# of their names is that of the trace" : "");
	tensors_append(&b, l);
	fputs(buf_str(&b), to);
	buf_fini(&b);
}

static int print_all(struct checkpoint_section *g, struct jobsection *to, struct mlgen_err *err)
{
	int rc = 0;

	if (g->saves.count == 0 || g->saves.files.count == 0) {
		if (g->restores.count)
			jobsection_comment(
				to,
				"files of checkpoints are read %" PRIu32 " times, %" PRIu64
				" bytes in total, but were not written in the trace: phase=restore "
				"reads checkpoints of phase=checkpoint, so save some first",
				g->restores.count, g->restores.bytes);
		return 0;
	}
	const char *access = jobsection_value(to, "access");
	checkpoint_form_find(&g->form, &g->saves, g->d,
			     !g->is_training                          ? FORM_ANY
			     : access && strcmp(access, "plain") == 0 ? FORM_PLAIN
								      : FORM_FRAMEWORK);
	if (g->form.tensors.count)
		rc = side_file(g->tensor_file, g->d->side_folder, g->d->side_name, "tensors",
			       print_tensors, &g->form.tensors, err);
	if (rc < 0)
		return rc;
	if (g->is_training) {
		print_training(g, to);
		return 0;
	}
	print_alone(g, to);
	if (g->restores.count) {
		const struct restores *r = &g->restores;
		struct jobsection *section = jobtext_section(g->d->to, "restore");

		jobsection_set(section, DISTIL_SURE, "stonewall", "",
			       "restores need the saved checkpoints");
		jobsection_set(section, DISTIL_SURE, "phase", "restore",
			       "files of checkpoints are read, %" PRIu64 " bytes in total",
			       r->bytes);
		for (size_t i = 0; i < ARRAY_LEN(restore_options); i++) {
			const char *value = jobsection_value(to, restore_options[i]);

			if (value)
				jobsection_set(section, DISTIL_SURE, restore_options[i], value,
					       "same as for saving");
		}
		jobsection_set_u64(section, DISTIL_LIKELY, "checkpoints",
				   u64_min(r->count, g->saves.count + g->saves.left_out),
				   "number of restores");
		print_pause(section, r->start_ns, r->end_ns, r->count);
	}
	return 0;
}

int distil_checkpoints(struct distil *d, uint32_t party, struct jobsection *to,
		       struct mlgen_err *err)
{
	struct checkpoint_section g = { .d = d, .party = party };

	struct restores *r = &g.restores;
	r->start_ns = mem_array(SAVES_MOST, sizeof(*r->start_ns));
	r->end_ns = mem_array(SAVES_MOST, sizeof(*r->end_ns));
	for (uint32_t i = 0; i < d->stage_count; i++) {
		const struct distil_stage *t = &d->stages[i];

		if (t->kind == STAGE_TRAIN && party != UINT32_MAX && t->party == party)
			g.is_training = true;
		if (t->kind != STAGE_RESTORE || !is_own_stage(&g, t) || r->count == SAVES_MOST)
			continue;
		r->start_ns[r->count] = t->start_ns;
		r->end_ns[r->count++] = t->end_ns;
	}

	int rc = saves_read(&g.saves, d, party, err);
	if (rc == 0)
		rc = sum_restores(&g, err);
	if (rc == 0)
		rc = print_all(&g, to, err);
	checkpoint_form_fini(&g.form);
	saves_fini(&g.saves);
	mem_free(g.restores.start_ns);
	mem_free(g.restores.end_ns);
	return rc;
}
