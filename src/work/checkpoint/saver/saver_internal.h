/* SPDX-License-Identifier: Apache-2.0 */
/* saver_internal.h - what the files of work/checkpoint/saver share. */
#pragma once

#include <limits.h>
#include <pthread.h>

#include "run/slot/slot.h"
#include "work/checkpoint/saver/saver.h"

/* Of a part of the work: 0; SAVER_STOPPED: somebody else failed, or the run is interrupted; or
 * -errno, which the checkpoint and the run know by then. */
enum { SAVER_STOPPED = 1 };

/* A range of a slice that holds what the layout puts between tensors. */
struct saver_laid {
	uint64_t at, bytes;
};
#define SAVER_LAID 8u /* more of them are taken for one */

/* One request, and its slice of the thread's buffer. */
struct saver_request {
	struct io_op io; /* its owner is this */
	unsigned char *slice;
	struct iovec part;     /* of a write */
	uint64_t off, bytes;   /* of the file; what io moves may be less */
	struct shard_piece at; /* of `off`: where checking begins */
	struct saver_laid laid[SAVER_LAID];
	unsigned laid_count;
};

/* A file that is open. */
struct saver_open {
	struct mlgen_file io;
	char *path;
	uint64_t index; /* of the rank's files */
};

struct saver_file {
	uint64_t bytes;
	uint32_t writers;      /* threads of the rank with a part of it */
	_Atomic uint32_t left; /* ... that are not done with it */
	/* The first of them makes it; `made` rings when it is there. */
	_Atomic bool is_begun, is_made;
};

/* A rank that saves something. */
struct saver_rank {
	uint64_t rank;
	struct saver_file *files;
	uint64_t file_count, bytes;
	/* Whose files it moves: its own, or with restore_shift another's. */
	const struct saver_rank *source;
	/* checkpoint_fsync=end: threads that still write; the bell rings when the last one is
	 * through. */
	_Atomic uint32_t writing;
	struct bell written;
	struct bell made;
};

/* A thread; but for what is atomic its own while it runs. */
struct saver_thread {
	struct worker worker;
	struct saver *saver;
	struct saver_rank *rank;
	unsigned index; /* of the rank's */
	/* `requests` of one slice each; those that are free are a stack. */
	struct saver_request *requests, **unused;
	struct io_op **done;
	unsigned depth, unused_count;
	/* access=framework: parts of one call, and its head. */
	struct iovec *parts;
	unsigned char *head;
	int folder_fd;            /* of the checkpoint that it saves */
	struct saver_open *files; /* open_files of them are open */
	uint64_t file_slots, open_files;
	struct saver_open tail;       /* direct=1: what is no whole block */
	struct shard shard;           /* of the file that it is at */
	struct shard_piece at;        /* and how far it is there */
	bool is_dead;                 /* its engine failed */
	uint32_t round;               /* the last one it took part in */
	uint64_t end_ns;              /* of its part of that */
	uint64_t under_way_ns;        /* in all rounds */
	_Atomic uint64_t moved_bytes; /* in this round; the status line looks */
};

struct saver_lead;

struct saver {
	struct saver_config cfg;
	struct saver_lead *lead; /* NULL = there are no other processes */
	struct mlgen_engine_job engine_job;
	struct saver_rank *ranks;
	uint64_t rank_count;
	struct saver_thread *threads;
	uint64_t thread_count;
	unsigned threads_each; /* of a rank */
	uint64_t bytes, files; /* of one checkpoint */
	/* Of the content; access=plain: a request, which is a run (state.h). */
	uint64_t span_bytes, slice_bytes;

	struct bell go;   /* to the threads: a round, or no more of them */
	struct bell over; /* to others: they are set up; a round is over */
	_Atomic uint64_t unready;
	_Atomic bool closed, is_finishing, is_busy;
	_Atomic uint64_t begun, number; /* rounds; the newest one's */

	/* The round: written before `round` is, then read by the threads. */
	struct checkpoint now;
	uint64_t begin_ns;
	_Atomic uint32_t round;
	_Atomic uint64_t left;    /* threads that are not done with it */
	_Atomic bool has_failed;  /* an error: leave it */
	_Atomic bool is_cut;      /* somebody has left it */
	_Atomic uint64_t last_ns; /* its end, with all that comes behind */

	/* Below: under `lock`, which nobody holds while waiting. */
	pthread_mutex_t lock;
	uint64_t gone; /* threads that take part in nothing any more */
	bool has_newest;
	struct checkpoint_result newest;
	struct checkpoints_result sum; /* of those before */
	double later_seconds;          /* ... but the first; sum */
	uint64_t first_ns;             /* the first begin */

	struct opstat total; /* made by saver_collect */
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

/* It is not taken away what a signal has cut, nor what is superfluous: no call is begun any
 * more. */
static inline bool saver_is_interrupted(const struct saver *s)
{
	return atomic_load_explicit(s->cfg.interrupted, memory_order_relaxed);
}

/* A part of the round ends here for everybody. */
static inline bool saver_must_stop(const struct saver *s)
{
	return atomic_load_explicit(&s->has_failed, memory_order_relaxed) ||
	       atomic_load_explicit(&s->closed, memory_order_relaxed) || stop_is_set(s->cfg.stop) ||
	       saver_is_interrupted(s);
}

/* The first error is the checkpoint's, and the run's. */
void saver_fail(struct saver *s, const struct mlgen_err *err);

/* saver.c. A round of all threads: 0, or -EPIPE: some of them have gone. */
int saver_round(struct saver *s, const struct checkpoint *k);
/* It has not even begun, and is counted. */
void saver_record_failed(struct saver *s, const struct checkpoint *k, const struct mlgen_err *err);

/* saver_thread.c */
void *saver_main(void *thread);
void saver_thread_fini(struct saver_thread *t);
/* The beginning and the end of one: what it needs, and its figures. 0, or -errno where it can take
 * part in nothing, which is told. */
int saver_thread_open(struct saver_thread *t);
void saver_thread_close(struct saver_thread *t);

/* saver_commit.c, with the savers of other processes: NULL where there are none, with which all
 * have agreed and this is the one that commits. */
void saver_lead_new(struct saver *s);
void saver_lead_free(struct saver *s);
int saver_lead_start(struct saver *s, struct mlgen_err *err);
void saver_lead_join(struct saver *s);
/* Nobody waits for one that never started. */
void saver_lead_close(struct saver *s);
/* Of k only epoch and step are known, but for a restore. 0, or -EPIPE. */
int saver_lead_begin(struct saver *s, const struct checkpoint *k);
struct saver_thread *saver_lead_thread(const struct saver *s);
bool saver_commits(const struct saver *s);

/* saver_write.c. Hold the directory of the checkpoint that is saved: the thread's table of
 * descriptors may be its own. What fails is told. */
int saver_hold(struct saver_thread *t);
void saver_let_go(struct saver_thread *t);
/* `flags` beside those that all have. */
int saver_open(struct saver_thread *t, struct saver_open *f, uint64_t index, int flags);
int saver_stat(struct saver_thread *t, struct saver_open *f);
int saver_sync(struct saver_thread *t, struct saver_open *f);
int saver_close_file(struct saver_thread *t, struct saver_open *f);
/* One operation, with nothing else under way; waiting for it is its time. */
int64_t saver_do(struct saver_thread *t, struct io_op *op);
__attribute__((format(printf, 3, 4))) int saver_failed_as(struct saver_thread *t, int code,
							  const char *fmt, ...);

/* It was taken, and has nothing to submit. */
void saver_give(struct saver_thread *t, struct saver_request *q);

/* The thread's part of the file that is open: bytes [from, to) with access=plain, all calls else.
 * saver_write.c. */
struct saver_range {
	uint64_t from, to;
};
int saver_write(struct saver_thread *t, struct saver_open *f, const struct saver_range *part);
int saver_read(struct saver_thread *t, struct saver_open *f, const struct saver_range *part);

/* What others have replaced, and did not live to delete. */
void saver_repair(struct saver *s);
/* On the caller's thread: the next one's directory, and what is in its way. 0 or -errno with
 * err. */
int saver_make(struct saver *s, uint64_t epoch, uint64_t step, struct checkpoint *k,
	       struct mlgen_err *err);

/* saver_commit.c. By the last thread: the round is over. */
void saver_end_round(struct saver_thread *t);
/* There will be no round: what saver_make has made goes. */
void saver_unmake(struct saver *s, const struct checkpoint *k);
