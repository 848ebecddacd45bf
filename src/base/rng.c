/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c - random numbers as a pure function of (seed, stream, index). */
#include "base/rng.h"

#include <endian.h>
#include <string.h>

/*
 * The finaliser of SplitMix64: Stafford's "Mix13" of the MurmurHash3 64-bit finaliser, with the
 * increment 2^64 / golden ratio (Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014).
 */
#define GOLDEN 0x9e3779b97f4a7c15u
#define MIX_1 0xbf58476d1ce4e5b9u
#define MIX_2 0x94d049bb133111ebu

/* What a (seed, stream) comes down to. */
struct key {
	uint64_t start, twist;
};

static inline uint64_t rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * MIX_1;
	z = (z ^ (z >> 27)) * MIX_2;
	return z ^ (z >> 31);
}

static inline struct key make_key(uint64_t seed, uint64_t stream)
{
	uint64_t start = rng_mix(rng_mix(seed + GOLDEN) + stream * GOLDEN);

	return (struct key){ start, rng_mix(start ^ stream ^ MIX_2) };
}

/*
 * Word `index` of the content. SplitMix64 alone is one cycle that all streams would share at
 * different places, so that two files could hold the same blocks; the twist between its two
 * multiplications gives each its own.
 */
static inline uint64_t content_word(struct key k, uint64_t index)
{
	uint64_t z = index * GOLDEN + k.start;

	z = (z ^ (z >> 30)) * MIX_1;
	z = (z ^ (z >> 27) ^ k.twist) * MIX_2;
	return htole64(z ^ (z >> 31));
}

/* Part of one word: `bytes` of it from byte `from` on. */
static void fill_part(void *to, struct key k, uint64_t index, size_t from, size_t bytes)
{
	uint64_t word = content_word(k, index);

	memcpy(to, (const char *)&word + from, bytes);
}

uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
	struct key k = make_key(seed, stream);

	return rng_mix(rng_mix(index * GOLDEN + k.start) ^ k.twist);
}

double rng_f64(uint64_t seed, uint64_t stream, uint64_t index)
{
	/* An odd number of 53 bits: neither 0 nor 1, and exact as a double. */
	uint64_t odd = (rng_u64(seed, stream, index) >> 11) | 1;

	return (double)odd * 0x1p-53;
}

void rng_fill(void *to, size_t bytes, uint64_t seed, uint64_t stream, uint64_t offset)
{
	struct key k = make_key(seed, stream);
	char *p = to;
	uint64_t index = offset / 8;
	size_t from = offset % 8;

	if (from > 0) {
		size_t head = bytes < 8 - from ? bytes : 8 - from;

		fill_part(p, k, index++, from, head);
		p += head;
		bytes -= head;
	}
	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t word = content_word(k, index++);

		memcpy(p, &word, 8);
	}
	if (bytes > 0)
		fill_part(p, k, index, 0, bytes);
}
