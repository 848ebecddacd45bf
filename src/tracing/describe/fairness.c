/* SPDX-License-Identifier: Apache-2.0 */
/* fairness.c - how unevenly something is shared, and how alike two orders are. */
#include "base/util.h"
#include "tracing/describe/fairness.h"

#include <math.h>
#include <stdlib.h>

struct fairness fairness_of(double *shares, size_t n)
{
	struct fairness f = { (double)NAN, (double)NAN };
	double sum = 0, ranked = 0, count = (double)n;

	qsort(shares, n, sizeof(*shares), f64_compare);
	for (size_t i = 0; i < n; i++) {
		sum += shares[i];
		ranked += (double)(i + 1) * shares[i];
	}
	if (sum > 0) {
		f.most_over_mean = shares[n - 1] * count / sum;
		f.gini = fmax(0, 2 * ranked / (count * sum) - (count + 1) / count);
	}
	return f;
}

void order_add(struct order *o, uint64_t x, uint64_t y)
{
	double a = (double)x, b = (double)y;

	o->count++;
	o->x += a;
	o->y += b;
	o->xx += a * a;
	o->yy += b * b;
	o->xy += a * b;
}

double order_correlation(const struct order *o)
{
	double n = (double)o->count;
	double across = n * o->xy - o->x * o->y;
	double a = n * o->xx - o->x * o->x, b = n * o->yy - o->y * o->y;

	if (o->count < 2 || !(a > 0) || !(b > 0))
		return (double)NAN;
	return fmax(-1, fmin(1, across / (sqrt(a) * sqrt(b))));
}
