/* SPDX-License-Identifier: Apache-2.0 */
/* spacing.h - every how many things a pause stands. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The pause in front of one thing, at its position from 0 in a row of them. */
struct spaced {
	uint32_t position;
	double pause_ns;
};

struct spacing {
	uint32_t every;   /* 2 or more; 0 = pauses have no such order */
	double explained; /* of what pauses differ in, 0 to 1 */
};

/*
 * The number whose multiples have the longest pauses, against all others: by logarithms, of which
 * the variance between the two is the largest. Positions 0 have no pause. Other things' rows may
 * lie among them; the order is no matter.
 */
struct spacing spacing_of(const struct spaced *at, size_t count);
