/* SPDX-License-Identifier: Apache-2.0 */
/* train_cache_check.h - what relates two options of a cache tier, and what a run asks about its
 * place. */
#pragma once

#include "job/job.h"
#include "run/rules.h"

/* Part of train_check(). */
void train_cache_check(const struct job *j, struct diag *d);

/* Rules of a training: is there room for it, and is its folder another one than the data set's? */
extern const struct rule train_cache_rules[];

/* One of them: can all processes have one cache together? */
int train_cache_rule_scope(struct slot *s, struct run_shared *run, struct mlgen_err *err);
