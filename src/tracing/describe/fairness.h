/* SPDX-License-Identifier: Apache-2.0 */
/* fairness.h - how unevenly something is shared, and how alike two orders are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* NaN where there is nothing to share. */
struct fairness {
	double most_over_mean; /* 1 = all have the same */
	double gini;           /* 0 = all have the same, towards 1 = one has all */
};

/* Of n shares, none negative, which come to be sorted. */
struct fairness fairness_of(double *shares, size_t n);

/*
 * The correlation of two positions of the same things, things added one by one: Spearman's where
 * both are ranks from 0, without gaps. A zeroed one is empty.
 */
struct order {
	uint64_t count;
	double x, y, xx, yy, xy; /* sums */
};

void order_add(struct order *o, uint64_t x, uint64_t y);
/* -1 to 1; NaN of fewer than two, or where all have one position. */
double order_correlation(const struct order *o);
