/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_options.c - see metrics_options.h. */
#include "report/metrics_options.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* Keys are borrowed, values are owned. */
static void pair_add(struct metric_list *l, const char *key, char *value)
{
	l->items = mem_realloc(l->items, (l->count + 1) * sizeof(struct metric_pair));
	struct metric_pair *pairs = l->items;
	pairs[l->count++] = (struct metric_pair){ key, value };
}

/* Those of job_fields, or of its engine's table; NULL = another engine's. */
static const struct job_origin *origins_of(const struct job *j, const struct mlgen_field *table)
{
	if (table == job_fields)
		return j->origins;
	return j->engine && j->engine->opts == table ? j->engine_origins : NULL;
}

static const struct mlgen_field *engine_table(const struct job *j)
{
	return j->engine ? j->engine->opts : NULL;
}

/* As written; NULL = not set. */
static const char *raw_of(const struct job *j, const struct mlgen_field *table, size_t option)
{
	const struct job_origin *o = origins_of(j, table);

	return o ? o[option].raw : NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_global(const struct job *j, const struct mlgen_field *table, size_t option)
{
	const struct job_origin *o = origins_of(j, table);

	return o && same_text(o[option].how, "[global]");
}

/* Set by [global], and for every job of the set to the same text. */
static bool is_global_everywhere(const struct jobset *set, const struct mlgen_field *table,
				 size_t option)
{
	for (size_t i = 0; i < set->count; i++)
		if (!is_global(set->jobs[i], table, option) ||
		    !same_text(raw_of(set->jobs[i], table, option),
			       raw_of(set->jobs[0], table, option)))
			return false;
	return set->count > 0;
}

/* The jobs whose figures are merged in the record of `j`. */
static bool is_member(const struct job *other, const struct job *j, unsigned members)
{
	return other == j || (members > 1 && other->group_reporting && other->group == j->group &&
			      other->phase == j->phase);
}

static bool is_shared(const struct jobset *set, const struct job *j, unsigned members,
		      const struct mlgen_field *table, size_t option)
{
	for (size_t i = 0; i < set->count; i++)
		if (is_member(set->jobs[i], j, members) &&
		    !same_text(raw_of(set->jobs[i], table, option), raw_of(j, table, option)))
			return false;
	return true;
}

/* "unet3d.job:12 [global]" */
static char *origin_text(const struct job_origin *o)
{
	struct buf text = { 0 };

	if (o->at.file)
		buf_addf(&text, "%s:%u ", o->at.file, o->at.line);
	buf_add(&text, o->how ? o->how : "default");
	return buf_take(&text);
}

static char *resolved_text(const struct job *j, const struct mlgen_field *f, const void *base)
{
	struct buf text = { 0 };

	job_field_text(j, f, base, &text);
	if (text.len)
		return buf_take(&text);
	buf_fini(&text);
	return NULL;
}

static void fill_table(struct metrics_job *m, const struct job *j, const struct jobset *set,
		       unsigned members, const struct mlgen_field *table, const void *base)
{
	const struct job_origin *origins = origins_of(j, table);

	for (size_t i = 0; table && table[i].name; i++) {
		const char *name = table[i].name, *raw = origins[i].raw;

		if (raw && !is_global_everywhere(set, table, i) &&
		    is_shared(set, j, members, table, i))
			pair_add(&m->options, name, mem_strdup(raw));
		pair_add(&m->options_resolved, name, resolved_text(j, &table[i], base));
		pair_add(&m->options_origin, name, origin_text(&origins[i]));
	}
}

static void add_globals(struct metric_list *map, const struct jobset *set,
			const struct mlgen_field *table)
{
	for (size_t i = 0; table && table[i].name; i++)
		if (is_global_everywhere(set, table, i))
			pair_add(map, table[i].name, mem_strdup(raw_of(set->jobs[0], table, i)));
}

void metrics_options_global(struct metric_list *map, const struct jobset *set)
{
	add_globals(map, set, job_fields);
	if (set->count)
		add_globals(map, set, engine_table(set->jobs[0]));
}

void metrics_options_fill(struct metrics_job *m, const struct job *j, const struct jobset *set,
			  unsigned members)
{
	for (size_t i = 0; i < set->count; i++)
		if (is_member(set->jobs[i], j, members))
			pair_add(&m->members, set->jobs[i]->name, NULL);
	fill_table(m, j, set, members, job_fields, j);
	fill_table(m, j, set, members, engine_table(j), j->engine_opts);
}

void metrics_options_fini(struct metric_list *map)
{
	struct metric_pair *pairs = map->items;

	for (size_t i = 0; i < map->count; i++) {
		char *value;

		memcpy(&value, &pairs[i].value, sizeof(value));
		mem_free(value);
	}
	mem_free(map->items);
	memset(map, 0, sizeof(*map));
}
