/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill_names.c - whole paths of files of which a log has the last part of the name. */
#include "import/trace/mcgill_names.h"

#include <stdbool.h>

#include "base/vec.h"
#include "trace/trace_names.h"

/* A name is not that of one path. */
#define SEVERAL UINT32_MAX

struct name {
	uint32_t path; /* 0 = none yet */
	bool is_counted;
};

struct mcgill_names {
	struct trace_names *names;
	VEC(struct name) of; /* each name's, by its id */
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
	vec_fini(&n->of);
	mem_free(n);
}

static struct name *find_name(struct mcgill_names *n, struct mcgill_text name)
{
	uint32_t id = trace_names_id(n->names, name.s, name.bytes, NULL);

	while (n->of.count <= id)
		vec_push(&n->of, (struct name){ 0 });
	return &n->of.at[id];
}

void mcgill_names_opened(struct mcgill_names *n, struct mcgill_text name, uint32_t path)
{
	struct name *found = find_name(n, name);

	if (!found->path)
		found->path = path;
	else if (found->path != path)
		found->path = SEVERAL;
}

uint32_t mcgill_names_path(struct mcgill_names *n, struct mcgill_text name)
{
	struct name *found = find_name(n, name);

	if (found->path != SEVERAL)
		return found->path;
	n->ambiguous += !found->is_counted;
	found->is_counted = true;
	return 0;
}

uint64_t mcgill_names_ambiguous(const struct mcgill_names *n)
{
	return n->ambiguous;
}
