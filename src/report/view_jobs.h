/* SPDX-License-Identifier: Apache-2.0 */
/* view_jobs.h - the table of jobs in a picture of a run. */
#pragma once

#include "report/view_layout.h"

/* From row `row` on to before `end`: a row each job, those at work first, and how many more there
 * are. */
void view_jobs(const struct view_pen *pen, const struct view_scene *s, unsigned row, unsigned end);
