/* SPDX-License-Identifier: Apache-2.0 */
/* plan_io.h - the dry run of a plain job. */
#pragma once

#include "report/plan_report.h"

/* Fill p, whose job is set, by looking at the job's files. Always 0: what would
 * stop the run is a check that fails. */
int plan_io(struct plan_report *p, const struct plan_input *in,
	    struct mlgen_err *unused);

/* The page below its first line. */
void plan_io_text(FILE *to, const struct plan_report *p);
