/* SPDX-License-Identifier: Apache-2.0 */
/* train_internal.h - declarations shared by the files of work/train. */
#pragma once

#include <stdio.h>

#include "ask/mlperf/mlperf.h"
#include "job/job.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/result/result.h"
#include "run/slot/slot.h"
#include "work/train/pipeline/pipeline.h"

struct live;
struct slot;

/* slot->own of phase=train; NULL with phase=prepare. */
struct training {
	struct train train;
	struct tier_peers *cache_peers; /* NULL = the cache is not divided */
};

static inline struct training *training_of(const struct slot *s)
{
	return s->own;
}

/* Lines of the text report that name the settings, from job to host. */
extern const struct text_line train_settings[];

/* Lines of the text report that show where time and bytes went. */
extern const struct text_line train_evidence[];

/* ---- checks: options of a training that depend on each other ---- */

/* Part of job_check, for phase=train and phase=prepare. */
void train_check(const struct job *j, struct diag *d);

/* Is the cache tier only simulated, by a latency and a bandwidth? */
static inline bool train_cache_is_simulated(const struct job *j)
{
	return dist_mean(&j->cache_latency) > 0 || j->cache_bandwidth_bytes;
}

/* Rules of a run with a cache tier: all processes can share it, its folder is outside the
 * dataset's, and there is room for it. */
extern const struct rule train_cache_rules[];

/* ---- MLPerf Storage's rules of trainings ---- */

extern const struct mlperf_row train_mlperf_rules[];

/* ---- the dry run of a dataset, and of a training on it ---- */

/* The members plan and plan_text of struct page (report/plan/plan.h). */
int train_plan(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);
void train_plan_text(FILE *to, const struct plan_report *p);
void prepare_plan_text(FILE *to, const struct plan_report *p);

/* ---- verdict: the limit of a training, and the next experiment ---- */

/*
 * Verdicts are tried in this order; the first that holds is reported:
 *   errors   more failed than max_errors allows, or than 1 % (text.h)
 *   memory   more than 10 % of the bytes came from this host's memory
 *   network  the interface of a remote mount carried 90 % of its line rate or
 *            more
 *   host     the CPUs are busy for 90 % or more, or oversleep takes 1 % or more;
 *            where a ceiling was measured (text.h): the result is near the
 *            ceiling, or other programs fill the CPUs. Does not hold if AU is
 *            95 % or more and compute holds
 *   compute  accelerators stall for 5 % of their time or less, or AU is 95 % or
 *            more and near the ceiling
 *   cache    loaders spend 80 % or more of their time inside I/O calls, and hits of
 *            a tier in a directory take most of that time
 *   storage  loaders spend 80 % or more of their time inside I/O calls, or the
 *            ceiling is clearly above the result
 *   unclear  no other verdict holds
 * A condition on a figure that could not be measured does not hold. A training job that finished no
 * step has no verdict.
 */
void train_verdict(const struct run_result *run, struct job_result *j);

/* ---- is a training's cache tier its limit, and what would a larger tier be worth? ---- */

/*
 * Share of the dataset that a tier of this policy must hold to reach this AU. Computed from the
 * cost of hits and misses in this run ("What the numbers mean" in DESIGN.md). NaN = no share is
 * enough, the present share is enough, or the policy has no closed form.
 */
double verdict_cache_share(const struct verdict_findings *f, double au_percent);

/* ---- is this host the limit of a training? ---- */

/* Append "stall p99 0.412 ms in steps of 224.0 ms", as far as it was measured. */
void verdict_append_stall(struct buf *out, const struct verdict_findings *f);

/* ---- the text report of a training, and of a preparation ---- */

/* The member text of struct page (report/plan/plan.h). */
void train_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		enum detail detail);
void prepare_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		  enum detail detail);
