/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.h - the memory that the program itself takes, in a dry run. */
#pragma once

#include "report/plan_report.h"

/* The line about it, "memory 9 MiB for mlgen (estimate)", and what is to be said behind that. */
void plan_put_program(struct buf *text, const struct plan_report *p);
