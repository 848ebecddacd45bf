/* SPDX-License-Identifier: Apache-2.0 */
/* saver_internal.h - types and functions that the files of work/checkpoint/saver share. */
#pragma once

#include <limits.h>
#include <pthread.h>

#include "run/slot/slot.h"
#include "work/checkpoint/saver/saver.h"

/* Result of a part of the work: 0; SAVER_STOPPED: another part failed, or the run is interrupted;
 * or -errno, which is already recorded in the checkpoint and the run. */
enum { SAVER_STOPPED = 1 };

/* A range of a slice that holds metadata which the layout has between tensors. */
struct saver_meta_range {
	uint64_t at, bytes;
};
#define SAVER_META_RANGES 8u /* further ranges are merged into the last */

/* A request, and its slice of the thread's buffer. */
struct saver_request {
	struct io_op io; /* io.owner is this request */
	unsigned char *slice;
	struct iovec part;     /* data of a write */
	uint64_t off, bytes;   /* range of the file; io may move less */
	struct shard_piece at; /* piece at `off`, where checking begins */
	struct saver_meta_range meta[SAVER_META_RANGES];
	unsigned meta_count;
};

/* An open file. */
struct saver_open_file {
	struct mlgen_file io;
	char *path;
	uint64_t index; /* number among the rank's files */
};

struct saver_file {
	uint64_t bytes;
	uint32_t writers;      /* threads of the rank that write a part of it */
	_Atomic uint32_t left; /* writers that are not done with it */
	/* The first writer creates the file, sets is_made and notifies the rank's `made`. */
	_Atomic bool is_begun, is_made;
};

/* A rank that has files. */
struct saver_rank {
	uint64_t rank;
	struct saver_file *files;
	uint64_t file_count, bytes;
	/* The rank whose files it reads or writes: itself, or with restore_shift another one. */
	const struct saver_rank *source;
	/* checkpoint_fsync=end: threads that still write; the last one notifies `written`. */
	_Atomic uint32_t writing;
	struct bell written;
	struct bell made;
};

/* A thread of the checkpoint writer. While it runs, only atomic members may be accessed by
 * others. */
struct saver_thread {
	struct worker worker;
	struct saver *saver;
	struct saver_rank *rank;
	unsigned index; /* number among the rank's threads */
	/* `depth` requests of one slice each; `unused` is a stack of the free ones. */
	struct saver_request *requests, **unused;
	struct io_op **done;
	unsigned depth, unused_count;
	/* access=framework: parts of a call, and its head. */
	struct iovec *parts;
	unsigned char *head;
	int folder_fd;                 /* directory of the checkpoint that it saves */
	struct saver_open_file *files; /* array of file_slots; the first open_files are open */
	uint64_t file_slots, open_files;
	struct saver_open_file tail;  /* direct=1: file for the part after the last whole block */
	struct shard shard;           /* contents of the current file */
	struct shard_piece at;        /* current piece of `shard` */
	bool is_dead;                 /* the engine has failed */
	uint32_t round;               /* last round that it took part in */
	uint64_t end_ns;              /* when its part of that round ended */
	uint64_t under_way_ns;        /* time in all rounds */
	_Atomic uint64_t moved_bytes; /* moved in this round; read by the status line */
};

struct saver_lead;

struct saver {
	struct saver_config cfg;
	struct saver_lead *lead; /* NULL = single process */
	struct mlgen_engine_job engine_job;
	struct saver_rank *ranks;
	uint64_t rank_count;
	struct saver_thread *threads;
	uint64_t thread_count;
	unsigned threads_each; /* threads of each rank */
	uint64_t bytes, files; /* sum of a checkpoint */
	/* Bytes of content per slice; access=plain: a request, which is a run (state.h). */
	uint64_t span_bytes, slice_bytes;

	struct bell go;   /* wakes the threads: a round begins, or no more will */
	struct bell over; /* wakes other threads: all are set up, or a round is over */
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
	double later_seconds;          /* sum of all complete checkpoints but the first */
	uint64_t first_ns;             /* begin of the first checkpoint */

	struct opstat total; /* filled by saver_collect */
	uint64_t dirty_bytes;
};

static inline struct io *saver_io(const struct saver_thread *t)
{
	return atomic_load_explicit(&t->worker.io, memory_order_relaxed);
}

static inline bool saver_is_framework(const struct saver *s)
{
	return s->cfg.job->access == ACCESS_FRAMEWORK;
}

static inline bool saver_touches_files(const struct saver *s)
{
	return job_touches_files(s->cfg.job);
}

/* After a signal no new call is begun: neither an incomplete nor a next_to_delete checkpoint is
 * removed. */
static inline bool saver_is_interrupted(const struct saver *s)
{
	return atomic_load_explicit(s->cfg.interrupted, memory_order_relaxed);
}

/* All threads must end their part of the round. */
static inline bool saver_must_stop(const struct saver *s)
{
	return atomic_load_explicit(&s->has_failed, memory_order_relaxed) ||
	       atomic_load_explicit(&s->closed, memory_order_relaxed) || stop_is_set(s->cfg.stop) ||
	       saver_is_interrupted(s);
}

/* Record the first error of the checkpoint and of the run. */
void saver_fail(struct saver *s, const struct mlgen_err *err);

/* saver.c. Begin a round of all threads: 0, or -EPIPE: some have left. */
int saver_begin_round(struct saver *s, const struct checkpoint *k);
/* Record a checkpoint that could not begin. */
void saver_record_failed(struct saver *s, const struct checkpoint *k, const struct mlgen_err *err);

/* saver_thread.c */
void *saver_main(void *thread);
void saver_thread_fini(struct saver_thread *t);
/* Set up a thread and free its engine. open: 0, or -errno, which is recorded, if it cannot take
 * part. */
int saver_thread_open(struct saver_thread *t);
void saver_thread_close(struct saver_thread *t);

/* saver_commit.c: agreement with the other processes. s->lead is NULL for a single process, which
 * agrees with itself and commits. */
void saver_lead_new(struct saver *s);
void saver_lead_free(struct saver *s);
int saver_lead_start(struct saver *s, struct mlgen_err *err);
void saver_lead_join(struct saver *s);
/* Close the ballot of a lead that never started. */
void saver_lead_close(struct saver *s);
/* Request a round. A save sets only epoch and step of `k`. 0, or -EPIPE. */
int saver_lead_begin(struct saver *s, const struct checkpoint *k);
struct saver_thread *saver_lead_thread(const struct saver *s);
bool saver_commits(const struct saver *s);

/* saver_write.c. Open the directory of the checkpoint to be saved, in the thread's own descriptor
 * table. Errors are recorded. */
int saver_open_folder(struct saver_thread *t);
void saver_close_folder(struct saver_thread *t);
/* `flags` are added to those that all opens have. */
int saver_open(struct saver_thread *t, struct saver_open_file *f, uint64_t index, int flags);
int saver_stat(struct saver_thread *t, struct saver_open_file *f);
int saver_sync(struct saver_thread *t, struct saver_open_file *f);
int saver_close_file(struct saver_thread *t, struct saver_open_file *f);
/* Do one operation while no other is in progress; its time includes the wait for it. */
int64_t saver_do(struct saver_thread *t, struct io_op *op);
__attribute__((format(printf, 3, 4))) int saver_fail_with(struct saver_thread *t, int code,
							  const char *fmt, ...);

/* Return a request that was taken. */
void saver_release(struct saver_thread *t, struct saver_request *q);

/* The thread's part of an open file: bytes [from, to) with access=plain, otherwise all calls.
 * saver_write.c. */
struct saver_range {
	uint64_t from, to;
};
int saver_write(struct saver_thread *t, struct saver_open_file *f, const struct saver_range *part);
int saver_read(struct saver_thread *t, struct saver_open_file *f, const struct saver_range *part);

/* Delete replaced checkpoints that an earlier process left behind. */
void saver_repair(struct saver *s);
/* Delete obstacles and create the directory of the next checkpoint, on the caller's thread. 0 or
 * -errno with err. */
int saver_create_next(struct saver *s, uint64_t epoch, uint64_t step, struct checkpoint *k,
		      struct mlgen_err *err);

/* saver_commit.c. The last thread ends the round. */
void saver_end_round(struct saver_thread *t);
/* No round will follow: remove what saver_create_next has made. */
void saver_discard(struct saver *s, const struct checkpoint *k);
