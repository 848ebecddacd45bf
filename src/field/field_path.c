/* SPDX-License-Identifier: Apache-2.0 */
/* field_path.c - see field_path.h. */
#include "field/field_path.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "stat/metric.h"

const struct mlgen_field *field_row(const struct mlgen_field *table, const char *name, size_t len)
{
	for (; table->name; table++)
		if (strncasecmp(table->name, name, len) == 0 && !table->name[len])
			return table;
	return NULL;
}

bool field_is_list(const struct mlgen_field *row)
{
	return row->type == MLGEN_LIST || row->type == MLGEN_F64_ARRAY;
}

/* Steps behind ".0", the number of an element; false where it is none. */
static bool take_index(const char **path, size_t *index)
{
	size_t len = **path ? strspn(*path + 1, "0123456789") : 0;
	char behind = len ? (*path)[1 + len] : '?';

	if (len > 9 || (behind && behind != '.'))
		return false;
	*index = strtoul(*path + 1, NULL, 10);
	*path += 1 + len;
	return true;
}

void field_path_init(struct field_path *p, const struct mlgen_field *table, const char *path)
{
	size_t len = strcspn(path, ".");

	*p = (struct field_path){
		.table = table,
		.row = field_row(table, path, len),
		.part = path,
		.end = path + len,
		.rest = path + len,
	};
	p->is_element = p->row && field_is_list(p->row) && take_index(&p->rest, &p->index);
}

bool field_path_next(struct field_path *p)
{
	bool is_inside = p->row && p->row->sub && (p->is_element || !field_is_list(p->row));

	if (!is_inside || !p->rest[0] || !p->rest[1])
		return false;
	field_path_init(p, p->row->sub, p->rest + 1);
	return true;
}

const void *field_path_member(const struct field_path *p, const void *base)
{
	const char *at = (const char *)base + p->row->off;
	const struct metric_list *list = (const void *)at;
	size_t bytes = p->row->type == MLGEN_LIST ? p->row->stride : sizeof(double);

	if (!p->is_element)
		return at;
	return p->index < list->count ? (const char *)list->items + p->index * bytes : NULL;
}
