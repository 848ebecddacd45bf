/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h - group_reporting: the jobs of a group as one result. */
#pragma once

#include "run/results.h"

/*
 * Fold the jobs of each group in which any job asks for group_reporting into
 * the group's first; the others leave the list. Counts and rates add up,
 * latencies merge exactly, percentages are means weighted by what they are
 * percentages of. Their window is from the first of their beginnings to the
 * last of their ends; host, noise, network and storage are counted over all of
 * it, where they read through one interface and from one source, else what has
 * no such figure is unknown. Published windows (mlperf{}) are of one training and are
 * null in a merged result.
 */
void merge_groups(struct run_result *r);

/*
 * Add a plain job's worker to another of the same job, whose record owns its
 * histograms and text alone (a report may show both the sum and its parts).
 */
void merge_workers(struct job_result *to, const struct job_result *from);

/* A mean of two, weighted; NaN = not known, counts for nothing. */
double merge_mean(double a, double weight_a, double b, double weight_b);
