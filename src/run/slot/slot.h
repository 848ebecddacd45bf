/* SPDX-License-Identifier: Apache-2.0 */
/* slot.h - a job in a run: what its workload is asked, its workers, and what is measured around
 * them. */
#pragma once

/*
 * The run (run/run.h) sets up a slot for each of its jobs and asks the row of the job's workload
 * (struct activity) to plan, prepare, start, join and report; what is the workload's own hangs on
 * slot->own, of which the run knows nothing. Threads that do I/O are workers: each has an engine,
 * a buffer and statistics of its own, and joins the slot's list when it starts, so that the status
 * line, the log and the report find all of them. Ranks wait for each other at barriers (peers).
 *
 * The conductor's thread calls the functions of a row. Workers write their own counters, which any
 * thread may look at while they run and which are merged after they were joined.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/vec.h"
#include "data/file/file.h"
#include "data/order/order.h"
#include "hosts/hosts.h"
#include "io/devices.h"
#include "io/host.h"
#include "io/io.h"
#include "io/mount.h"
#include "job/job.h"
#include "run/make/make.h"
#include "run/result/result.h"
#include "run/watch/watch.h"
#include "stat/hist.h"

/* ---- the first error of a run, from whichever thread, and what it stops ---- */

struct failure {
	pthread_mutex_t lock;
	_Atomic bool is_set;
	struct mlgen_err err;        /* stable once is_set */
	void (*stop_all)(void *arg); /* called once, by the failing thread */
	void *arg;
};

void failure_init(struct failure *f, void (*stop_all)(void *arg), void *arg);
void failure_fini(struct failure *f);

/* The first one wins and stops the run; later ones are dropped. Any thread. */
void failure_set(struct failure *f, const struct mlgen_err *err);

/* ---- wait for somebody else to have changed something ---- */

/*
 * Whoever changes a condition rings; whoever waits for it looks at the bell,
 * then at the condition, then waits for a ring later than the look. A ring
 * with nobody waiting costs two atomic accesses and no system call.
 *
 *	for (;;) {
 *		uint32_t seen = bell_look(b);
 *		if (condition)
 *			break;
 *		bell_wait(b, clock, seen, deadline_ns);
 *	}
 */
struct bell {
	_Atomic uint32_t rings;
	_Atomic uint32_t waiters;
};

uint32_t bell_look(const struct bell *b);

/* 0, or -ETIMEDOUT; may return early: look at the condition again. */
int bell_wait(struct bell *b, struct clock *c, uint32_t seen, uint64_t deadline_ns);

void bell_ring(struct bell *b, struct clock *c);

/* ---- what the ranks of one job do together: wait for each other ---- */

/*
 * The ranks that live in this process wait for each other here; where the job has other processes,
 * the last of them to arrive goes on to wait for those, over a channel of it. `local` is how many
 * ranks live here.
 */
struct peers {
	uint64_t local;
	struct clock *clock;
	struct hosts_channel *channel; /* NULL = there are no others */
	/* Below: under `lock`, which no one holds while waiting. */
	pthread_mutex_t lock;
	uint64_t members, arrived;
	const struct peers_decision *decision; /* of those who have arrived */
	void *arg;
	bool is_sent;               /* to the others that all here have arrived */
	_Atomic uint64_t here_ns;   /* when they had; of the last barrier */
	_Atomic uint32_t round;     /* barriers passed; written under the lock */
	_Atomic uint64_t passed_ns; /* the last of them; written likewise */
	_Atomic bool closed;
	struct bell bell;
};

/*
 * What is decided at a barrier, once in each process, before anyone goes on. vote: by the last here
 * to arrive, who first does what everyone is to find done. apply: with the OR of all votes, which
 * is the same everywhere. Either may be NULL.
 */
struct peers_decision {
	uint64_t (*vote)(void *arg);
	void (*apply)(void *arg, uint64_t votes);
};

void peers_init(struct peers *p, struct clock *clock, uint64_t ranks);
/* Before any of them waits: ranks of other processes are waited for, too, over channel `number` of
 * `hosts` (NULL = there are none). */
void peers_join(struct peers *p, struct hosts *hosts, uint32_t number);
void peers_fini(struct peers *p);

/*
 * Wait for all members. The last to arrive, or who leaves where only he was missing, decides before
 * anyone goes on (NULL = there is nothing to decide), so a decision is taken once and seen by all.
 * Members give the same. 0, or -EPIPE once closed.
 */
int peers_barrier(struct peers *p, const struct peers_decision *decision, void *arg);

/*
 * When the last to arrive opened the barrier that this rank went through last: the same for all of
 * them, however long each took to wake. Before that, those of this process had all arrived at
 * peers_here_ns; where there are no others that is the same time.
 */
uint64_t peers_passed_ns(const struct peers *p);
uint64_t peers_here_ns(const struct peers *p);

/*
 * Between two barriers, by one member in each of several processes: each gets what all of them say
 * (hosts.h). 0, or -EPIPE: closed, here or elsewhere, or a process has left.
 */
int peers_exchange(struct peers *p, const void *mine, size_t n, struct buf *all);

/* This rank is done: barriers wait for one less from now on. */
void peers_leave(struct peers *p);

/* An error: everyone who waits or will wait gets -EPIPE. Any thread. */
void peers_close(struct peers *p);

/* The same by a member who gives up: a round is passed by all of them or by none. Not from a
 * decision. */
void peers_cut(struct peers *p);

/* ---- when the next request of a rate-limited stream is due ---- */

/*
 * An open loop: due times follow from the rates alone, in the order of the requests, as if storage
 * took no time. A stream that falls behind submits at once, and its latencies count from the due
 * time, so that a stall is not hidden by the requests it held up. rate and rate_iops both hold.
 * Reads and writes have each a schedule of their own, and keep their order: the direction that
 * reaches its rate first holds the other back, which may make up for it.
 */
struct pace {
	bool is_paced;
	double bytes_ns[2]; /* ns per byte; 0 = no limit */
	double ios_ns[2];   /* ns per request */
	double due_ns[2];   /* next of each direction, since the start */
	double last_ns;     /* due time of the request before */
};

void pace_init(struct pace *p, const struct job *job);

/* ns after the start at which the next request is due: read 0, write 1. */
uint64_t pace_due(const struct pace *p, unsigned direction);

/* That request, of so many bytes, was taken. */
void pace_take(struct pace *p, unsigned direction, uint64_t bytes);

/* ---- on which CPUs the threads of a job run, and how near its disk that is ---- */

/*
 * What cpus_allowed, numa and numa_cpu_nodes of one job come to on this host. Made before any
 * thread starts, read by all of them. Lists are such as host_set_cpus takes; NULL = the thread may
 * run wherever it is.
 */
struct placement {
	char *rank_cpus, *loader_cpus;
	bool has_nodes; /* the host has several: is a loader far? */
	int disk_node;  /* -1 = unknown */
	/* numa=device does not bind, and why; NULL = it does, or is not set. */
	char *unbound;
};

struct placement_request {
	const struct job *job;
	const struct mount *mount; /* NULL: the job touches no files */
	/* For tests, of host.h; "" and NULL mean this machine. */
	const char *root;
	const char *allowed;
};

/* 0, or -errno with err. Undone by placement_fini, which takes a zeroed struct. */
int placement_init(struct placement *p, const struct placement_request *req, struct mlgen_err *err);
void placement_fini(struct placement *p);

/* ---- the order of things: epoch after epoch, evaluations between them ---- */

/* What is read in a stage: the training's dataset, or the evaluation's. */
struct pass {
	bool is_eval;
	const struct dataset *dataset;
	struct sampler sampler;
	struct plan_config plan;
	uint64_t window; /* batches of it that a rank may have ahead */
};

/* Samples of the buffer that a pass is shuffled in. An evaluation needs no other order than that of
 * the files. */
uint64_t pass_shuffle_buffer(const struct job *job, const struct pass *pass);

/*
 * Stages and their batches are numbered through the whole run; every thread goes through them by
 * itself, and they are the same for all. Epochs go on for ever: whoever counts them knows the last.
 */
struct stages {
	struct pass train, eval;
	bool has_eval;
	uint64_t eval_after, eval_every; /* epochs, from 1 */
};

struct stage {
	const struct pass *pass;
	uint64_t number;      /* from 0 */
	uint64_t epoch;       /* from 0; of an evaluation the one before it */
	uint64_t first_batch; /* before it, in all */
	/* Of a rank: before it, in all. A loader keeps it, by its order. */
	uint64_t first_extent;
};

/* The first one. */
struct stage stage_first(const struct stages *s);
void stage_next(const struct stages *s, struct stage *at);

/* The stage after this one trains, too: it can be read ahead of. */
bool stage_runs_on(const struct stages *s, const struct stage *at);

static inline uint64_t stage_end_batch(const struct stage *at)
{
	return at->first_batch + at->pass->sampler.steps;
}

/* ---- a thread that moves bytes: its engine, buffer and private statistics ---- */

/* A series of one-second rates (run_tick). */
struct rate_series {
	uint64_t last; /* counter at the last tick */
	struct moments rates;
	double min, max;
};

/* Of one worker, or of a job: 0 read, 1 write. */
struct rate_set {
	struct rate_series bytes[2], ios[2];
};

struct worker;

/*
 * All threads that do I/O for the work of a job: loaders, streams, savers and threads of a cache
 * tier. A thread joins in worker_open and stays in the list until the job is freed. Any thread may
 * walk through the list, by `next`.
 */
struct worker_list {
	struct worker *_Atomic first;
};

/* Which figures of its job a worker's counts are part of. */
enum worker_share {
	WORKER_WHOLE, /* all of them */
	WORKER_MOVES, /* what it moves, but not its time: it helps those whose time is reported */
	WORKER_APART, /* none: its own figures are reported apart, as those of a training's savers
		       */
};

/*
 * A worker is made before its thread starts, by worker_init. What it counts is read by others after
 * the thread was joined, except for what is atomic.
 */
struct worker {
	pthread_t thread;
	struct opstat stat;
	/* ramp_time moves what was counted before its end here. Live figures add both, so that none
	 * of them falls. `books` guards the move and the sum. */
	pthread_mutex_t books;
	struct opstat left_out;
	struct node_watch watch;
	struct io *_Atomic io; /* for io_look; set by the worker itself */
	/* Those before it, of threads that have ended: who looks at one of them may go on. */
	VEC(struct io *) ended;
	struct worker *next; /* in its struct worker_list */
	bool is_listed;
	enum worker_share share;  /* by worker_open */
	struct trace_ring *trace; /* from worker_open to worker_close; NULL */
	bool counts;              /* past ramp_time */
	bool is_paused;
	_Atomic bool has_ended; /* it counts no more */
	uint64_t begin_ns;      /* of its wall time */
	struct rate_set rates;  /* by run_tick, on the main thread */
	/* The first error that was counted, in words; first_error_ns 0: none. */
	uint64_t first_error_ns, first_errno;
	char first_error[512];
};

/* Told by a job's threads. NULL = nobody is. */
struct run_watch {
	/* At time zero, before the first byte, with all others waiting. */
	void (*begin)(void *arg);
	/* Once ramp_time is over: by each thread that begins to count, before it does. */
	void (*begin_anew)(void *arg);
	/* By each worker of a plain job that leaves, with its number. */
	void (*end)(void *arg, uint64_t index);
};

void worker_init(struct worker *w);
void worker_fini(struct worker *w); /* after join; takes a zeroed one */

/* The first worker from `w` on that its job's figures count, or NULL; for a walk through a list. */
struct worker *worker_counted(struct worker *w);

/* On its own thread, below. */

struct worker_config {
	const char *job_name; /* to tell the engine's note with; NULL = not */
	const struct placement *place;
	const struct traced *traced;  /* NULL = there is no trace */
	char role[TRACED_ROLE_BYTES]; /* ... for that */
	struct worker_list *list;     /* to join; NULL in tests */
	enum worker_share share;
	bool has_ramp;       /* it will forget what it counts at first */
	struct io_config io; /* `stat` and `trace` are the worker's */
};

/* On the right CPUs, then io_new: buffers lie on the node that touches them first. With
 * MLGEN_CAP_PRIVATE_FDS files that the thread opens from here on are its own: no other thread sees
 * their descriptors. 0 or -errno with err. */
int worker_open(struct worker *w, const struct worker_config *cfg, struct mlgen_err *err);

/* The engine goes; what is left stays for io_look. worker_open may follow, on another thread of the
 * same worker. */
void worker_close(struct worker *w);

/* Time zero, or ramp_time is over: forget what was counted so far. */
void worker_start_counting(struct worker *w, const struct placement *place, uint64_t now_ns);

/* In between the thread does something else: neither its time nor its CPU time is the worker's. The
 * first of the two pauses it. */
void worker_pause(struct worker *w, uint64_t now_ns);
void worker_resume(struct worker *w, uint64_t now_ns);

/* What is counted ends; a worker that never counted has counted nothing. */
void worker_stop_counting(struct worker *w, uint64_t now_ns);

/* Of an error that was counted: keep it, where it is this worker's first. */
bool worker_has_error(const struct worker *w);
void worker_keep_error(struct worker *w, const struct mlgen_err *err, uint64_t now_ns);

/* On which node is what begins now read? */
void worker_watch_node(struct worker *w, const struct placement *place);

/* Start its thread (thread.h). The clock expects it. 0 or -errno with err; then w->thread is 0. */
int worker_start(pthread_t *thread, struct clock *clock, void *(*main)(void *), void *arg,
		 struct mlgen_err *err);
void worker_join(pthread_t *thread); /* 0 = not started */

/* ---- the window of a job's measurement, and what this host did in it ---- */

/*
 * It begins at time zero, behind preparation and startdelay, and anew where ramp_time is over. It
 * ends with the last worker of each record: a plain job can have one for each of its workers. A
 * zeroed struct is closed.
 */
struct span {
	const struct clock *clock;   /* NULL = closed */
	struct netif network;        /* name "" = none */
	struct memsource storage;    /* who counts what it delivers */
	struct energy_meter *energy; /* NULL = nobody asks */
	uint64_t (*read_bytes)(void *arg);
	void *arg;
	pthread_mutex_t lock; /* of what follows */
	struct mark begin;
	bool is_behind_ramp;
	struct mark *ends; /* of each record */
	size_t records;
};

struct span_request {
	const struct clock *clock;
	const struct mount *mount; /* of its files; NULL = none */
	const char *root;          /* "" but in tests; see devices.h */
	size_t records;
	struct energy_meter *energy; /* outlives the span; NULL = none */
	/* What jobs have read by now of what span->storage counts, also that which ramp_time leaves
	 * out. Called by any thread. NULL = nothing. */
	uint64_t (*read_bytes)(void *arg);
	void *arg;
};

void span_open(struct span *p, const struct span_request *req);
void span_close(struct span *p);

/* Any thread: time zero; the end of ramp_time, of which the first call counts. */
void span_begin(struct span *p);
void span_begin_anew(struct span *p);

/* Any thread: the last worker of a record leaves. The first call counts. */
void span_end(struct span *p, size_t record);
/* So do all that are left. */
void span_end_all(struct span *p);

/* Of time zero, or of the end of ramp_time; 0 = not yet. Any thread. */
uint64_t span_begin_ns(struct span *p);

/* After its end: what was counted; of a record without a window zeroed. What the span does not know
 * (zero_ns, mhz) is 0. */
void span_marks(const struct span *p, size_t record, struct marks *out);

/* ---- one job of a run: what it is given, what is measured around it ---- */

struct memlimit;
struct rules_known;

/* What a run is given. */
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

/* What a rule that does not hold is told with: the job's number, the rule's name, and why. */
typedef void run_told(void *arg, size_t job, const char *name, const struct mlgen_err *err);

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

/* A thread that is inside a call, and for how long: its longest. */
typedef void slot_tell(void *arg, const char *job_name, const struct io_outstanding *call,
		       uint64_t ns);
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

void slot_tell_place(const struct slot *s);

/* ---- what jobs take of memory, by their options, and whether there is as much ---- */

/*
 * An estimate, from what was measured: what comes with each thread (the pages of its histograms and
 * of its stack, and the kernel's own), and what follows from options (buffers, rings, samples that
 * are held). A zeroed struct is a job that takes nothing.
 */
struct memneed {
	uint64_t bytes;         /* in use while it runs */
	uint64_t address_bytes; /* mapped then */
	uint64_t prepare_bytes; /* in use before that, for its files */
	uint64_t left_bytes;    /* of `bytes`: its counts, until the end */
	uint64_t threads;       /* that would have a ring each in a trace */
	const char *option;     /* that by itself takes the most; NULL = none does */
	uint64_t option_bytes;
};

/* The program itself, at rest. */
#define MEMNEED_PROGRAM_BYTES (UINT64_C(4) << 20)

/*
 * The least that a process is limited to. With few threads it takes 4 to 6 MiB (measured); the rest
 * is for the kernel's own and for as much page cache as reading takes.
 */
#define MEMNEED_LIMITED_BYTES (UINT64_C(12) << 20)

/* So much more, in use and mapped. */
void memneed_add(struct memneed *n, uint64_t bytes, uint64_t address_bytes);
/* The same, by one option. */
void memneed_add_for(struct memneed *n, const char *option, uint64_t bytes, uint64_t address_bytes);
/* Threads with so much on the heap each; their buffers, of so many bytes each, which have something
 * in the page cache beside them. */
void memneed_threads(struct memneed *n, uint64_t threads, uint64_t each_bytes);
void memneed_buffers(struct memneed *n, const struct job *job, uint64_t threads,
		     uint64_t each_bytes, bool writes);
/* Buffers that no byte is ever moved to. */
void memneed_untouched(struct memneed *n, uint64_t threads, uint64_t each_bytes);
/* Those who write so many files, the largest of so many bytes; files 0: none is missing. */
void memneed_prepare(struct memneed *n, uint64_t files, uint64_t largest_file_bytes);

/* With a trace: rings of its threads, and what is written. */
void memneed_trace(struct memneed *n);

/* "accelerators=8", " x bs=1m": what costs the memory, for a row's put_costs; nothing for a count
 * of 1. */
void memneed_put(struct buf *out, const char *option, uint64_t n);
void memneed_put_bs(struct buf *out, uint64_t bytes);

/* Both of them, job by job. */
struct memneed_jobs {
	struct job *const *jobs;
	const struct memneed *needs;
	size_t count;
};

/*
 * Do the jobs of this group, which run side by side, find what they need, with what those before
 * them have left? 0, or -ENOMEM with err, which names the options to lower.
 */
int memneed_check(const struct memneed_jobs *all, unsigned group, const struct memroom *room,
		  struct mlgen_err *err);

/* The same of memory_limit, in bytes, of which each of so many processes of this host has its part;
 * err names the least with which all groups find what they need. */
int memneed_check_limit(const struct memneed_jobs *all, unsigned group, uint64_t limit_bytes,
			uint64_t processes, struct mlgen_err *err);

/* What memneed_check compares with room->bytes. */
uint64_t memneed_bytes(const struct memneed_jobs *all, unsigned group);

/* The processes of a host take too much together: -ENOMEM with err. */
struct memneed_host {
	const char *name;
	unsigned processes;
	uint64_t bytes; /* of all of them */
	const char *of; /* as of struct memroom */
};
int memneed_fail_host(const struct memneed_jobs *all, unsigned group,
		      const struct memneed_host *host, struct mlgen_err *err);

/* ---- what a job does in a run: one row of functions per phase ---- */

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

/*
 * The run (run.c) knows groups, threads that are joined, and signals; what a phase is made of
 * stands in its row. Rows work on what is theirs in the slot.
 */
struct activity {
	/* What follows from the options alone: 0, or -errno with err, where there is nothing that
	 * could be planned, or run. */
	int (*init)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
	/* Before the first byte: lists of rules, in the order in which they are asked; NULL ends
	 * the lists. */
	const struct rule *const *rules;
	/* What its preparation asks by itself, when its turn has come: of a dry run alone, whose
	 * jobs make nothing for one another; or NULL. */
	const struct rule *const *turn_rules;
	/* Descriptors that it needs at once, and the options to lower. */
	uint64_t (*open_files)(const struct slot *s);
	const char *lower_files;
	/* Requests that its loaders or streams may have under way at once; NULL where that is not
	 * counted (savers). */
	uint64_t (*requests)(const struct slot *s);
	/* Memory that it needs, into a zeroed one; where there is only so much room, no figure
	 * beyond it has to be exact. */
	void (*need)(const struct slot *s, uint64_t room_bytes, struct memneed *n);
	/* What that follows from, as "accelerators=8 x read_threads=4" (NULL: nothing that could be
	 * told), and the options to lower. */
	void (*put_costs)(struct buf *out, const struct job *j);
	const char *lower;
	/* Make what is missing, on the conductor's thread. */
	int (*prepare)(struct slot *s, struct run_shared *run, struct mlgen_err *err);

	/* NULL from here on: there is nothing but the preparation. */

	/* What the processes of a job set up together, before start: 0, or -errno with err, alike
	 * in all of them. NULL = nothing. */
	int (*meet)(struct slot *s, struct run_shared *run, struct mlgen_err *err);

	/* Set up and start its threads; join them. */
	int (*start)(struct slot *s, struct run_shared *run, uint64_t now_ns,
		     struct mlgen_err *err);
	void (*join)(struct slot *s);
	/* What its processes compare once it has ended: 0, or -errno with err, alike in all of
	 * them; or NULL. */
	int (*check)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
	/* What is seen of its files once it has ended; or NULL. On the thread that has joined
	 * it. */
	void (*look_back)(struct slot *s);
	void (*fini)(struct slot *s); /* also where it never started */
	/* Any thread, once started. An error somewhere: nobody waits any more; an interruption:
	 * look again at what you wait for. */
	void (*close)(struct slot *s);
	void (*wake)(struct slot *s);
	/* Time zero of its clock, 0 = not yet. */
	uint64_t (*start_ns)(const struct slot *s);
	/* The workers that its records are of, by number; NULL = no more. All that move bytes are
	 * in slot->workers. */
	struct worker *(*worker)(const struct slot *s, uint64_t i);
	/* What the status line and the log show. */
	void (*look)(const struct slot *s, struct live *live);
	/* After join: its records in the report, and what stands in them. */
	size_t (*records)(const struct slot *s);
	void (*collect)(struct job_result *out, size_t record, struct slot *s);
};

/* Rows of any workload, for its list. */

/* One worker with the job's engine and options can be set up here; of one that is not loaded nobody
 * knows. */
int rules_engine(struct slot *s, struct run_shared *run, struct mlgen_err *err);
/* CPUs and NUMA nodes, into s->place. */
int rules_cpus(struct slot *s, struct run_shared *run, struct mlgen_err *err);

/* ---- from what threads counted to the figures of a report ---- */

/* Fill a record of one job; its activity does what is its own. Histograms stay the slot's. */
void collect_job(struct job_result *out, size_t record, struct slot *s);

/* For the activities: parts of a record. */
void collect_workers(struct slot *s); /* into s->total */
void collect_direction(struct direction_result *d, const struct rate_set *rates, struct opstat *t,
		       unsigned which);
void collect_ops(struct ops_result *ops, struct opstat *t);
void collect_worker_time(struct loader_percent *p, const struct opstat *t);
void collect_depths(struct depth_result *d, const struct opstat *t);
void collect_usage(struct job_result *out, const struct usage *u);
/* CPU time of so much; the other roles have none. */
void collect_worker_cpu(struct thread_cpu_result *t, const struct usage *u);
void collect_storage(struct storage_result *st, struct slot *s, char *directory);
void collect_slowest(struct storage_result *st, const struct opstat *t);
/* The window of a record, which has its kind, what was read and written, its samples and the CPU
 * time of its workers: host, network, energy and, behind collect_storage, what storage
 * delivered. */
void collect_around(struct job_result *out, const struct slot *s, size_t record);
void collect_numa(struct numa_result *n, const struct slot *s);
/* The first of the errors that n workers, from number `first` on, counted. */
void collect_first_error(struct failed_result *f, const struct slot *s, uint64_t first, uint64_t n);
const char *collect_in_use(const struct slot *s);

/* ---- rates second by second, behind fio's bw_min, iops_max,  ---- */

/* On the main thread, about once a second, while the job works: an interval of the job, and of each
 * worker that has a record of its own and still works. What lies before the window of measurement
 * is none. `mhz`: as noise_clock_mhz. */
void rates_tick(struct slot *s, uint64_t now_ns, double mhz);
