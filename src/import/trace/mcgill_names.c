/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill_names.c - whole paths of files of which a log has the last part of the name. */
#include "import/trace/mcgill_names.h"

#include <stdbool.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/trace_names.h"

/* A name is not that of one path. */
#define SEVERAL UINT32_MAX

struct mcgill_names {
	struct trace_names *names;
	uint32_t *path; /* of each name */
	bool *is_counted;
	uint32_t room;
	uint64_t ambiguous;
};

struct mcgill_names *mcgill_names_new(void)
{
	struct mcgill_names *n = mem_zalloc(sizeof(*n));

	n->names = trace_names_new();
	return n;
}

void mcgill_names_free(struct mcgill_names *n)
{
	if (!n)
		return;
	trace_names_free(n->names);
	mem_free(n->path);
	mem_free(n->is_counted);
	mem_free(n);
}

static uint32_t name_id(struct mcgill_names *n, struct mcgill_text name)
{
	uint32_t id = trace_names_id(n->names, name.s, name.bytes, NULL);
	uint32_t room = n->room;

	if (id < room)
		return id;
	room = (uint32_t)u64_max(id + 1, room ? 2 * (uint64_t)room : 1024);
	n->path = mem_realloc(n->path, room * sizeof(*n->path));
	n->is_counted = mem_realloc(n->is_counted, room);
	for (; n->room < room; n->room++) {
		n->path[n->room] = 0;
		n->is_counted[n->room] = false;
	}
	return id;
}

void mcgill_names_opened(struct mcgill_names *n, struct mcgill_text name, uint32_t path)
{
	uint32_t id = name_id(n, name);

	if (!n->path[id])
		n->path[id] = path;
	else if (n->path[id] != path)
		n->path[id] = SEVERAL;
}

uint32_t mcgill_names_path(struct mcgill_names *n, struct mcgill_text name)
{
	uint32_t id = name_id(n, name);

	if (n->path[id] != SEVERAL)
		return n->path[id];
	n->ambiguous += !n->is_counted[id];
	n->is_counted[id] = true;
	return 0;
}

uint64_t mcgill_names_ambiguous(const struct mcgill_names *n)
{
	return n->ambiguous;
}
