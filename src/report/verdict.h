/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - what limits a training, the figures that decide it, what to try next. */
#pragma once

#include "run/results.h"

/*
 * The verdicts stand in one table; the first that holds is taken:
 *   errors   more failed than max_errors allows, or than 1 % (verdict_errors.h)
 *   memory   more than 10 % of the bytes came from this host's memory
 *   network  the interface of a remote mount carried 90 % of its line rate or
 *            more
 *   host     the CPUs are busy for 90 % or more, or oversleep takes 1 % or more;
 *            where a ceiling was measured (verdict_ceiling.h): it is near, or
 *            CPUs are full of others. Not where AU is 95 % or more and compute
 *            holds
 *   compute  accelerators stall for 5 % of their time or less, or AU is 95 % or
 *            more and near the ceiling
 *   storage  loaders spend 80 % or more of their time inside I/O calls, or the
 *            ceiling is clearly above
 *   unclear  none of these
 * A figure that could not be measured decides nothing. A training that
 * finished no step has no verdict.
 */

#define VERDICT_MEMORY_PERCENT 10.0 /* of the bytes read, above this */
#define VERDICT_CPU_PERCENT 90.0

/* Fill ml.verdict of every training and, by verdict_checkpoint.h, of every job
 * that saves or restores; by verdict_io.h, io.verdict of every plain job. Their
 * strings belong to the result. */
void verdict_fill(struct run_result *r);

/* "STORAGE-BOUND" for "storage"; NULL where there is no such verdict. */
const char *verdict_label(const char *name);

/*
 * Of a storage-bound training: how many such accelerators what was delivered
 * is enough for at `*au_percent` (the target, else 90). Never more than ran
 * where these missed it. UINT64_MAX without a demand.
 */
uint64_t verdict_enough(const struct job_result *j, double *au_percent);

/* Does this job move no bytes at all (ioengine=null)? Its verdicts are about
 * the host and never about storage. */
bool verdict_without_storage(const struct job *job);

/* Does it play a storage all the same (latency=, bandwidth= of that engine)? */
bool verdict_is_model(const struct job *job);
