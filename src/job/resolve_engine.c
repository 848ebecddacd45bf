/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_engine.c - finds the engines that jobs name: built in, loaded, or a stand-in. */
#include "job/job_internal.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "field/fields.h"

/* ---- stand-ins for shared objects that are not loaded ---- */

/* Limit of options that stand-ins get; further options are reported as unknown. */
#define OPTIONS_MAX 256

/* The choice "1" makes the option a flag, which may be written without a value. */
static const struct mlgen_choice flag_choices[] = { { "1", 1, "" }, { 0 } };

static int standin_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)ctx, (void)io, (void)n;
	return -ENOSYS;
}

/* A reap function makes the engine asynchronous, so that a plan shows the job's iodepth. */
static int standin_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
			uint64_t timeout_ns)
{
	(void)ctx, (void)io, (void)min, (void)max, (void)timeout_ns;
	return -ENOSYS;
}

/* Give all stand-ins the current fields. Their options are an array of char *. */
static void share_options(struct standins *s)
{
	for (size_t i = 0; i < s->count; i++) {
		s->engines[i]->opts = s->fields;
		s->engines[i]->opts_size = s->field_count * sizeof(char *);
	}
}

/* Add a stand-in, which lives until standins_fini(). */
static const struct mlgen_engine *standins_add(struct standins *s, const char *path)
{
	struct mlgen_engine *e = mem_zalloc(sizeof(*e));

	s->paths = mem_realloc(s->paths, (s->count + 1) * sizeof(*s->paths));
	s->paths[s->count] = mem_strdup(path);
	*e = (struct mlgen_engine){
		.abi = MLGEN_ENGINE_ABI,
		.size = sizeof(*e),
		.name = s->paths[s->count],
		.help = "not loaded",
		.caps = (MLGEN_CAP(MLGEN_OPS) - 1) | MLGEN_CAP_DIRECT,
		.submit = standin_submit,
		.reap = standin_reap,
	};
	s->engines = mem_realloc(s->engines, (s->count + 1) * sizeof(*s->engines));
	s->engines[s->count++] = e;
	share_options(s);
	return e;
}

/* Give all stand-ins an option, unless they have it. Call it before a stand-in is used. */
static void standins_add_option(struct standins *s, const char *name)
{
	size_t n = s->field_count;

	if (field_find(s->fields, name) || n == OPTIONS_MAX)
		return;
	s->options = mem_realloc(s->options, (n + 1) * sizeof(*s->options));
	s->options[n] = mem_strdup(name);
	s->fields = mem_realloc(s->fields, (n + 2) * sizeof(*s->fields));
	s->fields[n] = (struct mlgen_field){
		.name = s->options[n],
		.type = MLGEN_STR,
		.off = n * sizeof(char *),
		.help = "An option of an engine that is not loaded.",
		.choices = flag_choices,
	};
	s->fields[n + 1] = (struct mlgen_field){ 0 };
	s->field_count++;
	share_options(s);
}

bool standins_have(const struct standins *s, const struct mlgen_engine *e)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->engines[i] == e)
			return true;
	return false;
}

void standins_fini(struct standins *s)
{
	for (size_t i = 0; i < s->count; i++) {
		mem_free(s->paths[i]);
		mem_free(s->engines[i]);
	}
	for (size_t i = 0; i < s->field_count; i++)
		mem_free(s->options[i]);
	mem_free(s->engines);
	mem_free(s->paths);
	mem_free(s->fields);
	mem_free(s->options);
	memset(s, 0, sizeof(*s));
}

/* ---- engines ---- */

static const struct loaded_engine *find_loaded(const struct resolve_engines *r, const char *path)
{
	for (size_t i = 0; i < r->loaded_count; i++) {
		if (strcmp(r->loaded[i].path, path) == 0)
			return &r->loaded[i];
	}
	return NULL;
}

static struct loaded_engine *add_loaded(struct resolve_engines *r, const char *path)
{
	struct loaded_engine *new = NULL;

	r->loaded = mem_realloc(r->loaded, (r->loaded_count + 1) * sizeof(*r->loaded));
	new = &r->loaded[r->loaded_count++];
	*new = (struct loaded_engine){ .path = mem_strdup(path) };
	return new;
}

/* Load an engine, or add a stand-in. The result is stored even if loading fails. */
static const struct loaded_engine *load_engine(struct resolve_engines *r, const char *path)
{
	const struct loaded_engine *known = find_loaded(r, path);
	struct loaded_engine *new = NULL;

	if (known)
		return known;
	new = add_loaded(r, path);
	if (!r->only_looks)
		new->engine = r->env->load(path, &new->err);
	else if (!r->env->look || r->env->look(path, &new->err) == 0)
		new->engine = standins_add(r->standins, path);
	return new;
}

static bool is_loadable(const struct resolve_engines *r, const char *name)
{
	return r->env->load && jobset_is_path(name);
}

static const char *nearest_engine(const struct resolve_engines *r, const char *name)
{
	size_t n = resolve_engine_count(r);
	const char **names = mem_array(n + 1, sizeof(*names));
	const char *nearest = NULL;

	for (size_t i = 0; i < n; i++)
		names[i] = r->env->engines[i]->name;
	nearest = field_nearest_word(names, name);
	mem_free(names);
	return nearest;
}

void resolve_engine_need(struct resolve_engines *r, const struct layers *layers)
{
	const struct opt *o = layers_find(layers, "ioengine");
	struct buf name = { 0 };

	/* A faulty word is reported when the job is made. */
	if (o && words_expand(&name, o->value, layers->src.name, NULL) == 0 &&
	    is_loadable(r, buf_str(&name)))
		load_engine(r, buf_str(&name));
	buf_fini(&name);
}

void resolve_engine_skip(struct resolve_engines *r, const struct optlist *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct opt *o = list->opts[i];

		if (o->field && strcmp(o->field->name, "ioengine") == 0 &&
		    is_loadable(r, o->value) && !find_loaded(r, o->value))
			add_loaded(r, o->value)->engine = standins_add(r->standins, o->value);
	}
}

void resolve_engine_guess(struct resolve_engines *r, const struct optlist *list)
{
	for (size_t i = 0; r->standins->count && i < list->count; i++) {
		const struct opt *o = list->opts[i];
		bool is_known = o->field || field_find(settings_fields, o->key) ||
				strcmp(o->key, "include") == 0 ||
				fio_option_is_harmless(fio_option_find(o->key), o->value) ||
				resolve_engine_with(r, o->key);

		if (!is_known)
			standins_add_option(r->standins, o->key);
	}
}

void resolve_engine_fini(struct resolve_engines *r)
{
	for (size_t i = 0; i < r->loaded_count; i++)
		mem_free(r->loaded[i].path);
	mem_free(r->loaded);
	r->loaded = NULL;
	r->loaded_count = 0;
}

/* Map engines of fio that differ from an engine of mlgen only in the system call they use. */
static const char *own_name(const char *name)
{
	static const char *const same[][2] = {
		{ "sync", "psync" },
		{ "vsync", "psync" },
		{ "pvsync", "psync" },
		{ "pvsync2", "psync" },
	};

	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		if (strcmp(same[i][0], name) == 0)
			return same[i][1];
	}
	return name;
}

const struct mlgen_engine *resolve_engine_find(struct resolve_engines *r, const char *name)
{
	if (is_loadable(r, name))
		return load_engine(r, name)->engine;
	name = own_name(name);
	for (const struct mlgen_engine *const *e = r->env->engines; *e; e++) {
		if (strcmp((*e)->name, name) == 0)
			return *e;
	}
	return NULL;
}

const struct mlgen_engine *resolve_engine_with(const struct resolve_engines *r, const char *option)
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

const struct loaded_engine *resolve_engine_failed(const struct resolve_engines *r)
{
	for (size_t i = 0; i < r->loaded_count; i++) {
		if (!r->loaded[i].engine)
			return &r->loaded[i];
	}
	return NULL;
}

void resolve_engine_fail(const struct resolve_engines *r, const char *name, struct diag_place at,
			 struct diag *d)
{
	const char *why = r->env->why_absent ? r->env->why_absent(name) : NULL;
	const char *nearest = why ? NULL : nearest_engine(r, name);
	const struct loaded_engine *failed = find_loaded(r, name);
	struct buf text = { 0 };

	if (failed) {
		diag_add(d, DIAG_ERROR, at, "%s", failed->err.text);
		return;
	}
	for (const struct mlgen_engine *const *e = r->env->engines; *e; e++)
		buf_addf(&text, " %s", (*e)->name);
	if (why)
		buf_addf(&text, "; %s", why);
	if (nearest)
		buf_addf(&text, "; did you mean '%s'?", nearest);
	diag_add(d, DIAG_ERROR, at, "ioengine: '%s' is not built in; the engines are%s", name,
		 buf_str(&text));
	buf_fini(&text);
}

size_t resolve_engine_count(const struct resolve_engines *r)
{
	size_t n = 0;

	while (r->env->engines[n])
		n++;
	return n;
}
