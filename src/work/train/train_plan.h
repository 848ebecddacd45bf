/* SPDX-License-Identifier: Apache-2.0 */
/* train_plan.h - the dry run of a dataset, and of a training on it. */
#pragma once

#include "report/plan_report.h"

/* As plan and plan_text of report/page.h, of phase=train and phase=prepare. */
int train_plan(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);
void train_plan_text(FILE *to, const struct plan_report *p);
/* Lines of its cache tier, if there is one. */
void train_plan_cache(FILE *to, const struct plan_report *p);
void prepare_plan_text(FILE *to, const struct plan_report *p);
