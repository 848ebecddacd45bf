/* SPDX-License-Identifier: Apache-2.0 */
/* optlist.c - options as written, and what they were read as. */
#include "job/optlist.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "job/job.h"

static struct opt **slot_of(const struct optlist *list, const char *key)
{
	const struct mlgen_field *f = field_find(job_fields, key);

	for (size_t i = 0; i < list->count; i++) {
		const struct opt *o = list->opts[i];

		if (f ? o->field == f : field_name_equal(o->key, key))
			return &list->opts[i];
	}
	return NULL;
}

static void append(struct optlist *list, struct opt *o)
{
	list->opts = mem_realloc(list->opts, (list->count + 1) * sizeof(struct opt *));
	list->opts[list->count++] = o;
}

void optlist_fini(struct optlist *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct opt *o = list->opts[i];

		field_forget(o->read_as, o->read);
		mem_free(o->key);
		mem_free(o->value);
		mem_free(o);
	}
	optlist_forget(list);
}

struct opt *optlist_add(struct optlist *list, const char *key, const char *value, bool is_bare,
			struct diag_place at)
{
	struct opt *o = NULL;

	if (list->count == OPTLIST_MAX)
		return NULL;
	o = mem_zalloc(sizeof(*o));
	*o = (struct opt){
		.key = mem_strdup(key),
		.value = mem_strdup(value),
		.field = field_find(job_fields, key),
		.at = at,
		.is_bare = is_bare,
	};
	append(list, o);
	return o;
}

struct opt *optlist_find(const struct optlist *list, const char *key)
{
	struct opt **slot = slot_of(list, key);

	return slot ? *slot : NULL;
}

void optlist_replace(struct opt *o, const char *value, bool is_bare, struct diag_place at)
{
	assert(!o->read_as);
	mem_replace(&o->value, value);
	o->is_bare = is_bare;
	o->at = at;
}

void optlist_overlay(struct optlist *list, const struct optlist *from)
{
	for (size_t i = 0; i < from->count; i++) {
		struct opt **slot = slot_of(list, from->opts[i]->key);

		if (slot)
			*slot = from->opts[i];
		else
			append(list, from->opts[i]);
	}
}

void optlist_forget(struct optlist *list)
{
	mem_free(list->opts);
	memset(list, 0, sizeof(*list));
}
