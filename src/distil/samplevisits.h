/* SPDX-License-Identifier: Apache-2.0 */
/* samplevisits.h - of a training's visits to samples those that are looked at call by call. */
#pragma once

#include "distil/explain.h"
#include "distil/samplebook.h"

enum { SAMPLEVISITS_MOST = 48 };

/* Evenly spread over the training; how many. Specimens stay d's. */
unsigned samplevisits(struct explain_visit out[SAMPLEVISITS_MOST], const struct distil *d,
		      uint32_t party, const struct samplebook *b);

/* All of them, to be freed; *count of them. */
struct explain_visit *samplevisits_all(const struct distil *d, uint32_t party,
				       const struct samplebook *b, unsigned *count);

/* Do most of them touch pages of a mapping? */
bool samplevisits_mapped(const struct explain_visit *visits, unsigned count);

/* The largest read of those that touch pages as well; 0 = they read nothing. */
uint64_t samplevisits_read_beside(const struct explain_visit *visits, unsigned count);

/* Are files opened with O_DIRECT? */
bool samplevisits_direct(const struct explain_visit *visits, unsigned count);
