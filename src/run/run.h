/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - a run: jobs in groups that start together, from the first rule to the result. */
#pragma once

/*
 * A run owns everything: made in main, handed down, destroyed in main. Jobs of one group start
 * together, after all of them have been prepared; groups run one after the other. One thread, the
 * conductor, calls run_execute; the main thread may meanwhile look, tick and stop. What a job does
 * is its workload's (run/slot). The other processes of a job are asked through `others`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "data/file/file.h"
#include "hosts/hosts.h"
#include "io/host.h"
#include "job/job.h"
#include "run/result/result.h"
#include "run/slot/slot.h"
#include "run/watch/watch.h"

/* ---- everything between validated jobs and a result: prepare, train, measure ---- */

struct run;

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
typedef void run_offer(void *arg, size_t job, struct dataset *ds, struct dataset *eval);
int run_ask(const struct run_config *cfg, run_told *told, run_offer *offer, void *arg,
	    struct mlgen_err *err);

/*
 * Record what the threads of its jobs do, but for preparations of jobs that do something else then;
 * from run_execute on, into a file (run.h). 0 or -errno with err.
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
/* Each thread that is inside a call (slot_each_call). */
void run_each_call(const struct run *r, slot_tell *tell, void *arg);
/* Nobody waits for anybody any more; threads in the kernel stay there. */
void run_abandon(struct run *r);
/* Look at job number i of this process; histograms that the look has are filled. What the others do
 * in it can be asked for: run.h. */
void run_look(const struct run *r, size_t i, struct live *live);
struct others *run_others(const struct run *r); /* NULL = there are none */
/* Once a second: the series behind fio's bw_min, iops_max, ... */
void run_tick(struct run *r);

/* Was anything read or written yet? (exit status 1 instead of 2) */
bool run_has_started(const struct run *r);

/* What was measured; after run_execute, or after run_abandon from what there is. The result belongs
 * to the run. */
struct run_result *run_collect(struct run *r);

/* ---- the trace of a run as a whole: begun before its jobs, ended after them ---- */

struct job;
struct run_shared;
struct trace_result;
struct traced_threads;
struct tracer;

/* Has any of its jobs write_iolog, which is made of the run's trace? */
bool traced_is_logged(struct job *const *jobs, size_t count);

struct traced_config {
	int fd;           /* as in tracer.h */
	const char *path; /* the same; the caller's, as long as it is traced */
	/* Of all jobs, by --trace; else of those that have write_iolog. */
	bool is_asked;
};

/* ---- looks at what the other processes of a job do, for rank 0 ---- */

struct run;

/*
 * Rank 0 asks (hosts/hosts.h), and each of the others looks at its jobs and its host, on a thread
 * of its own; what it says stays until it says more, so nothing goes backwards where a process is
 * gone. With NULL there are no others, and nothing is added.
 */
struct others;

/* Of run_new and run_free; `number` is a channel's, `cpus` those that this process may use. NULL
 * with hosts NULL. */
struct others *others_new(const struct run *run, size_t jobs, struct hosts *hosts, uint32_t number,
			  uint64_t cpus);
void others_free(struct others *o);
/* The jobs of this process are over: the last look of it is said. */
void others_end(struct others *o);

/* ---- rank 0; any thread ---- */

/* A new look at all: what has not come after 300 ms is as it was. */
void others_ask(struct others *o);

/* What the others did in a job is added to a look of rank 0 at it. */
void others_add(struct others *o, size_t job, struct live *to);

/* Their hosts are added to a look at this one: memory and switches of all processes; page cache and
 * network of all hosts; CPUs as a mean of theirs. */
void others_add_hosts(struct others *o, struct live_host *to);

/* Is anybody of the others still at work? */
bool others_work(struct others *o);

/* So many processes there are: 1 with NULL. */
unsigned others_total(const struct others *o);
const char *others_host_name(const struct others *o, unsigned rank);

/* A look of one of them, in the place of `to`, whose histograms are filled. False: nothing is known
 * of it yet. */
bool others_look(struct others *o, unsigned rank, size_t job, struct live *to);

/* Likewise of its host, if it is the first process on it, with the memory and the switches of all
 * processes there; of rank 0's they are added to its own. */
bool others_look_host(struct others *o, unsigned rank, struct live_host *to);
