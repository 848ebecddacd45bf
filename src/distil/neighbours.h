/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.h - do samples that lie side by side stay together in an order that is shuffled, and
 * how many of them? */
#pragma once

#include <stdint.h>

/*
 * Loaders that shuffle runs of neighbours (pages of FFCV, chunks of DIESEL) read one window after
 * the other: some whole runs, the samples of which have any order. So two neighbours are read at
 * most a window apart, but for those between which a run ends. Pure sums; memory is that of the
 * samples given.
 */
struct neighbours;

/* Samples are numbered as they lie, one file behind the other. */
struct neighbours *neighbours_new(uint32_t samples);
void neighbours_free(struct neighbours *b); /* NULL is fine */

/* A read of the order, each once; epochs (from 0) never less than before. Of samples at or beyond
 * those given only the place in the order counts. */
void neighbours_add(struct neighbours *b, uint64_t sample, uint32_t epoch);

struct neighbourly {
	/* By how much more pairs are near than by chance (the Kolmogorov-Smirnov distance of how
	 * far pairs are read apart from the same of a random order): 0 .. 1; NaN = too few. */
	double near;
	uint32_t run;       /* samples of a run; 0 = there are none */
	double explained;   /* of the ends of runs: whole runs apart */
	double window_runs; /* so many runs are shuffled together */
};
void neighbours_end(struct neighbours *b, struct neighbourly *to);
