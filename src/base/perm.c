/* SPDX-License-Identifier: Apache-2.0 */
/* perm.c - a random order of 0 .. n-1 that takes no memory. */
#include "base/perm.h"

#include <assert.h>

#include "base/rng.h"

#define ROUNDS (sizeof(((struct perm *)0)->keys) / sizeof(uint64_t))

/*
 * The round function: one keyed multiplication, folded, twice. Constants of the MurmurHash3 64-bit
 * finaliser (Appleby, public domain).
 */
static inline uint64_t scramble(uint64_t half, uint64_t key)
{
	uint64_t z = (half + key) * 0xff51afd7ed558ccdu;

	z = (z ^ (z >> 33) ^ (key >> 7)) * 0xc4ceb9fe1a85ec53u;
	return z ^ (z >> 33);
}

/* Once through the network: a bijection on 2 * half_bits bits. */
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
	/* A position outside leads on along its cycle, which comes back. */
	do
		at = feistel(p, at);
	while (at >= p->n);
	return at;
}

/*
 * A bijection on the bits of the mask: added keys, odd factors and shifts to the right are one
 * each. The factors are those of known 64-bit finalisers (MurmurHash3, Stafford's Mix13, the golden
 * ratio). With four rounds a pair of neighbours can still be seen to keep its distance; with five,
 * orders of 2^6 to 2^19 pass for random in distances, serial correlation at every power of two and
 * chi square of runs.
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
	/* Of fewer bits not all orders are as likely. */
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
	const struct perm_walk order = *w; /* not touched by stores to out */
	uint64_t at = w->at;
	size_t found = 0;

	while (found < want && at <= order.mask) {
		uint64_t element = stir(at++, &order);

		/* No branch: whether it is inside cannot be guessed. */
		out[found] = element;
		found += element < order.n;
	}
	w->at = at;
	return found;
}
