/* SPDX-License-Identifier: Apache-2.0 */
/* slot.h - a job in a run: its activity, its workers, and the measurements around them. */
#pragma once

/*
 * The run (run/run.h) sets up a slot for each of its jobs. Each workload has a row of functions
 * (struct activity), which plan, prepare, start, join and report the job. slot->own points to the
 * workload's private data, which is opaque to the run. A worker is a thread that does I/O. It has
 * an engine, a buffer and statistics of its own. It joins the slot's list when it starts, so that
 * the status line, the log and the report find all workers. Ranks wait for each other at barriers
 * (peers).
 *
 * The conductor (run.h), one thread of the run, calls the functions of each row. Workers write
 * their own counters. Any thread may read these counters while the workers run; they are merged
 * once the workers have been joined.
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
#include "job/job.h"
#include "run/make/make.h"
#include "run/result/result.h"
#include "run/watch/watch.h"
#include "stat/hist.h"

/* ---- the first error of a run, which stops all threads ---- */

struct failure {
	pthread_mutex_t lock;
	_Atomic bool is_set;
	struct mlgen_err err;        /* does not change once is_set */
	void (*stop_all)(void *arg); /* called once, by the failing thread */
	void *arg;
};

void failure_init(struct failure *f, void (*stop_all)(void *arg), void *arg);
void failure_fini(struct failure *f);

/* The first error stops the run; later ones are dropped. Any thread. */
void failure_set(struct failure *f, const struct mlgen_err *err);

/* ---- wait until another thread changes a condition ---- */

/*
 * A thread that changes a condition notifies the eventcount. A thread that waits for the condition
 * reads the eventcount, then checks the condition, then waits until the eventcount differs from the
 * value read. A notification without waiters costs two atomic accesses and no system call.
 *
 *	for (;;) {
 *		uint32_t seen = eventcount_get(b);
 *		if (condition)
 *			break;
 *		eventcount_wait(b, clock, seen, deadline_ns);
 *	}
 */
struct eventcount {
	_Atomic uint32_t notifications;
	_Atomic uint32_t waiters;
};

uint32_t eventcount_get(const struct eventcount *b);

/* 0, or -ETIMEDOUT. May return early: check the condition again. */
int eventcount_wait(struct eventcount *b, struct clock *c, uint32_t seen, uint64_t deadline_ns);

void eventcount_notify(struct eventcount *b, struct clock *c);

/* ---- barriers of the ranks of a job ---- */

/*
 * The ranks of this process wait for each other here. If the job has other processes, the last
 * local rank to arrive then waits for them over a hosts channel. `local` is the number of ranks in
 * this process.
 */
struct peers {
	uint64_t local;
	struct clock *clock;
	struct hosts_channel *channel; /* NULL = this is the only process */
	/* `lock` guards the members below. No thread holds it while it waits. */
	pthread_mutex_t lock;
	uint64_t members, arrived;
	const struct peers_decision *decision; /* decision of the ranks that have arrived */
	void *arg;
	bool is_sent;               /* the other processes know that all local ranks have arrived */
	_Atomic uint64_t here_ns;   /* when all local ranks had arrived at the last barrier */
	_Atomic uint32_t round;     /* number of barriers passed; written under the lock */
	_Atomic uint64_t passed_ns; /* when the last barrier was passed; written under the lock */
	_Atomic bool closed;
	struct eventcount eventcount;
};

/*
 * A decision at a barrier, taken once in each process before any rank goes on. The last local rank
 * to arrive calls vote, which does any work that must be done before the ranks go on, and returns
 * this process's votes. apply gets the OR of all votes, which is the same in every process. Either
 * may be NULL.
 */
struct peers_decision {
	uint64_t (*vote)(void *arg);
	void (*apply)(void *arg, uint64_t votes);
};

void peers_init(struct peers *p, struct clock *clock, uint64_t ranks);
/* Make barriers also wait for the ranks of other processes, over channel `number` of `hosts` (NULL
 * = there are no other processes). Call this before any rank waits. */
void peers_join(struct peers *p, struct hosts *hosts, uint32_t number);
void peers_fini(struct peers *p);

/*
 * Wait for all members. All must call this with the same arguments. The last rank to arrive takes
 * the decision before any rank goes on (NULL = no decision). If a rank leaves after all others have
 * arrived, it takes the decision instead. 0, or -EPIPE once closed.
 */
int peers_barrier(struct peers *p, const struct peers_decision *decision, void *arg);

/*
 * peers_passed_ns: time at which the last barrier was passed. The time is the same for all ranks,
 * however long each took to wake. peers_here_ns: time at which all local ranks had arrived at that
 * barrier; equal to peers_passed_ns if there are no other processes.
 */
uint64_t peers_passed_ns(const struct peers *p);
uint64_t peers_here_ns(const struct peers *p);

/*
 * Exchange data between processes (hosts.h): one member in each process calls this between two
 * barriers, and gets the data of all processes. 0, or -EPIPE: closed in any process, or a process
 * has left.
 */
int peers_exchange(struct peers *p, const void *mine, size_t n, struct buf *all);

/* Leave: later barriers do not wait for this rank. */
void peers_leave(struct peers *p);

/* Close after an error: every current and future wait returns -EPIPE. Any thread. */
void peers_close(struct peers *p);

/* Close on behalf of a member that gives up: either all ranks get through the current barrier, or
 * none does. Do not call this from a decision. */
void peers_cut(struct peers *p);

/* ---- due times of the requests of a rate-limited stream ---- */

/*
 * An open loop: due times follow from the rates alone, in the order of the requests, as if storage
 * took no time. A stream that falls behind submits at once, and its latencies count from the due
 * time, so that they include the time for which a stall held requests up. A stream obeys both rate
 * and rate_iops. Reads and writes have separate schedules, but are submitted in the order of the
 * pattern. A direction that is ahead of its rate therefore delays the other one, which may catch up
 * later.
 */
struct pace {
	bool is_paced;
	double bytes_ns[2]; /* ns per byte; 0 = no limit */
	double ios_ns[2];   /* ns per request */
	double due_ns[2];   /* next due time of each direction, since the start */
	double last_ns;     /* due time of the previous request */
};

void pace_init(struct pace *p, const struct job *job);

/* Due time of the next request, in ns after the start; direction 0 = read, 1 = write. */
uint64_t pace_due(const struct pace *p, unsigned direction);

/* Advance the schedule past the request of pace_due, which has `bytes` bytes. */
void pace_advance(struct pace *p, unsigned direction, uint64_t bytes);

/* ---- CPUs that the threads of a job run on, and their distance to its disk ---- */

/*
 * CPUs that cpus_allowed, numa and numa_cpu_nodes of a job select on this host. The lists are made
 * before any thread starts, and every thread reads them. They are in the format of host_set_cpus;
 * NULL = the thread is not bound.
 */
struct placement {
	char *rank_cpus, *loader_cpus;
	bool has_nodes; /* the host has several NUMA nodes */
	int disk_node;  /* -1 = unknown */
	/* Reason why numa=device does not bind; NULL = it does, or is not set. */
	char *unbound;
};

struct placement_request {
	const struct job *job;
	const struct mount *mount; /* NULL: the job touches no files */
	/* Roots for tests, as in host.h; "" and NULL mean this machine. */
	const char *root;
	const char *allowed;
};

/* 0, or -errno with err. placement_fini accepts a zeroed struct. */
int placement_init(struct placement *p, const struct placement_request *req, struct mlgen_err *err);
void placement_fini(struct placement *p);

/* ---- order of epochs and evaluations ---- */

/* The data that a stage reads: the training's dataset, or the evaluation's. */
struct pass {
	bool is_eval;
	const struct dataset *dataset;
	struct sampler sampler;
	struct plan_config plan;
	uint64_t window; /* batches that a rank may prefetch */
};

/* Size of the shuffle buffer in samples. An evaluation reads in the order of the files. */
uint64_t pass_shuffle_buffer(const struct job *job, const struct pass *pass);

/* Stages and their batches are numbered consecutively across the whole run. Every thread computes
 * the same endless sequence by itself. The caller counts the epochs. */
struct stages {
	struct pass train, eval;
	bool has_eval;
	uint64_t eval_after, eval_every; /* epochs, counted from 1 */
};

struct stage {
	const struct pass *pass;
	uint64_t number;      /* counted from 0 */
	uint64_t epoch;       /* counted from 0; for an evaluation the epoch before it */
	uint64_t first_batch; /* batches of all earlier stages */
	/* Extents of one rank in all earlier stages. Each read thread computes it from its own
	 * order. */
	uint64_t first_extent;
};

struct stage stage_first(const struct stages *s);
void stage_next(const struct stages *s, struct stage *at);

/* True if the next stage trains too, so that it can be prefetched. */
bool stage_runs_on(const struct stages *s, const struct stage *at);

static inline uint64_t stage_end_batch(const struct stage *at)
{
	return at->first_batch + at->pass->sampler.steps;
}

/* ---- workers: threads with an engine, a buffer and private statistics ---- */

/* A series of one-second rates (run_tick). */
struct rate_series {
	uint64_t last; /* counter at the last tick */
	struct moments rates;
	double min, max;
};

/* Rates of a worker or a job: index 0 = read, 1 = write. */
struct rate_set {
	struct rate_series bytes[2], ios[2];
};

struct worker;

/*
 * All threads that do I/O for the work of a job: read threads, streams, checkpoint writers and
 * threads of a cache tier. A thread joins in worker_open and stays in the list until the job is
 * freed. Any thread may walk the list, by `next`.
 */
struct worker_list {
	struct worker *_Atomic first;
};

/* The part of a worker's counts that enters the figures of its job. */
enum worker_share {
	WORKER_WHOLE, /* all counts */
	WORKER_MOVES, /* bytes and operations, but no time: the worker helps workers whose time is
			 reported */
	WORKER_APART, /* no counts: they are reported separately, like those of a training job's
			 checkpoint writers */
};

/*
 * worker_init sets up a worker before its thread starts. Other threads may read atomic members, and
 * the counters of live figures, at any time, but all other members only after joining the worker's
 * thread.
 */
struct worker {
	pthread_t thread;
	struct opstat stat;
	/* Counts from before the end of ramp_time are moved from `stat` to left_out. Live figures
	 * add both, so that they never decrease. `books` guards the move and the sum. */
	pthread_mutex_t books;
	struct opstat left_out;
	struct node_watch watch;
	struct io *_Atomic io; /* set by the worker itself, read by io_look */
	/* I/O contexts of earlier threads of this worker, kept because io_look may still read
	 * them. */
	VEC(struct io *) ended;
	struct worker *next; /* next in its struct worker_list */
	bool is_listed;
	enum worker_share share;  /* set by worker_open */
	struct trace_ring *trace; /* set from worker_open to worker_close; otherwise NULL */
	bool counts;              /* counting has started: ramp_time is over */
	bool is_paused;
	_Atomic bool has_ended; /* counts are final */
	uint64_t begin_ns;      /* start of its wall time */
	struct rate_set rates;  /* written by run_tick, on the main thread */
	/* Time, errno and text of the first error that was counted; first_error_ns 0 = none. */
	uint64_t first_error_ns, first_errno;
	char first_error[512];
};

/* Callbacks that a job's threads call. NULL = no callback. */
struct run_watch {
	/* Time zero: before the first byte, while all other threads wait. */
	void (*begin)(void *arg);
	/* ramp_time is over: each thread calls this before it begins to count. */
	void (*ramp_ended)(void *arg);
	/* Worker `index` of a plain job leaves. */
	void (*end)(void *arg, uint64_t index);
};

void worker_init(struct worker *w);
void worker_fini(struct worker *w); /* after join; accepts a zeroed struct */

/* The first worker in the list, starting with `w`, whose counts enter the figures of the job; NULL
 * = no more. */
struct worker *worker_counted(struct worker *w);

/* The functions below are called on the worker's own thread. */

struct worker_config {
	const char *job_name; /* prefix of the engine's note; NULL = print no note */
	const struct placement *place;
	const struct traced *traced;  /* NULL = there is no trace */
	char role[TRACED_ROLE_BYTES]; /* name of the thread in the trace */
	struct worker_list *list;     /* list to join; NULL in tests */
	enum worker_share share;
	bool has_ramp;       /* discard counts from before the end of ramp_time */
	struct io_config io; /* worker_open sets `stat` and `trace` */
};

/* Bind the calling thread to its CPUs, and then make its I/O context, so that the buffers lie on
 * the NUMA node of the thread. With MLGEN_CAP_PRIVATE_FDS, files that the thread opens from here on
 * are private: no other thread sees their descriptors. 0 or -errno with err. */
int worker_open(struct worker *w, const struct worker_config *cfg, struct mlgen_err *err);

/* Stop the engine. io_look can still read the counters. worker_open may follow, on another thread
 * of the same worker. */
void worker_close(struct worker *w);

/* Discard the counts so far. Called at time zero and at the end of ramp_time. */
void worker_start_counting(struct worker *w, const struct placement *place, uint64_t now_ns);

/* Wall and CPU time between pause and resume, when the thread does other work, is not counted. */
void worker_pause(struct worker *w, uint64_t now_ns);
void worker_resume(struct worker *w, uint64_t now_ns);

/* End the counts. A worker that never started counting keeps none. */
void worker_stop_counting(struct worker *w, uint64_t now_ns);

/* worker_has_error: was an error of this worker counted already? worker_keep_error: keep the text
 * of a counted error, which must be the worker's first. */
bool worker_has_error(const struct worker *w);
void worker_keep_error(struct worker *w, const struct mlgen_err *err, uint64_t now_ns);

/* Record the node on which the thread begins its next batch. */
void worker_watch_node(struct worker *w, const struct placement *place);

/* Start a thread (thread.h) after telling the clock to expect it. The thread must join the clock.
 * 0, or -errno with err and *thread = 0. */
int worker_start(pthread_t *thread, struct clock *clock, void *(*main)(void *), void *arg,
		 struct mlgen_err *err);
void worker_join(pthread_t *thread); /* 0 = not started */

/* ---- the measurement window of a job, and this host's counters at both ends ---- */

/*
 * The window begins at time zero, after preparation and startdelay, and again at the end of
 * ramp_time. It ends separately for each record of the report, when the last worker of the record
 * leaves. In a plain job each worker may have a record of its own. A zeroed struct is closed.
 */
struct span {
	const struct clock *clock;   /* NULL = closed */
	struct netif network;        /* name "" = none */
	struct memsource storage;    /* counter of the bytes that storage delivers */
	struct energy_meter *energy; /* NULL = energy is not reported */
	uint64_t (*read_bytes)(void *arg);
	void *arg;
	pthread_mutex_t lock; /* guards the members below */
	struct mark begin;
	bool is_after_ramp;
	struct mark *ends; /* array of `records` */
	size_t records;
};

struct span_request {
	const struct clock *clock;
	const struct mount *mount; /* mount of the job's files; NULL = none */
	const char *root;          /* "" except in tests; see devices.h */
	size_t records;
	struct energy_meter *energy; /* outlives the span; NULL = none */
	/* Returns how many bytes were read so far by all jobs on span->storage, including bytes
	 * read during ramp_time. Called on any thread. NULL = always 0. */
	uint64_t (*read_bytes)(void *arg);
	void *arg;
};

void span_open(struct span *p, const struct span_request *req);
void span_close(struct span *p);

/* span_begin: start the window at time zero. span_end_ramp: start it again at the end of ramp_time;
 * only the first call has an effect. Any thread. */
void span_begin(struct span *p);
void span_end_ramp(struct span *p);

/* End the window of a record when its last worker leaves. Only the first call has an effect. Any
 * thread. */
void span_end(struct span *p, size_t record);
/* End all records that are still open. */
void span_end_all(struct span *p);

/* Time at which the window last started; 0 = not yet. Any thread. */
uint64_t span_begin_ns(struct span *p);

/* Both ends of a record's window, after it has ended; zeroed if the record has no window. Members
 * that the span does not know (zero_ns, mhz) are 0. */
void span_marks(const struct span *p, size_t record, struct marks *out);

/* ---- one job of a run ---- */

struct memlimit;
struct rules_known;

/* Configuration of a run. */
struct run_config {
	struct job *const *jobs;
	size_t count;
	const struct host *host;
	struct clock *clock;
	bool readonly, allow_fill, replace;
	bool thorough; /* check all files of a dataset instead of a sample */
	bool traces;   /* run_trace will be called, which needs memory */
	/* End a training job of known length once its AU can no longer reach this percentage, but
	 * not before its first epoch is over; 0 = never. */
	double au_floor;
	const char *allow_device;  /* NULL = none */
	const char *title, *notes; /* texts as in run_result */
	struct hosts *hosts;       /* processes of the run's only job; NULL = no other process */
};

/* Report a rule that does not hold: the job's number, the rule's name, and the reason. */
typedef void run_rule_failed_fn(void *arg, size_t job, const char *name,
				const struct mlgen_err *err);

/* State that all jobs of a run share. */
struct run_shared {
	struct run_config cfg;
	struct slot *slots;            /* cfg.count slots */
	const struct memlimit *memory; /* limit of all jobs together */
	struct rules_known *known;     /* valid while rules are checked */
	struct failure failure;
	_Atomic bool interrupted;
	_Atomic bool has_started; /* the first byte was written or read */
	/* Number of the first channel of cfg.hosts that slots use: the channels for the barriers of
	 * all slots come first, then those for checkpoints, then those for caches. */
	uint32_t channels;
	_Atomic bool
		has_remote_end; /* another process has reported the end: do not report it back */
	struct blockdev_guards guards; /* devices that jobs write */
	uint64_t threads; /* approximate number of threads that work at the same time; set by
			     rules_ask */
};

struct job_checkpoints;

struct slot {
	const struct job *job;
	const struct activity *does;
	struct dataset dataset, eval; /* eval.format NULL = none */
	/* Dataset that another process has scanned, during set-up; NULL = scan here. */
	struct dataset_received *given;
	struct mount mount;
	uint64_t align_bytes; /* direct=1; 0 = buffered */
	struct placement place;
	struct traced traced; /* set before its work begins */
	struct filemaker_progress progress;
	struct prepare_result prepare;
	double resident_before_percent;
	struct energy_meter *energy; /* the run's; NULL in tests */
	struct slot *all;            /* all slots of the run, including this one */
	size_t all_count;
	/* The job, out of all jobs in the run, that reads the most files of this job's directory.
	 * The files of that job are made first. */
	struct slot *largest;
	bool is_prepared;
	struct worker_list workers;          /* all threads that move bytes for its work */
	void *own;                           /* data of the workload, freed by its fini */
	struct job_checkpoints *checkpoints; /* NULL = it has none */
	char *checkpoint_directory;
	struct mount checkpoint_mount;
	bool has_dropped_caches;

	_Atomic int phase; /* enum live_phase */
	/* Measurements around the training or the plain job. */
	uint64_t begin_ns, end_ns;      /* start and end of the whole job */
	_Atomic uint64_t work_begin_ns; /* 0 = the work is not set up */
	_Atomic uint64_t work_end_ns;
	struct span span;
	_Atomic bool has_ended; /* slot_end_work was called */
	pthread_t joiner;       /* 0 = none */
	double mhz_sum;         /* sum of mhz_readings readings; by run_tick */
	uint64_t mhz_readings;
	struct rate_set rates;
	uint64_t last_tick_ns;
	struct opstat total; /* sum of all workers; made by collect */
};

/* Does the job's engine touch files at all? */
bool slot_touches_files(const struct slot *s);

/* Does the job empty this host's caches first? */
bool slot_drops_caches(const struct slot *s);

/* Does the job have a dataset, like a training job or a job that only prepares a dataset? */
bool slot_has_dataset(const struct slot *s);

/* Are the job's threads set up, so that other threads may access them? */
bool slot_is_working(const struct slot *s);
bool slot_works_in(int phase);

/* Has time zero passed? */
bool slot_has_begun(const struct slot *s);

/* Bytes and operations so far, from counters that are still being updated. */
uint64_t slot_io_bytes(const struct slot *s, unsigned direction);
uint64_t slot_ios(const struct slot *s, unsigned direction);
uint64_t slot_worker_bytes(const struct worker *w, unsigned direction);
uint64_t slot_worker_ios(const struct worker *w, unsigned direction);

/* Add a worker's bytes and operations, with their latencies, to `live`. */
void slot_add_moved(struct worker *w, struct live *live);
/* Add the counts, times and errors of all workers to `live`, and store their longest operation in
 * progress in live->oldest. */
void slot_add_workers(const struct slot *s, struct live *live);

/* Report a thread that is inside a call: its longest call in progress, and the time `ns` since that
 * call began. */
typedef void slot_call_fn(void *arg, const char *job_name, const struct io_outstanding *call,
			  uint64_t ns);
/* Call `tell` for each of the job's threads that is inside a call: threads of its work once they
 * are set up, and threads of its preparation. */
void slot_each_call(struct slot *s, uint64_t now_ns, slot_call_fn *tell, void *arg);

/* Enter `phase`, once the caller has set up the work. The report will have `records` records. */
void slot_begin_work(struct slot *s, struct clock *clock, int phase, size_t records);

/* Callbacks for a slot's threads. The `arg` of each callback is the slot. */
extern const struct run_watch slot_watch;

/* True once ramp_time is over, or if the job has none. Any thread. */
bool slot_counts(struct slot *s);

/* End the measurement once the last worker has left or has been abandoned. Only the first call has
 * an effect. Any thread. */
void slot_end_work(struct slot *s);

/* Make the ranks or streams of `peers` wait for those of other processes, too. */
void slot_join_hosts(const struct slot *s, const struct run_shared *run, struct peers *peers);

/* ---- memory that jobs need, by their options ---- */

/*
 * An estimate from measurements: the cost of each thread (pages of its histograms and of its stack,
 * and kernel memory) and the cost of options (buffers, rings, samples that are held). A zeroed
 * struct is a job that needs no memory.
 */
struct memneed {
	uint64_t bytes;         /* resident while it runs */
	uint64_t address_bytes; /* mapped while it runs */
	uint64_t prepare_bytes; /* resident earlier, while its files are made */
	/* Part of `bytes` that is not freed until the end of the run: the counters of the threads.
	 */
	uint64_t left_bytes;
	uint64_t threads;   /* threads that would have a ring each in a trace */
	const char *option; /* option that needs the most memory; NULL = none */
	uint64_t option_bytes;
};

/* Memory of the idle program. */
#define MEMNEED_PROGRAM_BYTES (UINT64_C(4) << 20)

/*
 * Smallest limit of a process. With few threads the process needs 4 to 6 MiB (measured); the rest
 * is for the kernel and for as much page cache as reading needs.
 */
#define MEMNEED_LIMITED_BYTES (UINT64_C(12) << 20)

/* Add resident and mapped bytes. */
void memneed_add(struct memneed *n, uint64_t bytes, uint64_t address_bytes);
/* Add bytes that are needed because of an option. */
void memneed_add_for(struct memneed *n, const char *option, uint64_t bytes, uint64_t address_bytes);
/* _threads: add `threads` threads, each with `each_bytes` on the heap. _buffers: add a buffer of
 * `each_bytes` for each thread, and the page cache that buffered I/O through the buffers needs. */
void memneed_threads(struct memneed *n, uint64_t threads, uint64_t each_bytes);
void memneed_buffers(struct memneed *n, const struct job *job, uint64_t threads,
		     uint64_t each_bytes, bool writes);
/* Add buffers that are never touched: they are mapped only. */
void memneed_untouched(struct memneed *n, uint64_t threads, uint64_t each_bytes);
/* Set the memory of the threads that write `files` missing files, the largest of which has
 * `largest_file_bytes` bytes. */
void memneed_prepare(struct memneed *n, uint64_t files, uint64_t largest_file_bytes);

/* Add the memory of a trace: rings of the threads, and the write buffer. */
void memneed_trace(struct memneed *n);

/* Append one factor of the memory that a job needs, such as "accelerators=8" or " x bs=1m".
 * Called by the append_costs function of an activity. A count of 1 appends nothing. */
void memneed_append(struct buf *out, const char *option, uint64_t n);
void memneed_append_bs(struct buf *out, uint64_t bytes);

/* Jobs and their needs, in the same order. */
struct memneed_jobs {
	struct job *const *jobs;
	const struct memneed *needs;
	size_t count;
};

/*
 * Is there enough memory for the jobs of this group, which run at the same time, in addition to the
 * bytes that earlier groups keep? 0, or -ENOMEM with err, which names the options to lower.
 */
int memneed_check(const struct memneed_jobs *all, unsigned group, const struct memroom *room,
		  struct mlgen_err *err);

/* Check memory_limit, in bytes, which the host's `processes` processes share equally. err names the
 * smallest limit that suffices for all groups. */
int memneed_check_limit(const struct memneed_jobs *all, unsigned group, uint64_t limit_bytes,
			uint64_t processes, struct mlgen_err *err);

/* Bytes that memneed_check compares with room->bytes. */
uint64_t memneed_bytes(const struct memneed_jobs *all, unsigned group);

/* Processes of a host that together need too much memory. memneed_fail_host reports them and
 * returns -ENOMEM with err. */
struct memneed_host {
	const char *name;
	unsigned processes;
	uint64_t bytes; /* all processes together */
	const char *of; /* name of the limit, as in struct memroom */
};
int memneed_fail_host(const struct memneed_jobs *all, unsigned group,
		      const struct memneed_host *host, struct mlgen_err *err);

/* ---- activities: one row of functions per workload ---- */

/*
 * A run checks one rule after the other and stops at the first that does not hold. A dry run checks
 * all rules and shows each that does not hold as FAIL. Both print the same message, which the
 * rule's own function composes, because it knows the details. A rule changes nothing but its slot.
 */
struct rule {
	/* Label of the line that shows the result in the output of a dry run. */
	const char *name;
	/* 0 if the rule holds or does not concern this job, otherwise -errno with err. */
	int (*ask)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
};

/* The run (run.c) handles groups, joins and signals; each workload is implemented by its row.
 * The functions of a row use only those members of the slot that belong to their workload. */
struct activity {
	/* Compute what follows from the options alone. 0, or -errno with err if the job can neither
	 * be planned nor run. */
	int (*init)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
	/* Lists of rules to check before the first byte, in this order; NULL ends the lists. */
	const struct rule *const *rules;
	/* Rules about files that an earlier job of a run may still make. A run therefore checks
	 * them when the job's preparation starts. A dry run, which makes no files, checks them with
	 * rules_ask_turn. May be NULL. */
	const struct rule *const *turn_rules;
	/* Descriptors that the job needs at once, and the options to lower. */
	uint64_t (*open_files)(const struct slot *s);
	const char *lower_files;
	/* Maximum number of requests in flight, over all read threads or streams; NULL = not
	 * counted (checkpoint writers). */
	uint64_t (*requests)(const struct slot *s);
	/* Add the memory that the job needs to *n, which the caller has zeroed. Once the sum
	 * exceeds room_bytes, it need not be exact. */
	void (*need)(const struct slot *s, uint64_t room_bytes, struct memneed *n);
	/* append_costs appends the factors of that memory, such as "accelerators=8 x
	 * read_threads=4"; NULL = there are none to name. `lower` names the options to lower. */
	void (*append_costs)(struct buf *out, const struct job *j);
	const char *lower;
	/* Make missing files, on the conductor's thread. */
	int (*prepare)(struct slot *s, struct run_shared *run, struct mlgen_err *err);

	/* The members below are NULL for a job that only prepares. */

	/* Set up state shared by the job's processes, before start: 0, or -errno with err, the same
	 * in all processes. NULL = nothing to set up. */
	int (*meet)(struct slot *s, struct run_shared *run, struct mlgen_err *err);

	/* Set up and start the threads of the job; join them. */
	int (*start)(struct slot *s, struct run_shared *run, uint64_t now_ns,
		     struct mlgen_err *err);
	void (*join)(struct slot *s);
	/* Compare results between the job's processes once the job has ended: 0, or -errno with
	 * err, the same in all processes. May be NULL. */
	int (*check)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
	/* Inspect the files once the job has ended, on the thread that has joined it. May be
	 * NULL. */
	void (*inspect_files)(struct slot *s);
	void (*fini)(struct slot *s); /* called even if the job never started */
	/* Any thread, once started. close: end all waits after an error somewhere. wake: make
	 * waiting threads check their conditions again after an interruption. */
	void (*close)(struct slot *s);
	void (*wake)(struct slot *s);
	/* Time zero on the clock; 0 = not yet. */
	uint64_t (*start_ns)(const struct slot *s);
	/* Worker number i of those that the records cover; NULL = no more. slot->workers has all
	 * threads that move bytes. */
	struct worker *(*worker)(const struct slot *s, uint64_t i);
	/* Figures for the status line and the log. */
	void (*look)(const struct slot *s, struct live *live);
	/* records: number of records in the report. collect: fill a record, after join or once the
	 * run has been abandoned. */
	size_t (*records)(const struct slot *s);
	void (*collect)(struct job_result *out, size_t record, struct slot *s);
};

/* Rules for the lists of any workload. */

/* Can a worker with the job's engine and options be set up here? An engine that is not loaded
 * cannot be tried; the rule then holds. */
int rules_engine(struct slot *s, struct run_shared *run, struct mlgen_err *err);
/* Store CPUs and NUMA nodes in s->place. */
int rules_cpus(struct slot *s, struct run_shared *run, struct mlgen_err *err);

/* ---- collect the figures of a report from the threads' counters ---- */

/* Fill a record of one job, with the help of its activity. Histograms stay in the slot, and the
 * record points to them. */
void collect_job(struct job_result *out, size_t record, struct slot *s);

/* Parts of a record, for the activities. */
void collect_workers(struct slot *s); /* into s->total */
void collect_direction(struct direction_result *d, const struct rate_set *rates, struct opstat *t,
		       unsigned which);
void collect_ops(struct ops_result *ops, struct opstat *t);
void collect_worker_time(struct loader_percent *p, const struct opstat *t);
void collect_depths(struct depth_result *d, const struct opstat *t);
void collect_usage(struct job_result *out, const struct usage *u);
/* Fill the CPU time of the workers from `u`; that of other roles is unknown. */
void collect_worker_cpu(struct thread_cpu_result *t, const struct usage *u);
void collect_storage(struct storage_result *st, struct slot *s, char *directory);
void collect_slowest(struct storage_result *st, const struct opstat *t);
/* Fill the window of a record: host, network, energy and, after collect_storage, the bytes that
 * storage delivered. The record must already have its workload, bytes read and written, samples,
 * and the CPU time of its workers. */
void collect_window(struct job_result *out, const struct slot *s, size_t record);
void collect_numa(struct numa_result *n, const struct slot *s);
/* Store the earliest error of `n` workers, starting with number `first`. */
void collect_first_error(struct failed_result *f, const struct slot *s, uint64_t first, uint64_t n);
const char *collect_in_use(const struct slot *s);

/* ---- rates per second, the base of fio's bw_min, iops_max, ... ---- */

/* Record an interval of the working job, and of each worker that is still running and has a record
 * of its own. Called on the main thread about once a second. Intervals that begin before the
 * measurement window are not counted. `mhz`: as noise_clock_mhz. */
void rates_tick(struct slot *s, uint64_t now_ns, double mhz);
