/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - maps of numbers and of byte strings, and sets of numbers as ranges. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/files.h"

/* ---- FNV-1a of 64 bits, a hash that is the same on every host and in every version ---- */

/* The hash of no bytes. */
#define FNV1A UINT64_C(0xcbf29ce484222325)

/* Extend `hash` by `count` bytes. */
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* ---- maps that number keys from 0, for many millions of keys ---- */

/*
 * Keys are numbered in order of insertion; the caller keeps the data of a key in an array, indexed
 * by its number. Keys are never removed. A zeroed map is empty. A map belongs to one thread, and
 * allocates as it grows, so it is not for the I/O path.
 */

/* Map of 64-bit keys: at most 24 bytes per key, in a file if the map is large (struct spill). */
struct map {
	struct spill slots;
	uint64_t size; /* slots, a power of two; 0 = none yet */
	uint32_t count;
};

/* Return the number of a key, which is added if it is new. */
uint32_t map_number(struct map *m, uint64_t key, bool *is_new);
/* Is the key in the map? If so, *number is set. */
bool map_find(const struct map *m, uint64_t key, uint32_t *number);
void map_fini(struct map *m);

/* Map of byte strings, which are copied: about 32 bytes for each, plus the string. */
struct map_text {
	struct map keys;     /* hashes; a string whose hash is taken uses the next free hash */
	struct spill starts; /* uint64_t: offset of the string of each number */
	struct spill text;   /* concatenated strings, each with a zero byte */
	uint64_t end;        /* length of the text */
};

/* Like the functions of struct map. */
uint32_t map_text_number(struct map_text *m, const void *text, size_t bytes, bool *is_new);
bool map_text_find(const struct map_text *m, const void *text, size_t bytes, uint32_t *number);
void map_text_fini(struct map_text *m);

/* Return the zero-terminated string of a number, valid until the next map_text_number; NULL = no
 * such number. *bytes gets the length; bytes may be NULL. */
const char *map_text_at(const struct map_text *m, uint32_t number, size_t *bytes);

/* ---- sets of numbers, written as "0-7,16,64-71" ---- */

/* Ranges in ascending order that do not touch. A zeroed struct is empty. */
struct ranges {
	struct range {
		uint64_t first, last;
		uint64_t before; /* total numbers in earlier ranges */
	} * items;
	size_t count, room; /* see mem_grow() */
	uint64_t numbers;   /* total numbers in the set */
};

/*
 * Parse numbers and ranges separated by commas, in any order, with optional white space. Each
 * number must be below `end` and occur once. `what` is the noun for messages: "ranks". 0, or
 * -EINVAL or -ERANGE with err (without the option's name) and an empty *r.
 */
int ranges_parse(struct ranges *r, const char *text, uint64_t end, const char *what,
		 struct mlgen_err *err);
/* Fill with all numbers below `end`. */
void ranges_all(struct ranges *r, uint64_t end);
void ranges_fini(struct ranges *r);

/* Remove `end` and all larger numbers. */
void ranges_cut(struct ranges *r, uint64_t end);

/* Remove all numbers below `first`. */
void ranges_cut_below(struct ranges *r, uint64_t first);
/* Keep only the numbers at positions [from, end) of the ascending order. */
void ranges_keep(struct ranges *r, uint64_t from, uint64_t end);

/* The i-th smallest number, i < r->numbers. */
uint64_t ranges_at(const struct ranges *r, uint64_t i);
bool ranges_has(const struct ranges *r, uint64_t number);
