/* SPDX-License-Identifier: Apache-2.0 */
/* writetime.c - see writetime.h. */
#include "run/writetime.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

#define SECOND_NS UINT64_C(1000000000)
#define MOST_SECONDS 5

void writetime_wait(struct crew *c, const _Atomic uint64_t *synced_bytes,
		    uint64_t start_ns)
{
	for (unsigned i = 1; i <= MOST_SECONDS; i++) {
		crew_wait(c, start_ns + i * SECOND_NS);
		if (atomic_load_explicit(synced_bytes, memory_order_relaxed))
			return;
	}
}

/* What is only in the page cache is no measure. */
void writetime_text(char out[WRITETIME_BYTES], uint64_t seen_ns,
		    uint64_t synced_bytes, uint64_t all_bytes)
{
	char time[UNITS_TEXT_BYTES];
	double ns = (double)seen_ns;

	if (synced_bytes >= all_bytes) {
		snprintf(out, WRITETIME_BYTES, "in %s",
			 units_human_time(time, seen_ns));
		return;
	}
	if (synced_bytes == 0 || seen_ns < SECOND_NS) {
		snprintf(out, WRITETIME_BYTES, "time unknown");
		return;
	}
	ns *= (double)all_bytes / (double)synced_bytes;
	/* Whole seconds, once there are some: it is an estimate. */
	if (ns >= 10e9)
		ns = round(ns / 1e9) * 1e9;
	snprintf(out, WRITETIME_BYTES, "about %s, estimate",
		 units_human_time(time, (uint64_t)ns));
}
