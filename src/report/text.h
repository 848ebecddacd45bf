/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - the report that people read. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "report/detail.h"
#include "run/results.h"

/*
 * One block per job, an empty line between two: the answer in the first line, the verdict, then the
 * evidence; at most 52 lines, but for a command that takes more than two and for notes, of 80
 * columns, or those of the terminal, plain ASCII. The workers of a plain job share a block. The
 * host and the command stand in the first one; what the disks did, behind the last.
 * Call verdict_fill() first.
 */
void text_report(FILE *to, const struct run_result *r, enum detail detail);
