/* SPDX-License-Identifier: Apache-2.0 */
/* trace_names.c - see trace_names.h. */
#include "trace/trace_names.h"

#include "base/map.h"
#include "base/mem.h"

struct trace_names {
	struct map_text names; /* by id - 1 */
};

struct trace_names *trace_names_new(void)
{
	return mem_zalloc(sizeof(struct trace_names));
}

void trace_names_free(struct trace_names *n)
{
	if (n)
		map_text_fini(&n->names);
	mem_free(n);
}

uint32_t trace_names_id(struct trace_names *n, const char *name, size_t bytes, bool *is_new)
{
	bool is_new_here;

	return 1 + map_text_number(&n->names, name, bytes, is_new ? is_new : &is_new_here);
}

uint32_t trace_names_find(const struct trace_names *n, const char *name, size_t bytes)
{
	uint32_t number;

	return map_text_find(&n->names, name, bytes, &number) ? number + 1 : 0;
}

const char *trace_names_text(const struct trace_names *n, uint32_t id, size_t *bytes)
{
	/* Of 0 there is none, and so it is of the largest number. */
	return map_text_at(&n->names, id - 1, bytes);
}

uint32_t trace_names_count(const struct trace_names *n)
{
	return n->names.keys.count;
}
