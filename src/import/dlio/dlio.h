/* SPDX-License-Identifier: Apache-2.0 */
/* dlio.h - a result as the summary.json that DLIO writes. */
#pragma once

#include <stdio.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "run/result/result.h"

/*
 * For --output-format=dlio: DLIO's keys with its meanings and units ("GB" and "MB" are GiB and MiB,
 * "MB" of the nominal sample size), in its order. Its own window is used, that of v2.0; with
 * --check that of its version. What it has and mlgen does not measure is left out (AU of an
 * evaluation). Where it takes the time of rank 0 for that of a checkpoint, this is the slowest
 * rank's, as the rules want it; and host_memory_GB is what memory_limit leaves.
 *
 * Of the first training, with the checkpoints it saved; where the run has none, of the first save
 * and the first restore.
 */

/* Before a run: has it such a job, and results at all? 0, or -EINVAL with err. */
int dlio_summary_check(const struct jobset *set, struct mlgen_err *err);

/* To be called in place of json_report. 0, or -EIO when it could not be written whole, or -EINVAL,
 * told, when no such job came far enough. */
int dlio_summary(FILE *to, const struct run_result *r, const struct jobset *set);
