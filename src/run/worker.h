/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - a thread that moves bytes: its engine, buffer and private statistics. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "io/io.h"
#include "io/topology.h"
#include "run/placement.h"
#include "run/watch/watch.h"
#include "stat/moments.h"

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
