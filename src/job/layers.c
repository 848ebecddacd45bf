/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - the options of one job in the order in which they count. */
#include "job/layers.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "job/job.h"
#include "job/workload.h"

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

/* The value that selects is that of all layers but the selected ones. */
static const struct opt *selected(const struct layers *l, const char *option)
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

static bool is_selected(const void *layers, const char *option)
{
	return selected(layers, option) != NULL;
}

/* Is it a plain job, as far as can be told before any variant is chosen? */
static bool layers_is_plain(const struct layers *l)
{
	const struct opt *phase = selected(l, "phase");
	int said = workload_said(is_selected, l);

	for (int i = 0; phase && workloads[i]; i++)
		if (strcasecmp(phase->value, workload_choices[i].name) == 0)
			return workloads[i]->is_plain;
	return !phase && said >= 0 && workloads[said]->is_plain;
}

/* Under the job's own header, and not under [global]? */
static bool is_of_job(const struct layers *l, const struct section *s)
{
	return &l->src.file->sections[s->parent] == l->src.section;
}

/*
 * Does the variant section belong to the job that is built? Those of [global] are there for the
 * trainings of the file.
 */
static bool is_mine(const struct layers *l, const struct section *s)
{
	const struct section *parent = &l->src.file->sections[s->parent];

	if (s->kind != SECTION_VARIANT || parent->kind == SECTION_VARIANT)
		return false;
	if (parent->kind == SECTION_GLOBAL)
		return parent < l->src.section && !l->is_plain;
	return is_of_job(l, s);
}

static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

static void fail_variant(const struct layers *l, const struct mlgen_field *f, const char *variants,
			 struct diag *d)
{
	const struct opt *o = selected(l, f->name);
	const char *file = l->src.file->paths[0];

	if (!o)
		diag_add(d, DIAG_ERROR, l->src.section->at,
			 "%s: not set, but %s has sections for%s; choose one with %s=", f->name,
			 file, variants, f->name);
	else if (is_number(o->value) && strcmp(f->name, "accelerator") == 0)
		diag_add(d, DIAG_ERROR, o->at,
			 "%s=%s: no such section; %s has%s. For a number: %saccelerators=%s",
			 f->name, o->value, file, variants, o->at.file ? "" : "--", o->value);
	else
		diag_add(d, DIAG_ERROR, o->at, "%s=%s: no such section; %s has%s", f->name,
			 o->value, file, variants);
}

/* Add the sections that this option selects. */
static void select_variants(struct layers *l, const struct mlgen_field *f)
{
	const struct jobfile *file = l->src.file;
	const struct opt *o = selected(l, f->name);

	/* Those under [global] stand before the job's own in the file. */
	for (size_t i = 0; o && i < file->count; i++) {
		const struct section *s = &file->sections[i];

		if (s->selector == f && is_mine(l, s) && strcasecmp(o->value, s->value) == 0)
			add_section(l, s, is_of_job(l, s));
	}
}

static void select_all_variants(struct layers *l)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		if (f->flags & MLGEN_SELECTS)
			select_variants(l, f);
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
		select_all_variants(l);
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

bool layers_check(const struct layers *l, struct diag *d)
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

void layers_variants(const struct layers *l, const struct mlgen_field *f, struct buf *out)
{
	const struct jobfile *file = l->src.file;

	for (size_t i = 0; file && i < file->count; i++) {
		const struct section *s = &file->sections[i];

		if (s->selector == f && is_mine(l, s))
			buf_addf(out, " %s", s->value);
	}
}

const struct opt *layers_find(const struct layers *l, const char *option)
{
	const struct opt *o = NULL;

	for (size_t i = l->count; !o && i; i--)
		o = optlist_find(l->items[i - 1].opts, option);
	return o;
}
