/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h - several results as one: jobs of a group, workers of a job, documents. */
#pragma once

#include "field/merge_rules.h"
#include "run/results.h"

/*
 * Fold the jobs of each group in which any job asks for group_reporting into the group's first; the
 * others leave the list. Counts and rates add up, latencies merge exactly, percentages are means
 * weighted by what they are percentages of. Their window is from the first of their beginnings to
 * the last of their ends; host, noise, network and storage are counted over all of it, where they
 * read through one interface and from one source, else what has no such figure is unknown.
 * Published windows (mlperf{}) are of one training and are null in a merged result.
 */
void merge_groups(struct run_result *r);

/*
 * Add a plain job's worker to another of the same job, whose record owns its histograms and text
 * alone (a report may show both the sum and its parts).
 */
void merge_workers(struct job_result *to, const struct job_result *from);

/*
 * to += from, by the rules in metrics_result.h; both are of the same kind. Documents: what ran at
 * the same time (MERGE_CLIENTS) adds its rates, accelerators and demand, lasts as long as the
 * longest, and has its epochs and checkpoints together; what ran in turn (MERGE_TURNS) adds its
 * time, epochs and checkpoints, and has the mean of the rates. What is of one run alone (published
 * windows, rules, ceilings, slowest ranks) is not known of the whole.
 */
void merge_jobs(struct job_result *to, const struct job_result *from, enum merge_how how,
		const struct merge_memory *memory, void *owner);
