/* SPDX-License-Identifier: Apache-2.0 */
/* spread.c - distributions, their distances, and reuse distances. */
#include "tracing/score/score_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- distributions: exact while there are few values, then to 0.4 % ---- */

#define BITS 7
#define CLASSES ((64 - BITS + 1) << BITS)

/* The classes of stat/hist.h, but for all 64 bits. */
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

static void free_exact(struct spread *s)
{
	map_fini(&s->values);
	vec_fini(&s->exact);
}

void spread_add(struct spread *s, uint64_t value, uint64_t weight)
{
	bool is_new;

	if (!weight)
		return;
	s->count++;
	if (s->classes) {
		s->classes[class_of(value)] += (double)weight;
		return;
	}
	uint32_t i = map_number(&s->values, value, &is_new);
	if (is_new)
		vec_push(&s->exact, (struct spread_value){ .value = value });
	s->exact.at[i].weight += weight;
	if (s->exact.count > SPREAD_EXACT) {
		s->classes = classes_of(s);
		free_exact(s);
	}
}

void spread_fini(struct spread *s)
{
	free_exact(s);
	mem_free(s->classes);
	*s = (struct spread){ 0 };
}

COMPARE_BY(by_value, struct weighted, value)

struct weighted *spread_points(const struct spread *s, bool in_classes, size_t *count)
{
	double *classes = s->classes;
	struct weighted *points;
	size_t n = 0;

	if (spread_is_exact(s) && !in_classes) {
		points = mem_array(s->exact.count, sizeof(*points));

		*count = s->exact.count;
		for (size_t i = 0; i < *count; i++)
			points[i] = (struct weighted){ (double)s->exact.at[i].value,
						       (double)s->exact.at[i].weight };
		qsort(points, *count, sizeof(*points), by_value);
		return points;
	}
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

struct spread_pair spread_pair_of(const struct spread *a, const struct spread *b)
{
	bool in_classes = !spread_is_exact(a) || !spread_is_exact(b);
	struct spread_pair t;

	t.a = spread_points(a, in_classes, &t.a_count);
	t.b = spread_points(b, in_classes, &t.b_count);
	return t;
}

void spread_pair_fini(struct spread_pair *t)
{
	mem_free(t->a);
	mem_free(t->b);
}

/* ---- distributions ---- */

static double weight_of(const struct weighted *a, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i].weight;
	return sum;
}

/* A walk along two distribution functions, from each value to the next. */
struct spread_walk {
	const struct weighted *a, *b;
	size_t a_count, b_count, i, j;
	double a_weight, b_weight; /* total weight */
	double a_below, b_below;   /* weight of values up to `value` */
	double value;
};

static struct spread_walk walk_of(const struct weighted *a, size_t a_count,
				  const struct weighted *b, size_t b_count)
{
	return (struct spread_walk){ .a = a,
				     .b = b,
				     .a_count = a_count,
				     .b_count = b_count,
				     .a_weight = weight_of(a, a_count),
				     .b_weight = weight_of(b, b_count) };
}

static bool walk_next(struct spread_walk *w)
{
	if (w->i == w->a_count && w->j == w->b_count)
		return false;
	w->value = w->i == w->a_count   ? w->b[w->j].value
		   : w->j == w->b_count ? w->a[w->i].value
					: fmin(w->a[w->i].value, w->b[w->j].value);
	while (w->i < w->a_count && w->a[w->i].value <= w->value)
		w->a_below += w->a[w->i++].weight;
	while (w->j < w->b_count && w->b[w->j].value <= w->value)
		w->b_below += w->b[w->j++].weight;
	return true;
}

static double walk_distance(const struct spread_walk *w)
{
	/* Rounding may leave a difference at the end. */
	if (w->i == w->a_count && w->j == w->b_count)
		return 0;
	return fabs(w->a_below / w->a_weight - w->b_below / w->b_weight);
}

double distance_ks(const struct weighted *a, size_t a_count, const struct weighted *b,
		   size_t b_count)
{
	struct spread_walk w = walk_of(a, a_count, b, b_count);
	double most = 0;

	if (!(w.a_weight > 0) || !(w.b_weight > 0))
		return (double)NAN;
	while (walk_next(&w))
		most = fmax(most, walk_distance(&w));
	return most;
}

double distance_w1(const struct weighted *a, size_t a_count, const struct weighted *b,
		   size_t b_count)
{
	struct spread_walk w = walk_of(a, a_count, b, b_count);
	double sum = 0, apart = 0, from = 0;

	if (!(w.a_weight > 0) || !(w.b_weight > 0))
		return (double)NAN;
	while (walk_next(&w)) {
		if (apart > 0)
			sum += apart * (w.value - from);
		apart = walk_distance(&w);
		from = w.value;
	}
	return sum;
}

double weighted_mean(const struct weighted *a, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i].value * a[i].weight;
	return count ? sum / weight_of(a, count) : (double)NAN;
}

double weighted_quantile(const struct weighted *a, size_t count, double share)
{
	double wanted = share * weight_of(a, count), below = 0;

	for (size_t i = 0; i < count; i++) {
		below += a[i].weight;
		if (below >= wanted)
			return a[i].value;
	}
	return count ? a[count - 1].value : (double)NAN;
}

/* ---- mixes and numbers ---- */

double distance_variation(const double *a, const double *b, size_t n)
{
	double of_a = 0, of_b = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		of_a += a[i];
		of_b += b[i];
	}
	if (!(of_a > 0) || !(of_b > 0))
		return (double)NAN;
	for (size_t i = 0; i < n; i++)
		sum += fabs(a[i] / of_a - b[i] / of_b);
	return sum / 2;
}

double distance_relative(double real, double candidate)
{
	double apart = fabs(candidate - real);

	if (isnan(apart))
		return (double)NAN;
	return apart > 0 ? apart / fabs(real) : 0;
}

double distance_ratio(double real, double candidate)
{
	if (!(real > 0) || !(candidate > 0))
		return (double)NAN;
	return fabs(log(candidate / real));
}

/* ---- series ---- */

static double mean_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : (double)NAN;
}

double distance_pearson(const double *x, const double *y, size_t n)
{
	double mean_x = mean_of(x, n), mean_y = mean_of(y, n);
	double xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < n; i++) {
		double dx = x[i] - mean_x, dy = y[i] - mean_y;

		xx += dx * dx;
		yy += dy * dy;
		xy += dx * dy;
	}
	if (n < 2 || !(xx > 0) || !(yy > 0))
		return (double)NAN;
	return fmax(-1, fmin(1, xy / (sqrt(xx) * sqrt(yy))));
}

double distance_variability(const double *x, size_t n)
{
	double mean = mean_of(x, n), squares = 0;

	for (size_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return n && mean != 0 ? sqrt(squares / (double)n) / mean : (double)NAN;
}

/* ---- reuse distances ---- */

/* Each block has the moment of its last access. Moments are numbered from 0, and a Fenwick tree
 * counts the moments in use. When all numbers are used up, the moments in use are renumbered. */
struct reuse_block {
	uint64_t key;
	uint64_t moment; /* last access, + 1; 0 = free */
};

struct reuse {
	struct reuse_block *blocks; /* a hash table */
	uint64_t *keys;             /* indexed by moment */
	bool *is_used;
	uint32_t *sums;
	uint32_t size, moments; /* room for blocks, for moments */
	uint32_t most, count, next;
	unsigned shift; /* every 2^shift-th block is sampled */
};

/* The last step of splitmix64. */
static uint64_t reuse_hash(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

struct reuse *reuse_new(uint32_t most)
{
	struct reuse *r = mem_zalloc(sizeof(*r));

	r->most = most;
	r->size = 2 * most;
	r->moments = 2 * most;
	r->blocks = mem_array(r->size, sizeof(*r->blocks));
	r->keys = mem_array(r->moments, sizeof(*r->keys));
	r->is_used = mem_array(r->moments, sizeof(*r->is_used));
	r->sums = mem_array((size_t)r->moments + 1, sizeof(*r->sums));
	return r;
}

void reuse_free(struct reuse *r)
{
	if (!r)
		return;
	mem_free(r->blocks);
	mem_free(r->keys);
	mem_free(r->is_used);
	mem_free(r->sums);
	mem_free(r);
}

static struct reuse_block *find_block(const struct reuse *r, uint64_t key)
{
	uint64_t i = reuse_hash(key) & (r->size - 1);

	while (r->blocks[i].moment && r->blocks[i].key != key)
		i = (i + 1) & (r->size - 1);
	return &r->blocks[i];
}

static void tree_add(struct reuse *r, uint32_t moment, int by)
{
	for (uint32_t i = moment + 1; i <= r->moments; i += i & -i)
		r->sums[i] += (uint32_t)by;
}

/* The number of moments in use, up to and including this one. */
static uint32_t tree_sum(const struct reuse *r, uint32_t moment)
{
	uint32_t sum = 0;

	for (uint32_t i = moment + 1; i; i -= i & -i)
		sum += r->sums[i];
	return sum;
}

static bool is_sampled(const struct reuse *r, uint64_t key)
{
	/* The lowest bits choose the slot of a block. */
	return r->shift == 0 || reuse_hash(key) >> (64 - r->shift) == 0;
}

/* Renumber the moments of blocks that are still sampled. */
static void renumber(struct reuse *r)
{
	uint32_t count = r->next;

	memset(r->blocks, 0, r->size * sizeof(*r->blocks));
	memset(r->sums, 0, ((size_t)r->moments + 1) * sizeof(*r->sums));
	r->next = r->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t key = r->keys[i];
		bool stays = r->is_used[i] && is_sampled(r, key);

		r->is_used[i] = false;
		if (!stays)
			continue;
		*find_block(r, key) = (struct reuse_block){ key, UINT64_C(1) + r->next };
		r->keys[r->next] = key;
		r->is_used[r->next] = true;
		tree_add(r, r->next, 1);
		r->next++;
		r->count++;
	}
}

uint64_t reuse_access(struct reuse *r, uint64_t key, uint64_t *distance)
{
	while (r->count >= r->most && r->shift < 63) {
		r->shift++;
		renumber(r);
	}
	if (r->next == r->moments)
		renumber(r);
	if (!is_sampled(r, key))
		return 0;
	struct reuse_block *b = find_block(r, key);
	*distance = REUSE_COLD;
	if (b->moment) {
		uint32_t last = (uint32_t)(b->moment - 1);

		*distance = (uint64_t)(r->count - tree_sum(r, last)) << r->shift;
		tree_add(r, last, -1);
		r->is_used[last] = false;
	} else {
		r->count++;
	}
	*b = (struct reuse_block){ key, UINT64_C(1) + r->next };
	r->keys[r->next] = key;
	r->is_used[r->next] = true;
	tree_add(r, r->next++, 1);
	return UINT64_C(1) << r->shift;
}

uint64_t reuse_blocks(const struct reuse *r)
{
	return (uint64_t)r->count << r->shift;
}
