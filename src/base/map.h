/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - numbers from 0 for keys, of which there may be many millions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/spill.h"

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
