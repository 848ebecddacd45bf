/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - the options of one job in the order in which they count. */
#include "job/layers.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

struct walk {
	struct layers *layers;
	const struct resolver *r;
	const struct job_source *src;
	bool is_plain; /* the job is phase=io */
	bool is_whole;
};

static void add(struct walk *w, const struct optlist *opts, const char *how,
		bool is_own)
{
	struct layers *l = w->layers;

	if (!opts || !opts->count)
		return;
	l->items = mem_realloc(l->items, (l->count + 1) * sizeof(*l->items));
	l->items[l->count++] = (struct layer){
		.opts = opts,
		.how = mem_strdup(how),
		.is_own = is_own,
	};
}

static void add_section(struct walk *w, const struct optlist *opts,
			const char *name, bool is_own)
{
	struct buf how = { 0 };

	buf_addf(&how, "[%s]", name);
	add(w, opts, buf_str(&how), is_own);
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

/* Under the job's own header, and not under [global]? */
static bool is_of_job(const struct walk *w, const struct section *s)
{
	return s->parent == w->src->section;
}

/*
 * Does the variant section belong to the job that is built? Those of [global]
 * are there for the trainings of the file.
 */
static bool is_mine(const struct walk *w, const struct section *s)
{
	const struct section *parent = &w->src->file->sections[s->parent];

	if (s->kind != SECTION_VARIANT || parent->kind == SECTION_VARIANT)
		return false;
	if (parent->kind == SECTION_GLOBAL)
		return !w->is_plain && s->parent < w->src->section;
	return is_of_job(w, s);
}

static const struct opt *last_in(const struct optlist *list,
				 const struct mlgen_field *f)
{
	return list ? optlist_find(list, f->name) : NULL;
}

/* The value that selects is that of all layers but the selected ones. */
static const struct opt *selected(const struct walk *w,
				  const struct mlgen_field *f)
{
	const struct optlist *order[] = {
		overrides_of(w->r->cmd, w->src->name),
		&w->r->cmd->all,
		w->src->opts,
		w->src->globals,
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

static void list_variants(const struct walk *w, const struct mlgen_field *f,
			  struct buf *out)
{
	const struct jobfile *file = w->src->file;

	for (size_t i = 0; i < file->count; i++) {
		const struct section *s = &file->sections[i];

		if (is_mine(w, s) && s->selector == f)
			buf_addf(out, " %s", s->value);
	}
}

static void fail_variant(struct walk *w, const struct mlgen_field *f,
			 const struct opt *o)
{
	const char *file = w->src->file->paths[0];
	struct buf names = { 0 };

	w->is_whole = false;
	list_variants(w, f, &names);
	if (!o)
		diag_add(w->r->d, DIAG_ERROR, w->src->at,
			 "%s: not set, but %s has sections for%s; choose one "
			 "with %s=",
			 f->name, file, buf_str(&names), f->name);
	else if (is_number(o->value) && strcmp(f->name, "accelerator") == 0)
		diag_add(w->r->d, DIAG_ERROR, o->at,
			 "%s=%s: no such section; %s has%s. For a number: "
			 "%saccelerators=%s",
			 f->name, o->value, file, buf_str(&names),
			 o->at.file ? "" : "--", o->value);
	else
		diag_add(w->r->d, DIAG_ERROR, o->at,
			 "%s=%s: no such section; %s has%s", f->name, o->value,
			 file, buf_str(&names));
	buf_fini(&names);
}

/* Add the sections that this option selects. */
static void select_variants(struct walk *w, const struct mlgen_field *f)
{
	const struct jobfile *file = w->src->file;
	const struct opt *o = selected(w, f);
	size_t mine = 0, chosen = 0;

	/* Those under [global] stand before the job's own in the file. */
	for (size_t i = 0; i < file->count; i++) {
		const struct section *s = &file->sections[i];

		if (!is_mine(w, s) || s->selector != f)
			continue;
		mine++;
		if (o && strcmp(o->value, s->value) == 0) {
			chosen++;
			add_section(w, &s->opts, s->name, is_of_job(w, s));
		}
	}
	if (mine && !chosen)
		fail_variant(w, f, o);
}

/* As far as it can be told before any variant is chosen. */
static bool is_plain(const struct walk *w)
{
	const struct opt *phase = selected(w, field_find(job_fields, "phase"));

	if (phase)
		return strcmp(phase->value, "io") == 0;
	return selected(w, field_find(job_fields, "rw")) != NULL;
}

static void select_all_variants(struct walk *w)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		if (f->flags & MLGEN_SELECTS)
			select_variants(w, f);
	}
}

bool layers_init(struct layers *l, const struct resolver *r,
		 const struct job_source *src)
{
	struct walk w = { .layers = l, .r = r, .src = src, .is_whole = true };

	memset(l, 0, sizeof(*l));
	w.is_plain = is_plain(&w);
	add(&w, src->globals, "[global]", false);
	if (src->file)
		add_section(&w, src->opts, src->name, true);
	if (src->file)
		select_all_variants(&w);
	add(&w, &r->cmd->all, "command line", false);
	if (!src->file)
		add(&w, src->opts, "command line", true);
	add(&w, overrides_of(r->cmd, src->name), "command line", true);
	return w.is_whole;
}

void layers_fini(struct layers *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->items[i].how);
	mem_free(l->items);
	memset(l, 0, sizeof(*l));
}

bool layers_have(const struct layers *l, const char *option)
{
	for (size_t i = 0; i < l->count; i++) {
		if (optlist_find(l->items[i].opts, option))
			return true;
	}
	return false;
}
