/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - everything between validated jobs and a result: prepare, train, measure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "data/file/file.h"
#include "io/host.h"
#include "job/job.h"
#include "run/result/result.h"
#include "run/watch/watch.h"

/*
 * A run owns everything: made in main, handed down, destroyed in main. Jobs of one group start
 * together, after all of them have been prepared; groups run one after the other. One thread, the
 * conductor, calls run_execute; the main thread may meanwhile look, tick and stop.
 */
struct run;

struct run_config {
	struct job *const *jobs;
	size_t count;
	const struct host *host;
	struct clock *clock;
	bool readonly, allow_fill, replace;
	bool thorough; /* look at all files of a dataset, not at a sample */
	bool traces;   /* run_trace will be called: it takes memory */
	/* A training of known length ends, behind its first epoch, where its AU cannot reach so
	 * many percent any more, whatever comes; 0 = never. */
	double au_floor;
	const char *allow_device;  /* NULL = none */
	const char *title, *notes; /* as run_result has them */
	struct hosts *hosts;       /* of one job; NULL = there are no others */
};

/*
 * Together with the processes of cfg->hosts: number the accelerators of the jobs through all of
 * them, and say which part of what is dealt out (ranks of checkpoints) is this one's, before
 * run_new. 0, or -errno with err.
 */
int run_number(struct hosts *hosts, struct job *const *jobs, size_t count, struct mlgen_err *err);

/* As the options of the program have it. */
struct run_config run_config_of(const struct settings *set, struct job *const *jobs, size_t count,
				const struct host *host, struct clock *clock);

/* Check what can be checked before the first byte: 0, or -errno with err. With others (cfg->hosts)
 * together: what one of them refuses all do. */
int run_new(struct run **out, const struct run_config *cfg, struct mlgen_err *err);
void run_free(struct run *r); /* NULL is fine */

/*
 * For a dry run: tell what run_new would refuse, and for which job, each time in its words; changes
 * nothing. Then the datasets of each are offered, whose files may have been listed for it: who
 * takes one leaves a zeroed one. 0, or -errno with err where a job has nothing that could be asked
 * about. With others (cfg->hosts) together, but each tells its own.
 */
typedef void run_told(void *arg, size_t job, const char *name, const struct mlgen_err *err);
typedef void run_offer(void *arg, size_t job, struct dataset *ds, struct dataset *eval);
int run_ask(const struct run_config *cfg, run_told *told, run_offer *offer, void *arg,
	    struct mlgen_err *err);

/*
 * Record what the threads of its jobs do, but for preparations of jobs that do something else then;
 * from run_execute on, into a file (run_trace.h). 0 or -errno with err.
 */
struct traced_config;
int run_trace(struct run *r, const struct traced_config *cfg, struct mlgen_err *err);
/* After run_execute, or run_abandon: the end of the trace, which run_collect then knows of. 0, or
 * -errno with err: something is not in it. */
int run_trace_end(struct run *r, struct mlgen_err *err);
/*
 * Behind that: what the threads of job number i did, as a log of fio's; `fd` is the file of the
 * trace, open for reading, and stays the caller's. 0, or -errno with err: -ENODATA where nothing of
 * it was recorded, and nothing is written.
 */
struct trace_iolog_left;
int run_iolog(struct run *r, size_t i, int fd, FILE *to, struct trace_iolog_left *left,
	      struct mlgen_err *err);

/* Prepare and run all groups. Returns when everything has ended. */
void run_execute(struct run *r);

/* From the main thread, while run_execute runs: */

/* No call is begun and no sleep goes on any more. */
void run_interrupt(struct run *r);
/* Each thread that is inside a call, and for how long: its longest. */
typedef void slot_tell(void *arg, const char *job_name, const struct io_outstanding *call,
		       uint64_t ns);
void run_each_call(const struct run *r, slot_tell *tell, void *arg);
/* Nobody waits for anybody any more; threads in the kernel stay there. */
void run_abandon(struct run *r);
/* Look at job number i of this process; histograms that the look has are filled. What the others do
 * in it can be asked for: others.h. */
void run_look(const struct run *r, size_t i, struct live *live);
struct others *run_others(const struct run *r); /* NULL = there are none */
/* Once a second: the series behind fio's bw_min, iops_max, ... */
void run_tick(struct run *r);

/* Was anything read or written yet? (exit status 1 instead of 2) */
bool run_has_started(const struct run *r);

/* What was measured; after run_execute, or after run_abandon from what there is. The result belongs
 * to the run. */
struct run_result *run_collect(struct run *r);
