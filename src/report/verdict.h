/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - what limits a job, the figures that decide it, what to try next. */
#pragma once

#include "run/results.h"

/* Limits that all workloads decide by. A figure that could not be measured decides nothing. */
#define VERDICT_MEMORY_PERCENT 10.0 /* of the bytes read, above this */
#define VERDICT_CPU_PERCENT 90.0
#define VERDICT_NETWORK_PERCENT 90.0 /* of the line rate */
#define VERDICT_STORAGE_PERCENT 80.0 /* of the workers' time, in I/O calls */

/* Fill the verdict of every job that has one, as its workload decides (page.h). Its strings belong
 * to the result. */
void verdict_fill(struct run_result *r);

/* "STORAGE-BOUND" for "storage"; NULL where there is no such verdict. */
const char *verdict_label(const char *name);

/* The AU that a training is for: its target, else 90. */
double verdict_target_au(const struct job_result *j);

/*
 * Of a storage-bound training: how many such accelerators what was delivered is enough for at
 * `*au_percent` (the target, else 90). Never more than ran where these missed it. UINT64_MAX
 * without a demand.
 */
uint64_t verdict_enough(const struct job_result *j, double *au_percent);

/* Does this job move no bytes at all (ioengine=null)? Its verdicts are about the host and never
 * about storage. */
bool verdict_without_storage(const struct job *job);

/* Does it play a storage all the same (latency=, bandwidth= of that engine)? */
bool verdict_is_model(const struct job *job);
