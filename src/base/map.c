/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - see map.h. */
#include "base/map.h"

#include <string.h>

#define FIRST_SIZE 64

struct slot {
	uint64_t key;
	uint64_t number; /* + 1; 0 = free */
};

/* The last step of splitmix64: keys are mostly small and dense. */
static uint64_t map_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static struct slot *find_slot(struct slot *slots, uint64_t size, uint64_t key)
{
	uint64_t i = map_mix(key) & (size - 1);

	while (slots[i].number && slots[i].key != key)
		i = (i + 1) & (size - 1);
	return &slots[i];
}

static void map_grow(struct map *m)
{
	uint64_t size = m->size ? 2 * m->size : FIRST_SIZE;
	struct spill to = { .most = m->slots.most };

	spill_need(&to, size * sizeof(struct slot));
	for (uint64_t i = 0; i < m->size; i++) {
		const struct slot *s = (const struct slot *)m->slots.at + i;

		if (s->number)
			*find_slot(to.at, size, s->key) = *s;
	}
	spill_free(&m->slots);
	m->slots = to;
	m->size = size;
}

uint32_t map_number(struct map *m, uint64_t key, bool *is_new)
{
	/* Two of three slots in use at most. */
	if (UINT64_C(3) * m->count >= 2 * m->size)
		map_grow(m);
	struct slot *s = find_slot(m->slots.at, m->size, key);
	*is_new = !s->number;
	if (*is_new)
		*s = (struct slot){ key, ++m->count };
	return (uint32_t)(s->number - 1);
}

bool map_find(const struct map *m, uint64_t key, uint32_t *number)
{
	const struct slot *s = m->size ? find_slot(m->slots.at, m->size, key) : NULL;

	if (!s || !s->number)
		return false;
	*number = (uint32_t)(s->number - 1);
	return true;
}

void map_fini(struct map *m)
{
	spill_free(&m->slots);
	*m = (struct map){ 0 };
}

/* ---- byte strings ---- */

/* The factor is odd, and has as many bits set as not. */
static uint64_t mix_in(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Eight bytes at a time, each mixed with what came before. */
static uint64_t hash_of(const char *text, size_t bytes)
{
	uint64_t hash = bytes, word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = mix_in(hash, word);
		text += sizeof(word);
	}
	word = 0;
	memcpy(&word, text, bytes);
	return mix_in(hash, word);
}

static bool has_at(const struct map_text *m, uint32_t number, const void *text, size_t bytes)
{
	size_t had_bytes = 0;
	const char *had = map_text_at(m, number, &had_bytes);

	return had_bytes == bytes && memcmp(had, text, bytes) == 0;
}

static void add_text(struct map_text *m, uint32_t number, const void *text, size_t bytes)
{
	spill_need(&m->starts, ((size_t)number + 1) * sizeof(uint64_t));
	spill_need(&m->text, m->end + bytes + 1);
	((uint64_t *)m->starts.at)[number] = m->end;
	char *to = (char *)m->text.at + m->end;
	memcpy(to, text, bytes);
	to[bytes] = '\0';
	m->end += bytes + 1;
}

uint32_t map_text_number(struct map_text *m, const void *text, size_t bytes, bool *is_new)
{
	for (uint64_t key = hash_of(text, bytes);; key++) {
		uint32_t number = map_number(&m->keys, key, is_new);

		if (*is_new)
			add_text(m, number, text, bytes);
		if (*is_new || has_at(m, number, text, bytes))
			return number;
	}
}

bool map_text_find(const struct map_text *m, const void *text, size_t bytes, uint32_t *number)
{
	uint64_t key = hash_of(text, bytes);

	while (map_find(&m->keys, key, number)) {
		if (has_at(m, *number, text, bytes))
			return true;
		key++;
	}
	return false;
}

void map_text_fini(struct map_text *m)
{
	map_fini(&m->keys);
	spill_free(&m->starts);
	spill_free(&m->text);
	*m = (struct map_text){ 0 };
}

const char *map_text_at(const struct map_text *m, uint32_t number, size_t *bytes)
{
	const uint64_t *starts = m->starts.at;

	if (number >= m->keys.count)
		return NULL;
	if (bytes)
		*bytes = (number + 1 < m->keys.count ? starts[number + 1] : m->end) -
			 starts[number] - 1;
	return (const char *)m->text.at + starts[number];
}
