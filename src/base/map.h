/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - maps of numbers and of byte strings, and sets of numbers as ranges. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/files.h"

/* ---- a hash that means the same on every host and in every version: FNV-1a of 64 bits ---- */

/* The hash of nothing. */
#define FNV1A UINT64_C(0xcbf29ce484222325)

/* With these bytes behind those of which `hash` is. */
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* ---- numbers from 0 for keys, of which there may be many millions ---- */

/*
 * Keys are numbered in the order in which they come; what belongs to a key stands in an array of
 * the caller's, at the key's number. None is ever removed. A zeroed map is empty. It belongs to one
 * thread, and takes memory as it grows: it is not for the path of an operation.
 */

/* Of keys of 64 bits. 24 bytes a key at most, which may leave memory. */
struct map {
	struct spill slots;
	uint64_t size; /* slots, a power of two; 0 = none yet */
	uint32_t count;
};

/* The number of this key, in the order in which they came; is it new? */
uint32_t map_number(struct map *m, uint64_t key, bool *is_new);
/* Is it there? Then *number is its. */
bool map_find(const struct map *m, uint64_t key, uint32_t *number);
void map_fini(struct map *m);

/* Of byte strings, which it copies; about 32 bytes for each, and the string. */
struct map_text {
	struct map keys;     /* hashes; of strings that have the same one the next that is free */
	struct spill starts; /* uint64_t: where the string of each number begins */
	struct spill text;   /* one behind the other, each with a 0 */
	uint64_t end;        /* of the text */
};

/* The same for these. */
uint32_t map_text_number(struct map_text *m, const void *text, size_t bytes, bool *is_new);
bool map_text_find(const struct map_text *m, const void *text, size_t bytes, uint32_t *number);
void map_text_fini(struct map_text *m);

/* 0-terminated, until the next map_text_number; NULL = no such number. *bytes may be NULL. */
const char *map_text_at(const struct map_text *m, uint32_t number, size_t *bytes);

/* ---- a set of numbers written as "0-7,16,64-71" ---- */

/* Ascending, and no two touch. A zeroed one is empty. */
struct ranges {
	struct range {
		uint64_t first, last;
		uint64_t before; /* numbers of the ranges before this one */
	} * items;
	size_t count, room; /* mem_grow() */
	uint64_t numbers;   /* of all */
};

/*
 * Numbers and ranges with commas between them, in any order, blanks around them; each number below
 * `end`, and none twice. `what` is what they count, for messages: "ranks". 0, or -EINVAL or -ERANGE
 * with err (without the option's name), and then *r is empty.
 */
int ranges_parse(struct ranges *r, const char *text, uint64_t end, const char *what,
		 struct mlgen_err *err);
/* The numbers below `end`. */
void ranges_all(struct ranges *r, uint64_t end);
void ranges_fini(struct ranges *r);

/* Drop `end` and all above it. */
void ranges_cut(struct ranges *r, uint64_t end);

/* Drop all below `first`. */
void ranges_cut_below(struct ranges *r, uint64_t first);
/* Keep the numbers at places [from, end), of those in their order. */
void ranges_keep(struct ranges *r, uint64_t from, uint64_t end);

/* The i-th smallest, i < r->numbers. */
uint64_t ranges_at(const struct ranges *r, uint64_t i);
bool ranges_has(const struct ranges *r, uint64_t number);
