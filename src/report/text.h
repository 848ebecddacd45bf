/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - the report that people read. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "run/results.h"

/*
 * One block per job, an empty line between two: the answer in the first line,
 * the verdict, then the evidence; at most 45 lines of 90 columns, plain ASCII.
 * The workers of a plain job share a block.
 * Call verdict_fill() first. quiet = only the first line of each block.
 */
void text_report(FILE *to, const struct run_result *r, bool quiet);
