/* SPDX-License-Identifier: Apache-2.0 */
/* util.h - what is too small for a file of its own and too common to stand twice. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define NS_PER_S UINT64_C(1000000000)
#define MIB 1048576.0
#define GIB 1073741824.0

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a + b, and a * b; UINT64_MAX where that is more. */
static inline uint64_t u64_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t u64_product(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

/* The next multiple of `unit`, or `n` itself. */
static inline uint64_t round_up(uint64_t n, uint64_t unit)
{
	return divide_up(n, unit) * unit;
}

/* What stands behind a noun of which there are `n`. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Is there anything to be read? NULL is none. */
static inline bool has_text(const char *s)
{
	return s && *s;
}
