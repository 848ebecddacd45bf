/* SPDX-License-Identifier: Apache-2.0 */
/* spread.c - which values there were, and how often: exact while they are few, then to 0.4 %. */
#include "score/spread.h"

#include <stdlib.h>

#include "base/mem.h"

#define FIRST_SIZE 64
#define BITS 7
#define CLASSES ((64 - BITS + 1) << BITS)

struct spread_slot {
	uint64_t value, weight; /* 0 = free */
};

/* As of stat/hist.h, but of all 64 bits. */
static unsigned class_of(uint64_t value)
{
	if (value < 2u << BITS)
		return (unsigned)value;
	unsigned shift = 63 - (unsigned)__builtin_clzll(value) - BITS;
	return (shift << BITS) + (unsigned)(value >> shift);
}

static double class_middle(unsigned class)
{
	if (class < 2u << BITS)
		return class;
	unsigned shift = (class >> BITS) - 1;
	uint64_t low = (uint64_t)(class - (shift << BITS)) << shift;
	return (double)low + (double)(UINT64_C(1) << shift) / 2;
}

static struct spread_slot *find_value(struct spread_slot *slots, uint32_t size, uint64_t value)
{
	uint64_t i = (value * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (size - 1);

	while (slots[i].weight && slots[i].value != value)
		i = (i + 1) & (size - 1);
	return &slots[i];
}

static void grow_slots(struct spread *s)
{
	uint32_t size = s->size ? 2 * s->size : FIRST_SIZE;
	struct spread_slot *to = mem_array(size, sizeof(*to));

	for (uint32_t i = 0; i < s->size; i++)
		if (s->slots[i].weight)
			*find_value(to, size, s->slots[i].value) = s->slots[i];
	mem_free(s->slots);
	s->slots = to;
	s->size = size;
}

static double *classes_of(const struct spread *s)
{
	double *classes = mem_array(CLASSES, sizeof(*classes));

	for (uint32_t i = 0; i < s->size; i++)
		if (s->slots[i].weight)
			classes[class_of(s->slots[i].value)] += (double)s->slots[i].weight;
	return classes;
}

static void become_classes(struct spread *s)
{
	s->classes = classes_of(s);
	mem_free(s->slots);
	s->slots = NULL;
	s->size = s->used = 0;
}

void spread_add(struct spread *s, uint64_t value, uint64_t weight)
{
	struct spread_slot *slot;

	if (!weight)
		return;
	s->count++;
	if (s->classes) {
		s->classes[class_of(value)] += (double)weight;
		return;
	}
	if (3 * s->used >= 2 * s->size)
		grow_slots(s);
	slot = find_value(s->slots, s->size, value);
	s->used += !slot->weight;
	slot->value = value;
	slot->weight += weight;
	if (s->used > SPREAD_EXACT)
		become_classes(s);
}

void spread_fini(struct spread *s)
{
	mem_free(s->slots);
	mem_free(s->classes);
	*s = (struct spread){ 0 };
}

static int compare_points(const void *a, const void *b)
{
	double x = ((const struct weighted *)a)->value;
	double y = ((const struct weighted *)b)->value;

	return (x > y) - (x < y);
}

static struct weighted *exact_points(const struct spread *s, size_t *count)
{
	struct weighted *points = mem_array(s->used, sizeof(*points));
	size_t n = 0;

	for (uint32_t i = 0; i < s->size; i++)
		if (s->slots[i].weight)
			points[n++] = (struct weighted){ (double)s->slots[i].value,
							 (double)s->slots[i].weight };
	qsort(points, n, sizeof(*points), compare_points);
	*count = n;
	return points;
}

struct weighted *spread_points(const struct spread *s, bool in_classes, size_t *count)
{
	double *classes = s->classes;
	struct weighted *points;
	size_t n = 0;

	if (spread_is_exact(s) && !in_classes)
		return exact_points(s, count);
	if (!classes)
		classes = classes_of(s);
	points = mem_array(CLASSES, sizeof(*points));
	for (unsigned i = 0; i < CLASSES; i++)
		if (classes[i] > 0)
			points[n++] = (struct weighted){ class_middle(i), classes[i] };
	if (classes != s->classes)
		mem_free(classes);
	*count = n;
	return points;
}
