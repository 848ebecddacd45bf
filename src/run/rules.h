/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - what stops a run before its first byte: rows that the run asks, and a dry run, too. */
#pragma once

#include <stddef.h>

#include <mlgen/err.h>

#include "run/activity.h"

/*
 * Ask about memory_limit, which is of all jobs, before it is set; then, of slots that are set up
 * (activity.h, init), everything else, together with the other processes of the job. With `told`
 * NULL the first that does not hold ends it: 0, or -errno with err. Else 0, or -EPIPE with err.
 */
int rules_ask_limit(struct run_shared *run, run_told *told, void *arg, struct mlgen_err *err);
int rules_ask(struct run_shared *run, run_told *told, void *arg, struct mlgen_err *err);

/* For a dry run, behind these: what a job asks when its turn has come. The calling thread has
 * joined the clock. */
void rules_ask_turn(struct run_shared *run, run_told *told, void *arg);
