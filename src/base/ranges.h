/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.h - a set of numbers written as "0-7,16,64-71". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

/* Ascending, and no two touch. A zeroed one is empty. */
struct ranges {
	struct range {
		uint64_t first, last;
		uint64_t before; /* numbers of the ranges before this one */
	} * items;
	size_t count, room; /* mem_grow() */
	uint64_t numbers;   /* of all */
};

/*
 * Numbers and ranges with commas between them, in any order, blanks around them; each number below
 * `end`, and none twice. `what` is what they count, for messages: "ranks". 0, or -EINVAL or -ERANGE
 * with err (without the option's name), and then *r is empty.
 */
int ranges_parse(struct ranges *r, const char *text, uint64_t end, const char *what,
		 struct mlgen_err *err);
/* The numbers below `end`. */
void ranges_all(struct ranges *r, uint64_t end);
void ranges_fini(struct ranges *r);

/* Drop `end` and all above it. */
void ranges_cut(struct ranges *r, uint64_t end);

/* Drop all below `first`. */
void ranges_cut_below(struct ranges *r, uint64_t first);
/* Keep the numbers at places [from, end), of those in their order. */
void ranges_keep(struct ranges *r, uint64_t from, uint64_t end);

/* The i-th smallest, i < r->numbers. */
uint64_t ranges_at(const struct ranges *r, uint64_t i);
bool ranges_has(const struct ranges *r, uint64_t number);
