/* SPDX-License-Identifier: Apache-2.0 */
/* train_verdict.h - what limits a training, and what to try next. */
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
 *   cache    loaders spend 80 % or more of their time inside I/O calls, and hits of
 *            a tier in a directory take most of it
 *   storage  loaders spend 80 % or more of their time inside I/O calls, or the
 *            ceiling is clearly above
 *   unclear  none of these
 * A figure that could not be measured decides nothing. A training that finished no step has no
 * verdict.
 */
void train_verdict(const struct run_result *run, struct job_result *j);
