/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c - random numbers as a function of a seed and an index, and permutations without memory. */
#include "base/dist.h"

#include <assert.h>
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

/* The derived state of a (seed, stream). */
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
 * Word `index` of the content. SplitMix64 alone is a single cycle that all streams would share at
 * different positions, so that two files could hold the same blocks; the twist between its two
 * multiplications gives each stream its own cycle.
 */
static inline uint64_t content_word(struct key k, uint64_t index)
{
	uint64_t z = index * GOLDEN + k.start;

	z = (z ^ (z >> 30)) * MIX_1;
	z = (z ^ (z >> 27) ^ k.twist) * MIX_2;
	return htole64(z ^ (z >> 31));
}

/* Write `bytes` of one word, from byte `from` on. */
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
	/* An odd number of 53 bits is neither 0 nor 1, and exact as a double. */
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

#define ROUNDS (sizeof(((struct perm *)0)->keys) / sizeof(uint64_t))

/* The round function: a keyed multiplication and a fold, twice. The constants are from the
 * MurmurHash3 64-bit finaliser (Appleby, public domain). */
static inline uint64_t scramble(uint64_t half, uint64_t key)
{
	uint64_t z = (half + key) * 0xff51afd7ed558ccdu;

	z = (z ^ (z >> 33) ^ (key >> 7)) * 0xc4ceb9fe1a85ec53u;
	return z ^ (z >> 33);
}

/* A pass through the network: a bijection on 2 * half_bits bits. */
static uint64_t feistel(const struct perm *p, uint64_t at)
{
	uint64_t mask = (UINT64_C(1) << p->half_bits) - 1;
	uint64_t left = at >> p->half_bits;
	uint64_t right = at & mask;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t next = left ^ (scramble(right, p->keys[i]) & mask);

		left = right;
		right = next;
	}
	return left << p->half_bits | right;
}

void perm_init(struct perm *p, uint64_t n, uint64_t seed, uint64_t round)
{
	assert(n <= UINT64_C(1) << 63);
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;
	p->n = n;
	p->half_bits = bits > 2 ? (bits + 1) / 2 : 1;
	uint64_t round_seed = rng_u64(seed, RNG_SHUFFLE, round);
	for (unsigned i = 0; i < ROUNDS; i++)
		p->keys[i] = rng_u64(round_seed, RNG_SHUFFLE, i);
}

uint64_t perm_at(const struct perm *p, uint64_t at)
{
	assert(at < p->n);
	/* A position of n or above is mapped again: its cycle leads back below n. */
	do
		at = feistel(p, at);
	while (at >= p->n);
	return at;
}

/*
 * A bijection on the bits of the mask: adding keys, odd factors and right shifts are bijections
 * each. The factors are those of known 64-bit finalisers (MurmurHash3, Stafford's Mix13, the golden
 * ratio). With four rounds a pair of neighbours still visibly keeps its distance; with five, orders
 * of 2^6 to 2^19 pass for random in distances, serial correlation at every power of two and chi
 * square of runs.
 */
static inline uint64_t stir(uint64_t x, const struct perm_walk *w)
{
	x = ((x + w->keys[0]) * 0xff51afd7ed558ccdu) & w->mask;
	x ^= x >> w->shift;
	x = ((x + w->keys[1]) * 0xc4ceb9fe1a85ec53u) & w->mask;
	x ^= x >> w->shift;
	x = ((x + w->keys[2]) * 0xbf58476d1ce4e5b9u) & w->mask;
	x ^= x >> w->shift;
	x = ((x + w->keys[3]) * 0x94d049bb133111ebu) & w->mask;
	x ^= x >> w->shift;
	x = ((x + w->keys[4]) * 0x9e3779b97f4a7c15u) & w->mask;
	return x ^ (x >> w->shift);
}

void perm_walk_init(struct perm_walk *w, uint64_t n, uint64_t seed, uint64_t round)
{
	assert(n <= UINT64_C(1) << 63);
	/* Fewer bits would make some orders more likely than others. */
	unsigned bits = n > 64 ? 64 - (unsigned)__builtin_clzll(n - 1) : 6;
	w->n = n;
	w->at = 0;
	w->mask = (UINT64_C(1) << bits) - 1;
	w->shift = (bits + 1) / 2;
	uint64_t round_seed = rng_u64(seed, RNG_SHUFFLE, round);
	for (unsigned i = 0; i < sizeof(w->keys) / sizeof(w->keys[0]); i++)
		w->keys[i] = rng_u64(round_seed, RNG_SHUFFLE, i);
}

size_t perm_walk_next(struct perm_walk *w, uint64_t *out, size_t want)
{
	const struct perm_walk order = *w; /* a copy, so that stores to `out` cannot alias it */
	uint64_t at = w->at;
	size_t count = 0;

	while (count < want && at <= order.mask) {
		uint64_t element = stir(at++, &order);

		/* No branch, because it could not be predicted. */
		out[count] = element;
		count += element < order.n;
	}
	w->at = at;
	return count;
}
