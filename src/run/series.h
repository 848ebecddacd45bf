/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - what a running job did over time: intervals that grow as there are more of them. */
#pragma once

#include "run/live.h"
#include "run/series_result.h"

/* However long a run is, it has so many intervals at most, in so much memory, of all its jobs
 * together. */
#define SERIES_INTERVALS 720
#define SERIES_BYTES (UINT64_C(8) << 20)

/*
 * The columns of live_fields, interval by interval, and the histograms that its percentiles are of.
 * Where there is no room for one more, each two neighbours become one, and from then on an interval
 * is twice as long: counters and histograms add up, shares are of what they are shares of, figures
 * of the host are means over the time, what says where the job is is as it was last. So whatever an
 * interval shows is what one look at its beginning and one at its end would have shown. On the main
 * thread.
 */
struct series;

/* Of one of so many jobs; time counts from start_ns, of the run's clock. */
struct series *series_new(uint64_t start_ns, size_t jobs);
void series_free(struct series *s); /* NULL is fine */

/* One more interval, behind those before; looks with histograms, and a host. */
void series_add(struct series *s, const struct live_span *span);

/* What it takes of memory, and how many intervals it has. */
uint64_t series_bytes(const struct series *s);
size_t series_count(const struct series *s);

/* As it goes into the document; all in it is owned, by series_job_fini. */
void series_finish(struct series *s, struct series_job *out);
