/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - a region cut into requests of several sizes, each accessed once, in random order. */
#include "data/pattern/pattern_internal.h"

#include <assert.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"

/* Limit for the size of a strip, in pieces of the largest kind. */
#define STRIP_PIECES 16

struct strip_kind {
	struct piece_kind is;
	uint64_t per_strip;
	uint64_t first_strip; /* number in the order of strips */
	uint64_t in_strips;   /* pieces in strips; the remaining ones are in the tail */
	uint64_t count, left;
	struct perm_walk order;
};

struct pieces {
	unsigned kinds;
	uint64_t strip_bytes, strips;
	uint64_t tail_at; /* end of the last strip; smallest pieces follow */
	uint64_t count, bytes, left;
	struct perm strip_order;
	struct strip_kind kind[];
};

/*
 * The smallest size that all kinds divide. If that is huge, shares would be inexact. A strip then
 * has the size of the largest kind, and the last piece of other kinds is cut short.
 */
static uint64_t strip_size(const struct piece_kind *kinds, unsigned count)
{
	uint64_t largest = 0, common = 1;

	for (unsigned i = 0; i < count; i++)
		largest = u64_max(largest, kinds[i].bytes);
	for (unsigned i = 0; i < count; i++) {
		assert(kinds[i].bytes > 0);
		uint64_t times = kinds[i].bytes / u64_gcd(common, kinds[i].bytes);
		if (common > STRIP_PIECES * largest / times)
			return largest;
		common *= times;
	}
	return common;
}

/* Pieces are divided by percentage, so strips are divided by percentage / per_strip. */
static double strip_share(const struct strip_kind *k)
{
	return k->is.percent / (double)k->per_strip;
}

struct pieces *pieces_new(const struct piece_kind *kinds, unsigned count, uint64_t region_bytes)
{
	struct pieces *s = mem_zalloc(sizeof(*s) + count * sizeof(struct strip_kind));
	struct strip_kind *smallest = &s->kind[0];

	s->kinds = count;
	for (unsigned i = 0; i < count; i++)
		s->kind[i].is = kinds[i];
	s->strip_bytes = strip_size(kinds, count);
	s->strips = region_bytes / s->strip_bytes;
	s->tail_at = s->strips * s->strip_bytes;

	double sum = 0, shared = 0;
	uint64_t given = 0;

	for (unsigned i = 0; i < s->kinds; i++) {
		struct strip_kind *k = &s->kind[i];

		k->per_strip = (s->strip_bytes - 1) / k->is.bytes + 1;
		sum += strip_share(k);
	}
	for (unsigned i = 0; i < s->kinds; i++) {
		struct strip_kind *k = &s->kind[i];
		uint64_t end = s->strips;

		shared += strip_share(k);
		/* Sums are rounded, not shares: no kind is off by more than one strip. */
		if (i + 1 < s->kinds && shared < sum)
			end = (uint64_t)((double)end * (shared / sum) + 0.5);
		k->first_strip = given;
		k->in_strips = (end - given) * k->per_strip;
		k->count = k->in_strips;
		given = end;
	}

	for (unsigned i = 1; i < count; i++)
		if (s->kind[i].is.bytes < smallest->is.bytes)
			smallest = &s->kind[i];
	uint64_t tail = (region_bytes - s->tail_at) / smallest->is.bytes;
	smallest->count += tail;
	s->bytes = s->tail_at + tail * smallest->is.bytes;
	for (unsigned i = 0; i < count; i++)
		s->count += s->kind[i].count;
	return s;
}

void pieces_free(struct pieces *s)
{
	mem_free(s);
}

uint64_t pieces_count(const struct pieces *s)
{
	return s->count;
}

uint64_t pieces_bytes(const struct pieces *s)
{
	return s->bytes;
}

void pieces_start(struct pieces *s, uint64_t seed, uint64_t round)
{
	uint64_t own = rng_u64(seed, RNG_SHUFFLE, round);

	perm_init(&s->strip_order, s->strips, own, 0);
	s->left = s->count;
	for (unsigned i = 0; i < s->kinds; i++) {
		struct strip_kind *k = &s->kind[i];

		k->left = k->count;
		perm_walk_init(&k->order, k->count, own, i + 1);
	}
}

struct piece pieces_next(struct pieces *s, uint64_t random)
{
	/* All pieces left are equally likely, so that the kinds run out together. */
	uint64_t at = (uint64_t)(((unsigned __int128)random * s->left) >> 64), strip;
	struct strip_kind *k = s->kind;
	struct piece piece;

	for (; at >= k->left; k++)
		at -= k->left;
	piece = (struct piece){ .bytes = k->is.bytes, .is_write = k->is.is_write };
	perm_walk_next(&k->order, &at, 1);
	k->left--;
	s->left--;
	if (at >= k->in_strips) {
		piece.off = s->tail_at + (at - k->in_strips) * k->is.bytes;
		return piece;
	}
	strip = perm_at(&s->strip_order, k->first_strip + at / k->per_strip);
	piece.off = (at % k->per_strip) * k->is.bytes;
	piece.bytes = u64_min(piece.bytes, s->strip_bytes - piece.off);
	piece.off += strip * s->strip_bytes;
	return piece;
}
