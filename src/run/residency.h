/* SPDX-License-Identifier: Apache-2.0 */
/* residency.h - how much of a dataset is in this host's page cache, by a sample. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "data/file/file.h"

/* At most so many files are looked at, chosen at random. */
#define RESIDENCY_FILES 256

struct residency {
	uint64_t files;       /* looked at */
	double percent;       /* of their bytes; NaN = unknown */
	uint64_t failed_file; /* one that could not be asked; UINT64_MAX = none */
	bool is_nothing;      /* the whole sample was looked at: not a page */
};

/* Until deadline_ns; CLOCK_NEVER = the whole sample. */
void residency_sample(struct residency *r, const struct dataset *ds, const struct clock *clock,
		      uint64_t deadline_ns);

/*
 * Is nothing of the dataset in memory, as far as such a sample tells? Ends at the first page found.
 * Each `round` is another sample. False where it cannot be told.
 */
bool residency_is_nothing(const struct dataset *ds, uint64_t round, const struct clock *clock,
			  uint64_t deadline_ns);
