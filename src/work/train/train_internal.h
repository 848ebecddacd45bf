/* SPDX-License-Identifier: Apache-2.0 */
/* train_internal.h - the parts of a training's report beside its tables. */
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

/* What a slot has of its own of phase=train; NULL of phase=prepare. */
struct training {
	struct train train;
	struct tier_peers *cache_peers; /* NULL = its cache is whole */
};

static inline struct training *training_of(const struct slot *s)
{
	return s->own;
}

/* What ran, on what: job to host. */
extern const struct text_line train_settings[];

/* Where time and bytes went. */
extern const struct text_line train_evidence[];

/* ---- what relates two options of a training ---- */

/* Part of job_check, for phase=train and phase=prepare. */
void train_check(const struct job *j, struct diag *d);

/* ---- what relates two options of a cache tier, and what a run asks about its place ---- */

/* Rules of a training: is there room for it, and is its folder another one than the data set's? */
extern const struct rule train_cache_rules[];

/* ---- what a training counted, as figures ---- */

/* ---- which dataset a training reads: what options say, or what is there ---- */

/* Into s->dataset; files that scale= made for fewer accelerators are taken, and a note says so. 0,
 * or -EINVAL with err. */
int train_dataset_init(struct slot *s, struct run_shared *run, struct mlgen_err *err);

/* Of files that were there, when the run is over: says so where some are no longer what they were
 * when they were listed. */
void train_dataset_look_back(struct slot *s);

/* ---- how far a training is while it runs ---- */

/* Add what the slot's ranks and their loaders have done until now. While its threads run. */
void train_look(const struct slot *s, struct live *live);

/* ---- MLPerf Storage's rules of trainings ---- */

extern const struct mlperf_row train_mlperf_rules[];

/* ---- the dry run of a dataset, and of a training on it ---- */

/* As plan and plan_text of report/plan/plan.h, of phase=train and phase=prepare. */
int train_plan(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);
void train_plan_text(FILE *to, const struct plan_report *p);
void prepare_plan_text(FILE *to, const struct plan_report *p);

/* ---- what limits a training, and what to try next ---- */

/*
 * The verdicts stand in one table; the first that holds is taken:
 *   errors   more failed than max_errors allows, or than 1 % (text.h)
 *   memory   more than 10 % of the bytes came from this host's memory
 *   network  the interface of a remote mount carried 90 % of its line rate or
 *            more
 *   host     the CPUs are busy for 90 % or more, or oversleep takes 1 % or more;
 *            where a ceiling was measured (text.h): it is near, or
 *            CPUs are full of others. Not where AU is 95 % or more and compute
 *            holds
 *   compute  accelerators stall for 5 % of their time or less, or AU is 95 % or
 *            more and near the ceiling
 *   cache    loaders spend 80 % or more of their time inside I/O calls, and hits of
 *            a tier in a directory take most of it
 *   storage  loaders spend 80 % or more of their time inside I/O calls, or the
 *            ceiling is clearly above
 *   unclear  none of these
 * A figure that could not be measured decides nothing. A training that finished no step has no
 * verdict.
 */
void train_verdict(const struct run_result *run, struct job_result *j);

/* ---- is a training's cache tier its limit, and what would a larger one be worth? ---- */

/*
 * The share of the data set that a tier of this policy has to hold for the AU asked for, by
 * arithmetic from what hits and misses of this run cost ("What the numbers mean" in DESIGN.md). NaN
 * = no share is enough, this one is, or its policy has no closed form.
 */
double verdict_cache_share(const struct verdict_findings *f, double au_percent);

/* ---- is this host the limit of a training? ---- */

/* "stall p99 0.412 ms in steps of 224.0 ms", as far as it was measured. */
void verdict_put_stall(struct buf *out, const struct verdict_findings *f);

/* ---- the text report of a training, and of a preparation ---- */

/* As `text` of report/plan/plan.h. */
void train_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		enum detail detail);
void prepare_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		  enum detail detail);
