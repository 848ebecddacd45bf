/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.h - is there the memory that the jobs of a dry run would take? */
#pragma once

#include "report/plan_report.h"

/* The check `program` of each: what its group takes, of what there is. */
void plan_memory_check(struct plan_report *plans, const struct jobset *set);

/* The line about it, "memory 9 MiB for mlgen (estimate)", and what is to be
 * said behind that. */
void plan_put_program(FILE *to, const struct plan_report *p, const char *more);
