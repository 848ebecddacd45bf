/* SPDX-License-Identifier: Apache-2.0 */
/* run_internal.h - declarations that the files of run share. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "hosts/hosts.h"
#include "io/devices.h"
#include "io/host.h"
#include "job/job.h"
#include "run/result/result.h"
#include "run/run.h"
#include "run/slot/slot.h"

/* ---- memory_limit: the share of this host's memory that a run may use ---- */

/*
 * A process that the kernel kills for its memory_limit can neither report this nor remove its
 * control group. A child in the same group only waits, and does both once its parent is gone. A
 * zeroed struct has no child.
 */
struct memlimit_watch {
	pid_t child; /* 0 = none */
	int pipe_fd; /* write end of a pipe to the child; closes with this process */
};

/*
 * The limit applies to the process, so all jobs of a run have the same one. A zeroed struct has no
 * limit. memlimit_lift may be called on any thread, and twice.
 */
struct memlimit {
	struct cgroup group;
	/* The limit, even if it was too small to be set; 0 = none. */
	uint64_t limit_bytes;
	struct memlimit_watch watch;
	_Atomic bool is_set;
};

/* A rule: is the job's limit possible on this host, and the same as the first job's? 0, or -EINVAL
 * with err. */
int memlimit_check(struct slot *s, struct run_shared *run, struct mlgen_err *err);

/*
 * Limit this process if the jobs ask for it, and reduce host->memory_bytes to the limit. A limit
 * that cannot be set is an error; with memory_limit_required=0 a warning, and `host` is unchanged.
 */
int memlimit_set(struct memlimit *m, struct job *const *jobs, size_t count, struct host *host,
		 struct mlgen_err *err);

/* Dry run of memlimit_set: the limit is set and lifted again, without warnings. `m` and `host` have
 * the limit afterwards, even if it is required and could not be set. */
int memlimit_try(struct memlimit *m, const struct job *job, struct host *host,
		 struct mlgen_err *err);

/* Return this process to its previous control group. */
void memlimit_lift(struct memlimit *m);

/* ---- is there enough memory for all processes of a job on one host? ---- */

/*
 * Compare, for each group of jobs, the needs of all processes on a host with the memory of the
 * host, and with that of each control group that several of the processes share. All processes must
 * call this together. 0, or -EPIPE with err. If the needs are too large on any host, rank 0 gets
 * -ENOMEM with err, and the number of the job in *job. memneed_check does this for a single
 * process.
 */
int memhost_check(struct hosts *h, const struct memneed_jobs *all, const struct memroom *room,
		  size_t *job, struct mlgen_err *err);

/* ---- counters of the disks below a run's files, from its beginning to its end ---- */

struct disk_count;

/* Like fio's disk_util, including preparation and all groups. A zeroed struct is empty. */
struct disks {
	struct disk_count *items;
	size_t count;
	uint64_t begin_ns, end_ns;
	_Atomic bool has_ended;
};

/* Call this once the slots were checked and the mounts of their files are known. */
void disks_begin(struct disks *d, const struct slot *slots, size_t slot_count,
		 const struct clock *clock);
/* Any thread; only the first call has an effect. */
void disks_end(struct disks *d, const struct clock *clock);
/* After disks_end: fill out->disks, which becomes the caller's. */
void disks_collect(struct run_result *out, const struct disks *d);
void disks_fini(struct disks *d);

/* ---- the run, for src/run/run*.c alone ---- */

struct run {
	struct run_shared shared;
	struct host host; /* memory_bytes is reduced to memory_limit */
	struct memlimit memory;
	struct slot *slots;
	struct disks disks;
	struct energy_meter energy;
	struct remote_status *others; /* NULL = there are no other processes */
	uint64_t timestamp_ms;
	struct tracer *tracer; /* NULL = there is no trace */
	struct traced_config trace;
	struct traced_threads *threads;
	struct trace_result traced; /* bytes 0 = nothing was recorded */
	struct run_result result;
};

/* The first slot of a group, or the next one after `after`; NULL = no more. */
struct slot *run_next_in_group(struct run *r, unsigned group, struct slot *after);

/* Was the run interrupted, or has it failed? */
bool run_is_stopping(const struct run *r);
/* Does this process (`ends`) or any other process stop here? All processes must call this together,
 * and get the same answer. */
bool run_stops(struct run *r, bool ends);

/* Prepare the jobs of a group, together with the other processes: 0, POOL_STOPPED, or -errno with
 * err. */
int run_prepare(struct run *r, unsigned group, struct mlgen_err *err);

/* ---- rules that stop a run before its first byte; a dry run checks them, too ---- */

/*
 * rules_ask_limit checks memory_limit, before the limit is set. rules_ask checks everything else,
 * for slots that are set up (slot.h, init), together with the other processes of the job. With
 * `report` NULL the first rule that does not hold ends the check: 0, or -errno with err. Otherwise
 * `report` is called for every rule that does not hold: 0, or -EPIPE with err.
 */
int rules_ask_limit(struct run_shared *run, run_rule_failed_fn *report, void *arg,
		    struct mlgen_err *err);
int rules_ask(struct run_shared *run, run_rule_failed_fn *report, void *arg, struct mlgen_err *err);

/* Dry run, after rules_ask: check the rules that a run checks just before the preparation of a job.
 * The calling thread must have joined the clock. */
void rules_ask_turn(struct run_shared *run, run_rule_failed_fn *report, void *arg);

/* ---- datasets that several jobs of a run read ---- */

/* Set slot->largest of each slot: the job that reads the most files of the same directory. */
void shared_find(struct slot *slots, size_t count);

/* A rule: two jobs may share a directory only if they describe the same dataset. 0, or -EINVAL with
 * err if an earlier job describes it differently. */
int shared_check(struct slot *s, struct run_shared *run, struct mlgen_err *err);

/* ---- the filesystems and devices of a run, printed before the first byte ---- */

/*
 * Print a line for each filesystem or block device that has files of these jobs, so that a wrong
 * disk is noticed at once. The lines are printed even with --quiet. Then print a note for each job
 * that empties the page cache of this host. A command that runs its jobs several times prints this
 * once.
 */
void devices_print(const struct slot *slots, size_t count);
