/* SPDX-License-Identifier: Apache-2.0 */
/* failed.h - what failed of a job that went on, and whether its max_errors allows so much. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/results.h"

/*
 * Of a training samples fail: those that its accelerators took, in evaluations, too. Errors that
 * none of them met (of what was read ahead, of an index, within ramp_time) count by themselves
 * where no sample failed. Of a plain job operations fail.
 */

/* Are `count` of `of` more than the job's max_errors? */
bool failed_exceeds(const struct job *job, uint64_t count, uint64_t of);

/* Fill count, of and percent of a job's `failed` from its other counts. */
void failed_count(struct job_result *r);

/* The same, after it is known whether there are too many; then there is no AU of the job, and of
 * epochs in which samples failed. */
void failed_fill(struct job_result *r);

/* Add up: too many in one are too many in all. failed_fill() comes behind. */
void failed_merge(struct failed_result *to, const struct failed_result *from);

/* Did more fail than allowed in any of the jobs? */
bool failed_in_any(const struct run_result *r);
