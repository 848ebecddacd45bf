/* SPDX-License-Identifier: Apache-2.0 */
/* spread_pair.h - two distributions in one form, and how far they lie apart. */
#pragma once

#include "tracing/score/distance.h"
#include "tracing/score/spread.h"

/* Values as they are where both have them so, in classes otherwise. */
struct spread_pair {
	struct weighted *a, *b; /* owned */
	size_t a_count, b_count;
};

struct spread_pair spread_pair_of(const struct spread *a, const struct spread *b);
void spread_pair_fini(struct spread_pair *t);

/* One has values and the other has none: as far apart as they can be. */
bool spread_is_one_sided(const struct spread *a, const struct spread *b);

/* Kolmogorov and Smirnov's D, 1 where one is empty; Wasserstein's distance of the logarithms to
 * base 2; the relative distance of a quantile. NaN where there is none. */
double spread_pair_ks(const struct spread *a, const struct spread *b);
double spread_pair_w1_log2(const struct spread *a, const struct spread *b);
double spread_pair_quantile(const struct spread *a, const struct spread *b, double share);
/* How far values at `off` below and above that share are from the value there, in the distribution
 * where they are farther, by the quantile of `a`. */
double spread_pair_quantile_around(const struct spread *a, const struct spread *b, double share,
				   double off);
