/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - what stops a run before its first byte: rows that the run asks, and a dry run, too. */
#pragma once

#include <stddef.h>

#include <mlgen/err.h>

#include "run/slot.h"

/*
 * A run asks one row after the other and ends with the first that does not hold; a dry run asks all
 * of them and shows each that does not as FAIL. So both say the same, in the words of the function
 * that asks, which is where most is known. A row changes nothing but its slot.
 */
struct rule {
	/* What it is about: the line of the dry run's page that it marks. */
	const char *name;
	/* 0, also where it does not concern this job, or -errno with err. */
	int (*ask)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
};

/* Rows of any workload, for its list in activity.h. */

/* One worker with the job's engine and options can be set up here; of one that is not loaded nobody
 * knows. */
int rules_engine(struct slot *s, struct run_shared *run, struct mlgen_err *err);
/* CPUs and NUMA nodes, into s->place. */
int rules_cpus(struct slot *s, struct run_shared *run, struct mlgen_err *err);

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
