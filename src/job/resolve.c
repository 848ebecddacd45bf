/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - makes a job from its layers of options. */
#include "job/job_internal.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"

/* ---- layers ---- */

static void layers_add(struct layers *l, const struct optlist *opts, const char *how, bool is_own)
{
	if (!opts)
		return;
	l->items = mem_realloc(l->items, (l->count + 1) * sizeof(*l->items));
	l->items[l->count++] = (struct layer){
		.opts = opts,
		.how = mem_strdup(how),
		.is_own = is_own,
	};
}

static void add_section(struct layers *l, const struct section *s, bool is_own)
{
	struct buf how = { 0 };

	buf_addf(&how, "[%s]", s->name);
	layers_add(l, &s->opts, buf_str(&how), is_own);
	l->items[l->count - 1].selector = s->selector;
	l->items[l->count - 1].selected = s->value;
	buf_fini(&how);
}

static const struct optlist *overrides_of(const struct layers *l)
{
	for (size_t i = 0; i < l->cmd->section_count; i++) {
		if (strcmp(l->cmd->sections[i].name, l->src.name) == 0)
			return &l->cmd->sections[i].opts;
	}
	return NULL;
}

/* The option in the strongest layer, leaving out the sections that options select. */
static const struct opt *find_selecting(const struct layers *l, const char *option)
{
	const struct optlist *order[] = {
		overrides_of(l),
		&l->cmd->all,
		l->src.opts,
		l->src.section ? l->src.section->globals : NULL,
	};

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		const struct opt *o = order[i] ? optlist_find(order[i], option) : NULL;

		if (o)
			return o;
	}
	return NULL;
}

static bool is_given(const void *layers, const char *option)
{
	return find_selecting(layers, option) != NULL;
}

/* Is the job a plain job? Variants are ignored, because they are not selected yet. */
static bool layers_is_plain(const struct layers *l)
{
	const struct opt *phase = find_selecting(l, "phase");
	int implied = workload_implied(is_given, l);

	for (int i = 0; phase && workloads[i]; i++)
		if (strcasecmp(phase->value, workload_choices[i].name) == 0)
			return workloads[i]->is_plain;
	return !phase && implied >= 0 && workloads[implied]->is_plain;
}

/* Is the section below the job's own header, and not below [global]? */
static bool is_own_variant(const struct layers *l, const struct section *s)
{
	return &l->src.file->sections[s->parent] == l->src.section;
}

/* Is this a variant section of the job? Variants of [global] do not apply to plain jobs. */
static bool is_variant(const struct layers *l, const struct section *s)
{
	const struct section *parent = &l->src.file->sections[s->parent];

	if (s->kind != SECTION_VARIANT || parent->kind == SECTION_VARIANT)
		return false;
	if (parent->kind == SECTION_GLOBAL)
		return parent < l->src.section && !l->is_plain;
	return is_own_variant(l, s);
}

static void fail_variant(const struct layers *l, const struct mlgen_field *f, const char *variants,
			 struct diag *d)
{
	const struct opt *o = find_selecting(l, f->name);
	const char *file = l->src.file->paths[0];
	bool is_number = o && *o->value && !o->value[strspn(o->value, "0123456789")];

	if (!o)
		diag_add(d, DIAG_ERROR, l->src.section->at,
			 "%s: not set, but %s has sections for%s; choose a section with %s=",
			 f->name, file, variants, f->name);
	else if (is_number && strcmp(f->name, "accelerator") == 0)
		diag_add(d, DIAG_ERROR, o->at,
			 "%s=%s: no such section; %s has%s. For a number: %saccelerators=%s",
			 f->name, o->value, file, variants, o->at.file ? "" : "--", o->value);
	else
		diag_add(d, DIAG_ERROR, o->at, "%s=%s: no such section; %s has%s", f->name,
			 o->value, file, variants);
}

/* Add the sections that options select. */
static void select_variants(struct layers *l)
{
	const struct jobfile *file = l->src.file;

	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		const struct opt *o = f->flags & MLGEN_SELECTS ? find_selecting(l, f->name) : NULL;

		/* Variants of [global] precede those of the job in the file. */
		for (size_t i = 0; o && i < file->count; i++) {
			const struct section *s = &file->sections[i];

			if (s->selector == f && is_variant(l, s) &&
			    strcasecmp(o->value, s->value) == 0)
				add_section(l, s, is_own_variant(l, s));
		}
	}
}

static bool has_variant(const struct layers *l, const struct mlgen_field *f)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->items[i].selector == f)
			return true;
	}
	return false;
}

void layers_init(struct layers *l, const struct job_source *src, const struct cmdline *cmd)
{
	const struct section *s = src->section;

	memset(l, 0, sizeof(*l));
	l->src = *src;
	l->cmd = cmd;
	l->is_plain = layers_is_plain(l);
	if (s) {
		layers_add(l, s->globals, "[global]", false);
		add_section(l, s, true);
		select_variants(l);
	}
	layers_add(l, &cmd->all, "command line", false);
	if (!s)
		layers_add(l, src->opts, "command line", true);
	layers_add(l, overrides_of(l), "command line", true);
}

void layers_fini(struct layers *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->items[i].how);
	mem_free(l->items);
	memset(l, 0, sizeof(*l));
}

/* Append the values of an option that select a section of the job: " a100 h100". */
static void layers_variants(const struct layers *l, const struct mlgen_field *f, struct buf *out)
{
	const struct jobfile *file = l->src.file;

	for (size_t i = 0; file && i < file->count; i++) {
		const struct section *s = &file->sections[i];

		if (s->selector == f && is_variant(l, s))
			buf_addf(out, " %s", s->value);
	}
}

/* Report options that select none of their [option=value] sections. False if there is such an
 * option. */
static bool layers_check(const struct layers *l, struct diag *d)
{
	bool is_whole = true;

	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		struct buf names = { 0 };

		if ((f->flags & MLGEN_SELECTS) && !has_variant(l, f))
			layers_variants(l, f, &names);
		if (names.len) {
			fail_variant(l, f, buf_str(&names), d);
			is_whole = false;
		}
		buf_fini(&names);
	}
	return is_whole;
}

const struct opt *layers_find(const struct layers *l, const char *option)
{
	const struct opt *o = NULL;

	for (size_t i = l->count; !o && i; i--)
		o = optlist_find(l->items[i - 1].opts, option);
	return o;
}

/* ---- options that are unknown, or that this job does not have ---- */

static const char *nearest_option(const struct resolver *r, const char *key)
{
	size_t n = resolve_engine_count(&r->engines), at = 0;
	const struct mlgen_field **tables = mem_array(n + 3, sizeof(*tables));
	const char *nearest = NULL;

	tables[at++] = job_fields;
	tables[at++] = settings_fields;
	for (size_t i = 0; i < n; i++) {
		if (r->engines.env->engines[i]->opts)
			tables[at++] = r->engines.env->engines[i]->opts;
	}
	nearest = field_nearest(tables, key);
	mem_free(tables);
	return nearest;
}

static void resolve_fail_fio(const struct resolver *r, const struct opt *o,
			     const struct fio_option *fio)
{
	struct buf hint = { 0 };

	if (fio->hint)
		buf_addf(&hint, ": %s", fio->hint);
	if (fio->note)
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s=%s: fio option; mlgen supports only %s=%.*s%s", o->key, o->value,
			 o->key, (int)strcspn(fio->when, "|"), fio->when, buf_str(&hint));
	else
		diag_add(r->d, DIAG_ERROR, o->at, "%s: fio option, not in mlgen%s", o->key,
			 buf_str(&hint));
	buf_fini(&hint);
}

/* Report an option that no job has: an option of fio, a setting, or a typing error. An option of
 * fio that changes nothing here is a note. */
static void resolve_fail_unknown(const struct resolver *r, const struct opt *o)
{
	const struct fio_option *fio = fio_option_find(o->key);
	const struct loaded_engine *failed = resolve_engine_failed(&r->engines);
	const char *nearest = NULL, *own = NULL;

	/* Suggestions are slow. Skip them for faults that are only counted, so that a file that is
	 * not a job file is refused quickly. */
	if (!fio && diag_has_room(r->d, o->at.file)) {
		own = foreign_option(o->key);
		nearest = nearest_option(r, o->key);
	}
	if (fio && fio_option_is_harmless(fio, o->value))
		diag_add(r->d, DIAG_NOTE, o->at, "%s: fio option without effect in mlgen: %s",
			 o->key, fio->note);
	else if (fio)
		resolve_fail_fio(r, o, fio);
	else if (field_find(settings_fields, o->key))
		diag_add(r->d, DIAG_ERROR, o->at, "%s: belongs on the command line, as --%s",
			 o->key, o->key);
	else if (strcmp(o->key, "include") == 0)
		diag_add(r->d, DIAG_ERROR, o->at, "include: write it without '=': include FILE");
	else if (own)
		diag_add(r->d, DIAG_ERROR, o->at, "%s: unknown option; in mlgen it is %s", o->key,
			 own);
	else if (failed)
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s: unknown option, unless it belongs to ioengine=%s, which cannot be "
			 "loaded",
			 o->key, failed->path);
	else
		diag_add(r->d, DIAG_ERROR, o->at, "%s: unknown option%s%s%s", o->key,
			 nearest ? "; did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?" : "");
}

/*
 * Report an option that only other workloads have. It is an error if the job itself sets it
 * (`is_own`), or if the phase is not clear (!is_decided). For an option that several jobs share,
 * only a note is added, so that a file can hold training jobs and plain jobs. Returns false for an
 * error.
 */
static bool resolve_fail_phase(const struct resolver *r, const struct opt *o, const struct job *j,
			       bool is_decided, bool is_own)
{
	const char *phase = job_work_name(j);
	const char *instead = workload_instead(job_work(j), o->field);

	if (is_decided && instead && (is_own || !o->at.file)) {
		diag_add(r->d, DIAG_ERROR, o->at, "%s: %s; phase=%s has %s instead", o->key,
			 workload_of(o->field), phase, instead);
		return false;
	}
	if (!is_decided)
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s: %s; set the kind of job: add rw=read, which is fio's default", o->key,
			 workload_of(o->field));
	else if (is_own)
		diag_add(r->d, DIAG_ERROR, o->at, "%s: %s; this job is phase=%s", o->key,
			 workload_of(o->field), phase);
	else
		diag_add(r->d, DIAG_NOTE, o->at, "%s: %s; jobs of phase=%s ignore it", o->key,
			 workload_of(o->field), phase);
	return is_decided && !is_own;
}

/* ---- resolving ---- */

/* Samples in the shuffle buffer of a scan of shards, by default. */
#define SHARD_BUFFER 1000u
#define KB_BASE 1024 /* the default of kb_base= */

/* A job that is being made. */
struct build {
	struct resolver *r;
	const struct layers *layers;
	struct job *job;
	bool is_known;   /* phase= is valid, or not set */
	bool is_decided; /* phase= or another option determines the phase */
	bool is_whole;
};

/* ---- one option ---- */

/* Append the value with its words replaced. False if it has a fault, which is reported. */
static bool expand(const struct resolver *r, const struct opt *o, const struct mlgen_field *f,
		   const char *jobname, struct buf *text)
{
	struct mlgen_err err = { 0 };
	struct buf value = { 0 };
	bool is_good = false;

	if (o->is_bare && !field_is_flag(f)) {
		diag_add(r->d, DIAG_ERROR, o->at, "%s: no value; write %s%s=VALUE", f->name,
			 o->at.file ? "" : "--", f->name);
	} else if (words_expand(&value, o->value, jobname, &err)) {
		diag_add(r->d, DIAG_ERROR, o->at, "%s: %s", f->name, err.text);
	} else {
		const char *s = buf_str(&value);
		size_t path = field_path_at(f, s);

		is_good = true;
		/* Relative paths of a job file are relative to that file. */
		buf_addn(text, s, path);
		if (o->at.file && s[path])
			pathname_beside(text, o->at.file, s + path);
		else
			buf_add(text, s + path);
	}
	buf_fini(&value);
	return is_good;
}

/* Parse the value once for all jobs, and report its fault. */
static void read_option(const struct resolver *r, struct opt *o, const struct mlgen_field *f)
{
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };

	o->read_as = f;
	if (expand(r, o, f, "job", &text))
		o->read = field_parse_value(f, buf_str(&text), KB_BASE, &err);
	if (err.code)
		diag_add(r->d, DIAG_ERROR, o->at, "%s", err.text);
	buf_fini(&text);
}

/* Set the field in `base`, which is the job or its engine's options. False if the value has a
 * fault, which is reported. */
static bool set_field(const struct resolver *r, const struct opt *o, const struct mlgen_field *f,
		      const struct job *j, void *base)
{
	bool is_pair = f->type == MLGEN_SIZE_PAIR || f->type == MLGEN_U64_PAIR;
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };
	bool is_set;

	/*
	 * The value that read_option() has parsed is valid for this job, unless it contains a word
	 * such as $jobname, the job has another kb_base, half a pair leaves the other half to the
	 * layer below, or several engines have an option of that name.
	 */
	if (o->read_as == f && j->kb_base == KB_BASE && !strchr(o->value, '$') &&
	    !(is_pair && strchr(o->value, ','))) {
		if (o->read)
			field_set_value(f, base, o->read);
		return o->read;
	}
	is_set = expand(r, o, f, j->name, &text) &&
		 !field_parse(f, base, buf_str(&text), (unsigned)j->kb_base, &err);
	if (err.code)
		diag_add(r->d, DIAG_ERROR, o->at, "%s", err.text);
	buf_fini(&text);
	return is_set;
}

static void set_origin(struct job_origin *origin, const struct opt *o, const char *how)
{
	origin->at = o->at;
	mem_replace(&origin->how, how);
	mem_replace(&origin->raw, o->value);
}

/* Set the reverse of an option, such as buffered for direct. The option that is set last wins. */
static void set_reverse(struct job *j, const struct mlgen_field *from)
{
	static const char *const reverses[][2] = {
		{ "direct", "buffered" },
		{ "buffered", "direct" },
		{ "rwmixread", "rwmixwrite" },
		{ "rwmixwrite", "rwmixread" },
	};
	const struct mlgen_field *to = NULL;
	struct job_origin *origin;
	char *base = (char *)j;
	struct buf how = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(reverses); i++)
		if (strcmp(from->name, reverses[i][0]) == 0)
			to = field_find(job_fields, reverses[i][1]);
	if (!to)
		return;
	if (from->type == MLGEN_BOOL)
		*(bool *)(base + to->off) = !*(bool *)(base + from->off);
	else
		*(double *)(void *)(base + to->off) = 100 - *(double *)(void *)(base + from->off);
	buf_addf(&how, "from %s", from->name);
	origin = &j->origins[to - job_fields];
	mem_replace(&origin->how, buf_str(&how));
	mem_replace(&origin->raw, NULL);
	origin->at = j->origins[from - job_fields].at;
	buf_fini(&how);
}

static void apply_field(struct build *b, const struct opt *o, const struct layer *l)
{
	struct job *j = b->job;

	if (b->is_known && !workload_has(job_work(j), o->field)) {
		b->is_whole &= resolve_fail_phase(b->r, o, j, b->is_decided, l->is_own);
	} else if (set_field(b->r, o, o->field, j, j)) {
		set_origin(&j->origins[o->field - job_fields], o, l->how);
		set_reverse(j, o->field);
	} else {
		b->is_whole = false;
	}
}

/*
 * Add a note for an option of another engine: a job file may be run with several engines in turn.
 */
static void note_other_engine(struct build *b, const struct opt *o)
{
	const struct mlgen_engine *e = resolve_engine_with(&b->r->engines, o->key);

	if (e && standins_have(b->r->engines.standins, e))
		return; /* resolve_read() has added a note */
	if (e)
		diag_add(b->r->d, DIAG_NOTE, o->at,
			 "%s: an option of ioengine=%s; ioengine=%s ignores it", o->key, e->name,
			 b->job->ioengine);
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

static void apply_layers(struct build *b, bool first)
{
	for (size_t i = 0; i < b->layers->count; i++) {
		const struct layer *l = &b->layers->items[i];

		for (size_t k = 0; k < l->opts->count; k++) {
			const struct opt *o = l->opts->opts[k];
			const char *name = o->field ? o->field->name : "";
			/* These options determine how other options are parsed. */
			bool is_first = strcmp(name, "kb_base") == 0 ||
					strcmp(name, "phase") == 0 || strcmp(name, "ioengine") == 0;

			if (is_first != first)
				continue;
			if (o->field)
				apply_field(b, o, l);
			else
				apply_engine_option(b, o, l->how);
		}
	}
}

/* Does a plain workload have the option? Jobs without phase= may be plain. */
static bool has_plain(const struct mlgen_field *f)
{
	for (size_t i = 0; workloads[i]; i++)
		if (workloads[i]->is_plain && workload_has(workloads[i], f))
			return true;
	return false;
}

/* Is an option set that plain jobs do not have? */
static bool has_training(const struct layers *layers)
{
	for (size_t i = 0; i < layers->count; i++) {
		const struct optlist *list = layers->items[i].opts;

		for (size_t k = 0; k < list->count; k++) {
			const struct mlgen_field *f = list->opts[k]->field;

			if (f && !has_plain(f))
				return true;
		}
	}
	return false;
}

static bool is_in_layers(const void *layers, const char *option)
{
	return layers_find(layers, option) != NULL;
}

/* Derive the phase from other options if phase= is not set: a job with rw= is plain. */
static void settle_phase(struct build *b)
{
	struct job *j = b->job;
	struct job_origin *origin = &j->origins[field_find(job_fields, "phase") - job_fields];
	bool has_phase = layers_find(b->layers, "phase");
	int implied = workload_implied(is_in_layers, b->layers);
	struct buf how = { 0 };

	b->is_known = !has_phase || origin->raw;
	b->is_decided = has_phase || has_training(b->layers);
	if (!has_phase && implied >= 0) {
		j->phase = implied;
		buf_addf(&how, "from %s", workloads[implied]->implied_by);
		mem_replace(&origin->how, buf_str(&how));
		buf_fini(&how);
		b->is_decided = true;
	}
	workload_set_defaults(j);
}

/* Limit a batch size to iodepth, as fio does, so that a job can be run with several depths. */
static void limit_to_iodepth(struct build *b, const char *option, uint64_t *n)
{
	struct job *j = b->job;

	if (*n <= j->iodepth)
		return;
	diag_add(b->r->d, DIAG_NOTE, job_place(j, option),
		 "%s: %" PRIu64 " is more than iodepth=%" PRIu64 "; mlgen uses iodepth", option, *n,
		 j->iodepth);
	*n = j->iodepth;
}

/* Is an option set that determines how to read, or that loader=tfdata refuses? */
static bool determines_reading(const struct job *j)
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

/* Set the defaults for a scan of shards, which are designed for sequential reads. In random order,
 * each sample would open its shard again. */
static void settle_shards(struct build *b)
{
	const struct jobset_env *env = b->r->engines.env;
	struct job *j = b->job;
	bool may_be =
		j->format == FORMAT_AUTO || j->format == FORMAT_TAR || j->format == FORMAT_TFRECORD;
	const char *format;

	if (j->dataset != DATASET_SCAN || !may_be || !env->shards || determines_reading(j))
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
		 "dataset: %s files are read from front to back, one shard per thread, as with "
		 "loader=tfdata, shard=file, shuffle=buffer:%u%s; loader=pytorch reads samples in "
		 "random order",
		 format, SHARD_BUFFER, j->access == ACCESS_FRAMEWORK ? ", access=framework" : "");
}

/* Set values that depend on other options. */
static void settle_values(struct build *b)
{
	struct job *j = b->job;

	/* accelerator=H100 selects [accelerator=h100], and takes its spelling. */
	for (size_t i = 0; i < b->layers->count; i++) {
		const struct layer *l = &b->layers->items[i];

		if (l->selector)
			mem_replace((char **)(void *)((char *)j + l->selector->off), l->selected);
	}
	limit_to_iodepth(b, "iodepth_batch_submit", &j->iodepth_batch_submit);
	limit_to_iodepth(b, "iodepth_batch_complete_min", &j->iodepth_batch_complete_min);
	limit_to_iodepth(b, "iodepth_batch_complete_max", &j->iodepth_batch_complete_max);
	/* Prefetching needs read threads. */
	if (j->read_threads == 0 && !job_is_given(j, "prefetch"))
		j->prefetch = 0;
	if (j->dataset == DATASET_SCAN && !job_is_given(j, "format"))
		j->format = FORMAT_AUTO;
	settle_shards(b);
}

static void apply_engine(struct build *b)
{
	struct job *j = b->job;
	const struct mlgen_engine *e = resolve_engine_find(&b->r->engines, j->ioengine);

	job_set_engine(j, e);
	if (e && !jobset_is_path(j->ioengine) && strcmp(e->name, j->ioengine) != 0)
		diag_add(b->r->d, DIAG_NOTE, job_place(j, "ioengine"),
			 "ioengine: mlgen uses %s as %s, with its options", j->ioengine, e->name);
	if (e && standins_have(b->r->engines.standins, e))
		diag_add(b->r->d, DIAG_NOTE, job_place(j, "ioengine"),
			 "ioengine: only a run loads %s; its capabilities are not checked before "
			 "the run",
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
				 "%s: cannot be set in a section that it selects", o->key);
		else if (o->field)
			read_option(r, o, o->field);
		else if (e)
			read_option(r, o, field_find(e->opts, o->key));
		else
			resolve_fail_unknown(r, o);
		/* The option is either an option of the stand-in's engine or a typing error. */
		if (e && standins_have(r->engines.standins, e)) {
			const char *nearest = nearest_option(r, o->key);

			diag_add(r->d, DIAG_NOTE, o->at,
				 "%s: not checked; it may be an option of ioengine=%s, which is "
				 "not loaded%s%s%s",
				 o->key, e->name, nearest ? ", or did you mean '" : "",
				 nearest ? nearest : "", nearest ? "'?" : "");
		}
	}
}

struct job *resolve_job(struct resolver *r, const struct layers *layers, bool *is_whole)
{
	const struct job_source *src = &layers->src;
	struct build b = { .r = r, .layers = layers };
	struct buf names = { 0 };

	b.job = job_new(src->name);
	if (src->section)
		b.job->at = src->section->at;
	b.is_whole = layers_check(layers, r->d);
	apply_layers(&b, true);
	settle_phase(&b);
	apply_engine(&b);
	apply_layers(&b, false);
	settle_values(&b);
	layers_variants(layers, field_find(job_fields, "accelerator"), &names);
	b.job->accelerators_known = names.len ? buf_detach(&names) : NULL;
	buf_fini(&names);
	*is_whole = b.is_whole;
	return b.job;
}
