/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - answers by runs: --find-max, --find-min, and the ceiling of this host. */
#pragma once

/*
 * A probe is a whole run in this process, of the same command line with options added. A search is
 * a function of what probes came to, and knows neither jobs nor storage; --find-max asks it which
 * value is next. The ceiling is what this host alone could deliver: probes of the job without
 * storage.
 *
 * One thread asks; probes start those of the runs.
 */

#include "ask/ask.h"
#include "ask/results/results.h"
#include "base/clock.h"
#include "run/result/result.h"
#include "run/run.h"

/* ---- run the program's own command line once more, with other options ---- */

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

/* ---- questions of one job on several hosts: rank 0 asks and decides, the others run what it tries
 * ---- */

/*
 * A search, or a ceiling, goes on in rank 0 alone, which is where its words are printed and its
 * results are. Each probe that it makes is told to the others, who run their part of it and give
 * what they measured. All of this is done together (hosts.h), and at once where there is one
 * process.
 */

/* All others: run what is told, until it is over. The exit status of rank 0. */
int probe_follow(const struct ask *a);

/* Rank 0, when there is nothing more to try: the others end with this status, which it gives
 * back. */
int probe_dismiss(struct hosts *h, int status);

/* ---- what this host could reach with infinitely fast storage ---- */

/*
 * Each training of a result is run twice more, by itself and for some seconds: with ioengine=null,
 * which moves no byte, and on a few of its own files that were read into the page cache before
 * (distinct_files, buffered). Both figures go to ml.ceiling, and the verdicts are made again with
 * them.
 *
 * To be called after run_collect and before the report, while the run is still there: datasets of a
 * result are the run's. `a` is the command line that the result came from, with all that a probe
 * added.
 *
 * With only_unclear for the trainings alone whose verdict is host or unclear, and briefly: three
 * times up to three seconds each, never of a run that was short itself; none at all with
 * --ceiling=no. 0, -EINTR when a signal ended it: what was measured until then stands, and the
 * program is to report and to end as if interrupted, without freeing what threads may still use.
 * What cannot be measured is no error: ml.ceiling.unmeasured says why.
 */
int ceiling_measure(const struct ask *a, struct run_result *r, bool only_unclear,
		    struct mlgen_err *err);

/* The parts, for their tests. */

/* Seconds of each of both runs; 0: this training has no ceiling to measure, or none so briefly.
 * Verdicts are filled. */
double ceiling_seconds(const struct job_result *j, bool only_unclear);

/* Other jobs that ran at the same time. */
uint64_t ceiling_jobs_beside(const struct run_result *r, const struct job_result *j);
