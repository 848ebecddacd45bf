/* SPDX-License-Identifier: Apache-2.0 */
/* dlio.h - prints a result as the summary.json that DLIO writes. */
#pragma once

#include <stdio.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "run/result/result.h"

/*
 * The summary of --output-format=dlio has DLIO's keys in its order, with its meanings and units.
 * "GB" and "MB" are GiB and MiB, "MB" of the nominal sample size. The measuring window is that of
 * DLIO in MLPerf Storage v2.0, or with --check the window of the version that is checked. Keys that
 * mlgen does not measure are left out (AU of an evaluation). Two values differ: the time of a
 * checkpoint is the slowest rank's, as the rules require, and not that of rank 0; host_memory_GB is
 * the memory that memory_limit leaves.
 *
 * The summary is about the first training job and the checkpoints that it saved. For a run without
 * a training job, the summary is about the first save job and the first restore job.
 */

/* Check before a run that it will have results, and a job for the summary: a training job or a job
 * that saves or restores checkpoints. 0, or -EINVAL with err. */
int dlio_summary_check(const struct jobset *set, struct mlgen_err *err);

/* Print the summary in place of json_report(). 0, -EIO if it could not be written completely, or
 * -EINVAL, which is logged, if no such job has results. */
int dlio_summary(FILE *to, const struct run_result *r, const struct jobset *set);
