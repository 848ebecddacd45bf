/* SPDX-License-Identifier: Apache-2.0 */
/* job_check_train.h - what relates two options of a training. */
#pragma once

#include "job/job.h"

/* Part of job_check, for phase=train and phase=prepare. */
void job_check_train(const struct job *j, struct diag *d);
