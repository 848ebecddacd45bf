/* SPDX-License-Identifier: Apache-2.0 */
/* job_check_model.h - is there a model whose state can be cut as the job says? */
#pragma once

#include "job/job.h"

/* Most bytes that all ranks together may have: offsets and sums are 63 bit. */
#define MODEL_BYTES_MAX 9.2e18

/*
 * Rules of a job with checkpoints, one after the other, from 0 on: the option that rule i is about,
 * or NULL behind the last. *rc is 0, or -errno with err: "OPTION: what is wrong, what would be
 * right".
 */
const char *job_check_model(const struct job *j, unsigned i, int *rc, struct mlgen_err *err);
