/* SPDX-License-Identifier: Apache-2.0 */
/* writer_internal.h - types and functions that the files of work/checkpoint/writer share. */
#pragma once

#include <limits.h>
#include <pthread.h>

#include "run/slot/slot.h"
#include "work/checkpoint/writer/writer.h"

/* Result of a part of the work: 0; WRITER_STOPPED if another part failed or the run is interrupted;
 * or -errno, which is already recorded in the checkpoint and the run. */
enum { WRITER_STOPPED = 1 };

/* A range of a slice that holds metadata; the layout has metadata between tensors. */
struct writer_meta_range {
	uint64_t at, bytes;
};
#define WRITER_META_RANGES 8u /* further ranges are merged into the last */

/* A request, and its slice of the thread's buffer. */
struct writer_request {
	struct io_op io; /* io.owner is this request */
	unsigned char *slice;
	struct iovec part;     /* data of a write */
	uint64_t off, bytes;   /* range of the file; io may move less */
	struct shard_piece at; /* piece at `off`, where checking begins */
	struct writer_meta_range meta[WRITER_META_RANGES];
	unsigned meta_count;
};

/* An open file. */
struct writer_open_file {
	struct mlgen_file io;
	char *path;
	uint64_t index; /* number among the rank's files */
};

struct writer_file {
	uint64_t bytes;
	uint32_t writers;      /* threads of the rank that write a part of it */
	_Atomic uint32_t left; /* writers that are not done with it */
	/* The first writer creates the file, sets is_made and notifies the rank's `made`. */
	_Atomic bool is_begun, is_made;
};

/* A rank that has files. */
struct writer_rank {
	uint64_t rank;
	struct writer_file *files;
	uint64_t file_count, bytes;
	/* The rank whose files it reads or writes: itself, or with restore_shift another one. */
	const struct writer_rank *source;
	/* checkpoint_fsync=end: threads that still write; the last one notifies `written`. */
	_Atomic uint32_t writing;
	struct eventcount written;
	struct eventcount made;
};

/* A thread of the checkpoint writer. While it runs, other threads may access only its atomic
 * members. */
struct writer_thread {
	struct worker worker;
	struct writer *writer;
	struct writer_rank *rank;
	unsigned index; /* number among the rank's threads */
	/* `depth` requests of one slice each; `unused` is a stack of the free ones. */
	struct writer_request *requests, **unused;
	struct io_op **done;
	unsigned depth, unused_count;
	/* access=framework: parts of a call, and its head. */
	struct iovec *parts;
	unsigned char *head;
	int folder_fd;                  /* directory of the checkpoint that it saves */
	struct writer_open_file *files; /* array of file_slots; the first open_files are open */
	uint64_t file_slots, open_files;
	struct writer_open_file tail; /* direct=1: file for the part after the last whole block */
	struct shard shard;           /* contents of the current file */
	struct shard_piece at;        /* current piece of `shard` */
	bool is_dead;                 /* the engine has failed */
	uint32_t round;               /* last round that it took part in */
	uint64_t end_ns;              /* when its part of that round ended */
	uint64_t under_way_ns;        /* time in all rounds */
	_Atomic uint64_t moved_bytes; /* moved in this round; read by the status line */
};

struct writer_lead;

struct writer {
	struct writer_config cfg;
	struct writer_lead *lead; /* NULL = single process */
	struct mlgen_engine_job engine_job;
	struct writer_rank *ranks;
	uint64_t rank_count;
	struct writer_thread *threads;
	uint64_t thread_count;
	unsigned threads_each; /* threads of each rank */
	uint64_t bytes, files; /* sum of a checkpoint */
	/* Bytes of content per slice; access=plain: a request, which is a run (state.h). */
	uint64_t span_bytes, slice_bytes;

	struct eventcount go;   /* wakes the threads: a round begins, or no more will */
	struct eventcount over; /* wakes other threads: all are set up, or a round is over */
	_Atomic uint64_t starting_threads;
	_Atomic bool closed, is_finishing, is_busy;
	_Atomic uint64_t begun, number; /* rounds begun; number of the newest checkpoint */

	/* The current round. Written before `round` changes; the threads read it afterwards. */
	struct checkpoint now;
	uint64_t begin_ns;
	_Atomic uint32_t round;
	_Atomic uint64_t busy_threads; /* threads that are not done with the round */
	_Atomic bool has_failed;       /* an error: leave the round */
	_Atomic bool is_incomplete;    /* a thread has left the round early */
	_Atomic uint64_t last_ns;      /* end of the round, including the commit */

	/* The members below are under `lock`, which is never held while waiting. */
	pthread_mutex_t lock;
	uint64_t left_threads; /* threads that have left */
	bool has_newest;
	struct checkpoint_result newest;
	struct checkpoints_result sum; /* sums without `newest` */
	double later_seconds;          /* sum of all complete checkpoints except the first */
	uint64_t first_ns;             /* start of the first checkpoint */

	struct opstat total; /* filled by writer_collect */
	uint64_t dirty_bytes;
};

static inline struct io *writer_io(const struct writer_thread *t)
{
	return atomic_load_explicit(&t->worker.io, memory_order_relaxed);
}

static inline bool writer_is_framework(const struct writer *s)
{
	return s->cfg.job->access == ACCESS_FRAMEWORK;
}

static inline bool writer_touches_files(const struct writer *s)
{
	return job_touches_files(s->cfg.job);
}

/* After a signal no new call begins, so no checkpoint is removed: neither an incomplete one nor an
 * old one. */
static inline bool writer_is_interrupted(const struct writer *s)
{
	return atomic_load_explicit(s->cfg.interrupted, memory_order_relaxed);
}

/* Must all threads end their part of the round early? */
static inline bool writer_must_stop(const struct writer *s)
{
	return atomic_load_explicit(&s->has_failed, memory_order_relaxed) ||
	       atomic_load_explicit(&s->closed, memory_order_relaxed) || stop_is_set(s->cfg.stop) ||
	       writer_is_interrupted(s);
}

/* Record the first error of the checkpoint and of the run. */
void writer_fail(struct writer *s, const struct mlgen_err *err);

/* writer.c. Begin a round of all threads: 0, or -EPIPE: some have left. */
int writer_begin_round(struct writer *s, const struct checkpoint *k);
/* Record a checkpoint that could not begin. */
void writer_record_failed(struct writer *s, const struct checkpoint *k,
			  const struct mlgen_err *err);

/* writer_thread.c */
void *writer_main(void *thread);
void writer_thread_fini(struct writer_thread *t);
/* open: set up a thread; 0, or -errno, which is recorded, if the thread cannot take part. close:
 * free its engine. */
int writer_thread_open(struct writer_thread *t);
void writer_thread_close(struct writer_thread *t);

/* writer_commit.c: agreement with the other processes. A single process has s->lead NULL, and
 * decides and commits alone. */
void writer_lead_new(struct writer *s);
void writer_lead_free(struct writer *s);
int writer_lead_start(struct writer *s, struct mlgen_err *err);
void writer_lead_join(struct writer *s);
/* Close the ballot of a lead that never started. */
void writer_lead_close(struct writer *s);
/* Request a round. A save sets only epoch and step of `k`. 0, or -EPIPE. */
int writer_lead_begin(struct writer *s, const struct checkpoint *k);
struct writer_thread *writer_lead_thread(const struct writer *s);
bool writer_commits(const struct writer *s);

/* writer_write.c. Open the directory of the checkpoint to be saved, in the thread's own descriptor
 * table. Errors are recorded. */
int writer_open_folder(struct writer_thread *t);
void writer_close_folder(struct writer_thread *t);
/* `flags` are added to the flags of all opens. */
int writer_open(struct writer_thread *t, struct writer_open_file *f, uint64_t index, int flags);
/* A stat, sync or close of an open file. */
int writer_do_to(struct writer_thread *t, enum mlgen_op kind, struct writer_open_file *f);
/* Perform an operation; no other may be in progress. The operation's time includes the wait for its
 * completion. */
int64_t writer_do(struct writer_thread *t, struct io_op *op);
__attribute__((format(printf, 3, 4))) int writer_fail_with(struct writer_thread *t, int code,
							   const char *fmt, ...);

/* Return a request that was taken. */
void writer_release(struct writer_thread *t, struct writer_request *q);

/* The thread's part of an open file: the bytes [from, to) with access=plain, otherwise all calls.
 * The functions are in writer_write.c. */
struct writer_range {
	uint64_t from, to;
};
int writer_write(struct writer_thread *t, struct writer_open_file *f,
		 const struct writer_range *part);
int writer_read(struct writer_thread *t, struct writer_open_file *f,
		const struct writer_range *part);

/* Delete replaced checkpoints that an earlier process left behind. */
void writer_repair(struct writer *s);
/* Delete obstacles and create the directory of the next checkpoint, on the caller's thread. 0 or
 * -errno with err. */
int writer_create_next(struct writer *s, uint64_t epoch, uint64_t step, struct checkpoint *k,
		       struct mlgen_err *err);

/* writer_commit.c. The last thread ends the round. */
void writer_end_round(struct writer_thread *t);
/* Remove what writer_create_next has made for a round that will not take place, or has failed. */
void writer_discard(struct writer *s, const struct checkpoint *k);
