/* SPDX-License-Identifier: Apache-2.0 */
/* spread.c - which values there were, and how often: exact while they are few, then to 0.4 %. */
#include "tracing/score/spread.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"

#define BITS 7
#define CLASSES ((64 - BITS + 1) << BITS)

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

static double *classes_of(const struct spread *s)
{
	double *classes = mem_array(CLASSES, sizeof(*classes));

	for (size_t i = 0; i < s->exact.count; i++)
		classes[class_of(s->exact.at[i].value)] += (double)s->exact.at[i].weight;
	return classes;
}

static void forget_exact(struct spread *s)
{
	map_fini(&s->values);
	vec_fini(&s->exact);
}

void spread_add(struct spread *s, uint64_t value, uint64_t weight)
{
	uint32_t i;
	bool is_new;

	if (!weight)
		return;
	s->count++;
	if (s->classes) {
		s->classes[class_of(value)] += (double)weight;
		return;
	}
	i = map_number(&s->values, value, &is_new);
	if (is_new)
		vec_push(&s->exact, (struct spread_value){ .value = value });
	s->exact.at[i].weight += weight;
	if (s->exact.count > SPREAD_EXACT) {
		s->classes = classes_of(s);
		forget_exact(s);
	}
}

void spread_fini(struct spread *s)
{
	forget_exact(s);
	mem_free(s->classes);
	*s = (struct spread){ 0 };
}

COMPARE_BY(by_value, struct weighted, value)

static struct weighted *exact_points(const struct spread *s, size_t *count)
{
	struct weighted *points = mem_array(s->exact.count, sizeof(*points));

	*count = s->exact.count;
	for (size_t i = 0; i < *count; i++)
		points[i] = (struct weighted){ (double)s->exact.at[i].value,
					       (double)s->exact.at[i].weight };
	qsort(points, *count, sizeof(*points), by_value);
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
