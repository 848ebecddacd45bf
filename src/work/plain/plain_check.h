/* SPDX-License-Identifier: Apache-2.0 */
/* plain_check.h - what relates two options of a plain job. */
#pragma once

#include "job/job.h"

/* The part of job_check that is of phase=io. */
void plain_check(const struct job *j, struct diag *d);
