/* SPDX-License-Identifier: Apache-2.0 */
/* follow.c - where a thread left off in a file: is its next access in sequence? */
#include "tracing/describe/follow.h"

#include <stddef.h>

#include "base/mem.h"

#define SETS (UINT64_C(1) << 16)
#define WAYS 4

struct place_left {
	uint64_t end; /* + 1; 0 = free */
	uint32_t file, thread;
	uint64_t used; /* when, by the clock below */
};

struct follow {
	struct place_left left[SETS][WAYS];
	uint64_t clock;
};

struct follow *follow_new(void)
{
	return mem_zalloc(sizeof(struct follow));
}

void follow_free(struct follow *f)
{
	mem_free(f);
}

static struct place_left *set_of(struct follow *f, uint32_t file, uint32_t thread)
{
	uint64_t key = (uint64_t)file << 32 | thread;

	/* Fibonacci hashing: the upper bits are the mixed ones. */
	return f->left[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 48];
}

/* The place of this pair, or the one to take for it. */
static struct place_left *find_place(struct follow *f, uint32_t file, uint32_t thread)
{
	struct place_left *set = set_of(f, file, thread), *oldest = set;

	for (unsigned i = 0; i < WAYS; i++) {
		if (set[i].end && set[i].file == file && set[i].thread == thread)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	oldest->end = 0;
	return oldest;
}

enum follow_kind follow_apart(struct follow *f, uint32_t file, uint32_t thread, uint64_t from,
			      uint64_t end, uint64_t *apart)
{
	struct place_left *p = find_place(f, file, thread);
	uint64_t left = p->end - 1;
	enum follow_kind kind = FOLLOW_FIRST;

	*apart = 0;
	if (p->end) {
		kind = from == left ? FOLLOW_SEQUENTIAL : from > left ? FOLLOW_AHEAD : FOLLOW_BACK;
		*apart = from > left ? from - left : left - from;
	}
	*p = (struct place_left){ end < UINT64_MAX ? end + 1 : end, file, thread, ++f->clock };
	return kind;
}

enum follow_kind follow_next(struct follow *f, uint32_t file, uint32_t thread, uint64_t from,
			     uint64_t end)
{
	uint64_t apart;

	return follow_apart(f, file, thread, from, end, &apart);
}

void follow_forget(struct follow *f, uint32_t file, uint32_t thread)
{
	struct place_left *p = find_place(f, file, thread);

	p->end = 0;
	p->used = 0;
}
