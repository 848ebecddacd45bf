/* SPDX-License-Identifier: Apache-2.0 */
/* watch_internal.h - declarations that the files of run/watch share. */
#pragma once

#include "run/watch/watch.h"

/* ---- how a series stores its intervals ---- */

#define SERIES_COLUMNS 32
#define SERIES_HISTS 4

/* A histogram; NULL = empty. */
struct series_bins {
	uint64_t sum_ns, min_ns, max_ns;
	uint64_t used;
	uint64_t bins[]; /* count << SERIES_BUCKET_BITS | bucket */
};
#define SERIES_BUCKET_BITS 16

static inline unsigned series_bucket(uint64_t bin)
{
	return bin & ((1u << SERIES_BUCKET_BITS) - 1);
}

static inline uint64_t series_count_in(uint64_t bin)
{
	return bin >> SERIES_BUCKET_BITS;
}

/* The value of a column: sum / weight for shares and host figures, otherwise sum. Weight 0 = no
 * value. */
struct series_cell {
	double sum, weight;
};

struct series_interval {
	uint64_t begin_ns, end_ns, covered_ns;
	uint64_t looks;
	struct series_cell cells[SERIES_COLUMNS];
	struct series_bins *hists[SERIES_HISTS];
};

struct series {
	const char *job;
	uint64_t start_ns, most_bytes;
	uint64_t looks; /* looks per interval */
	const struct live_field *columns[SERIES_COLUMNS];
	const struct live_field *hists[SERIES_HISTS];
	unsigned column_count, hist_count;
	struct series_interval *intervals;
	size_t count, room;
	struct metric_list phases; /* series_phase */
	struct hist *scratch;
};

/* Add a histogram to `to`. */
void series_unpack(struct hist *to, const struct series_bins *p);
