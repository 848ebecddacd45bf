/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_checkpoint.h - what limits saving or restoring a model's state. */
#pragma once

#include "run/results.h"

/*
 * In the words and by the limits of verdict.h; the first that holds is taken:
 *   memory   files lie in memory; or, without direct=1, more than 10 % of what
 *            was restored came from memory, or of what was saved without fsync
 *            was still in it (also where nothing tells)
 *   network  of a restore: the interface of a remote mount carried 90 % of its
 *            line rate or more
 *   host     the CPUs are busy for 90 % or more, or making and checking data
 *            takes 20 % or more of the ranks' time
 *   storage  ranks spend 80 % or more of their time inside I/O calls
 *   unclear  none of these
 * Fills ml.verdict, whose strings belong to the result; none where no checkpoint was completed.
 */
void verdict_fill_checkpoint(const struct run_result *run, struct job_result *j);
