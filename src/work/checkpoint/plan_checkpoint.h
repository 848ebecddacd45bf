/* SPDX-License-Identifier: Apache-2.0 */
/* plan_checkpoint.h - the dry run of what saves or restores the state of a model. */
#pragma once

#include "report/plan_report.h"

/* Fill p->checkpoint, and the checks that belong to it, of a job that has checkpoints
 * (job_has_checkpoints); of a training once its steps are known. 0, or -errno with err where its
 * state makes no sense. */
int plan_checkpoint(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);

/* p finds nothing to restore yet: the jobs before it, `before`, may save it. */
void plan_checkpoint_expect(struct plan_report *p, const struct plan_report *before, size_t count);

/* The page below its first line; of a training its lines about checkpoints. */
void plan_checkpoint_text(FILE *to, const struct plan_report *p);
