/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h - how large requests were, by classes of a power of two. */
#pragma once

#include <stdint.h>

#define SIZES_CLASSES 65

/*
 * Class n holds sizes above 2^(n-1) up to 2^n bytes, the last one all above 2^63; it is named by
 * the largest size that it met. One writer. A zeroed struct is empty.
 */
struct sizes {
	uint64_t count[SIZES_CLASSES];
	uint64_t largest[SIZES_CLASSES]; /* bytes */
};

/* The exponent of the next power of two: 1 is class 0, 4096 is class 12. */
static inline unsigned sizes_class_of(uint64_t bytes)
{
	return bytes > 1 ? 64 - (unsigned)__builtin_clzll(bytes - 1) : 0;
}

/* n requests of so many bytes. */
static inline void sizes_add(struct sizes *s, uint64_t bytes, uint64_t n)
{
	unsigned i = sizes_class_of(bytes);

	s->count[i] += n;
	if (n && bytes > s->largest[i])
		s->largest[i] = bytes;
}

/* to += from; in any order. */
void sizes_merge(struct sizes *to, const struct sizes *from);

/*
 * The classes with at least one percent of all requests, the most frequent first, at most `max`.
 * Their number; 0 where nothing was counted.
 */
struct sizes_share {
	uint64_t bytes; /* the largest of the class */
	double percent;
};
unsigned sizes_shares(const struct sizes *s, struct sizes_share *out, unsigned max);
