/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - comparison functions for qsort(3) and bsearch(3). */
#pragma once

#include <stdint.h>
#include <string.h>

/* -1, 0 or 1. Each argument is evaluated twice. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Elements that are numbers, and elements that are pointers to text. */
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

/* Define a static function NAME that orders elements of TYPE by a member that is a number, by
 * two or three members, the first of which counts most, or by one that is text. */
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
