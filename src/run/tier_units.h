/* SPDX-License-Identifier: Apache-2.0 */
/* tier_units.h - what a cache tier keeps as a whole: samples, files, or pages of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/cache/cache.h"
#include "data/file/file.h"

/*
 * A unit has a number, a size, and ranges of bytes of files: one, or two where samples are pairs.
 * In the tier they lie one behind the other; where reads are direct each is whole blocks, and
 * begins at one.
 */
struct tier_units {
	const struct plan_config *plan;
	int kind;           /* enum job_cache_unit */
	struct pages pages; /* CACHE_PAGES */
	double factor;      /* bytes that are kept of one that was read */
	uint64_t count;
	uint64_t same_bytes;    /* of each; 0 = they differ */
	uint64_t largest_bytes; /* of those that were looked at, a million */
	/* Of all units as they lie in the tier, before they are decoded: what cache_size= is a part
	 * of. */
	uint64_t stored_bytes;
};

#define TIER_RANGES 2

struct tier_range {
	uint64_t file; /* among those of all parts */
	uint64_t off, bytes;
	uint64_t at; /* in the unit */
};

void tier_units_init(struct tier_units *u, const struct plan_config *plan, const struct job *job);

uint64_t tier_unit_of(const struct tier_units *u, const struct extent *x);
uint64_t tier_unit_bytes(const struct tier_units *u, uint64_t unit);
const char *tier_unit_word(const struct tier_units *u); /* "sample" */
uint64_t tier_unit_samples(const struct tier_units *u); /* the most of one */

/* The id of its first extent. */
uint64_t tier_unit_first(const struct tier_units *u, uint64_t unit);

/* An extent of the unit, for one of another: in the place that this one has in its own, or the one
 * that comes next to it. */
void tier_unit_extent(const struct tier_units *u, uint64_t unit, const struct extent *instead_of,
		      struct extent *out);
/* Of so many bytes of a unit: as they are kept (cache_stage). */
uint64_t tier_kept_bytes(const struct tier_units *u, uint64_t bytes);

/* Their number: of the whole unit that an extent is in; and of the extent. */
unsigned tier_unit_ranges(const struct tier_units *u, const struct extent *x,
			  struct tier_range *out);
unsigned tier_extent_ranges(const struct tier_units *u, const struct extent *x,
			    struct tier_range *out);

/* Of ranges: where the last of them ends in the unit. */
uint64_t tier_ranges_end(const struct tier_units *u, const struct tier_range *ranges, unsigned n);
