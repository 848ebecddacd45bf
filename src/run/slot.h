/* SPDX-License-Identifier: Apache-2.0 */
/* slot.h - one job of a run: what it is given, what is measured around it. */
#pragma once

#include <stdatomic.h>

#include "hosts/hosts.h"
#include "io/blockdev.h"
#include "io/devstat.h"
#include "io/mount.h"
#include "run/failure.h"
#include "run/make/make.h"
#include "run/placement.h"
#include "run/result/result.h"
#include "run/run.h"
#include "run/span.h"
#include "run/watch/watch.h"
#include "run/worker.h"

struct memlimit;
struct rules_known;

/* What all jobs of a run share. */
struct run_shared {
	struct run_config cfg;
	struct slot *slots;            /* cfg.count of them */
	const struct memlimit *memory; /* of all of them */
	struct rules_known *known;     /* while rules are asked */
	struct failure failure;
	_Atomic bool interrupted;
	_Atomic bool has_started; /* the first byte was written or read */
	/* Of cfg.hosts: from here on one for the barriers of each slot, then one for the
	 * checkpoints of each, then one for its cache. */
	uint32_t channels;
	_Atomic bool has_heard;        /* of an end from there, which they know of */
	struct blockdev_guards guards; /* devices that jobs write */
	uint64_t threads;              /* that work at the same time, about; by rules_ask */
};

struct job_checkpoints;
struct peers;

struct slot {
	const struct job *job;
	const struct activity *does;
	struct dataset dataset, eval; /* eval.format NULL = none */
	/* While it is set up: what another process has found of these; NULL = it looks for
	 * itself. */
	struct dataset_given *given;
	struct mount mount;
	uint64_t align_bytes; /* direct=1; 0 = buffered */
	struct placement place;
	struct traced traced; /* set before its work begins */
	struct filemaker_progress progress;
	struct prepare_result prepare;
	double resident_before_percent;
	struct energy_meter *energy; /* the run's; NULL in tests */
	struct slot *all;            /* of the run, this one among them */
	size_t all_count;
	/* The job of this run that reads the most files of the same directory, maybe this one: it
	 * is made first. */
	struct slot *largest;
	bool is_prepared;
	struct worker_list workers;          /* all that move bytes for its work */
	void *own;                           /* of its workload alone, freed by its fini */
	struct job_checkpoints *checkpoints; /* NULL = it has none */
	char *checkpoint_directory;
	struct mount checkpoint_mount;
	bool has_dropped_caches;

	_Atomic int phase; /* enum live_phase */
	/* Around the training, or the plain job. */
	uint64_t begin_ns, end_ns;      /* of the whole job */
	_Atomic uint64_t work_begin_ns; /* 0 = not reached */
	_Atomic uint64_t work_end_ns;
	struct span span;
	_Atomic bool has_ended; /* slot_end_work was here */
	pthread_t joiner;       /* 0 = none */
	double mhz_sum;         /* of so many looks, by run_tick */
	uint64_t mhz_looks;
	struct rate_set rates;
	uint64_t last_tick_ns;
	struct opstat total; /* of all workers; made by collect */
};

struct activity;

/* Does the job's engine touch files at all? */
bool slot_touches_files(const struct slot *s);

/* Does it empty this host's caches first? */
bool slot_drops_caches(const struct slot *s);

/* Has it a dataset: is it a training, or the preparation of one? */
bool slot_has_dataset(const struct slot *s);

/* Are its threads set up, so that others may touch them? */
bool slot_is_working(const struct slot *s);
bool slot_works_in(int phase);

/* Is its time zero past? */
bool slot_has_begun(const struct slot *s);

/* Bytes that jobs of its group have read since time zero, also those that ramp_time leaves out, of
 * what the slot's source of storage counts. While they run, too; for struct span_request. */
uint64_t slot_counted_bytes(void *slot);

/* Bytes and operations so far, from counters that are still being written. */
uint64_t slot_io_bytes(const struct slot *s, unsigned direction);
uint64_t slot_ios(const struct slot *s, unsigned direction);
uint64_t slot_worker_bytes(const struct worker *w, unsigned direction);
uint64_t slot_worker_ios(const struct worker *w, unsigned direction);

/* Add what a worker has moved, with its latencies. */
void slot_look_moved(struct worker *w, struct live *live);
/* Adds that of all its workers, with their time and errors, and what any of them has had under way
 * longest, into live->oldest. */
void slot_look_at_workers(const struct slot *s, struct live *live);

/* Each of its threads that is inside a call: those of its work, where they are set up, and those of
 * a preparation. */
void slot_each_call(struct slot *s, uint64_t now_ns, slot_tell *tell, void *arg);

/* The work is set up, and is in this phase from now on; it has so many records in the report. */
void slot_begin_work(struct slot *s, struct clock *clock, int phase, size_t records);

/* What its threads tell: the slot is the argument of a struct run_watch. */
extern const struct run_watch slot_watch;

/* Is ramp_time, where there is one, over? Any thread. */
bool slot_counts(struct slot *s);

/* Its last worker is gone, or is given up: what is measured ends. Any thread; the first call
 * counts. */
void slot_end_work(struct slot *s);

/* Its ranks, or streams, wait for those of other processes, too. */
void slot_join_others(const struct slot *s, const struct run_shared *run, struct peers *peers);

/* On which CPUs its threads run, into s->place; `m` NULL: it touches no files. slot_tell_place
 * leaves a note where they are not bound as they were to be. */
int slot_place(struct slot *s, const struct mount *m, struct mlgen_err *err);
void slot_tell_place(const struct slot *s);
