/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - one job from its layers of options. */
#include "job/resolve.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "job/fio_options.h"
#include "job/words.h"

struct layer {
	const struct optlist *opts;
	char *how; /* for job_origin */
};

struct layers {
	struct layer *items;
	size_t count;
};

/* A job in the making. */
struct build {
	struct resolver *r;
	const struct job_source *src;
	struct job *job;
	struct layers layers;
	bool is_whole;
};

/* ---- engines ---- */

static const struct loaded_engine *find_loaded(const struct resolver *r,
					       const char *path)
{
	for (size_t i = 0; i < r->loaded_count; i++) {
		if (strcmp(r->loaded[i].path, path) == 0)
			return &r->loaded[i];
	}
	return NULL;
}

/* Each once: what failed is remembered, too. */
static const struct loaded_engine *load_engine(struct resolver *r,
					       const char *path)
{
	const struct loaded_engine *there = find_loaded(r, path);
	struct loaded_engine *new = NULL;

	if (there)
		return there;
	r->loaded = mem_realloc(r->loaded,
				(r->loaded_count + 1) * sizeof(*r->loaded));
	new = &r->loaded[r->loaded_count++];
	*new = (struct loaded_engine){ .path = mem_strdup(path) };
	new->engine = r->env->load(path, &new->err);
	return new;
}

static bool is_loadable(const struct resolver *r, const char *name)
{
	return r->env->load && jobset_is_path(name);
}

static const struct mlgen_engine *find_engine(struct resolver *r,
					      const char *name)
{
	if (is_loadable(r, name))
		return load_engine(r, name)->engine;
	for (const struct mlgen_engine *const *e = r->env->engines; *e; e++) {
		if (strcmp((*e)->name, name) == 0)
			return *e;
	}
	return NULL;
}

/* The first engine that has an option of that name. */
static const struct mlgen_engine *engine_with(const struct resolver *r,
					      const char *option)
{
	for (const struct mlgen_engine *const *e = r->env->engines; *e; e++) {
		if (field_find((*e)->opts, option))
			return *e;
	}
	for (size_t i = 0; i < r->loaded_count; i++) {
		const struct mlgen_engine *e = r->loaded[i].engine;

		if (e && field_find(e->opts, option))
			return e;
	}
	return NULL;
}

/* An engine whose options nobody knows; NULL = none. */
static const struct loaded_engine *failed_engine(const struct resolver *r)
{
	for (size_t i = 0; i < r->loaded_count; i++) {
		if (!r->loaded[i].engine)
			return &r->loaded[i];
	}
	return NULL;
}

static size_t engine_count(const struct resolver *r)
{
	size_t n = 0;

	while (r->env->engines[n])
		n++;
	return n;
}

static const char *nearest_engine(const struct resolver *r, const char *name)
{
	size_t n = engine_count(r);
	const char **names = mem_array(n + 1, sizeof(*names));
	const char *nearest = NULL;

	for (size_t i = 0; i < n; i++)
		names[i] = r->env->engines[i]->name;
	nearest = field_nearest_word(names, name);
	mem_free(names);
	return nearest;
}

static void fail_engine(const struct resolver *r, struct diag_place at,
			const char *name)
{
	const char *why = r->env->why_absent ? r->env->why_absent(name) : NULL;
	const char *nearest = why ? NULL : nearest_engine(r, name);
	const struct loaded_engine *failed = find_loaded(r, name);
	struct buf text = { 0 };

	if (failed) {
		diag_add(r->d, DIAG_ERROR, at, "%s", failed->err.text);
		return;
	}
	for (const struct mlgen_engine *const *e = r->env->engines; *e; e++)
		buf_addf(&text, " %s", (*e)->name);
	if (why)
		buf_addf(&text, "; %s", why);
	if (nearest)
		buf_addf(&text, "; did you mean '%s'?", nearest);
	diag_add(r->d, DIAG_ERROR, at,
		 "ioengine: '%s' is not built in; there is%s", name,
		 buf_str(&text));
	buf_fini(&text);
}

/* ---- one option ---- */

static const char *nearest_option(const struct resolver *r, const char *key)
{
	size_t n = engine_count(r), at = 0;
	const struct mlgen_field **tables = mem_array(n + 3, sizeof(*tables));
	const char *nearest = NULL;

	tables[at++] = job_fields;
	tables[at++] = settings_fields;
	for (size_t i = 0; i < n; i++) {
		if (r->env->engines[i]->opts)
			tables[at++] = r->env->engines[i]->opts;
	}
	nearest = field_nearest(tables, key);
	mem_free(tables);
	return nearest;
}

static void fail_unknown(const struct resolver *r, const struct opt *o)
{
	const struct fio_option *fio = fio_option_find(o->key);
	const struct loaded_engine *failed = failed_engine(r);
	const char *nearest = NULL;

	/* Past what is printed they are only counted: noise must be quick. */
	if (!fio && r->d->errors < DIAG_MAX)
		nearest = nearest_option(r, o->key);
	if (fio)
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s: fio option, not in mlgen%s%s", o->key,
			 fio->hint ? ": " : "", fio->hint ? fio->hint : "");
	else if (field_find(settings_fields, o->key))
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s: belongs on the command line, as --%s", o->key,
			 o->key);
	else if (strcmp(o->key, "include") == 0)
		diag_add(r->d, DIAG_ERROR, o->at,
			 "include: written without '=': include FILE");
	else if (failed)
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s: unknown option, unless one of ioengine=%s, which "
			 "cannot be loaded",
			 o->key, failed->path);
	else
		diag_add(r->d, DIAG_ERROR, o->at, "%s: unknown option%s%s%s",
			 o->key, nearest ? "; did you mean '" : "",
			 nearest ? nearest : "", nearest ? "'?" : "");
}

/* May the option stand without a value? */
static bool is_flag(const struct mlgen_field *f)
{
	if (f->type == MLGEN_BOOL)
		return true;
	for (const struct mlgen_choice *c = f->choices; c && c->name; c++) {
		if (strcmp(c->name, "1") == 0)
			return true;
	}
	return false;
}

/* Parse one option into `base`; its fault is told. */
static bool set_field(const struct resolver *r, const struct opt *o,
		      const struct mlgen_field *f, void *base,
		      const char *jobname, unsigned kb_base)
{
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };
	int rc = 0;

	if (o->is_bare && !is_flag(f)) {
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s: no value; write %s%s=VALUE", f->name,
			 o->at.file ? "" : "--", f->name);
		return false;
	}
	rc = words_expand(&text, o->value, jobname, &err);
	if (rc) {
		diag_add(r->d, DIAG_ERROR, o->at, "%s: %s", f->name, err.text);
	} else {
		rc = field_parse(f, base, buf_str(&text), kb_base, &err);
		if (rc)
			diag_add(r->d, DIAG_ERROR, o->at, "%s", err.text);
	}
	buf_fini(&text);
	return rc == 0;
}

static void check_engine_option(const struct resolver *r, const struct opt *o,
				const struct mlgen_engine *e)
{
	void *opts = mem_zalloc(e->opts_size);

	field_defaults(e->opts, opts);
	set_field(r, o, field_find(e->opts, o->key), opts, "job", 1024);
	field_fini(e->opts, opts);
	mem_free(opts);
}

static void set_origin(struct job_origin *origin, const struct opt *o,
		       const char *how)
{
	origin->at = o->at;
	mem_replace(&origin->how, how);
	mem_replace(&origin->raw, o->value);
}

static void apply_field(struct build *b, const struct opt *o, const char *how)
{
	struct job *j = b->job;

	if (set_field(b->r, o, o->field, j, j->name, (unsigned)j->kb_base))
		set_origin(&j->origins[o->field - job_fields], o, how);
	else
		b->is_whole = false;
}

/* So that one job file can be swept over engines. */
static void note_other_engine(struct build *b, const struct opt *o)
{
	const struct mlgen_engine *e = engine_with(b->r, o->key);

	if (e)
		diag_add(b->r->d, DIAG_NOTE, o->at,
			 "%s: an option of ioengine=%s; ioengine=%s goes "
			 "without it",
			 o->key, e->name, b->job->ioengine);
	else
		b->is_whole = false;
}

static void apply_engine_option(struct build *b, const struct opt *o,
				const char *how)
{
	struct job *j = b->job;
	const struct mlgen_field *table = j->engine ? j->engine->opts : NULL;
	const struct mlgen_field *f = field_find(table, o->key);

	if (!f)
		note_other_engine(b, o);
	else if (set_field(b->r, o, f, j->engine_opts, j->name,
			   (unsigned)j->kb_base))
		set_origin(&j->engine_origins[f - table], o, how);
	else
		b->is_whole = false;
}

/* ---- layers ---- */

static void add_layer(struct build *b, const struct optlist *opts,
		      const char *how)
{
	struct layers *l = &b->layers;

	if (!opts || !opts->count)
		return;
	l->items = mem_realloc(l->items, (l->count + 1) * sizeof(*l->items));
	l->items[l->count++] =
		(struct layer){ .opts = opts, .how = mem_strdup(how) };
}

static void add_section_layer(struct build *b, const struct optlist *opts,
			      const char *name)
{
	struct buf how = { 0 };

	buf_addf(&how, "[%s]", name);
	add_layer(b, opts, buf_str(&how));
	buf_fini(&how);
}

static const struct optlist *overrides_of(const struct cmdline *cmd,
					  const char *job)
{
	for (size_t i = 0; i < cmd->section_count; i++) {
		if (strcmp(cmd->sections[i].name, job) == 0)
			return &cmd->sections[i].opts;
	}
	return NULL;
}

static void free_layers(struct layers *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->items[i].how);
	mem_free(l->items);
	memset(l, 0, sizeof(*l));
}

/* ---- variants ---- */

/* Does the variant section belong to the job that is built? */
static bool is_mine(const struct build *b, const struct section *s)
{
	const struct section *parent = &b->src->file->sections[s->parent];

	if (s->kind != SECTION_VARIANT || parent->kind == SECTION_VARIANT)
		return false;
	if (parent->kind == SECTION_GLOBAL)
		return s->parent < b->src->section;
	return s->parent == b->src->section;
}

static const struct opt *last_in(const struct optlist *list,
				 const struct mlgen_field *f)
{
	return list ? optlist_find(list, f->name) : NULL;
}

/* The value that selects is that of all layers but the selected ones. */
static const struct opt *selected(const struct build *b,
				  const struct mlgen_field *f)
{
	const struct optlist *order[] = {
		overrides_of(b->r->cmd, b->src->name),
		&b->r->cmd->all,
		b->src->opts,
		b->src->globals,
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		const struct opt *o = last_in(order[i], f);

		if (o)
			return o;
	}
	return NULL;
}

static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

static void list_variants(const struct build *b, const struct mlgen_field *f,
			  struct buf *out)
{
	const struct jobfile *file = b->src->file;

	for (size_t i = 0; i < file->count; i++) {
		const struct section *s = &file->sections[i];

		if (is_mine(b, s) && s->selector == f)
			buf_addf(out, " %s", s->value);
	}
}

static void fail_variant(struct build *b, const struct mlgen_field *f,
			 const struct opt *o)
{
	const char *file = b->src->file->paths[0];
	struct buf names = { 0 };

	b->is_whole = false;
	list_variants(b, f, &names);
	if (!o)
		diag_add(b->r->d, DIAG_ERROR, b->src->at,
			 "%s: not set, but %s has sections for%s; choose one "
			 "with %s=",
			 f->name, file, buf_str(&names), f->name);
	else if (is_number(o->value) && strcmp(f->name, "accelerator") == 0)
		diag_add(b->r->d, DIAG_ERROR, o->at,
			 "%s=%s: no such section; %s has%s. For a number: "
			 "%saccelerators=%s",
			 f->name, o->value, file, buf_str(&names),
			 o->at.file ? "" : "--", o->value);
	else
		diag_add(b->r->d, DIAG_ERROR, o->at,
			 "%s=%s: no such section; %s has%s", f->name, o->value,
			 file, buf_str(&names));
	buf_fini(&names);
}

/* Add the sections that this option selects. */
static void select_variants(struct build *b, const struct mlgen_field *f)
{
	const struct jobfile *file = b->src->file;
	const struct opt *o = selected(b, f);
	size_t mine = 0, chosen = 0;

	/* Those under [global] stand before the job's own in the file. */
	for (size_t i = 0; i < file->count; i++) {
		const struct section *s = &file->sections[i];

		if (!is_mine(b, s) || s->selector != f)
			continue;
		mine++;
		if (o && strcmp(o->value, s->value) == 0) {
			chosen++;
			add_section_layer(b, &s->opts, s->name);
		}
	}
	if (mine && !chosen)
		fail_variant(b, f, o);
}

/* ---- a job ---- */

static void add_layers(struct build *b)
{
	const struct cmdline *cmd = b->r->cmd;

	add_layer(b, b->src->globals, "[global]");
	if (b->src->file)
		add_section_layer(b, b->src->opts, b->src->name);
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		if ((f->flags & MLGEN_SELECTS) && b->src->file)
			select_variants(b, f);
	}
	add_layer(b, &cmd->all, "command line");
	if (!b->src->file)
		add_layer(b, b->src->opts, "command line");
	add_layer(b, overrides_of(cmd, b->src->name), "command line");
}

/* These decide how the others are read. */
static bool is_first(const struct opt *o)
{
	return o->field && (strcmp(o->field->name, "kb_base") == 0 ||
			    strcmp(o->field->name, "ioengine") == 0);
}

static void apply_layers(struct build *b, bool first)
{
	for (size_t i = 0; i < b->layers.count; i++) {
		const struct layer *l = &b->layers.items[i];

		for (size_t k = 0; k < l->opts->count; k++) {
			const struct opt *o = &l->opts->opts[k];

			if (is_first(o) != first)
				continue;
			if (o->field)
				apply_field(b, o, l->how);
			else
				apply_engine_option(b, o, l->how);
		}
	}
}

static void apply_engine(struct build *b)
{
	struct job *j = b->job;
	const struct mlgen_engine *e = find_engine(b->r, j->ioengine);

	job_set_engine(j, e);
	if (!e) {
		fail_engine(b->r, job_place(j, "ioengine"), j->ioengine);
		b->is_whole = false;
	}
}

void resolve_load(struct resolver *r, const struct optlist *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct opt *o = &list->opts[i];

		/* With a word in it, the job that it stands for is needed. */
		if (o->field && strcmp(o->field->name, "ioengine") == 0 &&
		    is_loadable(r, o->value) && !strchr(o->value, '$'))
			load_engine(r, o->value);
	}
}

void resolve_fini(struct resolver *r)
{
	for (size_t i = 0; i < r->loaded_count; i++)
		mem_free(r->loaded[i].path);
	mem_free(r->loaded);
	r->loaded = NULL;
	r->loaded_count = 0;
}

void resolve_check(const struct resolver *r, const struct optlist *list,
		   const struct mlgen_field *selector)
{
	struct job *scratch = job_new("job");

	for (size_t i = 0; i < list->count; i++) {
		const struct opt *o = &list->opts[i];
		const struct mlgen_engine *e = engine_with(r, o->key);

		if (selector && o->field == selector)
			diag_add(r->d, DIAG_ERROR, o->at,
				 "%s: cannot be set in the section that it "
				 "selects",
				 o->key);
		else if (o->field)
			set_field(r, o, o->field, scratch, "job", 1024);
		else if (e)
			check_engine_option(r, o, e);
		else
			fail_unknown(r, o);
	}
	job_free(scratch);
}

struct job *resolve_job(struct resolver *r, const struct job_source *src,
			bool *is_whole)
{
	struct build b = { .r = r, .src = src, .is_whole = true };

	b.job = job_new(src->name);
	b.job->at = src->at;
	add_layers(&b);
	apply_layers(&b, true);
	apply_engine(&b);
	apply_layers(&b, false);
	free_layers(&b.layers);
	*is_whole = b.is_whole;
	return b.job;
}
