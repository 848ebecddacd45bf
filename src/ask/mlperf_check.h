/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_check.h - rule by rule: would this run be valid for MLPerf Storage? */
#pragma once

#include <stdio.h>

#include "ask/ask.h"
#include "run/results.h"

/*
 * For --check=mlperf-v1|v2 (settings.check). Memory is what the run had: memory_limit, else all of
 * its host; or what --memory says, of so many --hosts. Neither changes the exit status; ask_check
 * of documents does.
 */

/*
 * The page, one block a job and its repetitions; with --quiet only the first line of each. To be
 * called with output_format=normal only, behind text_report; or with r NULL behind the plans of a
 * dry run, when only what is known before a run can be checked.
 */
void mlperf_check(FILE *to, const struct ask *a, const struct run_result *r);

/* The same into ml.mlperf_check of each result: to be called after verdict_fill and before
 * json_report. */
void mlperf_fill(struct run_result *r, const struct ask *a);
/* ... of a job that is planned; given back by mlperf_rules_fini. */
void mlperf_plan(struct metric_list *to, const struct job *j, const struct ask *a);
