/* SPDX-License-Identifier: Apache-2.0 */
/* spread_pair.c - see spread_pair.h. */
#include "tracing/score/spread_pair.h"

#include <math.h>

#include "base/mem.h"

static void to_logarithm(struct weighted *w, size_t count)
{
	for (size_t i = 0; i < count; i++)
		w[i].value = w[i].value > 0 ? log2(w[i].value) : 0;
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

bool spread_is_one_sided(const struct spread *a, const struct spread *b)
{
	return (a->count == 0) != (b->count == 0);
}

double spread_pair_ks(const struct spread *a, const struct spread *b)
{
	struct spread_pair t;
	double d;

	if (spread_is_one_sided(a, b))
		return 1;
	t = spread_pair_of(a, b);
	d = distance_ks(t.a, t.a_count, t.b, t.b_count);
	spread_pair_fini(&t);
	return d;
}

double spread_pair_w1_log2(const struct spread *a, const struct spread *b)
{
	struct spread_pair t = spread_pair_of(a, b);
	double d;

	to_logarithm(t.a, t.a_count);
	to_logarithm(t.b, t.b_count);
	d = distance_w1(t.a, t.a_count, t.b, t.b_count);
	spread_pair_fini(&t);
	return d;
}

double spread_pair_quantile(const struct spread *a, const struct spread *b, double share)
{
	struct spread_pair t = spread_pair_of(a, b);
	double d = distance_relative(weighted_quantile(t.a, t.a_count, share),
				     weighted_quantile(t.b, t.b_count, share));

	spread_pair_fini(&t);
	return d;
}

/* The farther one of both sides. */
static double around(const struct weighted *w, size_t count, double share, double off)
{
	double at = weighted_quantile(w, count, share);

	return fmax(weighted_quantile(w, count, fmin(share + off, 1)) - at,
		    at - weighted_quantile(w, count, fmax(share - off, 0)));
}

double spread_pair_quantile_around(const struct spread *a, const struct spread *b, double share,
				   double off)
{
	struct spread_pair t = spread_pair_of(a, b);
	double at = weighted_quantile(t.a, t.a_count, share);
	double most = fmax(around(t.a, t.a_count, share, off), around(t.b, t.b_count, share, off));

	spread_pair_fini(&t);
	return at > 0 ? most / at : 0;
}
