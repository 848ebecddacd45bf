/* SPDX-License-Identifier: Apache-2.0 */
/* listjobs.h - --list-jobs: the job files at hand, and what they ask of storage. */
#pragma once

#include <stdio.h>

#include <mlgen/err.h>

#include "job/job.h"

/*
 * One line per NAME.job in $MLGEN_JOBS, jobs/ beside the binary and the installed ones; of equal
 * names the first is listed, as it is the one that `mlgen NAME.job` runs. `what storage sees` is
 * the first sentence behind the "# What storage sees: " of a file, up to 40 characters. Size and
 * demand are those of the accelerator that the job names, which stands behind them with the others
 * there are. 0, or -ENOENT with err where there is none.
 */
int listjobs(FILE *to, const struct jobset_env *env, struct mlgen_err *err);
