/* SPDX-License-Identifier: Apache-2.0 */
/* trace_names.c - see trace_names.h. */
#include "trace/trace_names.h"

#include <string.h>

#include "base/mem.h"
#include "base/spill.h"

#define FIRST_SLOTS 1024u

/* id 0 = free. The hash is kept, so that a larger table is filled without a look at the names. */
struct name_slot {
	uint64_t hash;
	uint32_t id;
	uint32_t bytes;
};

struct trace_names {
	struct spill slots;  /* struct name_slot, a power of two of them */
	struct spill starts; /* uint64_t: where the text of id - 1 begins */
	struct spill text;   /* one behind the other, each with a 0 */
	size_t slot_count;
	uint64_t end; /* of the text */
	uint32_t count;
};

struct trace_names *trace_names_new(void)
{
	struct trace_names *n = mem_zalloc(sizeof(*n));

	n->slot_count = FIRST_SLOTS;
	spill_need(&n->slots, FIRST_SLOTS * sizeof(struct name_slot));
	return n;
}

void trace_names_free(struct trace_names *n)
{
	if (!n)
		return;
	spill_free(&n->slots);
	spill_free(&n->starts);
	spill_free(&n->text);
	mem_free(n);
}

/* Odd, and with as many bits set as not. */
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

static uint64_t trace_names_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * FACTOR;
	return hash ^ hash >> 32;
}

/* Eight bytes at a time, each mixed with what came before. */
static uint64_t hash_of(const char *name, size_t bytes)
{
	uint64_t hash = bytes, word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
		memcpy(&word, name, sizeof(word));
		hash = trace_names_mix(hash, word);
		name += sizeof(word);
	}
	word = 0;
	memcpy(&word, name, bytes);
	return trace_names_mix(trace_names_mix(hash, word), 0);
}

static const char *text_of(const struct trace_names *n, uint32_t id)
{
	const uint64_t *starts = n->starts.at;

	return (const char *)n->text.at + starts[id - 1];
}

/* Where it is, or has to be. */
static struct name_slot *find_slot(const struct trace_names *n, uint64_t hash, const char *name,
				   size_t bytes)
{
	struct name_slot *slots = n->slots.at;
	size_t at = hash & (n->slot_count - 1);

	for (;; at = (at + 1) & (n->slot_count - 1)) {
		struct name_slot *s = &slots[at];

		if (!s->id || (s->hash == hash && s->bytes == bytes &&
			       memcmp(text_of(n, s->id), name, bytes) == 0))
			return s;
	}
}

static void double_slots(struct trace_names *n)
{
	struct spill old = n->slots;
	const struct name_slot *from = old.at;
	size_t count = n->slot_count;

	n->slots = (struct spill){ 0 };
	n->slot_count = 2 * count;
	spill_need(&n->slots, n->slot_count * sizeof(struct name_slot));
	struct name_slot *to = n->slots.at;
	for (size_t i = 0; i < count; i++) {
		size_t at = from[i].hash & (n->slot_count - 1);

		if (!from[i].id)
			continue;
		while (to[at].id)
			at = (at + 1) & (n->slot_count - 1);
		to[at] = from[i];
	}
	spill_free(&old);
}

static uint32_t add_text(struct trace_names *n, const char *name, size_t bytes)
{
	uint64_t *starts;
	char *to;

	spill_need(&n->starts, (n->count + (size_t)1) * sizeof(*starts));
	spill_need(&n->text, n->end + bytes + 1);
	starts = n->starts.at;
	starts[n->count] = n->end;
	to = (char *)n->text.at + n->end;
	memcpy(to, name, bytes);
	to[bytes] = '\0';
	n->end += bytes + 1;
	return ++n->count;
}

uint32_t trace_names_id(struct trace_names *n, const char *name, size_t bytes, bool *is_new)
{
	uint64_t hash = hash_of(name, bytes);
	struct name_slot *s = find_slot(n, hash, name, bytes);

	if (is_new)
		*is_new = !s->id;
	if (s->id)
		return s->id;
	*s = (struct name_slot){ .hash = hash, .bytes = (uint32_t)bytes };
	s->id = add_text(n, name, bytes);
	uint32_t id = s->id;
	if (2 * (size_t)n->count > n->slot_count)
		double_slots(n);
	return id;
}

uint32_t trace_names_find(const struct trace_names *n, const char *name, size_t bytes)
{
	return find_slot(n, hash_of(name, bytes), name, bytes)->id;
}

const char *trace_names_text(const struct trace_names *n, uint32_t id, size_t *bytes)
{
	const uint64_t *starts = n->starts.at;
	uint64_t end;

	if (id == 0 || id > n->count)
		return NULL;
	end = id < n->count ? starts[id] : n->end;
	if (bytes)
		*bytes = end - starts[id - 1] - 1;
	return text_of(n, id);
}

uint32_t trace_names_count(const struct trace_names *n)
{
	return n->count;
}
