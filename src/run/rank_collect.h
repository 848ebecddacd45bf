/* SPDX-License-Identifier: Apache-2.0 */
/* rank_collect.h - from what ranks counted to figures: AU, and where their time went. */
#pragma once

#include "run/rank.h"
#include "run/result/result.h"

/* All of these after the ranks were joined, of `n` of them, one behind the other. DESIGN.md, "What
 * the numbers mean". */

/* Accelerators, steps, samples and AU of out->ml, of each and on the mean, and the wall time of the
 * slowest. */
void rank_collect_au(struct job_result *out, const struct rank *ranks, const struct job *job);

/* The accelerator that stalled longest on the mean. */
void rank_collect_slowest(struct slowest_rank *out, const struct rank *ranks, uint64_t all);

void rank_collect_time(struct time_percent *p, const struct rank *ranks, uint64_t n);

/* CPU time of the ranks: of all that they did; of what was counted, seconds. */
void rank_collect_usage(struct usage *u, const struct rank *ranks, uint64_t n);
double rank_collect_cpu_seconds(const struct rank *ranks, uint64_t n);

/* A histogram of all of them, which is at `member_off` in each. It is the first rank's: after this
 * there is nobody else who wants them. */
struct hist *rank_collect_hist(struct rank *ranks, uint64_t n, size_t member_off);
