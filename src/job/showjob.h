/* SPDX-License-Identifier: Apache-2.0 */
/* showjob.h - --showjob: a job file that parses back to the same jobs. */
#pragma once

#include <stdio.h>

#include <mlgen/err.h>

#include "job/jobset.h"

/* Can one job file hold them all? 0, or -EINVAL with what it cannot hold. */
int showjob_check(const struct jobset *set, struct mlgen_err *err);

/*
 * The file, of jobs that were checked: every option with its origin in a comment line above it.
 */
void showjob_print(FILE *to, const struct jobset *set);
