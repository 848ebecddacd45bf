/* SPDX-License-Identifier: Apache-2.0 */
/* plan_replay.h - the dry run of a replay. */
#pragma once

#include "report/plan_report.h"

/* Fill p, whose job is set, by reading the trace and looking at its files. Always 0: what would
 * stop the run is a check that fails. */
int plan_replay(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused);

/* The page below its first line. */
void plan_replay_text(FILE *to, const struct plan_report *p);
