/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - answers by runs: --find-max, --find-min, and the ceiling of this host. */
#pragma once

/*
 * A probe is a whole run in this process of the same command line with options added. A search
 * decides from the results of probes which value --find-max tries next; it knows neither jobs nor
 * storage. The ceiling is the rate that this host alone could reach: its probes run the job without
 * storage.
 *
 * One thread calls all functions; probes start the threads of their runs.
 */

#include "ask/ask.h"
#include "ask/results/results.h"
#include "base/clock.h"
#include "run/result/result.h"
#include "run/run.h"

/* ---- probes: the program's own command line run once more with other options ---- */

/* Arguments that a probe adds to the command line. Zeroed = none. */
struct probe_args {
	char **at;          /* owned */
	size_t count, room; /* vec.h */
	/* A training job ends once this percentage of AU is out of reach. */
	double au_floor;
	/* The trace is written to trace_fd, which the caller owns; `trace` names it in messages.
	 * NULL = no trace. */
	const char *trace;
	int trace_fd;
};

/* Add an argument such as "--%s.epochs=%d". */
__attribute__((format(printf, 2, 3))) void probe_args_add(struct probe_args *args, const char *fmt,
							  ...);
/* Run the job on the null engine with its defaults, so that it models no storage. */
void probe_args_without_storage(struct probe_args *args, const struct ask *a,
				const struct job *job);
void probe_args_fini(struct probe_args *args);

/*
 * A run of the command line, parsed again with the added arguments. Its jobs prepare missing files,
 * run, and leave a result. SIGINT ends a probe like any run. The options for logs, traces and
 * metrics are ignored. With scale=, a probe reads the dataset of the original jobs, so these must
 * outlive the probe. All hosts of a job run the probe; rank 0 has the merged result.
 */
struct probe {
	struct jobset set;
	char **argv; /* including the added arguments */
	int argc;
	struct run *run;
	struct run_result *result; /* owned by the run; verdicts are filled */
	struct merge merge;        /* result of all hosts, merged into `result` */
	struct clock *clock;
	bool interrupted;
	/* After a signal some threads hang and still use the probe. probe_fini() then frees
	 * nothing, and the program must end without freeing. */
	bool abandoned;
};

/* Parse and check the jobs of the command line with `args`, but do not run them. 0, or -EINVAL with
 * err. Call jobset_fini() in any case. */
int probe_load(struct jobset *set, const struct ask *a, const struct probe_args *args,
	       struct mlgen_err *err);

/* Run a probe. 0, or -errno with err if it could not run or failed; a failed run may still have a
 * result. Call probe_fini() in any case. */
int probe_run(struct probe *p, const struct ask *a, const struct probe_args *args,
	      struct mlgen_err *err);
void probe_fini(struct probe *p); /* accepts a zeroed probe */

/* A copy of `a` with the command line of the probe. */
struct ask probe_ask(const struct probe *p, const struct ask *a);

/* ---- several hosts: rank 0 searches and decides, the other ranks run its probes ---- */

/*
 * Rank 0 alone searches or measures a ceiling; it has the results and prints them. Rank 0 sends
 * each probe to the other ranks, which run their part and return their measurements. All ranks must
 * call these functions together (hosts.h); with one process the functions return at once.
 */

/* All ranks but 0: run the probes that rank 0 sends until it dismisses them. Returns the exit
 * status of rank 0. */
int probe_serve(const struct ask *a);

/* Rank 0, after its last probe: make the other ranks end with this status. Returns `status`. */
int probe_dismiss(struct hosts *h, int status);

/* ---- what this host could reach with infinitely fast storage ---- */

/*
 * Run each training job of a result twice more, alone and for some seconds. The first run has
 * ioengine=null, which moves no bytes. The second run reads a few of the job's files, which were
 * read into the page cache before (distinct_files, buffered). Both figures go to ml.ceiling, and
 * the verdicts are computed again with them.
 *
 * Call between run_collect() and the report, while the run still exists: datasets of a result
 * belong to the run. `a` is the command line of the result, including the arguments of a probe.
 *
 * With only_unclear, only training jobs whose verdict is host or unclear are measured. The null
 * run, reading the files, and the run from memory then take up to three seconds each. A job whose
 * own run was short is not measured. With --ceiling=no nothing is measured.
 *
 * Returns 0, or -EINTR if a signal ended the measurement. Figures measured until then remain. The
 * caller must then report and end as if interrupted, without freeing memory that threads may still
 * use. A figure that cannot be measured is not an error: ml.ceiling.unmeasured says why.
 */
int ceiling_measure(const struct ask *a, struct run_result *r, bool only_unclear,
		    struct mlgen_err *err);

/* These functions are public for unit tests. */

/* Seconds of each of the two runs; 0 = the job has no ceiling, or it is not to be measured. The
 * caller has filled the verdicts. */
double ceiling_seconds(const struct job_result *j, bool only_unclear);

/* Number of other jobs that ran at the same time. */
uint64_t ceiling_concurrent_jobs(const struct run_result *r, const struct job_result *j);
