/* SPDX-License-Identifier: Apache-2.0 */
/* dftracer_names.c - files that events name by a hash, which another event explains. */
#include "import/trace/dftracer_names.h"

#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "trace/trace_names.h"

struct hashed {
	uint32_t file;
	bool is_explained;
};

struct dftracer_names {
	struct trace_fill *fill;
	struct trace_names *hashes; /* numbers of them */
	VEC(struct hashed) files;   /* by number, less one */
	uint64_t unexplained;
};

struct dftracer_names *dftracer_names_new(struct trace_fill *fill)
{
	struct dftracer_names *n = mem_zalloc(sizeof(*n));

	n->fill = fill;
	n->hashes = trace_names_new();
	return n;
}

void dftracer_names_free(struct dftracer_names *n)
{
	if (!n)
		return;
	trace_names_free(n->hashes);
	vec_fini(&n->files);
	mem_free(n);
}

static struct hashed *dftracer_names_find(struct dftracer_names *n, const char *hash, bool *is_new)
{
	uint32_t id = trace_names_id(n->hashes, hash, strlen(hash), is_new);

	while (n->files.count < id)
		vec_push(&n->files, (struct hashed){ 0 });
	return &n->files.at[id - 1];
}

void dftracer_names_explain(struct dftracer_names *n, const char *hash, const char *name)
{
	bool is_new;
	struct hashed *h = dftracer_names_find(n, hash, &is_new);
	uint64_t id;

	if (!is_new && h->is_explained)
		return;
	if (is_new) {
		h->file = trace_fill_name(n->fill, name, strlen(name));
	} else {
		/* The later entry of an id counts. */
		id = h->file;
		trace_fill_entry(n->fill, TRACE_FILE, &id, 1, name);
		n->unexplained--;
	}
	h->is_explained = true;
}

uint32_t dftracer_names_file(struct dftracer_names *n, const char *hash)
{
	bool is_new;
	struct hashed *h = dftracer_names_find(n, hash, &is_new);
	struct buf name = { 0 };

	if (!is_new)
		return h->file;
	buf_addf(&name, "hash %s", hash);
	h->file = trace_fill_name(n->fill, name.s, name.len);
	h->is_explained = false;
	n->unexplained++;
	buf_fini(&name);
	return h->file;
}

uint64_t dftracer_names_unexplained(const struct dftracer_names *n)
{
	return n->unexplained;
}
