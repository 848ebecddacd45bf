/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_model.c - try options of a checkpoint, and language models of published sizes. */
#include "tracing/distil/saves/saves_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "field/fields.h"
#include "work/checkpoint/writer/writer.h"

/* Sizes up to this far away are tried, in both directions: an archive aligns to 64 bytes. */
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
		.bs = writer_span_bytes(t->job),
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

/* Make content on first use. It determines the sizes of calls, but not of files. */
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
	/* Only the first calls of a long file are recorded; assume that the others match as
	 * well. */
	return f->calls.count < f->writes || !shard_write_next(&shard, &w);
}

/* Does checkpoint_size give a file of this many bytes? */
static bool size_has_bytes(struct trial *t, uint64_t rank, uint64_t size, uint64_t bytes)
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

/* The overhead of a layout hardly depends on the size of its tensor. The data after the tensor is
 * aligned, however, so several sizes give the same file. */
bool trial_fit_size(struct trial *t, uint64_t rank, uint64_t bytes, const struct saved_file *like)
{
	uint64_t best = 0, overhead, size;

	t->job->checkpoint_size_bytes = bytes;
	if (!trial_open(t))
		return false;
	overhead = trial_bytes(t, rank, 0) - bytes;
	if (overhead >= bytes)
		return false;
	size = bytes - overhead > FIT_AROUND ? bytes - overhead - FIT_AROUND : 1;
	for (unsigned i = 0; i <= 2 * FIT_AROUND; i++, size++) {
		if (!size_has_bytes(t, rank, size, bytes) || (like && !trial_writes(t, rank, like)))
			continue;
		if (!best || trial_roundness(size) > trial_roundness(best))
			best = size;
	}
	return size_has_bytes(t, rank, best, bytes);
}

/* Source: MLPerf Storage v2.0 (configs/dlio/workload/llama3_*.yaml) and DLIO (llama_7b.yaml), with
 * their parallelism. */
/* clang-format off */
static const struct checkpoint_model published[] = {
	{ "llama3-8b", 32, 4096, 14336, 32, 8, 128256, 8, 1, 1, 3, "100" },
	{ "llama3-70b", 80, 8192, 28672, 128, 8, 128256, 64, 8, 1, 3, "100" },
	{ "llama3-405b", 126, 16384, 53248, 128, 8, 128256, 512, 8, 32, 1, "100" },
	{ "llama3-1t", 128, 25872, 98304, 192, 32, 128256, 1024, 8, 64, 1, "100" },
	{ "llama-7b", 32, 4096, 11008, 32, 32, 32000, 8, 1, 1, 1, "100" },
};
/* clang-format on */

/* The parts of a file's name. */
struct part_name {
	enum { PART_NONE, PART_OPTIMIZER, PART_ZERO, PART_MODEL, PART_LAYER } kind;
	unsigned dp, mp;
};

struct model_search {
	const struct saves *s;
	const struct distil *d;
	const struct saved_file **files; /* files of the first checkpoint */
	struct part_name *names;
	uint32_t count, largest;
	unsigned dps, mps; /* highest data and model parallel rank, plus 1 */
	bool has_zero, has_model;
	struct trial trial;
};

static struct part_name parse_name(const char *path)
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

/* List the files of the first checkpoint. False = not all names are those of DeepSpeed's ZeRO. */
static bool list_files(struct model_search *f)
{
	for (uint32_t i = 0; i < f->s->files.count; i++) {
		const struct saved_file *file = &f->s->files.at[i];

		if (file->save != 0)
			continue;
		struct part_name p = parse_name(distil_path(f->d, file->file));
		if (p.kind == PART_NONE)
			return false;
		f->has_zero |= p.kind == PART_ZERO;
		f->has_model |= p.kind == PART_MODEL;
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

static bool open_model(struct model_search *f, const struct checkpoint_model *m, double scale)
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

/* Bytes of the model's file with the name of file i; 0 = the model has no such file. */
static uint64_t model_bytes(const struct model_search *f, const struct checkpoint_model *m,
			    uint32_t i)
{
	const struct part_name *p = &f->names[i];
	uint64_t rank = p->dp * m->tensor_parallel * m->pipeline_parallel + p->mp;
	const char *name = distil_basename(distil_path(f->d, f->files[i]->file));
	char shard_file[SHARD_NAME_BYTES];
	uint64_t bytes = 0;
	struct shard shard;

	if (rank >= f->trial.state.ranks)
		return 0;
	for (uint64_t k = shard_files(&f->trial.set, rank); k-- > 0 && !bytes;) {
		shard_init(&shard, &f->trial.set, rank, k, 0);
		shard_name(&shard, shard_file, sizeof(shard_file));
		if (strcmp(shard_file, name) == 0)
			bytes = shard.bytes;
	}
	return bytes;
}

static bool fits_all(struct model_search *f, const struct checkpoint_model *m)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (model_bytes(f, m, i) != f->files[i]->bytes)
			return false;
	return true;
}

/* The least scale at which the largest file has at least this many bytes, by bisection. */
static double least_scale(struct model_search *f, const struct checkpoint_model *m, uint64_t bytes)
{
	double low = 0, high = 100;

	for (unsigned i = 0; i < 64; i++) {
		double middle = (low + high) / 2;

		if (!open_model(f, m, middle) || model_bytes(f, m, f->largest) < bytes)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Find the scale with the fewest digits, because people write short numbers. */
static bool fit_scale(struct model_search *f, struct checkpoint_model *m)
{
	uint64_t bytes = f->files[f->largest]->bytes;
	double low = least_scale(f, m, bytes);
	double high = least_scale(f, m, bytes + 1);

	for (int digits = 1; digits < 16; digits++) {
		snprintf(m->scale, sizeof(m->scale), "%.*g", digits, (low + high) / 2);
		double scale = strtod(m->scale, NULL);
		if (scale >= low && scale < high && open_model(f, m, scale) && fits_all(f, m))
			return true;
	}
	return false;
}

static bool fits(struct model_search *f, struct checkpoint_model *m, bool is_whole)
{
	if (!open_model(f, m, 100))
		return false;
	uint64_t whole = model_bytes(f, m, f->largest);
	if (whole == f->files[f->largest]->bytes && fits_all(f, m))
		return true;
	return !is_whole && whole > f->files[f->largest]->bytes && fit_scale(f, m);
}

/* ---- parallelism ---- */

/* Do the file names allow this ZeRO stage? */
static bool allows_zero(const struct model_search *f, uint64_t stage)
{
	if (f->has_zero)
		return stage == 3 || stage == 0;
	return stage == 1 || stage == 2;
}

/* Try the published parallelism, then each one that gives the file names. */
static bool fits_parallelism(struct model_search *f, struct checkpoint_model *m, bool is_whole)
{
	if (allows_zero(f, m->zero_stage) && fits(f, m, is_whole))
		return true;
	m->ranks = (uint64_t)f->dps * f->mps;
	for (uint64_t tp = f->mps; tp > 0; tp--) {
		if (f->mps % tp || (f->has_model && tp != f->mps))
			continue;
		m->tensor_parallel = tp;
		m->pipeline_parallel = f->mps / tp;
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
	struct model_search f = { .s = s, .d = d };

	*m = (struct checkpoint_model){ 0 };
	f.files = mem_array((size_t)s->files.count + 1, sizeof(struct saved_file *));
	f.names = mem_array((size_t)s->files.count + 1, sizeof(*f.names));
	trial_init(&f.trial);
	if (list_files(&f))
		for (size_t i = 0; i < ARRAY_LEN(published) && !m->name; i++) {
			struct checkpoint_model candidate = published[i];

			if (fits_parallelism(&f, &candidate, is_whole))
				*m = candidate;
		}
	trial_fini(&f.trial);
	mem_free(f.names);
	mem_free(f.files);
}
