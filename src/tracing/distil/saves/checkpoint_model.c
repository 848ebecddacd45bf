/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_model.c - options of a checkpoint on trial, and language models of published sizes. */
#include "tracing/distil/saves/saves_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "field/fields.h"
#include "work/checkpoint/saver/saver.h"

/* Sizes that are tried, either way: an archive aligns to 64. */
enum { FIT_AROUND = 128 };

void trial_init(struct trial *t)
{
	const struct mlgen_field *phase = field_find(job_fields, "phase");

	*t = (struct trial){ .job = job_new("distilled") };
	(void)!field_parse(phase, t->job, "checkpoint", 1024, NULL);
	t->job->access = ACCESS_FRAMEWORK;
}

static void trial_close(struct trial *t)
{
	if (t->is_open)
		state_fini(&t->state);
	t->is_open = false;
}

void trial_fini(struct trial *t)
{
	trial_close(t);
	content_free(t->content);
	job_free(t->job);
	*t = (struct trial){ 0 };
}

bool trial_open(struct trial *t)
{
	struct mlgen_err err = { 0 };

	trial_close(t);
	if (state_init(&t->state, t->job, &err) < 0)
		return false;
	t->is_open = true;
	t->set = (struct shard_set){
		.state = &t->state,
		.layout = layout_of(t->job),
		.is_plain = t->job->access == ACCESS_PLAIN,
		.bs = saver_span_bytes(t->job),
	};
	return true;
}

uint64_t trial_bytes(const struct trial *t, uint64_t rank, uint64_t index)
{
	struct shard f;

	if (rank >= t->state.ranks || index >= shard_files(&t->set, rank))
		return 0;
	shard_init(&f, &t->set, rank, index, 0);
	return f.bytes;
}

/* How long a call is depends on it, but no file does. */
static void need_content(struct trial *t)
{
	if (!t->content)
		t->content = content_new(t->set.bs, 0);
	t->set.content = t->content;
}

uint64_t trial_first_write(struct trial *t, uint64_t rank)
{
	struct shard_write w = { 0 };
	struct shard shard;

	need_content(t);
	shard_init(&shard, &t->set, rank, 0, 0);
	return shard_write_next(&shard, &w) ? w.bytes : 0;
}

bool trial_writes(struct trial *t, uint64_t rank, const struct saved_file *f)
{
	struct shard_write w = { 0 };
	struct shard shard;

	if (!f->calls.count || trial_bytes(t, rank, 0) != f->bytes)
		return false;
	need_content(t);
	shard_init(&shard, &t->set, rank, 0, 0);
	for (uint32_t i = 0; i < f->calls.count; i++)
		if (!shard_write_next(&shard, &w) || w.off != f->calls.at[i].off ||
		    w.bytes != f->calls.at[i].bytes)
			return false;
	/* Only the first calls of a long file are kept; the rest is like them. */
	return f->calls.count < f->writes || !shard_write_next(&shard, &w);
}

static bool has_bytes(struct trial *t, uint64_t rank, uint64_t size, uint64_t bytes)
{
	t->job->checkpoint_size_bytes = size;
	return size && trial_open(t) && trial_bytes(t, rank, 0) == bytes;
}

unsigned trial_roundness(uint64_t n)
{
	unsigned twos = 0, tens = 0;

	for (uint64_t i = n; i && i % 2 == 0; i /= 2)
		twos++;
	for (uint64_t i = n; i && i % 10 == 0; i /= 10)
		tens++;
	return (unsigned)u64_max(twos, 3 * tens);
}

/* What a layout puts around a tensor hardly depends on the tensor; but what is behind it is
 * aligned, so that several sizes give the same file. */
bool trial_fit_size(struct trial *t, uint64_t rank, uint64_t bytes, const struct saved_file *like)
{
	uint64_t best = 0, around, size;

	t->job->checkpoint_size_bytes = bytes;
	if (!trial_open(t))
		return false;
	around = trial_bytes(t, rank, 0) - bytes;
	if (around >= bytes)
		return false;
	size = bytes - around > FIT_AROUND ? bytes - around - FIT_AROUND : 1;
	for (unsigned i = 0; i <= 2 * FIT_AROUND; i++, size++) {
		if (!has_bytes(t, rank, size, bytes) || (like && !trial_writes(t, rank, like)))
			continue;
		if (!best || trial_roundness(size) > trial_roundness(best))
			best = size;
	}
	return has_bytes(t, rank, best, bytes);
}

/* Of MLPerf Storage v2.0 (configs/dlio/workload/llama3_*.yaml) and DLIO (llama_7b.yaml), with the
 * parallelism that they have there. */
/* clang-format off */
static const struct checkpoint_model known[] = {
	{ "llama3-8b", 32, 4096, 14336, 32, 8, 128256, 8, 1, 1, 3, "100" },
	{ "llama3-70b", 80, 8192, 28672, 128, 8, 128256, 64, 8, 1, 3, "100" },
	{ "llama3-405b", 126, 16384, 53248, 128, 8, 128256, 512, 8, 32, 1, "100" },
	{ "llama3-1t", 128, 25872, 98304, 192, 32, 128256, 1024, 8, 64, 1, "100" },
	{ "llama-7b", 32, 4096, 11008, 32, 32, 32000, 8, 1, 1, 1, "100" },
};
/* clang-format on */

/* Parts of a file's name. */
struct part_name {
	enum { PART_NONE, PART_OPTIMIZER, PART_ZERO, PART_MODEL, PART_LAYER } kind;
	unsigned dp, mp;
};

struct fitting {
	const struct saves *s;
	const struct distil *d;
	const struct saved_file **files; /* of the first checkpoint */
	struct part_name *names;
	uint32_t count, largest;
	unsigned dps, mps; /* highest number, + 1 */
	bool has_zero, has_model, has_layers;
	struct trial trial;
};

static struct part_name parse(const char *path)
{
	const char *name = distil_basename(path);
	struct part_name p = { PART_NONE, 0, 0 };
	unsigned layer;
	int used = 0;

	if (sscanf(name, "zero_pp_rank_%u_mp_rank_%u_%n", &p.dp, &p.mp, &used) == 2 && used)
		p.kind = strcmp(name + used, "optim_states.pt") == 0 ? PART_OPTIMIZER : PART_ZERO;
	else if (sscanf(name, "layer_%u-model_%u_model_states.pt", &layer, &p.mp) == 2)
		p.kind = PART_LAYER;
	else if (sscanf(name, "model_%u_model_states.pt", &p.mp) == 1)
		p.kind = PART_MODEL;
	return p;
}

/* False: there are others among them. */
static bool gather(struct fitting *f)
{
	for (uint32_t i = 0; i < f->s->files.count; i++) {
		const struct saved_file *file = &f->s->files.at[i];
		struct part_name p;

		if (file->save != 0)
			continue;
		p = parse(distil_path(f->d, file->file));
		if (p.kind == PART_NONE)
			return false;
		f->has_zero |= p.kind == PART_ZERO;
		f->has_model |= p.kind == PART_MODEL;
		f->has_layers |= p.kind == PART_LAYER;
		f->dps = (unsigned)u64_max(f->dps, p.dp + 1);
		f->mps = (unsigned)u64_max(f->mps, p.mp + 1);
		f->names[f->count] = p;
		f->files[f->count++] = file;
		if (file->bytes > f->files[f->largest]->bytes)
			f->largest = f->count - 1;
	}
	return f->count > 0;
}

/* ---- one model ---- */

static bool open_model(struct fitting *f, const struct checkpoint_model *m, double scale)
{
	struct job *j = f->trial.job;

	j->model_layers = m->layers;
	j->model_hidden = m->hidden;
	j->model_ffn = m->ffn;
	j->model_heads = m->heads;
	j->model_kv_heads = m->kv_heads;
	j->model_vocabulary = m->vocabulary;
	j->ranks = m->ranks;
	j->tensor_parallel = m->tensor_parallel;
	j->pipeline_parallel = m->pipeline_parallel;
	j->zero_stage = m->zero_stage;
	j->checkpoint_layout = LAYOUT_DEEPSPEED;
	j->scale = scale;
	return trial_open(&f->trial);
}

static uint64_t rank_of(const struct checkpoint_model *m, const struct part_name *p)
{
	return p->dp * m->tensor_parallel * m->pipeline_parallel + p->mp;
}

/* The file of that name; 0 = the model has none. */
static uint64_t bytes_as(const struct fitting *f, const struct checkpoint_model *m, uint32_t i)
{
	uint64_t rank = rank_of(m, &f->names[i]), files;
	const char *name = distil_basename(distil_path(f->d, f->files[i]->file));
	char *wanted, made[SHARD_NAME_BYTES];
	uint64_t bytes = 0;
	struct shard shard;

	if (rank >= f->trial.state.ranks)
		return 0;
	wanted = mem_strdup(name);
	files = shard_files(&f->trial.set, rank);
	for (uint64_t k = files; k-- > 0 && !bytes;) {
		shard_init(&shard, &f->trial.set, rank, k, 0);
		shard_name(&shard, made, sizeof(made));
		if (strcmp(made, wanted) == 0)
			bytes = shard.bytes;
	}
	mem_free(wanted);
	return bytes;
}

static bool is_all(struct fitting *f, const struct checkpoint_model *m)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (bytes_as(f, m, i) != f->files[i]->bytes)
			return false;
	return true;
}

/* The least scale at which the largest file has so many bytes. */
static double least_scale(struct fitting *f, const struct checkpoint_model *m, uint64_t bytes)
{
	double low = 0, high = 100;

	for (unsigned i = 0; i < 64; i++) {
		double middle = (low + high) / 2;

		if (!open_model(f, m, middle) || bytes_as(f, m, f->largest) < bytes)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* A scale with few digits, as a person would write it. */
static bool fit_scale(struct fitting *f, struct checkpoint_model *m)
{
	uint64_t bytes = f->files[f->largest]->bytes;
	double low = least_scale(f, m, bytes);
	double high = least_scale(f, m, bytes + 1);

	for (int digits = 1; digits < 16; digits++) {
		snprintf(m->scale, sizeof(m->scale), "%.*g", digits, (low + high) / 2);
		double scale = strtod(m->scale, NULL);
		if (scale >= low && scale < high && open_model(f, m, scale) && is_all(f, m))
			return true;
	}
	return false;
}

static bool fits(struct fitting *f, struct checkpoint_model *m, bool is_whole)
{
	uint64_t whole;

	if (!open_model(f, m, 100))
		return false;
	whole = bytes_as(f, m, f->largest);
	if (whole == f->files[f->largest]->bytes && is_all(f, m))
		return true;
	return !is_whole && whole > f->files[f->largest]->bytes && fit_scale(f, m);
}

/* ---- how it is cut ---- */

static bool is_zero(const struct fitting *f, uint64_t stage)
{
	if (f->has_zero)
		return stage == 3 || stage == 0;
	return stage == 1 || stage == 2;
}

/* Try the published parallelism, and that of the names. */
static bool fits_cut(struct fitting *f, struct checkpoint_model *m, bool is_whole)
{
	uint64_t models = f->mps;

	if (is_zero(f, m->zero_stage) && fits(f, m, is_whole))
		return true;
	m->ranks = (uint64_t)f->dps * models;
	for (uint64_t tp = models; tp > 0; tp--) {
		if (models % tp || (f->has_model && tp != models))
			continue;
		m->tensor_parallel = tp;
		m->pipeline_parallel = models / tp;
		m->zero_stage = f->has_zero ? 3 : 1;
		if (fits(f, m, is_whole))
			return true;
		m->zero_stage = 0;
		if (f->has_zero && f->dps == 1 && fits(f, m, is_whole))
			return true;
	}
	return false;
}

void checkpoint_model_find(struct checkpoint_model *m, const struct saves *s,
			   const struct distil *d, bool is_whole)
{
	struct fitting f = { .s = s, .d = d };

	*m = (struct checkpoint_model){ 0 };
	f.files = mem_array((size_t)s->files.count + 1, sizeof(struct saved_file *));
	f.names = mem_array((size_t)s->files.count + 1, sizeof(*f.names));
	trial_init(&f.trial);
	if (gather(&f))
		for (size_t i = 0; i < ARRAY_LEN(known) && !m->name; i++) {
			struct checkpoint_model one = known[i];

			if (fits_cut(&f, &one, is_whole))
				*m = one;
		}
	trial_fini(&f.trial);
	mem_free(f.names);
	mem_free(f.files);
}
