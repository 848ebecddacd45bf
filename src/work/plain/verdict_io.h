/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_io.h - when the figures of a plain job are not those of the storage. */
#pragma once

#include "run/results.h"

/*
 * Only two verdicts, by the limits of verdict.h; where neither holds there is none, since such a
 * job has no demand that could be missed:
 *   memory   reads that did not come from storage, without direct=1
 *   host     the CPUs are busy for 90 % or more
 * Fills io.verdict; its strings belong to the result.
 */
void verdict_fill_io(const struct run_result *run, struct job_result *j);
