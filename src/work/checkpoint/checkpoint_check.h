/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_check.h - what relates two options of checkpoints. */
#pragma once

#include "job/job.h"

/* Part of job_check: of phase=checkpoint and phase=restore, and of a training with or without
 * checkpoint_every. */
void checkpoint_check(const struct job *j, struct diag *d);
