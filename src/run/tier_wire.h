/* SPDX-License-Identifier: Apache-2.0 */
/* tier_wire.h - what processes say to each other about slots of a cache tier that is divided among
 * them. */
#pragma once

#include <stdint.h>

/*
 * A question is this head, of a fill with the bytes of the unit behind it; an answer is its head,
 * of a slot that is there with the bytes that were asked for behind it. All processes are the same
 * program on the same architecture (star_meet.c compares versions), so numbers go as they are.
 */
enum tier_ask_kind { TIER_GET = 1, TIER_FILL };

#define TIER_ASK_PIECES 2 /* as many as a unit has ranges */

struct tier_ask {
	uint32_t kind, slot, generation;
	uint32_t sum; /* of a fill, with cache_verify: of all its bytes */
	uint64_t epoch, extent;
	uint32_t samples, count; /* count: of pieces */
	struct tier_piece {
		uint64_t at, bytes; /* in the slot */
	} pieces[TIER_ASK_PIECES];
};

enum tier_said {
	TIER_THERE = 1,
	TIER_NOT_THERE, /* not yet, or not any more */
	TIER_KEPT,      /* of a fill: it is there now */
	TIER_PASSED_ON, /* ... will be, and is counted by who keeps it */
	TIER_DROPPED,   /* ... is not */
	TIER_FAILED,    /* `sum` is an errno */
};

struct tier_answer {
	uint32_t said;
	uint32_t sum; /* of what is in the slot, all of it */
	uint64_t bytes;
};
