/* SPDX-License-Identifier: Apache-2.0 */
/* pairing.c - requests under way, between the event that begins one and the one that ends it. */
#include "tracing/describe/pairing.h"

#include "base/mem.h"

#define SETS (1u << 14)
#define WAYS 4

struct under_way {
	uint64_t key, began_ns;
	bool is_used;
};

struct pairing {
	struct under_way at[SETS][WAYS];
	uint64_t depth, most;
};

struct pairing *pairing_new(void)
{
	return mem_zalloc(sizeof(struct pairing));
}

void pairing_free(struct pairing *p)
{
	mem_free(p);
}

static struct under_way *find_pair(struct pairing *p, uint64_t key)
{
	struct under_way *set = p->at[key >> 50];

	for (unsigned i = 0; i < WAYS; i++)
		if (set[i].is_used && set[i].key == key)
			return &set[i];
	return NULL;
}

static struct under_way *make_room(struct pairing *p, uint64_t key)
{
	struct under_way *set = p->at[key >> 50], *oldest = set;

	for (unsigned i = 0; i < WAYS; i++) {
		if (!set[i].is_used)
			return &set[i];
		if (set[i].began_ns < oldest->began_ns)
			oldest = &set[i];
	}
	p->depth--;
	return oldest;
}

void pairing_begin(struct pairing *p, uint64_t key, uint64_t now_ns)
{
	struct under_way *u = find_pair(p, key);

	if (!u) {
		u = make_room(p, key);
		p->depth++;
	}
	*u = (struct under_way){ key, now_ns, true };
	if (p->depth > p->most)
		p->most = p->depth;
}

bool pairing_end(struct pairing *p, uint64_t key, uint64_t *began_ns)
{
	struct under_way *u = find_pair(p, key);

	if (!u)
		return false;
	*began_ns = u->began_ns;
	u->is_used = false;
	p->depth--;
	return true;
}

uint64_t pairing_depth(const struct pairing *p)
{
	return p->depth;
}

uint64_t pairing_most(const struct pairing *p)
{
	return p->most;
}
