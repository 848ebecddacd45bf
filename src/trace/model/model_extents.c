/* SPDX-License-Identifier: Apache-2.0 */
/* model_extents.c - which bytes of a file were accessed: exact as long as the extents are few. */
#include <string.h>

#include "base/util.h"
#include "trace/model/model.h"

#define BLOCK_BITS 12
#define BLOCKS_MOST (UINT64_C(1) << 27)
/* A new set has room for this many extents. */
#define FIRST_ROOM 8

_Static_assert(EXTENT_BLOCK_BYTES == 1 << BLOCK_BITS, "a block is a power of two");

struct pool_set {
	uint64_t at;    /* offset in the arena */
	uint64_t room;  /* allocated extents, or blocks */
	uint64_t bytes; /* accessed bytes, or blocks */
	uint64_t highest;
	uint32_t count; /* extents */
	uint32_t bits;  /* log2 of the size of a block; 0 = extents */
	uint32_t next_free;
};

static struct pool_set *set_at(const struct extent_pool *p, uint32_t more)
{
	return (struct pool_set *)p->sets.at + (more - 1);
}

static void *arena_at(const struct extent_pool *p, uint64_t at)
{
	return (char *)p->arena.at + at;
}

/* ---- memory for extents and bits, by powers of two ---- */

static unsigned class_of(uint64_t bytes)
{
	return 63 - (unsigned)__builtin_clzll(bytes);
}

static uint64_t arena_alloc(struct extent_pool *p, uint64_t bytes)
{
	uint64_t *free_at = &p->free_at[class_of(bytes)];
	uint64_t at = *free_at;

	if (at) {
		memcpy(free_at, arena_at(p, at - 1), sizeof(*free_at));
		memset(arena_at(p, at - 1), 0, bytes);
		return at - 1;
	}
	at = p->arena_used;
	p->arena_used += bytes;
	if (p->arena_used > p->arena.bytes)
		spill_reserve(&p->arena, p->arena_used);
	return at;
}

static void arena_release(struct extent_pool *p, uint64_t at, uint64_t bytes)
{
	uint64_t *free_at = &p->free_at[class_of(bytes)];

	memcpy(arena_at(p, at), free_at, sizeof(*free_at));
	*free_at = at + 1;
}

static uint32_t set_alloc(struct extent_pool *p)
{
	uint32_t more = p->free_set;

	if (more) {
		p->free_set = set_at(p, more)->next_free;
		memset(set_at(p, more), 0, sizeof(struct pool_set));
		return more;
	}
	more = ++p->set_count;
	if (more * sizeof(struct pool_set) > p->sets.bytes)
		spill_reserve(&p->sets, more * sizeof(struct pool_set));
	return more;
}

/* ---- extents ---- */

/* Insert an extent into a sorted list of disjoint extents that has room for one more. Returns the
 * new count; *gained is the number of bytes that are new. */
static uint32_t insert_extent(struct byte_range *list, uint32_t count, struct byte_range e,
			      uint64_t *gained)
{
	uint32_t low = (uint32_t)BISECT(i, 0, count, list[i].to >= e.from), end;
	uint64_t before = 0;
	for (end = low; end < count && list[end].from <= e.to; end++)
		before += list[end].to - list[end].from;
	if (end > low) {
		e.from = u64_min(e.from, list[low].from);
		e.to = u64_max(e.to, list[end - 1].to);
	}
	*gained = e.to - e.from - before;
	memmove(&list[low + 1], &list[end], (count - end) * sizeof(*list));
	list[low] = e;
	return count + 1 - (end - low);
}

/* ---- blocks: a bit each ---- */

static uint64_t set_bits(uint64_t *words, uint64_t first, uint64_t last)
{
	uint64_t gained = 0;

	for (uint64_t w = first / 64; w <= last / 64; w++) {
		uint64_t mask = UINT64_MAX;

		if (w == first / 64)
			mask <<= first % 64;
		if (w == last / 64)
			mask &= UINT64_MAX >> (63 - last % 64);
		gained += (uint64_t)__builtin_popcountll(mask & ~words[w]);
		words[w] |= mask;
	}
	return gained;
}

/* Double the size of blocks, in place. */
static void join_blocks(const struct extent_pool *p, struct pool_set *s)
{
	uint64_t *words = arena_at(p, s->at);

	s->bytes = 0;
	s->bits++;
	for (uint64_t i = 0; i < s->room / 2; i++) {
		uint64_t pair = words[2 * i / 64] >> (2 * i % 64) & 3;
		uint64_t mask = UINT64_C(1) << (i % 64);

		if (pair)
			words[i / 64] |= mask;
		else
			words[i / 64] &= ~mask;
		s->bytes += pair != 0;
	}
	memset(&words[s->room / 128], 0, s->room / 16);
}

/* Make room for the bits of all blocks up to this byte. */
static void need_blocks(struct extent_pool *p, uint32_t more, uint64_t last)
{
	struct pool_set *s = set_at(p, more);
	uint64_t room = s->room;

	while (last >> s->bits >= BLOCKS_MOST) {
		if (s->room == 0)
			s->bits++;
		else
			join_blocks(p, s);
	}
	while (room <= last >> s->bits)
		room = room ? 2 * room : 4096;
	if (room == s->room)
		return;
	uint64_t at = arena_alloc(p, room / 8);
	s = set_at(p, more);
	if (s->room) {
		memcpy(arena_at(p, at), arena_at(p, s->at), s->room / 8);
		arena_release(p, s->at, s->room / 8);
	}
	s->at = at;
	s->room = room;
}

static void add_blocks(struct extent_pool *p, uint32_t more, struct byte_range e)
{
	need_blocks(p, more, e.to - 1);
	struct pool_set *s = set_at(p, more);

	s->bytes += set_bits(arena_at(p, s->at), e.from >> s->bits, (e.to - 1) >> s->bits);
	s->highest = u64_max(s->highest, e.to);
}

/* ---- the set of a file ---- */

static void need_room(struct extent_pool *p, uint32_t more)
{
	const uint64_t each = sizeof(struct byte_range);
	struct pool_set *s = set_at(p, more);

	if (s->count + 1 <= s->room)
		return;
	uint64_t at = arena_alloc(p, 4 * s->room * each);
	memcpy(arena_at(p, at), arena_at(p, s->at), s->count * each);
	arena_release(p, s->at, s->room * each);
	s->at = at;
	s->room *= 4;
}

static void add_to_set(struct extent_pool *p, struct extent_set *t, struct byte_range e)
{
	struct pool_set *s = set_at(p, t->more);
	uint64_t gained;

	if (s->bits) {
		add_blocks(p, t->more, e);
		return;
	}
	need_room(p, t->more);
	s->count = insert_extent(arena_at(p, s->at), s->count, e, &gained);
	s->bytes += gained;
	if (s->count > EXTENTS_MAX) {
		struct byte_range extents[EXTENTS_MAX + 1];
		uint32_t count = s->count;

		/* Convert a set with too many extents to blocks. */
		memcpy(extents, arena_at(p, s->at), count * sizeof(*extents));
		arena_release(p, s->at, s->room * sizeof(*extents));
		*s = (struct pool_set){ .bits = BLOCK_BITS };
		for (uint32_t i = count; i-- > 0;)
			add_blocks(p, t->more, extents[i]);
	} else if (s->count == 1) {
		/* Move a set with a single extent, such as that of a file read whole, out of the
		 * pool. */
		memcpy(t->at, arena_at(p, s->at), s->count * sizeof(*t->at));
		t->count = s->count;
		arena_release(p, s->at, s->room * sizeof(*t->at));
		s->next_free = p->free_set;
		p->free_set = t->more;
		t->more = 0;
	}
}

static void add_in_place(struct extent_pool *p, struct extent_set *t, struct byte_range e)
{
	struct byte_range list[3] = { t->at[0], t->at[1] };
	uint64_t gained;
	uint32_t count = insert_extent(list, t->count, e, &gained);

	if (count > ARRAY_LEN(t->at)) {
		uint32_t more = set_alloc(p);
		uint64_t at = arena_alloc(p, FIRST_ROOM * sizeof(*list));
		struct pool_set *s = set_at(p, more);

		memcpy(arena_at(p, at), list, count * sizeof(*list));
		s->at = at;
		s->room = FIRST_ROOM;
		s->count = count;
		for (uint32_t i = 0; i < count; i++)
			s->bytes += list[i].to - list[i].from;
		t->more = more;
		t->count = 0;
		return;
	}
	memcpy(t->at, list, sizeof(t->at));
	t->count = count;
}

uint64_t extent_set_add(struct extent_pool *p, struct extent_set *t, uint64_t from, uint64_t to)
{
	const struct byte_range e = { from, to };

	if (from >= to)
		return 0;
	/* Most accesses are to bytes that were read before. */
	if (t->count && from >= t->at[0].from && to <= t->at[0].to)
		return 0;
	uint64_t before = extent_set_bytes(p, t);
	if (t->more)
		add_to_set(p, t, e);
	else
		add_in_place(p, t, e);
	uint64_t after = extent_set_bytes(p, t);
	return after > before ? after - before : 0;
}

uint64_t extent_set_bytes(const struct extent_pool *p, const struct extent_set *t)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < t->count; i++)
		bytes += t->at[i].to - t->at[i].from;
	if (!t->more)
		return bytes;
	const struct pool_set *s = set_at(p, t->more);
	return s->bits ? u64_min(s->bytes << s->bits, s->highest) : s->bytes;
}

bool extent_set_is_exact(const struct extent_pool *p, const struct extent_set *t)
{
	return !t->more || !set_at(p, t->more)->bits;
}

void extent_pool_fini(struct extent_pool *p)
{
	spill_free(&p->sets);
	spill_free(&p->arena);
	memset(p, 0, sizeof(*p));
}
