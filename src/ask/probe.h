/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - run the program's own command line once more, with other options. */
#pragma once

#include "ask/ask.h"
#include "ask/merge_hosts.h"
#include "base/clock.h"
#include "run/results.h"
#include "run/run.h"

/* What a probe has more than the command line. A zeroed one has nothing. */
struct probe_args {
	char **at;          /* owned */
	size_t count, room; /* vec.h */
	/* Trainings end where so many percent of AU are out of reach. */
	double au_floor;
	/* Its trace goes into this descriptor, the caller's, under this name in messages; NULL = it
	 * has none. */
	const char *trace;
	int trace_fd;
};

/* "--%s.epochs=%d" */
__attribute__((format(printf, 2, 3))) void probe_args_add(struct probe_args *args, const char *fmt,
							  ...);
/* The job on the null engine, which plays no storage then. */
void probe_args_take_storage_away(struct probe_args *args, const struct ask *a,
				  const struct job *job);
void probe_args_fini(struct probe_args *args);

/*
 * A probe is a whole run in this process: the command line is read again with these arguments
 * behind it, its jobs prepare what is missing, run, and leave a result. SIGINT ends it as it ends
 * any run. --log and --trace are not written. Of scale= it has the files that the command line has,
 * which has to outlive it. Of one job on several hosts all of them run it, and rank 0 has what they
 * measured together (probe_hosts.h).
 */
struct probe {
	struct jobset set;
	char **argv; /* with the arguments */
	int argc;
	struct run *run;
	struct run_result *result; /* of the run; verdicts are filled */
	struct merge merge;        /* of all hosts, into the result */
	struct clock *clock;
	bool interrupted;
	/* Threads hang in it after a signal and still use it, so that probe_fini leaves it all
	 * where it is, and the program has to end without freeing. */
	bool abandoned;
};

/* The same without a run: the jobs of the command line with args, checked. 0, or -EINVAL with err;
 * jobset_fini in any case. */
int probe_load(struct jobset *set, const struct ask *a, const struct probe_args *args,
	       struct mlgen_err *err);

/* 0; -errno with err where it could not run, or failed: then there may be a result all the same.
 * probe_fini in any case. */
int probe_run(struct probe *p, const struct ask *a, const struct probe_args *args,
	      struct mlgen_err *err);
void probe_fini(struct probe *p); /* takes a zeroed one */

/* As if the command line had been that of the probe. */
struct ask probe_ask(const struct probe *p, const struct ask *a);
