/* SPDX-License-Identifier: Apache-2.0 */
/* keyed.h - numbers from 0 for keys of 64 bits, of which there may be many millions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/spill.h"

/* A zeroed one is empty. 24 bytes a key at most, which may leave memory. */
struct keyed {
	struct spill slots;
	uint64_t size; /* slots, a power of two; 0 = none yet */
	uint32_t count;
};

/* The number of this key, in the order in which they came; is it new? */
uint32_t keyed_number(struct keyed *k, uint64_t key, bool *is_new);
/* Is it there? Then *number is its. */
bool keyed_find(const struct keyed *k, uint64_t key, uint32_t *number);
void keyed_fini(struct keyed *k);
