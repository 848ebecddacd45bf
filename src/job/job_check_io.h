/* SPDX-License-Identifier: Apache-2.0 */
/* job_check_io.h - what relates two options of a plain job. */
#pragma once

#include "job/job.h"

/* The part of job_check that is of phase=io. */
void job_check_io(const struct job *j, struct diag *d);
