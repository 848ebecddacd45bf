/* SPDX-License-Identifier: Apache-2.0 */
/* util.h - small helpers for the whole program: numbers, comparison, bisection, counters. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- numbers and text ---- */

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define NS_PER_S UINT64_C(1000000000)
#define BYTES_PER_MIB 1048576.0
#define BYTES_PER_GIB 1073741824.0

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The greatest common divisor; that of 0 and b is b. */
static inline uint64_t u64_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* a + b and a * b, or UINT64_MAX if the result overflows. */
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

/* The plural ending of a noun: "s", or "" for one. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Is the text not empty? NULL counts as empty. */
static inline bool has_text(const char *s)
{
	return s && *s;
}

/* ---- bisection ---- */

/*
 * The smallest `i` in [low, high) for which `condition`, an expression that uses i, is true; `high`
 * if there is none. The condition must be false up to some i and true from there on. It is
 * evaluated about log2(high - low) times.
 *
 * size_t at = BISECT(i, 0, count, starts_ns[i] > now_ns);
 */
#define BISECT(i, low, high, condition)                                                            \
	({                                                                                         \
		uint64_t bisect_low_ = (low), bisect_high_ = (high);                               \
                                                                                                   \
		while (bisect_low_ < bisect_high_) {                                               \
			uint64_t i = bisect_low_ + (bisect_high_ - bisect_low_) / 2;               \
                                                                                                   \
			if (condition)                                                             \
				bisect_high_ = i;                                                  \
			else                                                                       \
				bisect_low_ = i + 1;                                               \
		}                                                                                  \
		bisect_low_;                                                                       \
	})

/* ---- comparison functions for qsort(3) and bsearch(3) ---- */

/* -1, 0 or 1. Each argument is evaluated twice. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* For elements that are numbers or pointers to text. */
static inline int u32_compare(const void *a, const void *b)
{
	return COMPARE(*(const uint32_t *)a, *(const uint32_t *)b);
}

static inline int u64_compare(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

static inline int f64_compare(const void *a, const void *b)
{
	return COMPARE(*(const double *)a, *(const double *)b);
}

static inline int text_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Define a static function NAME that orders elements of TYPE by one, two or three numeric
 * members, the first of which counts most, or by a text member. */
#define COMPARE_BY(name, type, first)                                                              \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
                                                                                                   \
		return COMPARE(x->first, y->first);                                                \
	}

#define COMPARE_BY2(name, type, first, second)                                                     \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
		int order = COMPARE(x->first, y->first);                                           \
                                                                                                   \
		return order ? order : COMPARE(x->second, y->second);                              \
	}

#define COMPARE_BY3(name, type, first, second, third)                                              \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
		int order = COMPARE(x->first, y->first);                                           \
                                                                                                   \
		if (!order)                                                                        \
			order = COMPARE(x->second, y->second);                                     \
		return order ? order : COMPARE(x->third, y->third);                                \
	}

#define COMPARE_BY_TEXT(name, type, member)                                                        \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
                                                                                                   \
		return strcmp(x->member, y->member);                                               \
	}

/* ---- counters that other threads read ---- */

/* A counter shows progress and implies nothing about earlier writes, so relaxed order is enough. A
 * thread that needs an exact total joins the writers first. */
static inline uint64_t count_get(const _Atomic uint64_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void count_set(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, n, memory_order_relaxed);
}

/* Single writer. */
static inline void count_add(_Atomic uint64_t *c, uint64_t n)
{
	count_set(c, count_get(c) + n);
}

/* Several writers. */
static inline void count_add_shared(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}
