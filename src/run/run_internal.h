/* SPDX-License-Identifier: Apache-2.0 */
/* run_internal.h - what the files of run share. */
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

/* ---- a process that stays behind when the kernel kills this one for its memory_limit ---- */

/*
 * Who is killed can neither say why nor remove the group that it was in. A child that only waits,
 * in the same group, does both once its parent is gone. A zeroed struct has none.
 */
struct memlimit_watch {
	pid_t child;  /* 0 = none */
	int of_child; /* closes with this process */
};

/* ---- memory_limit: what a run may have of this host's memory ---- */

/*
 * The limit is of the process, so that all jobs of a run have the same one. A zeroed struct has
 * none. Lifting may come from any thread, and twice.
 */
struct memlimit {
	struct cgroup group;
	/* What there is under it, also where it is too little to be set; 0 = none. */
	uint64_t limit_bytes;
	struct memlimit_watch watch;
	_Atomic bool is_set;
};

/* Can it be what this job says, and does the first one say so, too? 0, or -EINVAL with err. */
int memlimit_check(const struct job *first, const struct job *job, const struct host *host,
		   struct mlgen_err *err);

/*
 * Where jobs ask for one: this process gets it, and `host` has that much memory. What keeps it from
 * being set is an error, or with memory_limit_required=0 a warning, and `host` stays as it is.
 */
int memlimit_set(struct memlimit *m, struct job *const *jobs, size_t count, struct host *host,
		 struct mlgen_err *err);

/* The same for a dry run: it is set for a moment. `m` knows it from then on, also where it is
 * needed and cannot be had, and has nothing to lift. No warnings. */
int memlimit_try(struct memlimit *m, const struct job *job, struct host *host,
		 struct mlgen_err *err);

/* What there is of memory, but for the limit. */
void memlimit_room(const struct memlimit *m, struct memroom *room);

/* Back to where this process came from. */
void memlimit_lift(struct memlimit *m);

/* ---- whether the processes of a job on one host find the memory that they take together ---- */

/*
 * Together: what each takes, group by group, is compared with what the host, and each control group
 * that several of them are in, leaves for all of these. 0, or -EPIPE with err; in rank 0 -ENOMEM
 * with err, where it is too much on any host, and the number of the job in *job. Of a process alone
 * memneed_check says it.
 */
int memhost_check(struct hosts *h, const struct memneed_jobs *all, const struct memroom *room,
		  size_t *job, struct mlgen_err *err);

/* ---- what the disks below a run's files did from its beginning to its end ---- */

struct disk_count;

/* As fio's disk_util: preparation and all groups are in it. A zeroed one is empty. */
struct disks {
	struct disk_count *items;
	size_t count;
	uint64_t begin_ns, end_ns;
	_Atomic bool has_ended;
};

/* The slots were checked: where their files lie is known. */
void disks_begin(struct disks *d, const struct slot *slots, size_t slot_count,
		 const struct clock *clock);
/* Any thread; the first call counts. */
void disks_end(struct disks *d, const struct clock *clock);
/* After the end: into out->disks, which becomes the caller's. */
void disks_collect(struct run_result *out, const struct disks *d);
void disks_fini(struct disks *d);

/* ---- what a run is made of, for src/run/run*.c alone ---- */

struct tracer;

struct run {
	struct run_shared shared;
	struct host host; /* with what memory_limit leaves of it */
	struct memlimit memory;
	struct slot *slots;
	struct disks disks;
	struct energy_meter energy;
	struct others *others; /* NULL = there are none */
	uint64_t timestamp_ms;
	struct tracer *tracer; /* NULL = there is no trace */
	struct traced_config trace;
	struct traced_threads *threads;
	struct trace_result traced; /* no bytes: nothing was recorded */
	struct run_result result;
};

/* Of a group the first slot, or the one behind `after`; NULL = no more. */
struct slot *run_next_in_group(struct run *r, unsigned group, struct slot *after);

/* Was it interrupted, or has it failed? */
bool run_is_stopping(const struct run *r);
/* Together: does any process end here, as this one does where `ends`? None goes on alone. */
bool run_stops(struct run *r, bool ends);

/* Prepare the jobs of a group, with others together: 0, CREW_STOPPED, or -errno with err. */
int run_prepare(struct run *r, unsigned group, struct mlgen_err *err);

/* For run.c: a tracer that knows host, program, mounts and jobs, and the slots of the run with it;
 * `threads` learns who works for which. 0 or -errno with err. */
int traced_start(struct tracer **out, struct run_shared *run, const struct traced_config *cfg,
		 struct traced_threads *threads, struct mlgen_err *err);
/* 0, or -errno with err: something is not in it. */
int traced_end(struct tracer *t, const struct traced_config *cfg, bool always,
	       struct trace_result *result, struct mlgen_err *err);

/* ---- what stops a run before its first byte: rows that the run asks, and a dry run, too ---- */

/*
 * Ask about memory_limit, which is of all jobs, before it is set; then, of slots that are set up
 * (slot.h, init), everything else, together with the other processes of the job. With `told`
 * NULL the first that does not hold ends it: 0, or -errno with err. Else 0, or -EPIPE with err.
 */
int rules_ask_limit(struct run_shared *run, run_told *told, void *arg, struct mlgen_err *err);
int rules_ask(struct run_shared *run, run_told *told, void *arg, struct mlgen_err *err);

/* For a dry run, behind these: what a job asks when its turn has come. The calling thread has
 * joined the clock. */
void rules_ask_turn(struct run_shared *run, run_told *told, void *arg);

/* ---- datasets that several jobs of a run read ---- */

/* Sets slot->largest of all: of those that read the same directory the job that reads most of
 * it. */
void shared_find(struct slot *slots, size_t count);

/* One directory holds one dataset, or parts of it: 0, or -EINVAL with err where a job before this
 * one describes the same directory differently. */
int shared_check(const struct slot *s, struct mlgen_err *err);

/* ---- what the files of a run lie on, named before the first byte ---- */

/*
 * Print a line for each filesystem or block device that has files of these jobs, so that a disk
 * nobody meant is seen at once; also with --quiet. Then a note for each job that empties the page
 * cache of this host. Of a command that runs its jobs several times the first run does it.
 */
void devices_tell(const struct slot *slots, size_t count);
