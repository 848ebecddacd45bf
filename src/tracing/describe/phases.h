/* SPDX-License-Identifier: Apache-2.0 */
/* phases.h - when a trace reads, writes, both, or neither, by its intervals. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracing/describe/interval.h"

enum phase_kind { MOVES_NOTHING, MOVES_IN, MOVES_OUT, MOVES_BOTH, MOVES };

/* Intervals of one kind behind each other. */
struct phase {
	enum phase_kind kind;
	size_t first, count; /* intervals */
	uint64_t bytes;      /* read and written */
};

/* Of less than this part of the other's bytes it is not both. */
#define PHASES_PART 10

/* The phases in order of time, at most `most` of them. How many there are. */
size_t phases_find(const struct intervals *s, struct phase *to, size_t most);
