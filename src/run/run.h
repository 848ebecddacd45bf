/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - a run: groups of jobs that start together, from the first rule to the result. */
#pragma once

/*
 * main creates and frees the run, which owns everything in it. Jobs of one group start together,
 * after all of them have been prepared; groups run one after the other. One thread, the conductor,
 * calls run_execute. While that runs, the main thread may read the counters, call run_tick and stop
 * the run. The workload of a job (run/slot) says what the job does. Rank 0 learns the state of the
 * job's other processes through their remote status (struct remote_status).
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

/* ---- runs: from validated jobs to a result ---- */

struct run;

/*
 * Number the accelerators of each job consecutively across all processes of `hosts`, and set the
 * job's place among the processes. All processes must call this together, before run_new. 0, or
 * -errno with err.
 */
int run_number(struct hosts *hosts, struct job *const *jobs, size_t count, struct mlgen_err *err);

/* The run configuration for the program's options. */
struct run_config run_config_of(const struct settings *set, struct job *const *jobs, size_t count,
				const struct host *host, struct clock *clock);

/* Make a run, and check everything that can be checked before the first byte: 0, or -errno with
 * err. All processes of cfg->hosts must call this together; if it fails in one, it fails in all. */
int run_new(struct run **out, const struct run_config *cfg, struct mlgen_err *err);
void run_free(struct run *r); /* NULL is fine */

/*
 * Dry run, which changes nothing: call `report` for each rule that would make run_new fail. Then
 * call `offer` with the datasets of each job, whose files may have been listed; a callback that
 * keeps a dataset must leave a zeroed struct in its place. 0, or -errno with err if a job cannot be
 * set up. All processes of cfg->hosts must call this together; each reports its own jobs.
 */
typedef void run_offer(void *arg, size_t job, struct dataset *ds, struct dataset *eval);
int run_ask(const struct run_config *cfg, run_rule_failed_fn *report, run_offer *offer, void *arg,
	    struct mlgen_err *err);

/* Does any job set write_iolog? That log is made from the run's trace. */
bool traced_is_logged(struct job *const *jobs, size_t count);

struct traced_config {
	int fd;           /* see tracer.h */
	const char *path; /* see tracer.h; the caller's, must outlive the run */
	/* Trace all jobs (--trace); otherwise only jobs that set write_iolog. */
	bool is_asked;
};

/*
 * Record the operations of the jobs' threads into a file, from run_execute on. Preparations are
 * recorded only for jobs that only prepare. 0 or -errno with err.
 */
int run_trace(struct run *r, const struct traced_config *cfg, struct mlgen_err *err);
/* End the trace, after run_execute or run_abandon and before run_collect. 0, or -errno with err:
 * the trace is incomplete. */
int run_trace_end(struct run *r, struct mlgen_err *err);
/*
 * After run_trace_end: write the operations of job number i as a fio log. `fd` is the file of the
 * trace, open for reading, and stays the caller's. 0, or -errno with err: -ENODATA, with nothing
 * written, if no operation of the job was recorded.
 */
struct trace_iolog_omitted;
int run_iolog(struct run *r, size_t i, int fd, FILE *to, struct trace_iolog_omitted *left,
	      struct mlgen_err *err);

/* Prepare and run all groups. Returns when everything has ended. */
void run_execute(struct run *r);

/* The main thread may call the following functions while run_execute runs. */

/* Prevent new calls, and end all sleeps. */
void run_interrupt(struct run *r);
/* Call `tell` for each thread that is inside a call (slot_each_call). */
void run_each_call(const struct run *r, slot_call_fn *tell, void *arg);
/* End all waits of threads for each other, now and in the future. Threads in the kernel stay
 * there. */
void run_abandon(struct run *r);
/* Read the counters of job number i of this process, and fill the histograms that `live` has.
 * remote_status_add adds the counters of other processes. */
void run_look(const struct run *r, size_t i, struct live *live);
struct remote_status *
run_remote_status(const struct run *r); /* NULL = there are no other processes */
/* Call once a second: extend the series of rates for fio's bw_min, iops_max, ... */
void run_tick(struct run *r);

/* Was any byte read or written yet? (exit status 1 instead of 2) */
bool run_has_started(const struct run *r);

/* Collect the measurements after run_execute, or the measurements so far after run_abandon. The
 * result belongs to the run. */
struct run_result *run_collect(struct run *r);

/* ---- remote status: rank 0's view of the job's other processes ---- */

/*
 * Rank 0 polls the other processes (hosts/hosts.h). Each of them reads its jobs and its host on a
 * thread of its own. The latest answer of a process stays valid, so no figure decreases when the
 * process is gone. A NULL pointer stands for a job without other processes; the functions then add
 * nothing.
 */
struct remote_status;

/* Only for run_new and run_free. `number` is the number of a channel, and `cpus` the number of CPUs
 * that this process may use. Returns NULL if `hosts` is NULL. */
struct remote_status *remote_status_new(const struct run *run, size_t jobs, struct hosts *hosts,
					uint32_t number, uint64_t cpus);
void remote_status_free(struct remote_status *o);
/* Send the final answer once the jobs of this process are over. */
void remote_status_end(struct remote_status *o);

/* Only rank 0 calls the following functions, on any thread. */

/* Poll all processes. A process without an answer after 300 ms keeps its previous one. */
void remote_status_poll(struct remote_status *o);

/* Add the other processes' counters of a job to rank 0's. */
void remote_status_add(struct remote_status *o, size_t job, struct live *to);

/* Add the other processes to this host's figures: memory and switches of all processes, page cache
 * and network of all hosts, and the mean of the CPU percentages. */
void remote_status_add_hosts(struct remote_status *o, struct live_host *to);

/* Is any other process still at work? */
bool remote_status_is_working(struct remote_status *o);

/* Number of processes: 1 with NULL. */
unsigned remote_status_total(const struct remote_status *o);
const char *remote_status_host_name(const struct remote_status *o, unsigned rank);

/* Replace the figures and the histograms of `to` with the latest answer of one process. False:
 * there is no answer yet. */
bool remote_status_look(struct remote_status *o, unsigned rank, size_t job, struct live *to);

/*
 * Replace `to` with the figures of the host of `rank`, with the memory and the context switches of
 * all processes there. For rank 0, `to` must hold its own figures, to which those of the other
 * processes are added. False: there is no answer yet, or `rank` is not the first process on its
 * host.
 */
bool remote_status_look_host(struct remote_status *o, unsigned rank, struct live_host *to);
