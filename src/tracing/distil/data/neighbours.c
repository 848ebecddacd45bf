/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.c - do samples that lie side by side stay together in a shuffled order? */
#include "tracing/distil/data/data_internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"

/* Fewer pairs show nothing: 100 pairs of a random order have a KS distance of 0.14, and one order
 * in a thousand has 0.2. */
#define PAIRS_LEAST 100
#define NEAR_LEAST 0.3

/* Classes of the distance between the reads of a pair, one for each power of 2^(1/8). */
#define CLASSES 256

struct sample_place {
	uint32_t epoch; /* epoch + 1 of the last read; 0 = none */
	uint32_t position;
	uint32_t pairs; /* epochs that read this sample and the next one */
	uint32_t far;   /* epochs in which the two were read far apart */
};

struct neighbours {
	uint32_t samples;
	struct sample_place *sample;
	uint32_t epoch;    /* number plus 1 */
	uint32_t position; /* place of the next read in the epoch */
	double near;       /* sum over epochs */
	uint32_t epochs;   /* number of epochs in `near` */
	double apart_sum;  /* distances of near pairs */
	uint64_t apart_count;
};

struct neighbours *neighbours_new(uint32_t samples)
{
	struct neighbours *b = mem_zalloc(sizeof(*b));

	b->samples = samples;
	b->sample = mem_array((size_t)samples + 1, sizeof(*b->sample));
	return b;
}

void neighbours_free(struct neighbours *b)
{
	if (!b)
		return;
	mem_free(b->sample);
	mem_free(b);
}

/* ---- the end of an epoch ---- */

/* The distance between the reads of sample i and of the next sample; 0 = one of the two was not
 * read. */
static uint32_t apart(const struct neighbours *b, uint32_t i)
{
	const struct sample_place *s = &b->sample[i], *next = s + 1;

	if (s->epoch != b->epoch || next->epoch != b->epoch)
		return 0;
	return s->position > next->position ? s->position - next->position
					    : next->position - s->position;
}

/* The distance at which the share of nearer pairs most exceeds the share in a random order; *near
 * is the excess. This distance is about the size of a window. */
static double find_reach(const struct neighbours *b, double *near)
{
	uint64_t count[CLASSES] = { 0 }, sum = 0, pairs = 0;
	double reach = (double)NAN;

	for (uint32_t i = 0; i + 1 < b->samples; i++) {
		uint32_t distance = apart(b, i);

		if (!distance)
			continue;
		count[(uint32_t)(8 * log2(distance))]++;
		pairs++;
	}
	*near = 0;
	for (uint32_t i = 0; pairs >= PAIRS_LEAST && i < CLASSES; i++) {
		double class_end = exp2((i + 1) / 8.0); /* least distance of the next class */
		double at = fmin(ceil(class_end) / b->position, 1);

		sum += count[i];
		double more = (double)sum / (double)pairs - at * (2 - at);
		if (more > *near) {
			*near = more;
			reach = class_end;
		}
	}
	return reach;
}

static void end_epoch(struct neighbours *b)
{
	double near = 0;
	double reach = b->epoch ? find_reach(b, &near) : (double)NAN;

	if (isnan(reach))
		return;
	b->near += near;
	b->epochs++;
	for (uint32_t i = 0; i + 1 < b->samples; i++) {
		uint32_t distance = apart(b, i);

		if (!distance)
			continue;
		b->sample[i].pairs++;
		if (distance > 1.5 * reach) {
			b->sample[i].far++;
		} else {
			b->apart_sum += distance;
			b->apart_count++;
		}
	}
}

void neighbours_add(struct neighbours *b, uint64_t sample, uint32_t epoch)
{
	if (epoch + 1 != b->epoch) {
		end_epoch(b);
		b->epoch = epoch + 1;
		b->position = 0;
	}
	if (sample < b->samples) {
		struct sample_place *s = &b->sample[sample];

		if (s->epoch == b->epoch)
			return;
		s->epoch = b->epoch;
		s->position = b->position;
	}
	b->position++;
}

/* ---- runs ---- */

void neighbours_end(struct neighbours *b, struct neighbour_stats *to)
{
	uint32_t *spacing = mem_array((size_t)b->samples + 1, sizeof(*spacing));
	uint32_t count = 0, whole = 0;

	end_epoch(b);
	b->epoch = 0;
	*to = (struct neighbour_stats){
		.near = b->epochs ? b->near / b->epochs : (double)NAN,
	};
	if (to->near >= NEAR_LEAST) {
		/* The length of a run is the most common distance between ends of runs. */
		uint32_t last = UINT32_MAX; /* last + 1 is the first sample */
		uint32_t most = 0, same = 0;

		for (uint32_t i = 0; i < b->samples; i++)
			if (b->sample[i].pairs && 2 * b->sample[i].far > b->sample[i].pairs) {
				spacing[count++] = i - last;
				last = i;
			}
		qsort(spacing, count, sizeof(*spacing), u32_compare);
		for (uint32_t i = 0; i < count; i++) {
			same = i && spacing[i] == spacing[i - 1] ? same + 1 : 1;
			if (same > most) {
				most = same;
				to->run = spacing[i];
			}
		}
	}
	for (uint32_t i = 0; i < count; i++)
		whole += spacing[i] % to->run == 0;
	mem_free(spacing);
	if (to->run < 2) {
		to->run = 0;
		return;
	}
	to->explained = (double)whole / (double)count;
	/* Two random places out of n are (n + 1) / 3 apart on average. */
	double window = 3 * b->apart_sum / (double)b->apart_count - 1;
	to->window_runs = window / to->run;
}
