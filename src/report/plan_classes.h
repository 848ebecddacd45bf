/* SPDX-License-Identifier: Apache-2.0 */
/* plan_classes.h - which ranks of a job save the same, and what all of them do. */
#pragma once

#include "data/state/state.h"
#include "report/plan_report.h"

/* Fill what c has of the state and of its ranks: classes, and all sums of one checkpoint. Goes
 * through all ranks once; keeps nothing of the set. */
void plan_classes_count(struct plan_checkpoint *c, const struct shard_set *set);
void plan_classes_fini(struct plan_checkpoint *c);
