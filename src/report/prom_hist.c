/* SPDX-License-Identifier: Apache-2.0 */
/* prom_hist.c - see prom_hist.h. */
#include "report/prom_hist.h"

#include <string.h>

const char *const prom_bound_names[PROM_BOUNDS] = {
	"1e-05",  "2.5e-05", "5e-05", "0.0001", "0.00025", "0.0005", "0.001",
	"0.0025", "0.005",   "0.01",  "0.025",  "0.05",    "0.1",    "0.25",
	"0.5",    "1.0",     "2.5",   "5.0",    "10.0",    "25.0",   "50.0",
};

/* 10 us, 25 us, 50 us, 100 us, ... */
static uint64_t next_bound_ns(uint64_t ns, unsigned i)
{
	return i % 3 == 0 ? ns / 2 * 5 : ns * 2;
}

void prom_hist_of(struct prom_hist *to, const struct hist *from)
{
	uint64_t seen = 0, bound_ns = 10000;
	unsigned bucket = 0;

	*to = (struct prom_hist){ .count = from->count, .sum_ns = from->sum_ns };
	for (unsigned i = 0; from->count && i < PROM_BOUNDS; i++) {
		while (bucket < HIST_BUCKETS && hist_bucket_midpoint(bucket) <= bound_ns)
			seen += from->buckets[bucket++];
		to->below[i] = seen;
		bound_ns = next_bound_ns(bound_ns, i);
	}
}
