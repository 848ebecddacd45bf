/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.c - see sizes.h. */
#include "stat/sizes.h"

/* Below this share a class says nothing about a workload. */
#define LEAST_PERCENT 1.0

static double total(const struct sizes *s)
{
	double n = 0;

	for (unsigned i = 0; i < SIZES_CLASSES; i++)
		n += (double)s->count[i];
	return n;
}

/* In front of those that are rarer; what does not fit falls out at the end. */
static unsigned insert(struct sizes_share *out, unsigned n, unsigned max, struct sizes_share share)
{
	unsigned at = n;

	while (at > 0 && out[at - 1].percent < share.percent)
		at--;
	if (at >= max)
		return n;
	if (n < max)
		n++;
	for (unsigned i = n - 1; i > at; i--)
		out[i] = out[i - 1];
	out[at] = share;
	return n;
}

void sizes_merge(struct sizes *to, const struct sizes *from)
{
	for (unsigned i = 0; i < SIZES_CLASSES; i++) {
		to->count[i] += from->count[i];
		if (from->largest[i] > to->largest[i])
			to->largest[i] = from->largest[i];
	}
}

unsigned sizes_shares(const struct sizes *s, struct sizes_share *out, unsigned max)
{
	double all = total(s);
	unsigned n = 0;

	for (unsigned i = 0; i < SIZES_CLASSES; i++) {
		struct sizes_share share = {
			s->largest[i],
			all > 0 ? 100 * (double)s->count[i] / all : 0,
		};

		if (share.percent >= LEAST_PERCENT)
			n = insert(out, n, max, share);
	}
	return n;
}
