/* SPDX-License-Identifier: Apache-2.0 */
/* tier_slot.h - a slot of a cache tier: whose bytes it has, and who reads them, in one word. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A slot is given to one unit after the other; each time is a generation, from
 * 1. The word has the generation whose bytes are in it, or on their way, what
 * became of them, and how many threads read them. Acquire and release order what is in the slot
 * with the word: who enters sees all that was filled in, and who fills comes after all who have
 * left.
 */
enum tier_slot_state { SLOT_EMPTY, SLOT_FILLING, SLOT_READY, SLOT_FAILED };

_Static_assert((SLOT_READY | SLOT_FILLING) == SLOT_FAILED, "tier_slot_spoil");

#define SLOT_READERS_BITS 20u
#define SLOT_STATE_BITS 4u
#define SLOT_GENERATION_SHIFT (SLOT_READERS_BITS + SLOT_STATE_BITS)
#define SLOT_READERS_MASK ((UINT64_C(1) << SLOT_READERS_BITS) - 1)

static inline uint64_t tier_slot_word(uint64_t generation, enum tier_slot_state s)
{
	return generation << SLOT_GENERATION_SHIFT | (uint64_t)s << SLOT_READERS_BITS;
}

static inline uint64_t tier_slot_generation(uint64_t word)
{
	return word >> SLOT_GENERATION_SHIFT;
}

static inline enum tier_slot_state tier_slot_state(uint64_t word)
{
	return (enum tier_slot_state)(word >> SLOT_READERS_BITS & ((1u << SLOT_STATE_BITS) - 1));
}

/* Has it the bytes of this generation? Then they stay until tier_slot_leave. */
static inline bool tier_slot_enter(_Atomic uint64_t *slot, uint64_t generation)
{
	uint64_t ready = tier_slot_word(generation, SLOT_READY);
	uint64_t w = atomic_load_explicit(slot, memory_order_relaxed);

	do {
		if ((w & ~SLOT_READERS_MASK) != ready)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(slot, &w, w + 1, memory_order_acquire,
							memory_order_relaxed));
	return true;
}

static inline void tier_slot_leave(_Atomic uint64_t *slot)
{
	atomic_fetch_sub_explicit(slot, 1, memory_order_release);
}

/* By one of those who read it: nobody else will. */
static inline void tier_slot_spoil(_Atomic uint64_t *slot)
{
	/* READY and this bit are FAILED. */
	atomic_fetch_or_explicit(slot, tier_slot_word(0, SLOT_FILLING), memory_order_relaxed);
}

/* May the bytes of this generation come into it now? Not while somebody reads or fills it, nor
 * where a later one has it, nor where they are there. Of one that only has room where something
 * was, `grows` false. */
static inline bool tier_slot_fill(_Atomic uint64_t *slot, uint64_t generation, bool grows)
{
	uint64_t w = atomic_load_explicit(slot, memory_order_relaxed);

	do {
		enum tier_slot_state s = tier_slot_state(w);

		if (s == SLOT_FILLING || w & SLOT_READERS_MASK ||
		    tier_slot_generation(w) > generation ||
		    (tier_slot_generation(w) == generation && s == SLOT_READY) ||
		    (!grows && s != SLOT_READY))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		slot, &w, tier_slot_word(generation, SLOT_FILLING), memory_order_acquire,
		memory_order_relaxed));
	return true;
}

/* By who fills it. */
static inline void tier_slot_filled(_Atomic uint64_t *slot, uint64_t generation, bool is_whole)
{
	atomic_store_explicit(slot, tier_slot_word(generation, is_whole ? SLOT_READY : SLOT_FAILED),
			      memory_order_release);
}
