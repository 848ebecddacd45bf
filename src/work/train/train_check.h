/* SPDX-License-Identifier: Apache-2.0 */
/* train_check.h - what relates two options of a training. */
#pragma once

#include "job/job.h"

/* Part of job_check, for phase=train and phase=prepare. */
void train_check(const struct job *j, struct diag *d);
