/* SPDX-License-Identifier: Apache-2.0 */
/* touched.c - which bytes of a file were touched: exact as long as they are few pieces. */
#include "tracing/describe/touched.h"

#include <string.h>

#include "base/util.h"

#define BLOCK_BITS 12
#define MOST_BLOCKS (UINT64_C(1) << 27)
/* Pieces that a set has room for at first. */
#define FIRST_ROOM 8

_Static_assert(TOUCHED_BLOCK == 1 << BLOCK_BITS, "a block is a power of two");

struct touched_set {
	uint64_t at;    /* in the arena */
	uint64_t room;  /* pieces, or blocks */
	uint64_t bytes; /* touched; of blocks, how many */
	uint64_t highest;
	uint32_t count; /* pieces */
	uint32_t bits;  /* of a block's size; 0 = pieces */
	uint32_t next_free;
};

static struct touched_set *set_at(const struct touched_pool *p, uint32_t more)
{
	return (struct touched_set *)p->sets.at + (more - 1);
}

static void *arena_at(const struct touched_pool *p, uint64_t at)
{
	return (char *)p->arena.at + at;
}

/* ---- room for pieces and bits, by powers of two ---- */

static unsigned class_of(uint64_t bytes)
{
	return 63 - (unsigned)__builtin_clzll(bytes);
}

static uint64_t arena_take(struct touched_pool *p, uint64_t bytes)
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
		spill_need(&p->arena, p->arena_used);
	return at;
}

static void arena_give(struct touched_pool *p, uint64_t at, uint64_t bytes)
{
	uint64_t *free_at = &p->free_at[class_of(bytes)];

	memcpy(arena_at(p, at), free_at, sizeof(*free_at));
	*free_at = at + 1;
}

static uint32_t set_take(struct touched_pool *p)
{
	uint32_t more = p->free_set;

	if (more) {
		p->free_set = set_at(p, more)->next_free;
		memset(set_at(p, more), 0, sizeof(struct touched_set));
		return more;
	}
	more = ++p->set_count;
	if (more * sizeof(struct touched_set) > p->sets.bytes)
		spill_need(&p->sets, more * sizeof(struct touched_set));
	return more;
}

/* ---- pieces ---- */

/* Put one into a list, ascending and apart, that has room for one more. Its new count; *gained says
 * by how many bytes it grew. */
static uint32_t put_piece(struct touched_piece *list, uint32_t count, struct touched_piece piece,
			  uint64_t *gained)
{
	uint32_t low = (uint32_t)BISECT(i, 0, count, list[i].to >= piece.from), end;
	uint64_t had = 0;
	for (end = low; end < count && list[end].from <= piece.to; end++)
		had += list[end].to - list[end].from;
	if (end > low) {
		piece.from = u64_min(piece.from, list[low].from);
		piece.to = u64_max(piece.to, list[end - 1].to);
	}
	*gained = piece.to - piece.from - had;
	memmove(&list[low + 1], &list[end], (count - end) * sizeof(*list));
	list[low] = piece;
	return count + 1 - (end - low);
}

/* ---- blocks ---- */

static uint64_t put_bits(uint64_t *words, uint64_t first, uint64_t last)
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

/* Blocks of twice the size, in place. */
static void join_blocks(const struct touched_pool *p, struct touched_set *s)
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

/* Have a bit for each block up to this byte. */
static void have_blocks(struct touched_pool *p, uint32_t more, uint64_t last)
{
	struct touched_set *s = set_at(p, more);
	uint64_t room = s->room;

	while (last >> s->bits >= MOST_BLOCKS) {
		if (s->room == 0)
			s->bits++;
		else
			join_blocks(p, s);
	}
	while (room <= last >> s->bits)
		room = room ? 2 * room : 4096;
	if (room == s->room)
		return;
	uint64_t at = arena_take(p, room / 8);
	s = set_at(p, more);
	if (s->room) {
		memcpy(arena_at(p, at), arena_at(p, s->at), s->room / 8);
		arena_give(p, s->at, s->room / 8);
	}
	s->at = at;
	s->room = room;
}

static void put_blocks(struct touched_pool *p, uint32_t more, struct touched_piece piece)
{
	have_blocks(p, more, piece.to - 1);
	struct touched_set *s = set_at(p, more);

	s->bytes += put_bits(arena_at(p, s->at), piece.from >> s->bits, (piece.to - 1) >> s->bits);
	s->highest = u64_max(s->highest, piece.to);
}

/* Too many pieces. */
static void become_blocks(struct touched_pool *p, uint32_t more)
{
	struct touched_piece pieces[TOUCHED_PIECES + 1];
	struct touched_set *s = set_at(p, more);
	uint32_t count = s->count;

	memcpy(pieces, arena_at(p, s->at), count * sizeof(*pieces));
	arena_give(p, s->at, s->room * sizeof(*pieces));
	*s = (struct touched_set){ .bits = BLOCK_BITS };
	for (uint32_t i = count; i-- > 0;)
		put_blocks(p, more, pieces[i]);
}

/* ---- the set of a file ---- */

static void become_set(struct touched_pool *p, struct touched *t,
		       const struct touched_piece *pieces, uint32_t count)
{
	uint32_t more = set_take(p);
	uint64_t at = arena_take(p, FIRST_ROOM * sizeof(*pieces));
	struct touched_set *s = set_at(p, more);

	memcpy(arena_at(p, at), pieces, count * sizeof(*pieces));
	s->at = at;
	s->room = FIRST_ROOM;
	s->count = count;
	for (uint32_t i = 0; i < count; i++)
		s->bytes += pieces[i].to - pieces[i].from;
	t->more = more;
	t->count = 0;
}

/* Few again, as of a file that was read whole. */
static void leave_set(struct touched_pool *p, struct touched *t)
{
	struct touched_set *s = set_at(p, t->more);

	memcpy(t->at, arena_at(p, s->at), s->count * sizeof(*t->at));
	t->count = s->count;
	arena_give(p, s->at, s->room * sizeof(*t->at));
	s->next_free = p->free_set;
	p->free_set = t->more;
	t->more = 0;
}

static void have_room(struct touched_pool *p, uint32_t more)
{
	const uint64_t each = sizeof(struct touched_piece);
	struct touched_set *s = set_at(p, more);

	if (s->count + 1 <= s->room)
		return;
	uint64_t at = arena_take(p, 4 * s->room * each);
	memcpy(arena_at(p, at), arena_at(p, s->at), s->count * each);
	arena_give(p, s->at, s->room * each);
	s->at = at;
	s->room *= 4;
}

static void put_in_set(struct touched_pool *p, struct touched *t, struct touched_piece piece)
{
	struct touched_set *s = set_at(p, t->more);
	uint64_t gained;

	if (s->bits) {
		put_blocks(p, t->more, piece);
		return;
	}
	have_room(p, t->more);
	s->count = put_piece(arena_at(p, s->at), s->count, piece, &gained);
	s->bytes += gained;
	if (s->count > TOUCHED_PIECES)
		become_blocks(p, t->more);
	else if (s->count == 1)
		leave_set(p, t);
}

static void put_in_file(struct touched_pool *p, struct touched *t, struct touched_piece piece)
{
	struct touched_piece list[3] = { t->at[0], t->at[1] };
	uint64_t gained;
	uint32_t count = put_piece(list, t->count, piece, &gained);

	if (count > ARRAY_LEN(t->at)) {
		become_set(p, t, list, count);
		return;
	}
	memcpy(t->at, list, sizeof(t->at));
	t->count = count;
}

uint64_t touched_add(struct touched_pool *p, struct touched *t, uint64_t from, uint64_t to)
{
	const struct touched_piece piece = { from, to };

	if (from >= to)
		return 0;
	/* What was read before, or goes on from there, is the rule. */
	if (t->count && from >= t->at[0].from && to <= t->at[0].to)
		return 0;
	uint64_t had = touched_bytes(p, t);
	if (t->more)
		put_in_set(p, t, piece);
	else
		put_in_file(p, t, piece);
	uint64_t has = touched_bytes(p, t);
	return has > had ? has - had : 0;
}

uint64_t touched_bytes(const struct touched_pool *p, const struct touched *t)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < t->count; i++)
		bytes += t->at[i].to - t->at[i].from;
	if (!t->more)
		return bytes;
	const struct touched_set *s = set_at(p, t->more);
	return s->bits ? u64_min(s->bytes << s->bits, s->highest) : s->bytes;
}

bool touched_is_exact(const struct touched_pool *p, const struct touched *t)
{
	return !t->more || !set_at(p, t->more)->bits;
}

void touched_pool_fini(struct touched_pool *p)
{
	spill_free(&p->sets);
	spill_free(&p->arena);
	memset(p, 0, sizeof(*p));
}
