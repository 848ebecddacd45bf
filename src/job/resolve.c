/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - one job from its layers of options. */
#include "job/resolve.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "job/fio_options.h"
#include "job/pathname.h"
#include "job/resolve_fail.h"
#include "job/words.h"
#include "job/workload.h"

/* Samples that are shuffled where shards are read and nobody has said how. */
#define SHARD_BUFFER 1000u
#define KB_BASE 1024 /* what k means unless kb_base= says otherwise */

/* A job in the making. */
struct build {
	struct resolver *r;
	const struct layers *layers;
	struct job *job;
	bool is_known;   /* phase= was understood */
	bool is_decided; /* it is clear which phase was meant */
	bool is_whole;
};

/* ---- one option ---- */

/* What a job file names lies beside it. */
static void put_value(const struct opt *o, const struct mlgen_field *f, const char *value,
		      struct buf *text)
{
	size_t word = field_path_at(f, value);

	if (!o->at.file || !value[word]) {
		buf_add(text, value);
		return;
	}
	buf_addn(text, value, word);
	pathname_beside(text, o->at.file, value + word);
}

/* Append what the value stands for; its fault is told. */
static bool expand(const struct resolver *r, const struct opt *o, const struct mlgen_field *f,
		   const char *jobname, struct buf *text)
{
	struct mlgen_err err = { 0 };
	struct buf value = { 0 };
	bool is_good = false;

	if (o->is_bare && !field_is_flag(f))
		diag_add(r->d, DIAG_ERROR, o->at, "%s: no value; write %s%s=VALUE", f->name,
			 o->at.file ? "" : "--", f->name);
	else if (words_expand(&value, o->value, jobname, &err))
		diag_add(r->d, DIAG_ERROR, o->at, "%s: %s", f->name, err.text);
	else
		is_good = true;
	if (is_good)
		put_value(o, f, buf_str(&value), text);
	buf_fini(&value);
	return is_good;
}

/* The one reading that jobs share; its fault is told. */
static void read_option(const struct resolver *r, struct opt *o, const struct mlgen_field *f)
{
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };

	o->read_as = f;
	if (expand(r, o, f, "job", &text))
		o->read = field_read(f, buf_str(&text), KB_BASE, &err);
	if (err.code)
		diag_add(r->d, DIAG_ERROR, o->at, "%s", err.text);
	buf_fini(&text);
}

/*
 * Does it mean to this job what was read? Not where it holds a word such as $jobname, another
 * kb_base counts, half a pair leaves the other half to the layer below, or several engines have an
 * option of that name.
 */
static bool is_shared(const struct job *j, const struct opt *o, const struct mlgen_field *f)
{
	bool is_pair = f->type == MLGEN_SIZE_PAIR || f->type == MLGEN_U64_PAIR;

	return o->read_as == f && j->kb_base == KB_BASE && !strchr(o->value, '$') &&
	       !(is_pair && strchr(o->value, ','));
}

static bool set_own(const struct resolver *r, const struct opt *o, const struct mlgen_field *f,
		    const struct job *j, void *base)
{
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };
	bool is_set = expand(r, o, f, j->name, &text) &&
		      !field_parse(f, base, buf_str(&text), (unsigned)j->kb_base, &err);

	if (err.code)
		diag_add(r->d, DIAG_ERROR, o->at, "%s", err.text);
	buf_fini(&text);
	return is_set;
}

/* Set it in `base`, which is the job or its engine's options; false: it is faulty, which was
 * told. */
static bool set_field(const struct resolver *r, const struct opt *o, const struct mlgen_field *f,
		      const struct job *j, void *base)
{
	if (!is_shared(j, o, f))
		return set_own(r, o, f, j, base);
	if (o->read)
		field_put(f, base, o->read);
	return o->read;
}

static void set_origin(struct job_origin *origin, const struct opt *o, const char *how)
{
	origin->at = o->at;
	mem_replace(&origin->how, how);
	mem_replace(&origin->raw, o->value);
}

/* Two options that say the same the other way round: the last one counts. */
static const char *const reverses[][2] = {
	{ "direct", "buffered" },
	{ "rwmixread", "rwmixwrite" },
};

static void reverse(struct job *j, const struct mlgen_field *from, const struct mlgen_field *to)
{
	struct job_origin *origin = &j->origins[to - job_fields];
	char *base = (char *)j;
	struct buf how = { 0 };

	if (from->type == MLGEN_BOOL)
		*(bool *)(base + to->off) = !*(bool *)(base + from->off);
	else
		*(double *)(void *)(base + to->off) = 100 - *(double *)(void *)(base + from->off);
	buf_addf(&how, "from %s", from->name);
	mem_replace(&origin->how, buf_str(&how));
	mem_replace(&origin->raw, NULL);
	origin->at = j->origins[from - job_fields].at;
	buf_fini(&how);
}

static void apply_reverse(struct job *j, const struct mlgen_field *f)
{
	for (size_t i = 0; i < ARRAY_LEN(reverses); i++) {
		for (size_t k = 0; k < 2; k++) {
			const char *other = reverses[i][1 - k];

			if (strcmp(f->name, reverses[i][k]) == 0)
				reverse(j, f, field_find(job_fields, other));
		}
	}
}

static void apply_field(struct build *b, const struct opt *o, const struct layer *l)
{
	struct job *j = b->job;

	if (b->is_known && !workload_has(job_work(j), o->field)) {
		b->is_whole &= resolve_fail_phase(b->r, o, j, b->is_decided, l->is_own);
	} else if (set_field(b->r, o, o->field, j, j)) {
		set_origin(&j->origins[o->field - job_fields], o, l->how);
		apply_reverse(j, o->field);
	} else {
		b->is_whole = false;
	}
}

/* So that one job file can be swept over engines. */
static void note_other_engine(struct build *b, const struct opt *o)
{
	const struct mlgen_engine *e = resolve_engine_with(&b->r->engines, o->key);

	if (e && standins_have(b->r->engines.standins, e))
		return; /* resolve_read has told */
	if (e)
		diag_add(b->r->d, DIAG_NOTE, o->at,
			 "%s: an option of ioengine=%s; ioengine=%s goes without it", o->key,
			 e->name, b->job->ioengine);
	else if (!fio_option_is_harmless(fio_option_find(o->key), o->value))
		b->is_whole = false;
}

static void apply_engine_option(struct build *b, const struct opt *o, const char *how)
{
	struct job *j = b->job;
	const struct mlgen_field *table = j->engine ? j->engine->opts : NULL;
	const struct mlgen_field *f = field_find(table, o->key);

	if (!f)
		note_other_engine(b, o);
	else if (set_field(b->r, o, f, j, j->engine_opts))
		set_origin(&j->engine_origins[f - table], o, how);
	else
		b->is_whole = false;
}

/* ---- a job ---- */

/* These decide how the others are read. */
static bool is_first(const struct opt *o)
{
	return o->field &&
	       (strcmp(o->field->name, "kb_base") == 0 || strcmp(o->field->name, "phase") == 0 ||
		strcmp(o->field->name, "ioengine") == 0);
}

static void apply_layers(struct build *b, bool first)
{
	for (size_t i = 0; i < b->layers->count; i++) {
		const struct layer *l = &b->layers->items[i];

		for (size_t k = 0; k < l->opts->count; k++) {
			const struct opt *o = l->opts->opts[k];

			if (is_first(o) != first)
				continue;
			if (o->field)
				apply_field(b, o, l);
			else
				apply_engine_option(b, o, l->how);
		}
	}
}

/* May a job without phase= have it, whatever it is? */
static bool is_everybodys(const struct mlgen_field *f)
{
	for (size_t i = 0; workloads[i]; i++)
		if (workloads[i]->is_plain && workload_has(workloads[i], f))
			return true;
	return false;
}

/* Is there anything that only a training has? */
static bool has_training(const struct layers *layers)
{
	for (size_t i = 0; i < layers->count; i++) {
		const struct optlist *list = layers->items[i].opts;

		for (size_t k = 0; k < list->count; k++) {
			const struct mlgen_field *f = list->opts[k]->field;

			if (f && !is_everybodys(f))
				return true;
		}
	}
	return false;
}

static bool is_in_layers(const void *layers, const char *option)
{
	return layers_find(layers, option) != NULL;
}

/* A job that says rw= and no phase is a plain one, and so on. */
static void settle_phase(struct build *b)
{
	struct job *j = b->job;
	struct job_origin *origin = &j->origins[field_find(job_fields, "phase") - job_fields];
	bool has_phase = layers_find(b->layers, "phase");
	int said = workload_said(is_in_layers, b->layers);
	struct buf how = { 0 };

	b->is_known = !has_phase || origin->raw;
	b->is_decided = has_phase || has_training(b->layers);
	if (!has_phase && said >= 0) {
		j->phase = said;
		buf_addf(&how, "from %s", workloads[said]->said_by);
		mem_replace(&origin->how, buf_str(&how));
		buf_fini(&how);
		b->is_decided = true;
	}
	workload_set_defaults(j);
}

/* As fio does, so that iodepth can be swept. */
static void limit_to_iodepth(struct build *b, const char *option, uint64_t *n)
{
	struct job *j = b->job;

	if (*n <= j->iodepth)
		return;
	diag_add(b->r->d, DIAG_NOTE, job_place(j, option),
		 "%s: %" PRIu64 " is more than iodepth=%" PRIu64 ", which is used", option, *n,
		 j->iodepth);
	*n = j->iodepth;
}

static void settle_batches(struct build *b)
{
	struct job *j = b->job;

	limit_to_iodepth(b, "iodepth_batch_submit", &j->iodepth_batch_submit);
	limit_to_iodepth(b, "iodepth_batch_complete_min", &j->iodepth_batch_complete_min);
	limit_to_iodepth(b, "iodepth_batch_complete_max", &j->iodepth_batch_complete_max);
}

/* Without threads nothing is read ahead. */
static void settle_prefetch(struct build *b)
{
	struct job *j = b->job;

	if (j->read_threads == 0 && !job_is_given(j, "prefetch"))
		j->prefetch = 0;
}

/* What is there says itself what it is. */
static void settle_format(struct build *b)
{
	struct job *j = b->job;

	if (j->dataset == DATASET_SCAN && !job_is_given(j, "format"))
		j->format = FORMAT_AUTO;
}

/* Has the user said how to read, or given an option that tfdata refuses? */
static bool says_how_to_read(const struct job *j)
{
	static const char *const options[] = {
		"loader",        "shuffle",           "shard",     "cache", "worker_start",
		"preprocess_at", "first_sample_time", "file_list",
	};
	bool is_given = j->read_threads == 0;

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		is_given |= job_is_given(j, options[i]);
	return is_given;
}

/* Who makes shards wants them read from front to back: in random order of samples each would be
 * opened once a sample. */
static void settle_shards(struct build *b)
{
	const struct jobset_env *env = b->r->engines.env;
	struct job *j = b->job;
	bool may_be =
		j->format == FORMAT_AUTO || j->format == FORMAT_TAR || j->format == FORMAT_TFRECORD;
	const char *format;

	if (j->dataset != DATASET_SCAN || !may_be || !env->shards || says_how_to_read(j))
		return;
	format = env->shards(j->directory ? j->directory : ".", j->accelerators);
	if (!format)
		return;
	j->loader = LOADER_TFDATA;
	j->shard = SHARD_FILE;
	j->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = SHARD_BUFFER };
	if (!j->direct && !job_is_given(j, "access"))
		j->access = ACCESS_FRAMEWORK;
	diag_add(b->r->d, DIAG_NOTE, job_place(j, "dataset"),
		 "dataset: %s files are read from front to back, a shard a thread, as with "
		 "loader=tfdata, shard=file, shuffle=buffer:%u%s; loader=pytorch reads samples in "
		 "random order",
		 format, SHARD_BUFFER, j->access == ACCESS_FRAMEWORK ? ", access=framework" : "");
}

/* Whoever asks for H100 gets [accelerator=h100], by that name. */
static void settle_selected(struct build *b)
{
	char *base = (char *)b->job;

	for (size_t i = 0; i < b->layers->count; i++) {
		const struct layer *l = &b->layers->items[i];

		if (l->selector)
			mem_replace((char **)(void *)(base + l->selector->off), l->selected);
	}
}

static void apply_engine(struct build *b)
{
	struct job *j = b->job;
	const struct mlgen_engine *e = resolve_engine_find(&b->r->engines, j->ioengine);

	job_set_engine(j, e);
	if (e && !jobset_is_path(j->ioengine) && strcmp(e->name, j->ioengine) != 0)
		diag_add(b->r->d, DIAG_NOTE, job_place(j, "ioengine"),
			 "ioengine: %s is %s here, with its options", j->ioengine, e->name);
	if (e && standins_have(b->r->engines.standins, e))
		diag_add(b->r->d, DIAG_NOTE, job_place(j, "ioengine"),
			 "ioengine: %s is loaded by a run only; what it can do is not checked "
			 "before",
			 j->ioengine);
	if (!e) {
		resolve_engine_fail(&b->r->engines, j->ioengine, job_place(j, "ioengine"), b->r->d);
		b->is_whole = false;
	}
}

void resolve_read(const struct resolver *r, const struct optlist *list,
		  const struct mlgen_field *selector)
{
	for (size_t i = 0; i < list->count; i++) {
		struct opt *o = list->opts[i];
		const struct mlgen_engine *e =
			o->field ? NULL : resolve_engine_with(&r->engines, o->key);

		if (selector && o->field == selector)
			diag_add(r->d, DIAG_ERROR, o->at,
				 "%s: cannot be set in the section that it selects", o->key);
		else if (o->field)
			read_option(r, o, o->field);
		else if (e)
			read_option(r, o, field_find(e->opts, o->key));
		else
			resolve_fail_unknown(r, o);
		if (e && standins_have(r->engines.standins, e))
			resolve_note_unchecked(r, o, e);
	}
}

static void list_accelerators(struct build *b)
{
	struct buf names = { 0 };

	layers_variants(b->layers, field_find(job_fields, "accelerator"), &names);
	b->job->accelerators_known = names.len ? buf_take(&names) : NULL;
	buf_fini(&names);
}

struct job *resolve_job(struct resolver *r, const struct layers *layers, bool *is_whole)
{
	const struct job_source *src = &layers->src;
	struct build b = { .r = r, .layers = layers };

	b.job = job_new(src->name);
	if (src->section)
		b.job->at = src->section->at;
	b.is_whole = layers_check(layers, r->d);
	apply_layers(&b, true);
	settle_phase(&b);
	apply_engine(&b);
	apply_layers(&b, false);
	settle_selected(&b);
	settle_batches(&b);
	settle_prefetch(&b);
	settle_format(&b);
	settle_shards(&b);
	list_accelerators(&b);
	*is_whole = b.is_whole;
	return b.job;
}
