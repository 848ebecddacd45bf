/* SPDX-License-Identifier: Apache-2.0 */
/* count.h - counters that are looked at while others count. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/*
 * A counter says how far somebody is, and nothing of what was written before: relaxed. Who needs a
 * total waits until those who count were joined.
 */
static inline uint64_t count_get(const _Atomic uint64_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void count_set(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, n, memory_order_relaxed);
}

/* With a single writer; others only look. */
static inline void count_add(_Atomic uint64_t *c, uint64_t n)
{
	count_set(c, count_get(c) + n);
}

/* With several writers. */
static inline void count_add_shared(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}
