/* SPDX-License-Identifier: Apache-2.0 */
/* json_store.c - see json_store.h. */
#include "report/json_store.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/util.h"

struct json_lack {
	const struct mlgen_field *row;
	const void *base;
};

/* Of thousands of short texts; what is larger has a block of its own. */
#define BLOCK_BYTES ((size_t)16 << 10)

struct json_block {
	struct json_block *next;
	size_t used, bytes;
	max_align_t data[];
};

void json_store_fini(struct json_store *s)
{
	for (struct json_block *b = s->blocks, *next; b; b = next) {
		next = b->next;
		mem_free(b);
	}
	vec_fini(&s->lacks);
	memset(s, 0, sizeof(*s));
}

void *json_store_alloc(struct json_store *s, size_t bytes)
{
	size_t whole = round_up(bytes, sizeof(max_align_t));
	struct json_block *b = s->blocks;

	if (!b || whole > b->bytes - b->used) {
		size_t room = u64_max(whole, BLOCK_BYTES);

		b = mem_zalloc(sizeof(*b) + room);
		b->bytes = room;
		b->next = s->blocks;
		s->blocks = b;
	}
	b->used += whole;
	return (char *)b->data + b->used - whole;
}

char *json_store_text(struct json_store *s, const char *text)
{
	struct buf shown = { 0 };

	if (!printable_is(text)) {
		printable_add(&shown, text);
		text = buf_str(&shown);
	}
	size_t bytes = strlen(text) + 1;
	char *copy = memcpy(json_store_alloc(s, bytes), text, bytes);
	buf_fini(&shown);
	return copy;
}

struct hist *json_store_hist(struct json_store *s)
{
	struct hist *h = json_store_alloc(s, sizeof(*h));

	h->min_ns = UINT64_MAX;
	return h;
}

static void *store_grow(void *owner, void *p, size_t had, size_t bytes)
{
	void *all = json_store_alloc(owner, bytes);

	return had ? memcpy(all, p, had) : all;
}

static struct hist *store_take(void *owner, struct hist *from)
{
	struct hist *h = json_store_hist(owner);

	hist_merge(h, from);
	return h;
}

static const char *store_text(void *owner, const char *text)
{
	return json_store_text(owner, text);
}

const struct merge_memory json_store_memory = { store_grow, store_take, store_text };

void json_store_note_lack(struct json_store *s, const struct mlgen_field *row, const void *base)
{
	vec_push(&s->lacks, (struct json_lack){ row, base });
}

bool json_store_lacks(const struct json_store *s, const struct mlgen_field *row, const void *base)
{
	for (size_t i = 0; i < s->lacks.count; i++)
		if (s->lacks.at[i].row == row && s->lacks.at[i].base == base)
			return true;
	return false;
}
