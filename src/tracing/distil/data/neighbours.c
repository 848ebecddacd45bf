/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.c - do samples that lie side by side stay together in a shuffled order? */
#include "tracing/distil/data/data_internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"

/* Of fewer pairs nothing is said; of an order by chance 100 have a distance of 0.14, and no more
 * than one in a thousand has 0.2. */
#define PAIRS_LEAST 100
#define NEAR_LEAST 0.3

/* How far a pair is read apart: a class for each power of an eighth of two. */
#define CLASSES 256

struct sample_place {
	uint32_t epoch; /* + 1 of the last read; 0 = none */
	uint32_t position;
	uint32_t pairs, far; /* with the next one: epochs with both */
};

struct neighbours {
	uint32_t samples;
	struct sample_place *sample;
	uint32_t epoch, position; /* + 1; of the next read */
	double near;              /* sum over epochs, and how many */
	uint32_t epochs;
	double apart_sum; /* of near pairs */
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

/* ---- an epoch ends ---- */

/* 0 = one of both was not read. */
static uint32_t apart(const struct neighbours *b, uint32_t i)
{
	const struct sample_place *s = &b->sample[i], *next = s + 1;

	if (s->epoch != b->epoch || next->epoch != b->epoch)
		return 0;
	return s->position > next->position ? s->position - next->position
					    : next->position - s->position;
}

static uint32_t class_of(uint32_t distance)
{
	return (uint32_t)(8 * log2(distance));
}

/* The least distance that is of the next class. */
static double class_end(uint32_t class)
{
	return exp2((class + 1) / 8.0);
}

static uint64_t classify(const struct neighbours *b, uint64_t count[CLASSES])
{
	uint64_t pairs = 0;

	for (uint32_t i = 0; i + 1 < b->samples; i++) {
		uint32_t distance = apart(b, i);

		if (!distance)
			continue;
		count[class_of(distance)]++;
		pairs++;
	}
	return pairs;
}

/* Where pairs are nearer than those of an order by chance by the most: about as far as a window
 * reaches. */
static double reach_of(const struct neighbours *b, double *near)
{
	uint64_t count[CLASSES] = { 0 }, sum = 0, pairs = classify(b, count);
	double reach = (double)NAN;

	*near = 0;
	for (uint32_t i = 0; pairs >= PAIRS_LEAST && i < CLASSES; i++) {
		double at = fmin(ceil(class_end(i)) / b->position, 1);
		double more;

		sum += count[i];
		more = (double)sum / (double)pairs - at * (2 - at);
		if (more > *near) {
			*near = more;
			reach = class_end(i);
		}
	}
	return reach;
}

static void end_epoch(struct neighbours *b)
{
	double near = 0;
	double reach = b->epoch ? reach_of(b, &near) : (double)NAN;

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
	struct sample_place *s;

	if (epoch + 1 != b->epoch) {
		end_epoch(b);
		b->epoch = epoch + 1;
		b->position = 0;
	}
	if (sample < b->samples) {
		s = &b->sample[sample];
		if (s->epoch == b->epoch)
			return;
		s->epoch = b->epoch;
		s->position = b->position;
	}
	b->position++;
}

/* ---- runs ---- */

static bool is_end(const struct sample_place *s)
{
	return s->pairs && 2 * s->far > s->pairs;
}

/* Samples from the end of a run to the next end; how many. */
static uint32_t spacings(const struct neighbours *b, uint32_t *to)
{
	uint32_t count = 0, last = UINT32_MAX; /* one before the first sample */

	for (uint32_t i = 0; i < b->samples; i++)
		if (is_end(&b->sample[i])) {
			to[count++] = i - last;
			last = i;
		}
	return count;
}

/* The one there is most of; 0 = there are none. */
static uint32_t most_common(uint32_t *of, uint32_t count)
{
	uint32_t most = 0, is = 0, same = 0;

	qsort(of, count, sizeof(*of), u32_compare);
	for (uint32_t i = 0; i < count; i++) {
		same = i && of[i] == of[i - 1] ? same + 1 : 1;
		if (same > most) {
			most = same;
			is = of[i];
		}
	}
	return is;
}

/* The part of the ends of runs that are whole runs after the end before. */
static double explained_part(const struct neighbours *b, uint32_t run)
{
	uint32_t last = UINT32_MAX, ends = 0, whole = 0;

	for (uint32_t i = 0; i < b->samples; i++)
		if (is_end(&b->sample[i])) {
			ends++;
			whole += (i - last) % run == 0;
			last = i;
		}
	return (double)whole / (double)ends;
}

void neighbours_end(struct neighbours *b, struct neighbourly *to)
{
	uint32_t *spacing = mem_array((size_t)b->samples + 1, sizeof(*spacing));
	double window;

	end_epoch(b);
	b->epoch = 0;
	*to = (struct neighbourly){
		.near = b->epochs ? b->near / b->epochs : (double)NAN,
	};
	if (to->near >= NEAR_LEAST)
		to->run = most_common(spacing, spacings(b, spacing));
	mem_free(spacing);
	if (to->run < 2) {
		to->run = 0;
		return;
	}
	to->explained = explained_part(b, to->run);
	/* Two of n places that are drawn are (n + 1) / 3 apart on the mean. */
	window = 3 * b->apart_sum / (double)b->apart_count - 1;
	to->window_runs = window / to->run;
}
