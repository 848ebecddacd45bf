/* SPDX-License-Identifier: Apache-2.0 */
/* keyed.c - numbers from 0 for keys of 64 bits, of which there may be many millions. */
#include "describe/keyed.h"

#include <string.h>

#define FIRST_SIZE 64

struct slot {
	uint64_t key;
	uint64_t number; /* + 1; 0 = free */
};

/* The last step of splitmix64: keys are mostly small and dense. */
static uint64_t keyed_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static struct slot *find_slot(struct slot *slots, uint64_t size, uint64_t key)
{
	uint64_t i = keyed_mix(key) & (size - 1);

	while (slots[i].number && slots[i].key != key)
		i = (i + 1) & (size - 1);
	return &slots[i];
}

static void keyed_grow(struct keyed *k)
{
	uint64_t size = k->size ? 2 * k->size : FIRST_SIZE;
	struct spill to = { .most = k->slots.most };

	spill_need(&to, size * sizeof(struct slot));
	for (uint64_t i = 0; i < k->size; i++) {
		const struct slot *s = (const struct slot *)k->slots.at + i;

		if (s->number)
			*find_slot(to.at, size, s->key) = *s;
	}
	spill_free(&k->slots);
	k->slots = to;
	k->size = size;
}

uint32_t keyed_number(struct keyed *k, uint64_t key, bool *is_new)
{
	/* Two of three slots in use at most. */
	if (UINT64_C(3) * k->count >= 2 * k->size)
		keyed_grow(k);
	struct slot *s = find_slot(k->slots.at, k->size, key);
	*is_new = !s->number;
	if (*is_new)
		*s = (struct slot){ key, ++k->count };
	return (uint32_t)(s->number - 1);
}

bool keyed_find(const struct keyed *k, uint64_t key, uint32_t *number)
{
	const struct slot *s = k->size ? find_slot(k->slots.at, k->size, key) : NULL;

	if (!s || !s->number)
		return false;
	*number = (uint32_t)(s->number - 1);
	return true;
}

void keyed_fini(struct keyed *k)
{
	spill_free(&k->slots);
	memset(k, 0, sizeof(*k));
}
